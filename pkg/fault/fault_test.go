package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	// The table of docs/contracts.md.
	for typ, want := range map[Type]int{
		Tool: 1, Usage: 2, InvalidArguments: 2, Config: 2, MissingVariable: 2, ServerNotFound: 3, ToolNotFound: 3,
		ServerConnection: 4, Protocol: 4, Timeout: 5, AuthRequired: 6, ApprovalRequired: 6, Internal: 70, Interrupted: 130,
		"SomethingElse": 70,
	} {
		if got := typ.ExitCode(); got != want {
			t.Errorf("%s: %d, want %d", typ, got, want)
		}
	}
}

func TestTraceback(t *testing.T) {
	t.Parallel()
	f := New(Config, "m", "h").Because(nil).Because(io.EOF).Trace("").Trace("more\n").Trace("more")
	if f.Traceback != "EOF\nmore" {
		t.Errorf("traceback %q", f.Traceback)
	}
	if !errors.Is(f, io.EOF) || f.Error() != "m" {
		t.Errorf("cause %v, message %q", errors.Unwrap(f), f.Error())
	}
	if g := New(Config, "m", "h"); g.Unwrap() != nil || g.Traceback != "" {
		t.Errorf("a fault without a cause has %v, %q", g.Unwrap(), g.Traceback)
	}
}

func TestFrom(t *testing.T) {
	t.Parallel()
	if From(nil) != nil {
		t.Error("no error is a fault")
	}
	f := New(Timeout, "m", "h").On("s", "t")
	if got := From(fmt.Errorf("outer: %w", f)); got != f {
		t.Errorf("wrapped: %+v", got)
	}
	if !Is(fmt.Errorf("outer: %w", f), Timeout) || Is(f, Usage) || Is(io.EOF, Timeout) || Is(nil, Timeout) {
		t.Error("Is does not tell types apart")
	}
	if got := From(io.EOF); got.Type != Internal || got.Message != "EOF" || !errors.Is(got, io.EOF) ||
		!strings.Contains(got.Help, "--verbose") {
		t.Errorf("a foreign error: %+v", got)
	}
}

// TestJSON holds the names of the members, and that what is not there is left out but for those
// that every reader may rely on.
func TestJSON(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]*Fault{
		`{"type":"UsageError","message":"m","traceback":"","help":""}`: New(Usage, "m", ""),
		`{"type":"InvalidArgumentsError","message":"m","traceback":"c","help":"h","server":"s","tool":"t","suggestions":["x"],` +
			`"arguments":[{"pointer":"","problem":"p"},{"pointer":"/a","problem":"p","expected":"e","nearest":"n"}],"result":{"a":1}}`: {
			Type: InvalidArguments, Message: "m", Traceback: "c", Help: "h", Server: "s", Tool: "t", Suggestions: []string{"x"},
			Arguments: []Argument{{Problem: "p"}, {Pointer: "/a", Problem: "p", Expected: "e", Nearest: "n"}},
			Result:    json.RawMessage(`{"a":1}`)},
	} {
		got, err := json.Marshal(f)
		if err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"": "''", "plain-word_1.2/x:y=z,@+": "plain-word_1.2/x:y=z,@+", "a b": "'a b'", "$HOME": "'$HOME'", "it's": `'it'\''s'`,
		"{}": "'{}'", "a\nb": "'a\nb'", "*": "'*'", "~": "'~'", "#": "'#'", "!": "'!'", "`x`": "'`x`'", "é": "é",
	} {
		if got := Quote(word); got != want {
			t.Errorf("Quote(%q) = %s, want %s", word, got, want)
		}
	}
}

func TestQuoteForSh(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh on this machine: what a shell reads cannot be checked")
	}
	for _, s := range []string{"", "plain", "it's", `'"$x" \ * ; & <a> |`, "a\nb", "~", "é", "#x", "{a,b}"} {
		out, err := exec.Command(sh, "-c", "printf %s "+Quote(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("%q became %q, %v", s, out, err)
		}
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"title", "title"}: 0, {"titel", "title"}: 1, {"ttile", "title"}: 1, {"title", "titles"}: 1, {"itle", "title"}: 1,
		{"tilte", "title"}: 1, {"eltit", "title"}: 4, {"ab", "ba"}: 2, {"gti", "git"}: 1, {"über", "uber"}: 1, {"abcd", "badc"}: 3,
	} {
		if got := Edits(pair[0], pair[1]); got != want {
			t.Errorf("Edits(%q, %q) = %d, want %d", pair[0], pair[1], got, want)
		}
	}
}

// TestBecauseSaysNothingTwice: a message that has its cause in it is not followed by that cause.
func TestBecauseSaysNothingTwice(t *testing.T) {
	t.Parallel()
	if f := New(Config, "cannot read a: EOF", "").Because(io.EOF); f.Traceback != "" || !errors.Is(f, io.EOF) {
		t.Errorf("%+v", f)
	}
}
