//go:build linux || darwin

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// until asks until an answer has a text.
func (s site) until(text, body string, headers ...string) {
	s.t.Helper()
	var last reply
	deadline := time.Now().Add(time.Minute)
	for last = s.ask("POST", body, headers...); !strings.Contains(last.body, text); last = s.ask("POST", body, headers...) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%q is not in %s", text, last.body)
		}
	}
}

const allTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// TestServeBrokenConfiguration keeps the last good configuration while the file is broken, says so once, and takes the
// new one when it is mended. A file that is gone counts, and so does what else changes.
func TestServeBrokenConfiguration(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	s := h.serveHTTP(t, "--expose", "all")
	id := s.session()
	s.is(s.ask("POST", allTools, id), 200, `"s_odd"`)
	call := callOf(2, "s_odd", `{"a":1}`)
	s.is(s.ask("POST", call, id), 200, "novel")
	good, err := os.ReadFile(filepath.Join(h.dir, ".mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	h.writeText(t, ".mcp.json", string(good)+"\ngarbage{")
	for began := time.Now(); time.Since(began) < time.Second; { // the gateway looks five times
		s.is(s.ask("POST", allTools, id), 200, `"s_odd"`)
		s.is(s.ask("POST", call, id), 200, "novel")
	}
	s.is(s.ask("POST", allTools, s.session()), 200, `"s_odd"`)
	h.writeText(t, ".mcp.json", strings.Replace(string(good), `"s":`, `"z":`, 1))
	s.until(`"z_odd"`, allTools, id)
	s.is(s.ask("POST", callOf(2, "z_odd", `{"a":1}`), id), 200, "novel")

	h.writeText(t, ".mcp.json", "garbage{")
	h.writeText(t, "mcpl/config.toml", "[[policy]]\nmatch = \"z/odd\"\naction = \"deny\"\n")
	s.until(`"error"`, allTools, id) // what is denied now would be allowed by what was read before
	h.writeText(t, ".mcp.json", string(good))
	s.until(`"s_odd"`, allTools, id)
	if err := os.Remove(filepath.Join(h.dir, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	s.until(`"tools":[{"name":"enable_tools"`, allTools, id)
	said := s.end()
	if n := strings.Count(said, "the configuration is left as it was: "); n < 1 || n > 2 ||
		!strings.Contains(said, ".mcp.json:2") {
		t.Errorf("%d notices: %s", n, said)
	}
}

// TestServeWithoutConfiguration works with no servers, says what a person does, and takes a configuration that appears.
func TestServeWithoutConfiguration(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	path := filepath.Join(h.dir, ".mcp.json")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f := h.serve(t)
	f.has(f.initialize(`{}`), `"serverInfo"`)
	f.has(f.do("tools/list", `{}`), `"search_tools"`, `"list_servers"`)
	f.has(f.do("resources/list", `{}`), `"resources":[]`)
	f.has(f.do("prompts/list", `{}`), `"prompts":[]`)
	f.has(f.do("tools/call", `{"name":"search_tools","arguments":{"query":"odd"}}`), `No tool fits`)
	answer := f.do("tools/call", `{"name":"list_servers","arguments":{}}`)
	f.has(answer, `"isError":true`, "no configuration of MCP servers was found", ".mcp.json", "mcpl list --config FILE")
	if strings.Contains(answer, "file that you have: list_servers") {
		t.Error(answer)
	}
	for _, exposure := range []string{"all", "activate"} {
		other := h.serve(t, "--expose", exposure)
		other.initialize(`{}`)
		other.has(other.do("tools/list", `{}`), `"result"`)
	}
	h.writeText(t, ".mcp.json", string(good))
	mcptest.Wait(t, "the configuration counts", func() bool {
		return strings.Contains(f.do("tools/call", `{"name":"search_tools","arguments":{"query":"odd"}}`), "s/odd")
	})
	f.exit()
	if n := strings.Count(f.said.String(), "no configuration of MCP servers was found, so there are no servers yet"); n != 1 {
		t.Errorf("%d notices: %s", n, f.said)
	}
}
