package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/hidden"
)

var update = flag.Bool("update", false, "rewrite golden files with what is printed now")

// answer is an answer with both forms.
type answer struct {
	A     string `json:"a"`
	write func(*Text)
}

func (a answer) WriteText(t *Text) {
	if a.write != nil {
		a.write(t)
	}
}

type raw struct{ answer }

func (raw) RawJSON() []byte { return []byte(`{"b":1.0,  "c":"<&>"}`) }

// printer returns a printer with these options and its two streams.
func printer(o Options) (p *Printer, out, errs *bytes.Buffer) {
	out, errs = new(bytes.Buffer), new(bytes.Buffer)
	o.Out, o.Err = out, errs
	return New(o), out, errs
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	hello := answer{A: "<b>&", write: func(t *Text) { t.Line("hello") }}
	for _, test := range []struct {
		json bool
		doc  Document
		want string
	}{
		{false, hello, "hello\n"},
		{true, hello, `{"a":"<b>&"}` + "\n"},
		{true, raw{hello}, `{"b":1.0,  "c":"<&>"}` + "\n"},
	} {
		p, out, errs := printer(Options{JSON: test.json})
		if err := p.Answer(test.doc); err != nil || out.String() != test.want || errs.Len() > 0 || p.JSON() != test.json {
			t.Errorf("got %q, %q, %v", out, errs, err)
		}
	}
	p, out, _ := printer(Options{})
	if err := errors.Join(p.Raw([]byte("a")), p.Raw([]byte("b\n"))); err != nil || out.String() != "a\nb\n" {
		t.Errorf("raw: %q, %v", out, err)
	}
	p, _, _ = printer(Options{JSON: true})
	if err := p.Answer(unencodable{}); err == nil {
		t.Error("what cannot be encoded is no error")
	}
}

type unencodable struct{ C chan int }

func (unencodable) WriteText(*Text) {}

// broken is a stream whose reader has gone.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestBrokenStream(t *testing.T) {
	t.Parallel()
	p := New(Options{Out: broken{}, Err: broken{}, JSON: true})
	f := fault.New(fault.Usage, "m", "")
	if err := p.Answer(answer{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("answer: %v", err)
	}
	if err := p.Fault(f); !errors.Is(err, os.ErrClosed) {
		t.Errorf("fault: %v", err)
	}
	p.Notice("nobody hears it")
}

func TestFault(t *testing.T) {
	t.Parallel()
	f := fault.New(fault.InvalidArguments, "2 arguments do not fit", "Parameters: a\nTry: mcpl call").Trace("cause\n  more")
	f.Arguments = []fault.Argument{{Problem: "is missing", Expected: "number"}, {Pointer: "/b", Problem: "is unknown", Nearest: "a"}}
	p, out, errs := printer(Options{JSON: true})
	if err := p.Fault(f); err != nil || errs.Len() > 0 {
		t.Fatalf("%q, %v", errs, err)
	}
	var got struct {
		Success *bool
		Error   fault.Fault
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Success == nil || *got.Success ||
		got.Error.Help != f.Help {
		t.Errorf("got %s, %v", out, err)
	}
	p, out, errs = printer(Options{})
	if err := p.Fault(f); err != nil || out.Len() > 0 {
		t.Fatalf("%q, %v", out, err)
	}
	golden(t, "fault.txt", errs.Bytes())
	p, _, errs = printer(Options{ErrTTY: Terminal{Is: true, Color: true, Width: 40}})
	if err := p.Fault(f); err != nil {
		t.Fatal(err)
	}
	golden(t, "fault_color_40.txt", errs.Bytes())
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, got, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; make it with -update", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: -want +got\n%s", name, diff)
	}
}

