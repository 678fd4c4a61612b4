//go:build linux || darwin

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/authtest"
	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// echo is an MCP server over HTTP whose only tool says which credentials it got.
func echo(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m) // a DELETE has no body
		if r.Header.Get("Authorization") == "Bearer broken" {
			http.Error(w, "it fails for this one", http.StatusBadGateway)
			return
		}
		if m.Method == "ping" && r.Header.Get("Authorization") == "" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		result := map[string]string{
			"initialize":     `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true}},"serverInfo":{"name":"echo","version":"1"}}`,
			"resources/list": `{"resources":[{"uri":"e:one","name":"one"}]}`, "resources/templates/list": `{"resourceTemplates":[]}`,
			"resources/subscribe": fmt.Sprintf(`{"_meta":{"who":%q}}`, r.Header.Get("Authorization")),
			"tools/list":          `{"tools":[{"name":"who","inputSchema":{"type":"object"}}]}`,
			"ping":                `{}`,
			"tools/call": fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, "<"+r.Header.Get("Authorization")+"><"+
				r.Header.Get("X-Client-Token")+"><"+r.Header.Get("X-Team")+">"),
		}[m.Method]
		if result == "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// TestServeForwards: a server gets the headers of the client that its entry names, and no other; without them it is not
// called.
func TestServeForwards(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{})
	h.write(t, ".mcp.json", map[string]any{"mcpServers": map[string]any{"echo": map[string]any{"url": echo(t),
		"credentials": "forward", "forward": map[string]any{"Authorization": "X-Client-Token", "X-Team": "X-Client-Team"}}}})
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	own := "Authorization: Bearer " + s.token
	id := s.session(own)
	s.is(s.call("echo_who", "{}", own, id), 200, `"isError":true`, "which has not sent X-Client-Token, X-Client-Team")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			secret := fmt.Sprintf("canary-of-%d", i%4)
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo_who"}}`, i)
			r := s.ask("POST", body, own, []string{id, "X: y"}[i%2], "X-Client-Token: "+secret, "X-Client-Team: blue")
			s.is(r, 200, "<"+secret+"><><blue>")
		})
	}
	wg.Wait()
	if said := s.end(); strings.Contains(said, "canary") {
		t.Error(said)
	}
	h.lacks(t, "canary")
}

// lacks fails if a text stands in a file of the home.
func (h home) lacks(t *testing.T, secret string) {
	t.Helper()
	err := filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), secret) {
			t.Errorf("%s has %q", path, secret)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestServeForwardsToOne: what happens with the credentials of one client is not held against the server, and a
// subscription gets them too.
func TestServeForwardsToOne(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{})
	h.write(t, ".mcp.json", map[string]any{"mcpServers": map[string]any{"echo": map[string]any{"url": echo(t),
		"credentials": "forward", "forward": map[string]any{"Authorization": "X-Client-Token"}}}})
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	own := "Authorization: Bearer " + s.token
	s.is(s.call("echo_who", "{}", own, "X-Client-Token: Bearer broken"), 200, "502")
	s.is(s.call("echo_who", "{}", own, "X-Client-Token: Bearer fine"), 200, "<Bearer fine>")
	id := s.session(own)
	subscribe := `{"jsonrpc":"2.0","id":5,"method":"resources/subscribe","params":{"uri":"e:one"}}`
	s.is(s.ask("POST", subscribe, own, id), 200, "which has not sent X-Client-Token")
	s.is(s.ask("POST", subscribe, own, id, "X-Client-Token: Bearer broken"), 200, "502")
	s.is(s.ask("POST", subscribe, own, id, "X-Client-Token: Bearer fine"), 200, `"result":{}`)
	if r := s.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, own); !strings.Contains(r.body, "echo_who") {
		t.Error(r.body)
	}
}

// TestServeAPIKey: a server of the user's own, or one whose entry says so, gets its key from the environment.
func TestServeAPIKey(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{})
	h.vars = append(h.vars, "MY_NOTES_API_KEY=canary-of-notes", "OTHER_API_KEY=canary-of-other", "THIRD_API_KEY=canary-of-third")
	url := echo(t)
	h.write(t, ".mcp.json", map[string]any{"mcpServers": map[string]any{
		"other": map[string]any{"url": url, "apiKey": true}, "third": map[string]any{"url": url}}})
	h.write(t, "own.json", map[string]any{"mcpServers": map[string]any{"my-notes": map[string]any{"url": url}}})
	for server, want := range map[string]string{"my-notes": "<Bearer canary-of-notes>", "other": "<Bearer canary-of-other>", "third": "<>"} {
		args := []string{"call", server, "who"}
		if server == "my-notes" {
			args = append(args, "--config", "own.json")
		}
		cmd, stdout, stderr := h.mcpl(t, args...)
		if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), want) {
			t.Errorf("%s: %v: %s%s", server, err, stdout, stderr)
		}
	}
	h.lacks(t, "canary")
}

