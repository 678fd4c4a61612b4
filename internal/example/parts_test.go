package example

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestCalculate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want float64
		err  string
	}{
		{in: "1+2*3", want: 7}, {in: "(1+2)*3", want: 9}, {in: "2^3^2", want: 512}, {in: "-2^2", want: -4}, {in: "2^-1", want: .5},
		{in: "7%4 - -1", want: 4}, {in: "1.5e3/.5", want: 3000}, {in: "max(1, 2,3)+min(4,5)", want: 7}, {in: "sqrt(9)*x", want: 6},
		{in: "round(2.5)+floor(-.5)+ceil(.1)+abs(-1)", want: 4}, {in: "ln(e)+log(100)+exp(0)+sin(0)+cos(0)+tan(0)", want: 5},
		{in: "pi", want: math.Pi}, {in: " 1 ", want: 1}, {in: "é+1", want: 3},
		{in: "", err: "at character 1: expected a number, a name or (, found the end"},
		{in: "1 2", err: "at character 3: expected an operator or the end, found '2'"},
		{in: "(1", err: "at character 3: expected an operator or ), found the end"},
		{in: "max(1;2)", err: "at character 6: expected an operator, a comma or ), found ';'"},
		{in: "y", err: `at character 1: expected pi, e, a function or one of the given variables, not "y", found 'y'`},
		{in: "1..2", err: `at character 1: "1..2" is not a number that fits`}, {in: "1e999", err: `at character 1: "1e999" is not a number that fits`},
		{in: "1/0", err: "division by zero"}, {in: "1%0", err: "division by zero"}, {in: "foo(1)", err: `no function "foo"; there are sqrt,`},
		{in: "sqrt(1,2)", err: "sqrt takes one value, not 2"}, {in: "sqrt(-1)", err: "sqrt(-1) is not a number"},
		{in: "9^999", err: "the result is not a finite number"}, {in: "é*$", err: "at character 3: expected a number, a name or (, found '$'"},
		{in: strings.Repeat("(", 300), err: "the expression is nested more than 200 deep"},
		{in: "1" + strings.Repeat("^1", 300), err: "the expression is nested more than 200 deep"},
	}
	for _, tt := range tests {
		got, err := calculate(tt.in, map[string]float64{"x": 2, "é": 2})
		if tt.err == "" && (err != nil || math.Abs(got-tt.want) > 1e-12) {
			t.Errorf("%s = %v, %v; want %v", tt.in, got, err, tt.want)
		}
		if tt.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.err)) {
			t.Errorf("%s: %v; want %s", tt.in, err, tt.err)
		}
	}
}

// FuzzCalculate finds inputs that crash the parser, or that give something else than a number.
func FuzzCalculate(f *testing.F) {
	for _, s := range []string{"1+2*3", "max(1,-2^.5)%pi", "((", "1e", "x(y", "é", "-", "2^", ",", "min()"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := calculate(s, nil); err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			t.Errorf("%q is %v", s, v)
		}
	})
}