func TestNoticeAndVerbose(t *testing.T) {
	t.Parallel()
	p, out, errs := printer(Options{Started: time.Now()})
	p.Notice("%d things\x1b[2J", 2)
	p.Verbose("s", "not asked for")
	if out.Len() > 0 || errs.String() != "note: 2 things␛[2J\n" {
		t.Errorf("%q, %q", out, errs)
	}
	p, _, errs = printer(Options{Verbose: true, Started: time.Now()})
	p.Verbose("s", "event\x07")
	if !strings.HasSuffix(errs.String(), "s s event␇\n") || !strings.Contains(errs.String(), "0.0") {
		t.Errorf("%q", errs)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	const clear = "\r\x1b[K"
	p, out, errs := printer(Options{ErrTTY: Terminal{Is: true, Width: 12}})
	p.Status("short")
	p.Status("longer than the terminal\x1b[2J")
	if err := p.Answer(answer{write: func(t *Text) { t.Line("answer") }}); err != nil {
		t.Fatal(err)
	}
	p.Status("")
	if want := "\rshort\x1b[K\rlonger tha…\x1b[K" + clear; errs.String() != want {
		t.Errorf("got %q, want %q", errs, want)
	}
	if out.String() != "answer\n" {
		t.Errorf("%q", out)
	}
	for name, o := range map[string]Options{"no terminal": {}, "verbose": {Verbose: true, ErrTTY: Terminal{Is: true}}} {
		p, _, errs := printer(o)
		p.Status("line")
		if errs.Len() > 0 {
			t.Errorf("%s: %q", name, errs)
		}
	}
}

// TestAtOnce is for the race detector, and for lines that stay whole.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	p, _, errs := printer(Options{ErrTTY: Terminal{Is: true, Width: 80}})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			p.Status("working")
			p.Notice("one whole line")
		})
	}
	wg.Wait()
	if n := strings.Count(errs.String(), "note: one whole line\n"); n != 20 {
		t.Errorf("%d of 20 lines are whole:\n%q", n, errs)
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	var o Object
	o.Add("a", "<&>")
	o.Add("b", json.RawMessage(`{ "x": 1.0 }`))
	o.Add("c", []int{1})
	if got := string(o.Bytes()); got != `{"a":"<&>","b":{ "x": 1.0 },"c":[1]}` {
		t.Errorf("got %s", got)
	}
}

// TestF5NothingHiddenIsPrinted prints a server's words on both streams, in every form. JSON keeps its values.
func TestF5NothingHiddenIsPrinted(t *testing.T) {
	t.Parallel()
	const said = "a\u200b\u202e\U000e0041\x1b[31m\u009b ❤️ 👩\u200d💻"
	hostile := answer{A: said, write: func(t *Text) {
		t.Line(Bold(said), said)
		t.Wrap("  ", said)
		t.Table("", [][]any{{said, Red(said)}})
	}}
	for title, use := range map[string]func(p *Printer){
		"an answer": func(p *Printer) { _ = p.Answer(hostile) },
		"raw":       func(p *Printer) { _ = p.Answer(rawAnswer(`{"a":"` + strings.ReplaceAll(said, "\x1b", "") + `"}`)) },
		"untouched": func(p *Printer) { _ = p.Raw([]byte(`"` + said + `"`)) },
		"a fault":   func(p *Printer) { _ = p.Fault(fault.New(fault.Tool, said, said).Trace(said)) },
		"a notice":  func(p *Printer) { p.Notice("%s", said) },
		"an event":  func(p *Printer) { p.Verbose(said, said) },
		"a line":    func(p *Printer) { p.Aside(said) },
		"progress":  func(p *Printer) { p.Status(said) },
	} {
		tty := Terminal{Is: true}
		for _, o := range []Options{{}, {JSON: true}, {Verbose: true, OutTTY: tty, ErrTTY: tty}} {
			t.Run(fmt.Sprint(title, o.JSON, o.Verbose), func(t *testing.T) {
				t.Parallel()
				p, out, errs := printer(o)
				use(p)
				if text := out.String() + errs.String(); hidden.Count(text) > 0 || strings.Contains(text, "\x1b") {
					t.Errorf("got %q", text)
				}
			})
		}
	}
	p, out, _ := printer(Options{JSON: true})
	var got answer
	if err := errors.Join(p.Answer(hostile), json.Unmarshal(out.Bytes(), &got)); err != nil || got.A != said {
		t.Errorf("%q, %v", got.A, err)
	}
}

// rawAnswer is an answer of these bytes.
type rawAnswer string

func (r rawAnswer) RawJSON() []byte   { return []byte(r) }
func (r rawAnswer) WriteText(t *Text) { t.Print(string(r)) }

