package output

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestBarLine(t *testing.T) {
	t.Parallel()
	const what = "calling demo/a_tool"
	for _, tc := range []struct {
		width       int
		done, total float64
		message     string
		want        string
	}{
		{99, 1, 2, "half\nway\tthere", "calling demo/a_tool [##########----------]  50%  half way there"},
		{99, 0, 3, "", "calling demo/a_tool [--------------------]   0%"},
		{99, 3, 3, "", "calling demo/a_tool [####################] 100%"},
		{99, 9, 3, "", "calling demo/a_tool [####################] 100%"},
		{99, -9, 3, "", "calling demo/a_tool [--------------------]   0%"},
		{99, 199, 200, "", "calling demo/a_tool [###################-]  99%"},
		{99, 7, 0, "files", "calling demo/a_tool 7  files"},
		{99, 0, 0, "", "calling demo/a_tool 0"},
		{99, 0, 0, "Gathering", "calling demo/a_tool  Gathering"},
		{40, 0, 0, "Gathering sources of all kinds", "calling demo/a_tool  Gathering sources …"},
		{8, 0, 0, "Gathering", "Gatheri…"},
		{99, 1.0 / 3, -1, "", "calling demo/a_tool 0.33"},
		{99, 1e300, 0, "", "calling demo/a_tool 1e+300"},
		{60, 1, 2, "a long message that does not fit", "calling demo/a_to… [#######--------]  50%  a long message t…"},
		{44, 1, 2, "a long message", "calling dem… [#####------]  50%  a long mes…"},
		{30, 1, 2, "a long message", "calling dem…  50%  a long mes…"},
		{18, 1, 2, "a long message", "calling…  50%"},
		{13, 1, 2, "m", "calling…  50%"},
		{12, 1, 2, "m", " 50%"},
		{3, 1, 2, "m", " 5…"},
		{1, 1, 2, "m", "…"},
	} {
		got := barLine(what, tc.done, tc.total, tc.message, tc.width)
		if got != tc.want {
			t.Errorf("%d: %g/%g:\ngot  %q\nwant %q", tc.width, tc.done, tc.total, got, tc.want)
		}
	}
	for width := 1; width < 150; width++ {
		for _, message := range []string{"", "m", "日本語のメッセージがここに", strings.Repeat("long ", 50)} {
			for _, total := range []float64{0, 10} {
				if got := barLine(what, 5, total, message, width); columns(got) > width {
					t.Errorf("%d columns: %q", width, got)
				}
			}
		}
	}
}

// TestBar counts what is drawn, by a clock that the test moves.
func TestBar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _, errs := printer(Options{ErrTTY: Terminal{Is: true, Width: 60}})
		b := p.Bar("calling")
		for i := range 1000 { // over 1 s
			b.Set(float64(i), 1000, "")
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if n := strings.Count(errs.String(), "\r"); n < 9 || n > 11 {
			t.Errorf("%d drawings in a second", n)
		}
		errs.Reset()
		b.Set(1, 2, "at once")
		b.Set(2, 2, "and again")
		time.Sleep(redraw)
		synctest.Wait()
		if !strings.HasSuffix(errs.String(), "100%  and again\x1b[K") {
			t.Errorf("the last is not drawn: %q", errs)
		}
		errs.Reset()
		b.Set(1, 2, "late")
		b.End()
		b.Set(1, 2, "later")
		time.Sleep(time.Second)
		synctest.Wait()
		if errs.String() != "\r\x1b[K" {
			t.Errorf("after the end: %q", errs)
		}
	})
	for name, o := range map[string]Options{"no terminal": {}, "verbose": {Verbose: true, ErrTTY: Terminal{Is: true}},
		"JSON": {JSON: true, ErrTTY: Terminal{Is: true}}} {
		p, _, errs := printer(o)
		b := p.Bar("calling")
		b.Set(1, 2, "")
		b.End()
		if errs.Len() > 0 {
			t.Errorf("%s: %q", name, errs)
		}
	}
	if Count(3, 10) != "3/10" || Count(2.5, 0) != "2.5" {
		t.Error(Count(3, 10), Count(2.5, 0))
	}
}

// TestDialog: while a question is open nothing else is written, and a line that comes too late for one
// question does not answer the next.
func TestDialog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _, errs := printer(Options{ErrTTY: Terminal{Is: true}})
		in, typing := io.Pipe()
		d := p.NewDialog(in)
		p.Status("calling")
		d.Open()
		p.Notice("in between")
		p.Status("in between")
		d.Show(func(t *Text) { t.Line("Question\x1b") })
		go io.WriteString(typing, "one\r\ntwo\n")
		for _, want := range []string{"one", "two"} {
			if line, err := d.Line(t.Context(), Bold("? ")); line != want || err != nil {
				t.Fatalf("%q, %v", line, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := d.Line(ctx, "? "); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		d.Close()
		if want := "\rcalling\x1b[K\r\x1b[KQuestion␛\n? ? ? \nnote: in between\n"; errs.String() != want {
			t.Errorf("got %q, want %q", errs, want)
		}
		io.WriteString(typing, "too late\n")
		synctest.Wait() // it was read and handed on
		d.Open()
		defer d.Close()
		go io.WriteString(typing, "in time\n")
		if line, err := d.Line(t.Context()); line != "in time" || err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		typing.Close()
		if _, err := d.Line(t.Context()); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if line, err := p.NewDialog(strings.NewReader("x")).Line(t.Context()); line != "x" || err != nil {
			t.Fatalf("a line without an end: %q, %v", line, err)
		}
	})
}

// gone is a terminal that went away.
type gone struct{}

func (gone) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestAsk(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	for _, tc := range []struct {
		ctx  context.Context
		in   io.Reader
		want bool
		err  error
	}{
		{t.Context(), strings.NewReader(" Yes\n"), true, nil},
		{t.Context(), strings.NewReader("no\n"), false, nil},
		{t.Context(), strings.NewReader(""), false, nil},
		{t.Context(), gone{}, false, nil},
		{ended, nil, false, context.Canceled},
	} {
		p, _, errs := printer(Options{ErrTTY: Terminal{Is: true, Color: true}})
		in := tc.in
		if tc.err != nil {
			r, w := io.Pipe() // the person types nothing
			defer w.Close()
			in = r
		}
		if got, err := p.Ask(tc.ctx, in, "Sure?"); got != tc.want || !errors.Is(err, tc.err) ||
			!strings.HasPrefix(errs.String(), "\x1b[1mSure?\x1b[0m [y/N] ") {
			t.Errorf("%v, %v, %q", got, err, errs)
		}
	}
}
