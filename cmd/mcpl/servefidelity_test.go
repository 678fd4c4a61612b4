//go:build linux || darwin

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// writer writes random JSON: what a decoder and an encoder would write otherwise, in odd places.
type writer struct {
	*rand.Rand
	bytes.Buffer
}

func (w *writer) one(of ...string) string { return of[w.IntN(len(of))] }

// space is white space between tokens.
func (w *writer) space() { w.WriteString(w.one("", "", "", "", " ", "  ", "\t")) }

func (w *writer) text() string {
	return w.one(`""`, `"a"`, `"<&>"`, `"\u003c\u0026"`, `"\/"`, `"é"`, `"\u00e9"`, `"😀"`, `"\ud83d\ude00"`, `"\ud800"`,
		"\"\u2028\"", `"\u2028"`, `"\u0000\b\f"`, `"a\nb\t\"\\"`, `"`+"\u200b"+`"`, `"NaN"`, `"9007199254740993"`)
}

// value writes a value.
func (w *writer) value(depth int) {
	kind := w.IntN(8)
	if depth == 0 {
		kind = w.IntN(4)
	}
	switch kind {
	case 0:
		w.WriteString(w.one("true", "false", "null"))
	case 1:
		w.WriteString(w.one("0", "-0", "1.0", "1e2", "1E+2", "0.1e-7", "9007199254740993", "-9223372036854775809",
			"123456789012345678901234567890", "3.141592653589793238462643", "1e400"))
	case 2, 3:
		w.WriteString(w.text())
	case 4, 5:
		w.list('[', ']', w.IntN(4), func() { w.value(depth - 1) })
	default:
		w.list('{', '}', w.IntN(5), func() { w.member(w.text(), depth-1) })
	}
}

func (w *writer) member(name string, depth int) {
	w.WriteString(name)
	w.space()
	w.WriteByte(':')
	w.space()
	w.value(depth)
}

func (w *writer) list(begin, end byte, n int, element func()) {
	w.WriteByte(begin)
	for i := range n {
		if i > 0 {
			w.WriteByte(',')
		}
		w.space()
		element()
		w.space()
	}
	w.WriteByte(end)
}

// object returns an object with these members, as they are, among random ones. White space is only within its values:
// that between members is not kept.
func (w *writer) object(members ...string) string {
	for range w.IntN(5) {
		w.Reset()
		w.WriteString(w.text())
		w.WriteByte(':')
		w.value(3)
		members = append(members, w.String())
	}
	w.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

// result returns a result of tools/call.
func (w *writer) result() string {
	var members []string
	maybe := func(name string, value func()) {
		if w.IntN(2) == 0 {
			w.Reset()
			w.WriteString(name + ":")
			value()
			members = append(members, w.String())
		}
	}
	any := func() { w.value(4) }
	maybe(`"content"`, func() {
		w.list('[', ']', w.IntN(3), func() {
			w.list('{', '}', 2, func() { w.member(w.one(`"type"`, `"text"`, `"novel"`), 2) })
		})
	})
	maybe(`"structuredContent"`, any)
	maybe(`"isError"`, func() { w.WriteString(w.one("true", "false")) })
	maybe(`"_meta"`, func() { w.list('{', '}', w.IntN(3), func() { w.member(w.text(), 2) }) })
	maybe(`"deep"`, func() {
		depth := w.IntN(200)
		w.WriteString(strings.Repeat(w.one(`[1,`, `{"a":`), depth)) // what it begins with ends it
		begun := w.String()[len(`"deep":`):]
		w.WriteString("null" + strings.Repeat(map[bool]string{true: "]", false: "}"}[strings.HasPrefix(begun, "[")], depth))
	})
	return w.object(members...)
}

// latest waits until the latest message begins so, and returns it.
func (f *face) latest(begin string) string {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.ended && (len(f.heard) == 0 || !strings.HasPrefix(f.heard[len(f.heard)-1], begin)) {
		f.more.Wait()
	}
	return f.heard[len(f.heard)-1]
}

// fidelity is a server that a gateway stands in front of, and what it is to hand on.
type fidelity struct {
	home
	definitions []string // byte for byte
	results     []string // of the tools r0, r1 ...
}

// fuzzed is the number of random results, fewer under the race detector, which makes each call slow.
func fuzzed() int {
	if raced {
		return 100
	}
	return 1000
}

// newFidelity returns a server with the tools of the ranking's data, with 100 random definitions, and with a tool for
// each random result.
func newFidelity(t *testing.T) fidelity {
	t.Helper()
	w := &writer{Rand: rand.New(rand.NewPCG(1, 2))}
	var f fidelity
	var script mcptest.Script
	define := func(def string) {
		f.definitions = append(f.definitions, def)
		script.Tools = append(script.Tools, mcptest.Tool{Def: mcptest.Raw(def)})
	}
	catalogue, err := os.ReadFile(filepath.Join("..", "..", "testdata", "eval", "tools.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(catalogue)) {
		var of struct{ Server, Tool string }
		if err := json.Unmarshal([]byte(line), &of); err != nil {
			t.Fatal(err)
		}
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), fmt.Sprintf(`{"server":%q,"tool":%q,`, of.Server, of.Tool))
		if !ok {
			t.Fatalf("the line begins otherwise: %s", line)
		}
		define(fmt.Sprintf(`{"name":"%s-%s",%s`, of.Server, of.Tool, rest))
	}
	for i := range 100 {
		define(w.object(fmt.Sprintf(`"name":"d%d"`, i), `"description":`+w.text(), `"inputSchema":{"type":"object","x":`+w.text()+`}`))
	}
	for i := range fuzzed() {
		f.results = append(f.results, w.result())
		script.Tools = append(script.Tools, mcptest.Tool{Name: fmt.Sprint("r", i),
			Behaviour: mcptest.Behaviour{Result: mcptest.Raw(f.results[i])}})
	}
	f.home = newHome(t, script)
	return f
}