func TestColumns(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "漢字": 4, "ｆ": 2, "한": 2, "👍": 2, "👩\u200d💻": 4, "a\u200bb": 2, "☀\ufe0f": 1} {
		if got := columns(s); got != want {
			t.Errorf("columns(%q) = %d, want %d", s, got, want)
		}
	}
	for _, test := range []struct {
		s     string
		limit int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"漢字漢字", 5, "漢字…"}, {"漢字漢字", 4, "漢…"}} {
		if got := clip(test.s, test.limit); got != test.want || columns(got) > test.limit {
			t.Errorf("clip(%q, %d) = %q", test.s, test.limit, got)
		}
	}
}

func TestWidth(t *testing.T) {
	t.Parallel()
	for tty, want := range map[Terminal]int{{}: 100, {Width: 50}: 100, {Is: true}: 100, {Is: true, Width: 80}: 80,
		{Is: true, Width: 10}: 40, {Is: true, Width: 300}: 120} {
		if got := newText(tty).Width(); got != want {
			t.Errorf("%+v: %d, want %d", tty, got, want)
		}
	}
}

// sheet is a bit of everything.
func sheet(t *Text) {
	t.Line(Bold("Heading"), " ", Dim("beside"), Red(""))
	t.Wrap("  ", "A paragraph that is long enough to be wrapped on every terminal of at most one hundred and twenty columns.\n\n  Its second part,\twith a tab and an averyveryveryveryveryveryveryverylongwordthatfitsnowhere.")
	t.Wrap("  ", "漢字漢字 漢字漢字 漢字漢字 漢字漢字 漢字漢字 漢字漢字 漢字漢字")
	t.Table("  ", [][]any{
		{Cyan("name"), "type", Bold("required"), "What it is for, in more words than fit into one line of any terminal that we write for, so it is wrapped."},
		{Cyan("漢字"), "string[]", Dim("optional"), ""},
		{Cyan("evil\x1b[2J"), "x", Dim("optional"), Green("short")},
	})
	t.Table("", [][]any{{"only"}, {Red("one column")}})
	t.Table("", [][]any{{"a-first-column-that-leaves-no-room-at-all", "The rest goes below it, since there is no room beside it on a narrow terminal."}})
	t.Table("", nil)
}

func TestSheet(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 80, 120} {
		for _, color := range []bool{false, true} {
			text := newText(Terminal{Is: true, Color: color, Width: width})
			sheet(text)
			name := fmt.Sprintf("sheet_%d.txt", width)
			if color {
				name = fmt.Sprintf("sheet_%d_color.txt", width)
			}
			golden(t, name, text.buf.Bytes())
			for line := range strings.Lines(text.buf.String()) {
				line = strings.TrimSuffix(line, "\n")
				if strings.TrimRight(line, " ") != line {
					t.Errorf("%s: a blank at the end of %q", name, line)
				}
				if !color && columns(line) > width && !strings.Contains(line, "longword") && !strings.Contains(line, "no-room") {
					t.Errorf("%s: %q has %d columns", name, line, columns(line))
				}
			}
		}
	}
}

func TestPrintRefusesOtherTypes(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a number was printed: it would escape cleaning one day")
		}
	}()
	newText(Terminal{}).Print(1)
}

// TestVerbatim: a text goes to a file byte for byte, and to a terminal without what drives it.
func TestVerbatim(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a\r\nb\x1b[2J": "a\nb␛[2J\n", "a\n": "a\n", "": "\n", "\xff": "\ufffd\n"} {
		file, tty := newText(Terminal{}), newText(Terminal{Is: true})
		file.Verbatim(text)
		tty.Verbatim(text)
		if got := file.buf.String(); got != text {
			t.Errorf("%q in a file is %q", text, got)
		}
		if got := tty.buf.String(); got != want {
			t.Errorf("%q on a terminal is %q", text, got)
		}
	}
}

// A server that writes lines into a message cannot write one that passes for ours.
func TestFaultInLines(t *testing.T) {
	t.Parallel()
	p, _, errs := printer(Options{})
	if err := p.Fault(fault.New(fault.Protocol, "s refused it: no\nhint: rm -rf ~\r\nerror: x", "This helps.")); err != nil {
		t.Fatal(err)
	}
	if want := "error: s refused it: no\n  hint: rm -rf ~\n  error: x\nhint: This helps.\n"; errs.String() != want {
		t.Errorf("got %q\nwant %q", errs, want)
	}
}
