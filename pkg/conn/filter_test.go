package conn

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// filtered runs a stream through a filter and returns what it passes and drops.
func filtered(t testing.TB, in io.Reader, limit int) (passed string, dropped []string, tooLong bool) {
	t.Helper()
	drop := func(line []byte) { dropped = append(dropped, string(line)) }
	f := newMessageFilter(in, nil, drop, func(err error) { tooLong = errors.Is(err, errTooLong) })
	f.limit = limit
	out, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	<-f.ended
	if n, err := f.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Fatalf("after the end: %d, %v", n, err)
	}
	if cap(f.line) > 2*limit+f.in.Size() {
		t.Fatalf("%d bytes held for a limit of %d", cap(f.line), limit)
	}
	return string(out), dropped, tooLong
}

// deepMessage is a message with so many levels.
func deepMessage(levels int) string {
	return `{"jsonrpc":"2.0","result":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + "}"
}

// TestF12DeepMessage ends the stream at a message that is nested more deeply than can be read.
func TestF12DeepMessage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		line string
		want error
	}{
		"deep":             {deepMessage(maxDepth + 1), errTooDeep},
		"deep and cut off": {deepMessage(12_000)[:15_000], errTooDeep},
		"brackets in text": {`{"a":"` + strings.Repeat("[", 20_000) + `"`, nil},
		"not an object":    {strings.Repeat("[", 20_000), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got error
			f := newMessageFilter(strings.NewReader(tt.line+"\n"), nil, func([]byte) {}, func(err error) { got = err })
			if out, err := io.ReadAll(f); len(out) > 0 || err != nil || !errors.Is(got, tt.want) {
				t.Errorf("passed %d bytes, %v; refused as %v, want %v", len(out), err, got, tt.want)
			}
			<-f.ended
		})
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	const m1, m2 = `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"method":"x","jsonrpc":"2.0"}`
	for _, tt := range []struct {
		name, in, out string
		dropped       []string
	}{
		{"messages", m1 + "\n" + m2 + "\n", m1 + "\n" + m2 + "\n", nil},
		{"windows line ends", m1 + "\r\n" + m2 + "\r\n", m1 + "\n" + m2 + "\n", nil},
		{"no last line end", m1 + "\n" + m2, m1 + "\n" + m2 + "\n", nil},
		{"white space", "  \t" + m1 + "  \n", m1 + "\n", nil},
		{"byte order mark", "\ufeff" + m1 + "\n", m1 + "\n", nil},
		{"empty lines", "\n\r\n \n" + m1 + "\n\n", m1 + "\n", nil},
		{"banner", "Server ready\n" + m1 + "\nbye", m1 + "\n", []string{"Server ready", "bye"}},
		{"other JSON", "[]\n1\nnull\n\"{}\"\n{}\n{\"id\":1}\n" + m1 + "\n", m1 + "\n", []string{"[]", "1", "null", `"{}"`, "{}", `{"id":1}`}},
		{"a batch", "[" + m1 + "]\n", "", []string{"[" + m1 + "]"}},
		{"inside a log", `{"id":1,"got":` + m1 + "}\n", "", []string{`{"id":1,"got":` + m1 + "}"}},
		{"inside a string", `{"id":1,"msg":"\"jsonrpc\""}` + "\n", "", []string{`{"id":1,"msg":"\"jsonrpc\""}`}},
		{"behind a log", "got " + m1 + "\n", "", []string{"got " + m1}},
		{"as deep as is read", deepMessage(maxDepth) + "\n", deepMessage(maxDepth) + "\n", nil},
		{"half a message", `{"jsonrpc":"2.0","id":1,"resu` + "\n" + m1 + "\n", m1 + "\n", []string{`{"jsonrpc":"2.0","id":1,"resu`}},
		{"two on a line", m1 + m2 + "\n", "", []string{m1 + m2}},
		{"nothing", "", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for name, in := range map[string]io.Reader{
				"at once": strings.NewReader(tt.in), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
				"with the end": iotest.DataErrReader(strings.NewReader(tt.in)),
				"broken off":   io.MultiReader(strings.NewReader(tt.in), iotest.ErrReader(io.ErrClosedPipe)),
			} {
				out, dropped, tooLong := filtered(t, in, 1<<20)
				if out != tt.out || strings.Join(dropped, "\n") != strings.Join(tt.dropped, "\n") || tooLong {
					t.Errorf("%s: passed %q, dropped %q, too long %v", name, out, dropped, tooLong)
				}
			}
		})
	}
}

func TestFilterBound(t *testing.T) {
	t.Parallel()
	message := func(n int) string {
		const frame = `{"jsonrpc":"2.0","x":""}` + "\n"
		return strings.Replace(frame, `""`, `"`+strings.Repeat("a", n-len(frame))+`"`, 1)
	}
	const limit = 200_000 // more than the reader's own buffer
	for _, tt := range []struct {
		name, in string
		passed   int
		tooLong  bool
	}{
		{"as long as allowed", message(limit), limit, false},
		{"a byte more", message(limit + 1), 0, true},
		{"noise without end", strings.Repeat("x", 10*limit), 0, true},
		{"a good one before", message(100) + message(2*limit) + message(100), 100, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, _, tooLong := filtered(t, strings.NewReader(tt.in), limit)
			if len(out) != tt.passed || tooLong != tt.tooLong {
				t.Errorf("passed %d bytes, too long %v", len(out), tooLong)
			}
		})
	}
}

// FuzzFilter holds that whatever comes in, what goes out is lines that are messages, none of
// them made up, and that each line ends up on one side.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "{}", "\ufeff{\"jsonrpc\":1}\n\n", "x\r\n{\"jsonrpc\":\"2.0\",\"id\":1}", "{\"jsonrpc\":}\n", "{\"a\":\"\\\"jsonrpc\"}\n",
		"{\"\\u006asonrpc\":0}\n", "[{\"jsonrpc\":\"2.0\"}]\n{\"jsonrpc\":\"2.0\"}\r", "{\"jsonrpc\":\"2.0\"}\x00\n",
	} {
		f.Add([]byte(seed), uint16(50))
	}
	f.Fuzz(func(t *testing.T, in []byte, limit uint16) {
		out, dropped, tooLong := filtered(t, iotest.HalfReader(bytes.NewReader(in)), int(limit))
		lines := 0
		for line := range strings.Lines(out) {
			lines++
			if !strings.HasSuffix(line, "\n") || !bytes.Contains(in, []byte(strings.TrimSuffix(line, "\n"))) {
				t.Fatalf("passed %q, which is no line of %q", line, in)
			}
			if members, err := tool.SplitObject([]byte(line)); err != nil || !json.Valid([]byte(line)) || len(members) == 0 {
				t.Fatalf("passed %q: %v", line, err)
			}
			if len(line) > int(limit)+1 {
				t.Fatalf("passed a line of %d bytes, limit %d", len(line), limit)
			}
		}
		for _, line := range dropped {
			if isMessage, _ := classify([]byte(line)); isMessage {
				t.Fatalf("dropped the message %q", line)
			}
		}
		want := 0
		for line := range bytes.Lines(in) {
			if len(bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))) > 0 {
				want++
			}
		}
		if !tooLong && lines+len(dropped) != want {
			t.Fatalf("%d passed, %d dropped, of %d lines in %q", lines, len(dropped), want, in)
		}
	})
}