func TestWords(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, style, want string }{
		{"get user-name", "camel", "getUserName"}, {"HTTPServer_v2", "kebab", "http-server-v2"}, {"élan vital", "title", "Élan Vital"},
		{"fooBar", "constant", "FOO_BAR"}, {"foo bar", "pascal", "FooBar"}, {"", "snake", ""}, {"Ab c", "upper", "AB C"}, {"Ab C", "lower", "ab c"},
		{"item2Count", "snake", "item2_count"},
	}
	for _, tt := range tests {
		if got := changeCase(tt.in, tt.style); got != tt.want {
			t.Errorf("%s of %q: %q, want %q", tt.style, tt.in, got, tt.want)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	tests := []struct {
		name, before, after string
		context             int
		want                string
	}{
		{"equal", "a\n", "a\n", 3, ""},
		{"from nothing", "", "a\n", 3, "@@ -0,0 +1,1 @@\n+a\n"},
		{"to nothing", "a\nb\n", "", 3, "@@ -1,2 +0,0 @@\n-a\n-b\n"},
		{"two hunks", ten, strings.NewReplacer("2\n", "x\n", "9\n", "y\n").Replace(ten), 1,
			"@@ -1,3 +1,3 @@\n 1\n-2\n+x\n 3\n@@ -8,3 +8,3 @@\n 8\n-9\n+y\n 10\n"},
		{"hunks that touch", ten, strings.NewReplacer("3\n", "", "6\n", "y\n").Replace(ten), 1,
			"@@ -2,6 +2,5 @@\n 2\n-3\n 4\n 5\n-6\n+y\n 7\n"},
		{"no context", ten, strings.Replace(ten, "5\n", "", 1), 0, "@@ -5,1 +4,0 @@\n-5\n"},
		{"last line without a break", "a\n", "a", 0, "@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of text\n"},
	}
	for _, tt := range tests {
		got, err := unifiedDiff(tt.before, tt.after, tt.context)
		if err != nil || strings.TrimPrefix(got, "--- before\n+++ after\n") != tt.want {
			t.Errorf("%s: %v\n%s", tt.name, err, got)
		}
	}
	far := func(s string) string { return strings.Repeat(s+"\n", 3000) }
	if _, err := unifiedDiff(far("a"), far("b"), 3); err == nil {
		t.Error("no bound")
	}
}

// FuzzDiff checks that the edits of a diff give both texts back.
func FuzzDiff(f *testing.F) {
	f.Add("a\nb\nc", "a\nc\nd")
	f.Fuzz(func(t *testing.T, a, b string) {
		la, lb := diffLines(a), diffLines(b)
		edits, err := compare(la, lb)
		if err != nil {
			return
		}
		var gotA, gotB []string
		for _, e := range edits {
			if e.op != '+' {
				gotA = append(gotA, e.line)
			}
			if e.op != '-' {
				gotB = append(gotB, e.line)
			}
		}
		if strings.Join(gotA, "\n") != strings.Join(la, "\n") || strings.Join(gotB, "\n") != strings.Join(lb, "\n") {
			t.Errorf("%q, %q: %v", a, b, edits)
		}
		if _, err := unifiedDiff(a, b, 1); err != nil {
			t.Error(err)
		}
	})
}

// FuzzQueryJSON looks for documents and pointers that crash the lookup.
func FuzzQueryJSON(f *testing.F) {
	f.Add(`{"a/b":[1,{"~":null}]}`, "/a~1b/1/~0")
	f.Add(` "x" `, "/0")
	f.Fuzz(func(t *testing.T, text, pointer string) {
		got, err := queryJSON(text, pointer)
		if err == nil && checkJSON(got) != nil {
			t.Errorf("%q at %q is %q", text, pointer, got)
		}
	})
}

func TestQueryJSON(t *testing.T) {
	t.Parallel()
	const doc = `{"a/b":[1,{"~":null}],"":{"":7}}`
	for pointer, want := range map[string]string{
		"": doc, "/a~1b/0": "1", "/a~1b/1/~0": "null", "/": `{"":7}`, "//": "7",
		"/a~1b/2": "! the array there has 2 elements", "/a~1b/01": "! the array there", "/a~1b/0/x": "! the value there is neither",
	} {
		got, err := queryJSON(doc, pointer)
		if text, isErr := strings.CutPrefix(want, "! "); isErr {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v", pointer, err)
			}
		} else if got != want {
			t.Errorf("%s: %s", pointer, got)
		}
	}
}

// TestNotesTogether adds notes from many sides at once; none is lost.
func TestNotesTogether(t *testing.T) {
	t.Parallel()
	f := noteFile{path: filepath.Join(t.TempDir(), "deep", "notes.json"), now: clock}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := f.add(context.Background(), note{Title: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	d, err := f.read(f.path)
	if err != nil || len(d.Notes) != 20 || d.LastID != 20 {
		t.Errorf("%v: %+v", err, d)
	}
	info, err := os.Stat(f.path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestNotesDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes.json")
	const damaged = `{"notes": [`
	if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	f := noteFile{path: path, now: clock}
	_, addErr := f.add(context.Background(), note{Title: "x"})
	_, findErr := f.find(1, func(note) bool { return true })
	for _, err := range []error{addErr, findErr} {
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "mend the file") {
			t.Errorf("got %v", err)
		}
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != damaged {
		t.Errorf("the file was touched: %v %s", err, raw)
	}
}

func TestNotesPlace(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	if got, err := (noteFile{}).place(); err != nil || got != filepath.Join(dir, "mcpl", "example-notes.json") {
		t.Errorf("%s, %v", got, err)
	}
	t.Setenv("XDG_STATE_HOME", "relative")
	if got, err := (noteFile{}).place(); err != nil || !strings.HasSuffix(got, filepath.Join(".local", "state", "mcpl", "example-notes.json")) {
		t.Errorf("%s, %v", got, err)
	}
}