// listed fails unless a list of tools has each definition, under its name for clients.
func (f fidelity) listed(t *testing.T, list string) {
	t.Helper()
	for _, def := range f.definitions {
		name := strings.Index(def, `"name":"`) + len(`"name":"`)
		if want := def[:name] + "s_" + def[name:]; !strings.Contains(list, want) {
			t.Errorf("the list has no %s", want)
		}
	}
}

// answered fails unless a response is the server's n-th result, with the member that newer revisions want.
func (f fidelity) answered(t *testing.T, n int, isModern bool, got string) {
	t.Helper()
	if _, message, ok := strings.Cut(got, "data: "); ok { // an answer that takes longer than others is streamed
		got = strings.TrimSpace(message)
	}
	want := f.results[n]
	if isModern {
		want = strings.TrimSuffix(want, "}") + `,"resultType":"complete"}`
		want = strings.Replace(want, "{,", "{", 1)
	}
	if got != fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, n+1, want) {
		t.Errorf("result %d is\n%s\nnot\n%s", n, got, want)
	}
}

// TestServeFidelity hands definitions and results on byte for byte, over stdio and over HTTP, to clients of both eras.
func TestServeFidelity(t *testing.T) {
	t.Parallel()
	f := newFidelity(t)
	indexed, _, stderr := f.mcpl(t, "list", "--refresh") // by all of them at once it would be done four times
	if err := indexed.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	calls := func(n int, isModern bool) (body string, headers []string) {
		name := fmt.Sprint("s_r", n)
		if isModern {
			body, headers = modern("tools/call", name, "")
			return strings.Replace(body, `"id":1,`, fmt.Sprintf(`"id":%d,`, n+1), 1), headers
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, n+1, name), nil
	}
	for name, isModern := range map[string]bool{"older": false, "newer": true} {
		t.Run("stdio "+name, func(t *testing.T) {
			t.Parallel()
			c := f.serve(t, "--expose", "all")
			c.lastID = fuzzed()
			list, _ := modern("tools/list", "", "")
			if !isModern {
				c.initialize(`{}`)
				list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
			}
			c.send(strings.Replace(list, `"id":1,`, `"id":"list",`, 1))
			f.listed(t, c.until(`"id":"list"`))
			for n := range fuzzed() {
				body, _ := calls(n, isModern)
				c.send(body)
				f.answered(t, n, isModern, c.latest(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, n+1)))
			}
		})
		t.Run("HTTP "+name, func(t *testing.T) {
			t.Parallel()
			s := f.serveHTTP(t, "--expose", "all")
			var session []string
			list, headers := modern("tools/list", "", "")
			if !isModern {
				session = []string{s.session()}
				list, headers = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, session
			}
			f.listed(t, s.ask("POST", list, headers...).body)
			for n := range fuzzed() {
				body, headers := calls(n, isModern)
				f.answered(t, n, isModern, s.ask("POST", body, append(headers, session...)...).body)
			}
		})
	}
}