// TestServeLogins: a principal has a login of its own, and does not see a server without it.
func TestServeLogins(t *testing.T) {
	t.Parallel()
	auth := authtest.New(authtest.Options{Scopes: map[string]string{}})
	t.Cleanup(auth.Close)
	h := newHome(t, mcptest.Script{})
	h.vars = append(h.vars, "MCPL_CREDENTIALS=file")
	h.write(t, ".mcp.json", map[string]any{"mcpServers": map[string]any{
		"notes": map[string]any{"url": auth.URL(), "credentials": "user"}}})
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	ada, bob := h.bearer(t, "ada"), h.bearer(t, "bob")
	search := site{t, s.url + "/search", "", 0, nil}
	search.is(search.call("list_servers", "{}", ada), 200, "notes at "+auth.URL()+" needs a login of ada",
		"mcpl auth login notes --as ada")
	h.login(t, "notes", "ada")
	mcptest.Wait(t, "ada sees notes", func() bool {
		return strings.Contains(s.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, ada).body, "notes_t")
	})
	s.is(s.call("notes_t", "{}", ada), 200, `"text":"ok"`)
	if list := s.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, bob); strings.Contains(list.body, "notes_t") {
		t.Error(list.body)
	}
	s.is(s.call("notes_t", "{}", bob), 200, `"isError":true`, "needs a login of bob", "mcpl auth login notes --as bob")
	s.is(search.call("call_tool", `{"server":"notes","tool":"t"}`, bob), 200, "needs a login of bob")
	if found := search.call("search_tools", `{"query":"t"}`, bob); strings.Contains(found.body, "notes/t") {
		t.Error(found.body)
	}
	if n := auth.Count("call t"); n != 1 {
		t.Errorf("%d calls reached the server", n)
	}
	// A client that can ask its user does so, and makes the call once the login is there.
	call := func(members string) reply {
		body, headers := modern("tools/call", "call_tool", `"arguments":{"server":"notes","tool":"t"},`+members)
		return search.ask("POST", body, append(headers, bob)...)
	}
	asked := call("")
	search.is(asked, 200, `"resultType":"input_required"`, "needs a login of bob")
	var state struct{ Result struct{ RequestState string } }
	if err := json.Unmarshal([]byte(asked.last()), &state); err != nil {
		t.Fatal(err)
	}
	h.login(t, "notes", "bob")
	search.is(call(fmt.Sprintf(`"requestState":%q,"inputResponses":{"question":{"action":"accept","content":{"yes":true}}},`,
		state.Result.RequestState)), 200, `"text":"ok"`)
	cmd, stdout, _ := h.mcpl(t, "--json", "auth", "logout", "notes", "--as", "ada")
	if err := cmd.Run(); err != nil {
		t.Fatal(err, stdout)
	}
	mcptest.Wait(t, "ada is logged out", func() bool {
		return strings.Contains(s.call("notes_t", "{}", ada).body, "needs a login of ada")
	})
	cmd, _, stderr := h.mcpl(t, "auth", "login", "s", "--as", "ada")
	_ = cmd.Run() // its exit code is looked at
	if code := cmd.ProcessState.ExitCode(); code == 0 {
		t.Errorf("%d: %s", code, stderr)
	}
}

// login logs a principal in to a server, as a person does with a browser.
func (h home) login(t *testing.T, server, principal string) {
	t.Helper()
	cmd, stdout, _ := h.mcpl(t, "auth", "login", server, "--as", principal, "--no-browser")
	cmd.Stderr = nil
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 1)
	out := &watched{to: io.Discard, found: found}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(out, pipe) // it ends with the process
	}()
	select {
	case address := <-found:
		if _, _, err := authtest.Browse(context.Background(), address); err != nil {
			t.Error(err)
		}
	case <-done:
	}
	<-done
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, out.text.String())
	}
}
