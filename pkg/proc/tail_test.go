package proc

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestTail(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&many, "line %05d of a flood\n", i)
	}
	most := strings.Repeat("x", tailSize)
	for _, tt := range []struct{ name, in, first, last string }{
		{"nothing", "", "", ""},
		{"white space", " \n\n", "", ""},
		{"lines", "one\ntwo\n", "one", "two"},
		{"no last line end", "one\ntwo", "one", "two"},
		{"broken UTF-8", "a\xffb\n", "a\uFFFDb", "a\uFFFDb"},
		{"a flood", many.String(), "line 00000 of a flood", "line 39999 of a flood"},
		{"one endless line", strings.Repeat("x", 100_000), most[:headSize], most},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tail := newTail(iotest.HalfReader(strings.NewReader(tt.in)), Options{})
			<-tail.done
			lines := strings.Split(tail.text(), "\n")
			if lines[0] != tt.first || lines[len(lines)-1] != tt.last {
				t.Errorf("first %.50q, last %.50q", lines[0], lines[len(lines)-1])
			}
			// 4,096 bytes hold 186 lines of 22 bytes, 16,384 bytes 744, and each a part of another, which is left out.
			gap := slices.Index(lines, "…")
			if tt.name == "a flood" && (gap != 186 || lines[gap+1] != "line 39256 of a flood") {
				t.Errorf("the gap is at line %d, before %.30q", gap, lines[gap+1])
			}
			if cap(tail.buf) > 4*tailSize {
				t.Errorf("%d bytes are held", cap(tail.buf))
			}
		})
	}
}

func TestStderrLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxLine)
	var got []string
	in := io.MultiReader(strings.NewReader("a\n\nb"), strings.NewReader("c\n"+long+"yyy\nl\xffst"))
	each := func(line string) { got = append(got, line) }
	tail := newTail(iotest.OneByteReader(in), Options{StderrLine: each})
	<-tail.done
	if want := []string{"a", "", "bc", long, "l\uFFFDst"}; !slices.Equal(got, want) {
		t.Errorf("got %.50q", got)
	}
}
