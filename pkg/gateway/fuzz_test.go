package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// FuzzClient has each exposure take any lines: what it says is JSON, and the gateway goes on.
func FuzzClient(f *testing.F) {
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}` + "\n"
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"%","arguments":%}}` + "\n"
	for i, args := range []string{`{"activate":"* mcp__x__","deactivate":["a*"]}`, `{"names":["a/b"],"result":"x","jq":"."}`,
		`{"query":"a","limit":-1,"kind":"prompt"}`, `{"server":"s","tool":"t","arguments":"{\"a\":1}"}`, `{"enable":"[\"a\"]"}`} {
		name := []string{"activate", "read_tool", "search_tools", "call_tool", "enable_tools"}[i]
		f.Add(hello + strings.Replace(strings.Replace(call, "%", name, 1), "%", args, 1))
	}
	for _, request := range []string{`"resources/read","params":{"uri":"a:b"}`, `"prompts/get","params":{"name":"a"}`,
		`"completion/complete","params":{"ref":{"type":"ref/resource","uri":"a"}}`, `"logging/setLevel","params":{"level":7}`,
		`"resources/subscribe","params":{"uri":"x"}`, `"tools/call","params":{"name":"a","requestState":"AAAA","_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`} {
		f.Add(hello + `{"jsonrpc":"2.0","id":"a","method":` + request + "}\n")
	}
	f.Add("{\n[]\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n" +
		`{"jsonrpc":"2.0","id":1,"result":{}}`)
	g := empty(f)
	none := errors.New("there is none")
	g.opt.Switch = func(context.Context, string, []string, []string) (Switched, error) { return Switched{}, none }
	g.opt.Query = func(context.Context, string, json.RawMessage) ([]json.RawMessage, error) { return nil, none }
	f.Fuzz(func(t *testing.T, lines string) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // a subscription lasts until its client goes
		defer cancel()
		for _, expose := range Exposures() {
			q := newQueue()
			c := g.Connect("x", Identity{Expose: expose}, q)
			for line := range strings.Lines(lines) {
				c.take(ctx, []byte(line))
			}
			c.wg.Wait()
			c.Close()
			for _, message := range q.waiting {
				if !json.Valid(message) {
					t.Errorf("it said %q", message)
				}
			}
		}
	})
}

// FuzzSeal opens no text that was not sealed here for that purpose.
func FuzzSeal(f *testing.F) {
	s, err := newSealer(nil, time.Now)
	if err != nil {
		f.Fatal(err)
	}
	sealed, err := s.seal("a", 7, time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed, "b")
	f.Add(sealed+"A", "a")
	f.Add("=", "")
	f.Fuzz(func(t *testing.T, text, purpose string) {
		var into any
		if s.open(purpose, text, &into) == nil && (text != sealed || purpose != "a") {
			t.Errorf("it opens: %v", into)
		}
	})
}
