package conn

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestOutboxKeepsMessagesWholeAndInOrder(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	o := newOutbox(w)
	var got []byte
	var reader sync.WaitGroup
	reader.Go(func() { got, _ = io.ReadAll(r) })
	var writers sync.WaitGroup
	for who := range 8 {
		writers.Go(func() {
			for n := range 50 {
				msg := fmt.Appendf(nil, "%d %02d %s\n", who, n, strings.Repeat("x", n*100))
				if _, err := o.Write(msg); err != nil {
					t.Error(err)
				}
				clear(msg) // the caller may use its bytes again
			}
		})
	}
	writers.Wait()
	o.flush(time.Minute)
	o.Close()
	<-o.done
	reader.Wait()
	last := make([]int, 8)
	lines := strings.Split(strings.TrimSuffix(string(got), "\n"), "\n")
	for _, line := range lines {
		var who, n int
		if _, err := fmt.Sscanf(line, "%d %d", &who, &n); err != nil || n != last[who] || len(line) != 5+n*100 {
			t.Fatalf("line %.30q after %d of it", line, last[who])
		}
		last[who]++
	}
	if len(lines) != 400 || !slices.Equal(last, []int{50, 50, 50, 50, 50, 50, 50, 50}) {
		t.Errorf("%d lines: %v", len(lines), last)
	}
}

func TestOutboxWithoutReader(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o := newOutbox(w)
	big := bytes.Repeat([]byte("x"), maxPending+1)
	if _, err := o.Write(big); err != nil { // one large message passes
		t.Fatal(err)
	}
	if _, err := o.Write([]byte("x")); !errors.Is(err, errPending) {
		t.Errorf("more than maxPending is taken: %v", err)
	}
	quick(t, "a flush", 10*time.Second, func() { o.flush(10 * time.Millisecond) })
	quick(t, "closing in the middle of a message", 10*time.Second, func() {
		o.Close()
		<-o.done
	})
	if _, err := o.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	quick(t, "a flush after Close", 10*time.Second, func() { o.flush(time.Minute) })
}

func TestOutboxBrokenPipe(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	o := newOutbox(w)
	defer o.Close()
	if _, err := o.Write([]byte("x\n")); err != nil {
		t.Error(err) // it cannot be known yet
	}
	<-o.done
	if o.failed() == nil {
		t.Error("no failure")
	}
	if _, err := o.Write([]byte("x\n")); err == nil {
		t.Error("a message is taken although nobody reads")
	}
}
