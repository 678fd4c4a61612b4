//go:build linux || darwin

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// sessionServer is an MCP server over HTTP that knows its sessions. The tool who says in which one it was called; touch
// says in the stream of that one that the lists and the resource w:one have changed.
type sessionServer struct {
	mu    sync.Mutex
	last  int
	ended []string               // sessions that were deleted
	news  map[string]chan string // what the stream of a session is to say
}

// ServeHTTP implements http.Handler.
func (s *sessionServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	_ = json.NewDecoder(r.Body).Decode(&m) // only a POST has a body
	id := r.Header.Get("Mcp-Session-Id")
	s.mu.Lock()
	if m.Method == "initialize" {
		s.last++
		id = fmt.Sprint("upstream-", s.last)
		s.news[id] = make(chan string, 9)
	}
	if r.Method == http.MethodDelete {
		s.ended = append(s.ended, id)
	}
	news := s.news[id]
	s.mu.Unlock()
	if r.Method == http.MethodGet {
		s.stream(w, r, news)
		return
	}
	if m.Params.Name == "touch" {
		news <- `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"w:one"}}`
		news <- `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	}
	answer, isRequest := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}},` +
			`"serverInfo":{"name":"sessions","version":"1"}}`,
		"tools/list":               `{"tools":[{"name":"who","inputSchema":{}},{"name":"touch","inputSchema":{}}]}`,
		"resources/list":           `{"resources":[{"uri":"w:one","name":"one"}]}`,
		"resources/templates/list": `{"resourceTemplates":[]}`,
		"resources/subscribe":      `{}`, "resources/unsubscribe": `{}`, "ping": `{}`,
		"tools/call": fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, id),
	}[m.Method]
	if !isRequest {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Mcp-Session-Id", id)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer)
}

