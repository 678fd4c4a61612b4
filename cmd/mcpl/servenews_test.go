//go:build linux || darwin

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// awaitLine reads lines up to one with this text.
func awaitLine(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	var read []string
	for lines.Scan() {
		read = append(read, lines.Text())
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	t.Errorf("the stream ended without %q: %q", text, read)
}

// TestServeAnnounces tells clients that see the tools of a server what it says of their list, once for each burst,
// even if the list is as it was.
func TestServeAnnounces(t *testing.T) {
	t.Parallel()
	again := mcptest.Ask{Method: "notifications/tools/list_changed", ID: "none"}
	s := newHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "touch", Text: "done",
		Behaviour: mcptest.Behaviour{Asks: []mcptest.Ask{again, again}}}}}).serveHTTP(t, "--expose", "all")
	s.hearsOfTools(s)
}

// hearsOfTools listens until it hears that the list of tools has changed, as the server says at each call of the tool
// touch, which is made at another door of the gateway, or the same.
func (s site) hearsOfTools(at site) {
	s.t.Helper()
	t := s.t
	body, headers := modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true},`)
	resp := s.open(t.Context(), "POST", body, headers...)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	awaitLine(t, lines, "notifications/subscriptions/acknowledged")
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		awaitLine(t, lines, "notifications/tools/list_changed")
	}()
	for told := false; !told; { // the gateway listens to a server once it was used
		body, headers := modern("tools/call", "s_touch", "")
		at.is(at.ask("POST", body, headers...), 200, "done")
		select {
		case <-heard:
			told = true
		default:
		}
	}
}

// TestServeLostCall goes on to show what a server offers that has lost one call, and answers others.
func TestServeLostCall(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(newWebServer())
	t.Cleanup(web.Close)
	h := newHome(t, mcptest.Script{})
	config := fmt.Sprintf(`{"mcpServers":{"w":{"type":"http","url":%q}}}`, web.URL)
	if err := os.WriteFile(filepath.Join(h.dir, ".mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s := h.serveHTTP(t, "--expose", "all")
	for range 3 {
		s.is(s.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"w_lose"}}`), 200, "ended before it answered")
		s.is(s.ask("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"w_t"}}`), 200, `"ok"`)
		s.is(s.ask("POST", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`), 200, `"w_lose"`)
	}
}

// TestServePrimes begins the stream of an answer with an event without a message, for clients that know of that.
func TestServePrimes(t *testing.T) {
	t.Parallel()
	s := newHome(t, servedScript()).serveHTTP(t, "--expose", "all")
	id := s.session()
	steps := `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"s_steps","_meta":{"progressToken":5}}}`
	r := s.ask("POST", steps, id, "Mcp-Protocol-Version: 2025-11-25")
	if !strings.HasPrefix(r.body, "id: 2--1\nretry: 1000\ndata:\n\nid: 2-0\ndata: {") {
		t.Errorf("%q", r.body)
	}
	s.is(s.ask("GET", "", id, "Last-Event-ID: 2--1"), 200, "id: 2-0\n", `notifications/progress`, `"id":8,"result":`)
	if r = s.ask("POST", steps, id, "Mcp-Protocol-Version: 2025-06-18"); strings.Contains(r.body, "data:\n") {
		t.Errorf("%q", r.body)
	}
}

// TestServeSubscribesAnew: clients of every revision subscribe to a resource of a server of MCP 2026-07-28, and the
// subscription that they hear of is their own.
func TestServeSubscribesAnew(t *testing.T) {
	t.Parallel()
	updated := mcptest.Ask{Method: "notifications/resources/updated",
		Params: `{"uri":"a:one","_meta":{"io.modelcontextprotocol/subscriptionId":"upstream"}}`, ID: "none"}
	s := newHome(t, mcptest.Script{Modern: "only", Resources: []mcptest.Resource{{URI: "a:one", Text: "first"}},
		Tools: []mcptest.Tool{{Name: "touch", Text: "done", Behaviour: mcptest.Behaviour{Asks: []mcptest.Ask{updated}}}},
	}).serveHTTP(t, "--expose", "all")
	id := s.session()
	s.is(s.ask("POST", `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:one"}}`, id), 200, `"result":{}`)
	body, headers := modern("subscriptions/listen", "", `"notifications":{"resourceSubscriptions":["a:one"]},`)
	stream := s.open(t.Context(), "GET", "", id)
	defer stream.Body.Close()
	listening := s.open(t.Context(), "POST", body, headers...)
	defer listening.Body.Close()
	for want, in := range map[string]io.Reader{`"params":{"uri":"a:one"}}`: stream.Body,
		`"params":{"uri":"a:one","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`: listening.Body} {
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			awaitLine(t, bufio.NewScanner(in), `"notifications/resources/updated",`+want)
		}()
		for told := false; !told; { // the gateway listens a moment after it has answered
			s.is(s.ask("POST", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"s_touch"}}`, id), 200, "done")
			select {
			case <-heard:
				told = true
			default:
			}
		}
	}
}
