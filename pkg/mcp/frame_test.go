package mcp

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// FuzzReader reads any bytes as lines: what it returns is what stands between line breaks, without the white space
// around it, and never more than the limit.
func FuzzReader(f *testing.F) {
	const limit = 100
	f.Add([]byte("{}\n\n [1] \r\nlast"))
	f.Add(bytes.Repeat([]byte("x"), 200_000))
	f.Add([]byte(strings.Repeat(" ", 101) + "\n{}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var want [][]byte
		for line := range bytes.Lines(in) {
			if len(line) > limit {
				break
			}
			if text := bytes.TrimSpace(line); len(text) > 0 {
				want = append(want, text)
			}
		}
		r := NewReader(bytes.NewReader(in), limit)
		for i := 0; ; i++ {
			got, err := r.Next()
			if err != nil {
				if i != len(want) || !errors.Is(err, io.EOF) && !errors.Is(err, ErrTooLong) {
					t.Fatalf("line %d of %d: %v", i, len(want), err)
				}
				return
			}
			if i >= len(want) || !bytes.Equal(got, want[i]) {
				t.Fatalf("line %d is %q", i, got)
			}
		}
	})
}
