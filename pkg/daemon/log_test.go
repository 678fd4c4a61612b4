package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestLog(t *testing.T) {
	t.Parallel()
	p := Place{Log: filepath.Join(t.TempDir(), "sub", "d.log")}
	read := func(server string) (texts []string) {
		t.Helper()
		if err := ReadLog(t.Context(), p, server, false, func(l LogLine) error {
			texts = append(texts, l.Who+"="+l.Event)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return texts
	}
	if got := read(""); got != nil {
		t.Errorf("before the first line: %q", got)
	}
	l := newLogger(p.Log)
	l.log("a", "one\x1b[2J\u009b\xff\ntwo\tthree\r\n")
	l.log("b", "four")
	if _, err := l.file.WriteString("panic: not a line of ours\n"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(read(""), ","); got != "a=one␛[2J�� | two three,b=four,daemon=panic: not a line of ours" {
		t.Errorf("got %q", got)
	}
	if got := strings.Join(read("b"), ","); got != "b=four" {
		t.Errorf("of b: %q", got)
	}
	// It goes on where it was, and never becomes large.
	l.close()
	l.log("a", "lost, and no harm done")
	l = newLogger(p.Log)
	defer l.close()
	long := strings.Repeat("x", 1000)
	for range 5 * maxLog / 1000 {
		l.log("a", long)
	}
	l.log("a", "last")
	for _, path := range []string{p.Log, p.Log + ".1"} {
		if info, err := os.Stat(path); err != nil || info.Size() > maxLog || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if got := read("a"); len(got) < maxLog/1100 || got[len(got)-1] != "a=last" {
		t.Errorf("%d lines, the last one %q", len(got), got[len(got)-1])
	}
}

// Following loses no line, also where the log is rotated meanwhile.
func TestFollow(t *testing.T) {
	t.Parallel()
	p := Place{Log: filepath.Join(t.TempDir(), "d.log")}
	ctx, cancel := context.WithCancel(t.Context())
	lines := make(chan LogLine)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(lines)
		if err := ReadLog(ctx, p, "a", true, func(l LogLine) error { lines <- l; return nil }); err != nil {
			t.Error(err)
		}
	})
	l := newLogger(p.Log)
	defer l.close()
	text := strings.Repeat("x", maxLine)
	for range 8 {
		for range maxLog / 3 / maxLine { // at most one rotation before they are read
			l.log("a", text)
		}
		for range maxLog / 3 / maxLine {
			if got := <-lines; got.Event != text || got.Who != "a" {
				t.Fatalf("%.40q", got.Event)
			}
		}
	}
	cancel()
	for range lines {
	}
	wg.Wait()
}

func FuzzLogLine(f *testing.F) {
	f.Add("2026-01-01T00:00:00.000Z\ts\tevent\twith tab")
	f.Add("no line of ours")
	f.Fuzz(func(t *testing.T, line string) {
		if l := parseLogLine(line); l.Who == logName && l.Time == "" && l.Event != line {
			t.Errorf("%q became %+v", line, l)
		}
	})
}
