//go:build linux || darwin

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// TestServeRevoked: what a token has begun ends soon after it is revoked, though no connection waits for it: a call in
// a session, one of a client that was asked by its result, and the server that the session has for itself.
func TestServeRevoked(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	h.write(t, ".mcp.json", map[string]any{"mcpServers": map[string]any{
		"s":   map[string]any{"command": "mcptest", "args": []string{"script.json"}},
		"own": map[string]any{"command": "mcptest", "args": []string{"script.json"}, "scope": "session"}}})
	path := filepath.Join(h.dir, "audit.jsonl")
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all", "--audit", path)
	eve, ada := h.bearer(t, "eve"), "Authorization: Bearer "+s.token
	body, headers := modern("tools/call", "s_ask", "")
	s.is(s.ask("POST", body, append(headers, eve)...), 200, `"resultType":"input_required"`)
	id := s.session(eve)
	resp := s.open(t.Context(), "POST", callOf(2, "own_hang", `{}`), id, eve) // it begins to answer when the call lasts
	resp.Body.Close()
	own := s.session(ada)
	s.is(s.ask("POST", callOf(2, "own_odd", `{"a":1}`), own, ada), 200, "novel")
	h.serveToken(t, "revoke", "eve")
	for _, line := range audited(t, path, 3) {
		if line.Principal == "eve" && line.Outcome != "cancelled" || line.Principal == "default" && line.Outcome != "ok" {
			t.Errorf("%+v", line)
		}
	}
	s.is(s.ask("POST", ping, id, eve), 401)
	s.is(s.ask("POST", callOf(3, "own_odd", `{"a":1}`), own, ada), 200, "novel")
	s.is(s.ask("POST", callOf(4, "s_ask", `{}`), own, ada), 200)
	if said := s.end(); strings.Contains(said, "panic") {
		t.Error(said)
	}
}

// TestServeTooMuch: a client with too much in flight hears of it, and can still say small things. Others find room.
func TestServeTooMuch(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "hang", Behaviour: mcptest.Behaviour{Never: true}},
		{Name: "say", Text: "said"}}})
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	eve, ada := h.bearer(t, "eve"), "Authorization: Bearer "+s.token
	id, own := s.session(eve), s.session(ada)
	large := `{"x":"` + strings.Repeat("y", 15<<20) + `"}`
	for i := range 4 {
		s.open(t.Context(), "POST", callOf(i+2, "s_hang", large), id, eve).Body.Close()
	}
	more := s.ask("POST", callOf(6, "s_say", large), id, eve)
	s.is(more, 429, `"code":-32603`, "at most 67108864 bytes", "try again when one has been answered")
	if more.header.Get("Retry-After") != "1" {
		t.Error(more.header)
	}
	s.is(s.ask("POST", ping, id, eve), 200)
	s.is(s.ask("POST", callOf(2, "s_say", large), own, ada), 200, "said")
	s.is(s.ask("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, id, eve), 202)
	for range 100 { // until the call has ended
		if more = s.ask("POST", callOf(7, "s_say", large), id, eve); more.status == 200 {
			break
		}
	}
	s.is(more, 200, "said")
}