// stream says the news of a session until its client goes.
func (s *sessionServer) stream(w http.ResponseWriter, r *http.Request, news <-chan string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush() // a client that has gone is seen below
	for {
		select {
		case text := <-news:
			fmt.Fprintf(w, "data: %s\n\n", text)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// hasEnded reports whether a session was deleted.
func (s *sessionServer) hasEnded(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.ended, id)
}

// scopeHome is a home with the server "s" over stdio with a scope, and "w" over HTTP.
func scopeHome(t *testing.T, scope string, script mcptest.Script) (home, *sessionServer) {
	t.Helper()
	upstream := &sessionServer{news: make(map[string]chan string)}
	web := httptest.NewServer(upstream)
	t.Cleanup(web.Close)
	h := newWarmHome(t, script)
	config := fmt.Sprintf(`{"mcpServers":{"s":{"command":"mcptest","args":["script.json"],"scope":%q},"w":{"type":"http","url":%q}}}`,
		scope, web.URL)
	if err := os.WriteFile(filepath.Join(h.dir, ".mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return h, upstream
}

// callAs calls a tool in a session and returns the text of its result.
func (s site) callAs(session, name string) string {
	s.t.Helper()
	r := s.ask("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, name), session)
	_, text, found := strings.Cut(r.body, `"text":"`)
	text, _, _ = strings.Cut(text, `"`)
	if !found {
		s.t.Fatalf("%+v", r)
	}
	return text
}

// TestServeSessionsUpstream: each session has a session of its own at a server over HTTP, which ends with it, and a
// process of its own of a server whose entry says so; by both doors.
func TestServeSessionsUpstream(t *testing.T) {
	t.Parallel()
	for _, door := range []string{"off", "on"} {
		t.Run("daemon "+door, func(t *testing.T) {
			t.Parallel()
			h, upstream := scopeHome(t, "session", servedScript())
			s := h.serveHTTP(t, "--expose", "all", "--daemon", door)
			ada, bob := s.session(), s.session()
			for range 2 {
				s.callAs(ada, "s_steps")
				s.callAs(bob, "s_steps")
			}
			starts := len(mcptest.Lines(t, h.starts))
			first, second, none := s.callAs(ada, "w_who"), s.callAs(bob, "w_who"), s.callAs("Mcp-Session-Id:", "w_who")
			if first == second || first == none || second == none || s.callAs(ada, "w_who") != first || s.callAs(bob, "w_who") != second {
				t.Errorf("%s, %s, %s", first, second, none)
			}
			if n := alive(t, h.starts); n != 2 || starts > 3 { // one may have been listed
				t.Errorf("%d of %d processes run", n, starts)
			}
			s.is(s.ask("DELETE", "", ada), 204)
			mcptest.Wait(t, "the end of the upstream session", func() bool { return upstream.hasEnded(first) })
			mcptest.Wait(t, "the end of the process", func() bool { return alive(t, h.starts) == 1 })
			if s.callAs(bob, "w_who") != second || upstream.hasEnded(second) {
				t.Error("the other session has ended too")
			}
			s.callAs(bob, "s_steps")
			if n := len(mcptest.Lines(t, h.starts)); n != starts {
				t.Errorf("%d processes were started after the %d", n, starts)
			}
			s.end()
			mcptest.Wait(t, "the end of all that belongs to sessions", func() bool {
				return upstream.hasEnded(second) && alive(t, h.starts) == 0
			})
		})
	}
}

// TestServeSessionNews: what a server says in the upstream session of one client reaches that client alone.
func TestServeSessionNews(t *testing.T) {
	t.Parallel()
	for _, door := range []string{"off", "on"} {
		t.Run("daemon "+door, func(t *testing.T) {
			t.Parallel()
			h, _ := scopeHome(t, "session", servedScript())
			s := h.serveHTTP(t, "--expose", "all", "--daemon", door)
			sessions := []string{s.session(), s.session()}
			var streams []*bufio.Scanner
			for _, id := range sessions {
				s.is(s.ask("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, id), 200, `"w_touch"`)
				s.is(s.ask("POST", `{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"w:one"}}`, id), 200, `"result":{}`)
				resp := s.open(t.Context(), "GET", "", id)
				defer resp.Body.Close()
				streams = append(streams, bufio.NewScanner(resp.Body))
			}
			s.callAs(sessions[0], "w_touch")
			awaitLine(t, streams[0], `notifications/resources/updated`)
			awaitLine(t, streams[0], `notifications/tools/list_changed`)
			// The first that the other one hears of is its own touch.
			s.callAs(sessions[1], "w_touch")
			var heard []string
			for len(heard) < 2 && streams[1].Scan() {
				if text, is := strings.CutPrefix(streams[1].Text(), "data: {"); is {
					heard = append(heard, text)
				}
			}
			if all := strings.Join(heard, "\n"); len(heard) != 2 || !strings.Contains(heard[0], "resources/updated") ||
				!strings.Contains(heard[1], "tools/list_changed") {
				t.Errorf("heard %s", all)
			}
		})
	}
}

// TestServeScopeKilled: the daemon ends the processes of a gateway that was killed, and no others.
func TestServeScopeKilled(t *testing.T) {
	t.Parallel()
	h, upstream := scopeHome(t, "session", servedScript())
	f := h.serve(t, "--expose", "all")
	f.initialize(`{}`)
	f.has(f.call("s_steps", `{}`), `done`)
	f.has(f.call("w_who", `{}`), `upstream-`)
	before := alive(t, h.starts)
	cmd, _, stderr := h.mcpl(t, "serve", "--expose", "all")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(out)
	fmt.Fprintln(in, hello)
	awaitLine(t, answers, `"id":1`)
	for id, name := range []string{"s_steps", "w_who"} {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`+"\n", 2+id, name)
		awaitLine(t, answers, fmt.Sprintf(`"id":%d`, 2+id))
	}
	own := answers.Text()
	if n := alive(t, h.starts); n != before+1 {
		t.Errorf("%d processes, %d before: %s", n, before, stderr)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	mcptest.Wait(t, "the end of its process", func() bool { return alive(t, h.starts) == before })
	_, own, _ = strings.Cut(own, `"text":"`)
	own, _, _ = strings.Cut(own, `"`)
	mcptest.Wait(t, "the end of its session "+own, func() bool { return upstream.hasEnded(own) })
	f.has(f.call("s_steps", `{}`), `done`)
	if n := alive(t, h.starts); n != before {
		t.Errorf("%d processes, %d before", n, before)
	}
}

// TestServeWhoAsks: two gateways over one daemon are two clients of a server that both share: its question reaches the
// one whose call it belongs to.
func TestServeWhoAsks(t *testing.T) {
	t.Parallel()
	script := servedScript()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "slow", Text: "late",
		Behaviour: mcptest.Behaviour{Delay: mcptest.Duration(2e9)}})
	h, _ := scopeHome(t, "shared", script)
	ada, bob := h.serve(t, "--expose", "all"), h.serve(t, "--expose", "all")
	for _, f := range []*face{ada, bob} {
		f.initialize(`{"elicitation":{}}`)
		f.has(f.call("s_steps", `{}`), `done`)
	}
	slow := ada.begin("tools/call", `{"name":"s_slow"}`)
	mcptest.Wait(t, "the call to arrive", func() bool {
		return strings.Contains(strings.Join(mcptest.Lines(t, h.received), "\n"), `"slow"`)
	})
	asking := bob.begin("tools/call", `{"name":"s_ask"}`)
	question := bob.until(`elicitation/create`, `Who?`)
	var q struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(question), &q); err != nil {
		t.Fatal(err)
	}
	bob.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Bob"}}}`, q.ID))
	bob.has(bob.until(asking), `Bob`)
	ada.has(ada.until(slow), `late`)
	ada.mu.Lock()
	defer ada.mu.Unlock()
	if all := strings.Join(ada.heard, "\n"); strings.Contains(all, "elicitation/create") {
		t.Errorf("the other one was asked:\n%s", all)
	}
}

// TestServeUsers: the sessions of one token share a process of a server whose entry says so, and hear its news; those
// of another token have another.
func TestServeUsers(t *testing.T) {
	t.Parallel()
	for _, door := range []string{"off", "on"} {
		t.Run("daemon "+door, func(t *testing.T) {
			t.Parallel()
			script := servedScript()
			script.Methods = map[string]mcptest.Behaviour{"resources/subscribe": {Result: `{}`}}
			script.Tools = append(script.Tools, mcptest.Tool{Name: "touch", Text: "touched",
				Behaviour: mcptest.Behaviour{Asks: []mcptest.Ask{{Method: "notifications/tools/list_changed", ID: "none"},
					{Method: "notifications/resources/updated", Params: `{"uri":"a:one"}`, ID: "none"}}}})
			h, _ := scopeHome(t, "user", script)
			s := h.serveAt(t, "127.0.0.1:0", "--expose", "all", "--daemon", door)
			var added struct{ Token string }
			if err := json.Unmarshal([]byte(h.serveToken(t, "add", "bob")), &added); err != nil {
				t.Fatal(err)
			}
			ada, bob := "Authorization: Bearer "+s.token, "Authorization: Bearer "+added.Token
			do := func(token, session, method, params string) {
				t.Helper()
				s.is(s.ask("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":%q,"params":%s}`, method, params), token, session),
					200, `"result":`)
			}
			const touch = `{"name":"s_touch"}`
			var first string
			var streams []*bufio.Scanner
			for _, token := range []string{ada, ada, bob} {
				session := s.session(token)
				do(token, session, "tools/list", `{}`)
				do(token, session, "resources/subscribe", `{"uri":"a:one"}`)
				resp := s.open(t.Context(), "GET", "", token, session)
				defer resp.Body.Close()
				streams = append(streams, bufio.NewScanner(resp.Body))
				if first == "" {
					first = session
				}
				if token == bob {
					do(ada, first, "tools/call", touch)
					do(bob, session, "tools/call", touch)
				}
			}
			for _, stream := range streams {
				updates := 0
				for stream.Scan() && !strings.Contains(stream.Text(), "tools/list_changed") {
					updates += strings.Count(stream.Text(), "resources/updated")
				}
				if updates != 1 {
					t.Errorf("%d updates before the news of the list", updates)
				}
			}
			if n := alive(t, h.starts); n != 2 {
				t.Errorf("%d processes run", n)
			}
			s.is(s.ask("DELETE", "", ada, first), 204)
			do(ada, s.session(ada), "tools/call", touch)
			if n := len(mcptest.Lines(t, h.starts)); n > 3 { // one may have been listed
				t.Errorf("%d processes were started", n)
			}
		})
	}
}

// TestServeModel: a server that a session has for itself hears in the handshake whether the session's client has a
// language model, and asks that; a server that is shared does not.
func TestServeModel(t *testing.T) {
	t.Parallel()
	script := servedScript()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "ponder", Replies: true,
		Behaviour: mcptest.Behaviour{Asks: []mcptest.Ask{{Method: "sampling/createMessage", Wait: true,
			Params: `{"messages":[],"maxTokens":9}`}}}})
	for scope, declared := range map[string]int{"session": 1, "shared": 0} {
		t.Run(scope, func(t *testing.T) {
			t.Parallel()
			h, _ := scopeHome(t, scope, script)
			f, other := h.serve(t, "--expose", "all"), h.serve(t, "--expose", "all")
			f.initialize(`{"sampling":{}}`)
			other.initialize(`{}`)
			other.has(other.call("s_ponder", `{}`), `no language model`)
			asking := f.begin("tools/call", `{"name":"s_ponder"}`)
			var q struct{ ID json.RawMessage }
			if err := json.Unmarshal([]byte(f.until(`sampling/createMessage`, `"maxTokens":9`)), &q); err != nil {
				t.Fatal(err)
			}
			f.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"42"}}}`, q.ID))
			f.has(f.until(asking), `42`)
			n := 0
			for _, line := range mcptest.Lines(t, h.received) {
				if strings.Contains(line, `"initialize"`) && strings.Contains(line, `"sampling":{`) {
					n++
				}
			}
			if n != declared {
				t.Errorf("%d handshakes declare a language model, not %d", n, declared)
			}
		})
	}
}

// TestServeEphemeral calls a server of which each call gets a process of its own.
func TestServeEphemeral(t *testing.T) {
	t.Parallel()
	for _, daemon := range []string{"on", "off"} {
		h := newHome(t, servedScript())
		h.write(t, ".mcp.json", map[string]any{"mcpServers": map[string]any{"s": map[string]any{"command": "mcptest",
			"args": []string{"script.json"}, "lifecycle": "ephemeral"}}})
		f := h.serve(t, "--expose", "all", "--daemon", daemon)
		f.initialize(`{}`)
		f.has(f.do("tools/list", `{}`), `"s_odd"`)
		for range 2 {
			f.has(f.do("tools/call", `{"name":"s_odd","arguments":{"a":1}}`), `"type":"novel"`)
		}
	}
}
