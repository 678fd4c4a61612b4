//go:build linux || darwin

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// subscribed counts how often the server of a home was subscribed to a resource.
func (h home) subscribed(t *testing.T, uri string) (times int) {
	t.Helper()
	for _, line := range mcptest.Lines(t, h.received) {
		if strings.Contains(line, `"resources/subscribe"`) && strings.Contains(line, `"`+uri+`"`) {
			times++
		}
	}
	return times
}

// TestServeChoicesCostOthersNothing: what one principal switches makes no work at servers, and another configuration
// makes a subscription anew only if it changes the server's entry.
func TestServeChoicesCostOthersNothing(t *testing.T) {
	t.Parallel()
	script := servedScript()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "update", Text: "done", Behaviour: mcptest.Behaviour{
		Asks: []mcptest.Ask{{Method: "notifications/resources/updated", Params: `{"uri":"a:one"}`, ID: "none"}}}})
	script.Methods = map[string]mcptest.Behaviour{"resources/subscribe": {Result: `{}`}}
	h := newHome(t, script)
	entry := func(variable string) {
		h.write(t, ".mcp.json", map[string]any{"mcpServers": map[string]any{"s": map[string]any{"command": "mcptest",
			"args": []string{"script.json"}, "env": map[string]string{"VARIABLE": variable}, "scope": "shared"}}})
	}
	entry("one")
	ada, bob := h.bearer(t, "ada"), h.bearer(t, "bob")
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	id := s.session(bob)
	stream := s.open(t.Context(), "GET", "", bob, id)
	defer stream.Body.Close()
	news := bufio.NewScanner(stream.Body)
	s.is(s.ask("POST", call(2, "resources/subscribe", `{"uri":"a:one"}`), bob, id), 200, `"result":{}`)
	// It is made once to answer the client, and once when it is watched.
	mcptest.Wait(t, "the subscription", func() bool { return h.subscribed(t, "a:one") == 2 })
	for i := range 20 {
		on, off := "s_odd", "s_steps"
		if i%2 > 0 {
			on, off = off, on
		}
		s.is(s.call("enable_tools", fmt.Sprintf(`{"enable":[%q],"disable":[%q]}`, on, off), ada), 200, `\"success\":true`)
		s.is(s.call(off, "{}", ada), 200, "is switched off")
	}
	s.is(s.call("s_update", "{}", bob), 200, "done")
	awaitLine(t, news, "notifications/resources/updated")
	h.writeText(t, "mcpl/config.toml", "[profiles.new]\nservers = [\"s\"]\n")
	mcptest.Wait(t, "the profile", func() bool {
		return s.path("/mcp/p/new").ask("POST", call(3, "tools/list", `{}`), bob).status == 200
	})
	s.is(s.call("s_update", "{}", bob), 200, "done")
	awaitLine(t, news, "notifications/resources/updated")
	if times := h.subscribed(t, "a:one"); times != 2 {
		t.Errorf("it was subscribed to %d times", times)
	}
	entry("two")
	mcptest.Wait(t, "another subscription", func() bool { return h.subscribed(t, "a:one") > 2 })
}

// TestServeChoiceByHand: who edits the file of a principal changes what its clients see, and they hear of it.
func TestServeChoiceByHand(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	ada := h.bearer(t, "ada")
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	id := s.session(ada)
	stream := s.open(t.Context(), "GET", "", ada, id)
	defer stream.Body.Close()
	news := bufio.NewScanner(stream.Body)
	s.is(s.ask("POST", call(2, "tools/list", `{}`), ada, id), 200, `"name":"s_odd"`)
	s.is(s.call("enable_tools", `{"disable":["s_steps"]}`, ada), 200, `\"success\":true`)
	awaitLine(t, news, "notifications/tools/list_changed")
	r := s.ask("POST", call(3, "tools/list", `{}`), ada, id)
	if s.is(r, 200, `"name":"s_odd"`); strings.Contains(r.body, `"name":"s_steps"`) {
		t.Error("s_steps is on")
	}
	files, err := filepath.Glob(filepath.Join(h.dir, "mcpl", "principals", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte(`{"disabled": ["s/odd"]}`), 0o600); err != nil { // in place, as editors do
		t.Fatal(err)
	}
	awaitLine(t, news, "notifications/tools/list_changed")
	r = s.ask("POST", call(4, "tools/list", `{}`), ada, id)
	if s.is(r, 200, `"name":"s_steps"`); strings.Contains(r.body, `"name":"s_odd"`) {
		t.Error("s_odd is on")
	}
}
