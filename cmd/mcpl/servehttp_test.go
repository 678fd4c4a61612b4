//go:build linux || darwin

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// site is mcpl serve over HTTP.
type site struct {
	t     *testing.T
	url   string
	token string // that it has made, if it has
	pid   int
	// end ends it and returns what it has said on stderr since it listens. It may be called more than once.
	end func() string
}

// serveHTTP runs mcpl serve --http --no-auth in a home, on a free port.
func (h home) serveHTTP(t *testing.T, args ...string) site {
	t.Helper()
	return h.serveAt(t, append([]string{"127.0.0.1:0", "--no-auth"}, args...)...)
}

// serveAt runs mcpl serve --http ADDR.
func (h home) serveAt(t *testing.T, args ...string) site {
	t.Helper()
	s, _ := h.startAt(t, args...)
	return s
}

// startAt runs mcpl serve --http ADDR, and returns its process too.
func (h home) startAt(t *testing.T, args ...string) (site, *os.Process) {
	t.Helper()
	cmd, token, url, rest := h.listening(t, args...)
	end := sync.OnceValue(func() string {
		_ = cmd.Process.Signal(syscall.SIGTERM) // where it has gone, its exit code says so
		said := <-rest
		if code := exitCode(t, cmd); code != 0 {
			t.Errorf("serve ended with %d: %s", code, said)
		}
		return said
	})
	t.Cleanup(func() { end() })
	return site{t, url, token, cmd.Process.Pid, end}, cmd.Process
}

// listening starts mcpl serve --http ADDR and returns once it listens, with the token that it has made, if any, its
// URL, and what it has said on stderr when it has ended. Whoever calls it ends the process.
func (h home) listening(t *testing.T, args ...string) (
	cmd *exec.Cmd, token, url string, rest <-chan string) {
	t.Helper()
	cmd, _, _ = h.mcpl(t, append([]string{"serve", "--http"}, args...)...)
	cmd = lasting(cmd)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, before := bufio.NewReader(stderr), ""
	for url == "" {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, "need this token") {
			token, err = lines.ReadString('\n')
		} else if url = regexp.MustCompile(`listening on (http://\S+/mcp)`).FindString(line); url == "" {
			before += line
		}
		if err != nil {
			t.Fatalf("%q, %v", before, err)
		}
	}
	all := make(chan string, 1)
	go func() {
		said, _ := io.ReadAll(lines) // it ends with the process
		all <- before + string(said)
	}()
	return cmd, strings.TrimSpace(token), strings.TrimPrefix(url, "listening on "), all
}

// tokens is the file of the gateway's tokens.
func (h home) tokens() string { return filepath.Join(h.dir, "mcpl", "gateway-tokens.json") }

// serveToken runs mcpl serve token and returns its answer.
func (h home) serveToken(t *testing.T, args ...string) string {
	t.Helper()
	cmd, stdout, stderr := h.mcpl(t, append([]string{"--json", "serve", "token"}, args...)...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	return stdout.String()
}

// reply is an answer over HTTP.
type reply struct {
	status int
	header http.Header
	body   string
}

// last is the message of a reply, of events the last one: an answer that takes its time comes as an event.
func (r reply) last() string {
	if !strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") {
		return r.body
	}
	events := strings.Split(r.body, "data: ")
	return strings.TrimSpace(events[len(events)-1])
}

// ask sends a request. Headers are given as "Name: value"; one without a value is left out.
func (s site) ask(method, body string, headers ...string) reply {
	s.t.Helper()
	resp := s.open(s.t.Context(), method, body, headers...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(text)}
}

// open sends a request and returns the response as soon as it begins.
func (s site) open(ctx context.Context, method, body string, headers ...string) *http.Response {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	s.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); name == "Host" {
			req.Host = value
		} else if req.Header.Del(name); value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
	`"clientInfo":{"name":"t","version":"1"}}}`

// session begins a session and returns the header that names it.
func (s site) session(headers ...string) string {
	s.t.Helper()
	r := s.ask("POST", hello, headers...)
	if r.status != 200 || r.header.Get("Mcp-Session-Id") == "" {
		s.t.Fatalf("%+v", r)
	}
	return "Mcp-Session-Id: " + r.header.Get("Mcp-Session-Id")
}

// is fails unless the reply has this status and these texts.
func (s site) is(r reply, status int, texts ...string) {
	s.t.Helper()
	if r.status != status {
		s.t.Errorf("status %d, not %d: %s", r.status, status, r.body)
	}
	for _, text := range texts {
		if !strings.Contains(r.body, text) {
			s.t.Errorf("%q is not in %s", text, r.body)
		}
	}
}

const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

// TestServeSessions begins, uses and ends sessions.
func TestServeSessions(t *testing.T) {
	t.Parallel()
	s := newHome(t, servedScript()).serveHTTP(t, "--expose", "all")
	id := s.session()
	s.is(s.ask("POST", ping, id), 200, `"id":7,"result":{}`)
	s.is(s.ask("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, id), 202)
	steps := `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"s_steps","_meta":{"progressToken":5}}}`
	r := s.ask("POST", steps, id)
	s.is(r, 200, `notifications/progress`, `"progressToken":5`, `"id":8,"result":`)
	if r.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%v", r.header)
	}
	s.is(s.ask("POST", ping, "Mcp-Session-Id: none"), 404)
	s.is(s.ask("DELETE", "", id), 204)
	s.is(s.ask("DELETE", "", id), 404)
	s.is(s.ask("POST", ping, id), 404, `"id":7`)
	// A client that does not send its session back is served all the same.
	s.is(s.ask("POST", `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`), 200, `"s_odd"`)
}

// TestServeTokens: without a token nothing is answered, and a session is there for the token that began it alone.
func TestServeTokens(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{24,}$`).MatchString(s.token) {
		t.Fatalf("%q", s.token)
	}
	own := "Authorization: Bearer " + s.token
	for _, headers := range [][]string{nil, {"Authorization: Bearer x"}, {"Authorization: Basic " + s.token}, {"Authorization: " + s.token}} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			r := s.ask(method, ping, headers...)
			s.is(r, 401, "mcpl serve token add")
			if r.header.Get("WWW-Authenticate") == "" {
				t.Error("no WWW-Authenticate")
			}
		}
	}
	id := s.session(own)
	s.is(s.ask("POST", ping, id, own), 200)
	s.is(s.ask("POST", ping, id, own, "Host: gateway.example", "Origin: https://gateway.example"), 200)
	s.is(s.ask("POST", ping, id, own, "Host: gateway.example", "Origin: https://evil.example"), 403)
	s.is(s.ask("POST", ping, id), 401)

	var added struct{ Token string }
	if err := json.Unmarshal([]byte(h.serveToken(t, "add", "laptop")), &added); err != nil {
		t.Fatal(err)
	}
	other := "Authorization: bearer " + added.Token
	s.is(s.ask("POST", ping, id, other), 404)
	s.is(s.ask("DELETE", "", id, other), 404)
	s.is(s.ask("POST", ping, other), 200)
	byPath := site{t, strings.TrimSuffix(s.url, "/mcp") + "/api/mcp/" + added.Token, "", 0, nil}
	s.is(byPath.ask("POST", ping), 200)
	if list := h.serveToken(t); !strings.Contains(list, `"default"`) || !strings.Contains(list, `"laptop"`) {
		t.Error(list)
	}
	h.serveToken(t, "revoke", "laptop")
	s.is(byPath.ask("POST", ping), 401)
	s.is(s.ask("POST", ping, id, own), 200)

	kept, err := os.ReadFile(h.tokens())
	if err != nil || strings.Contains(string(kept), s.token) {
		t.Errorf("%v: %s", err, kept)
	}
	if err := os.WriteFile(h.tokens(), []byte("{\n{"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.ask("POST", ping, "Authorization: Bearer x") // a stranger hears nothing of this machine's files
	s.is(r, 500, "cannot read its tokens")
	if strings.Contains(r.body, "gateway-tokens.json") {
		t.Error(r.body)
	}
	if said := s.end(); !strings.Contains(said, "gateway-tokens.json:2: no token in this file counts") {
		t.Error(said)
	}
}

// TestServeTokensUsage has wrong uses of tokens end with a help, and nothing served.
func TestServeTokensUsage(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	for _, c := range []struct{ args, want string }{
		{"--http 0.0.0.0:0 --no-auth", "only for addresses of this machine"}, {"--http :0 --no-auth", "only for addresses"},
		{"--no-auth", "--no-auth is for --http"}, {"token add", "takes 1 name"}, {"token list x", "takes 0 names"},
		{"token make x", "unknown token command"}, {"token add jwt:x", "begins with jwt:"}, {"token revoke x", "there is no token"},
	} {
		cmd, _, stderr := h.mcpl(t, append([]string{"serve"}, strings.Fields(c.args)...)...)
		_ = cmd.Run() // its exit code is looked at
		if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: %d, %s", c.args, code, stderr)
		}
	}
	if _, err := os.Stat(h.tokens()); err == nil {
		t.Error("a token was made")
	}
	h.serveToken(t, "add", "a")
	cmd, _, stderr := h.mcpl(t, "serve", "token", "add", "a")
	_ = cmd.Run() // its exit code is looked at
	if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(stderr.String(), "there is a token") {
		t.Errorf("%d, %s", code, stderr)
	}
}

// TestServeResumed has a client whose connection is lost in the middle of an answer get the rest of it later.
func TestServeResumed(t *testing.T) {
	t.Parallel()
	script := servedScript()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "slow", Text: "late",
		Behaviour: mcptest.Behaviour{Progress: 1, Delay: mcptest.Duration(300 * time.Millisecond)}})
	s := newHome(t, script).serveHTTP(t, "--expose", "all")
	id := s.session()
	ctx, leave := context.WithCancel(t.Context())
	resp := s.open(ctx, "POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s_slow","_meta":{"progressToken":1}}}`, id)
	last := ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan() && !strings.Contains(lines.Text(), "notifications/progress"); {
		if name, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			last = name
		}
	}
	leave()
	resp.Body.Close()
	if last == "" {
		t.Fatal("the event has no id")
	}
	s.is(s.ask("GET", "", id, "Last-Event-ID: "+last), 200, `"id":2,"result":`, `late`)
}

// TestServeRefuses refuses requests of strange pages, and other things than requests of the protocol.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	s := newHome(t, servedScript()).serveHTTP(t)
	id := s.session()
	for _, c := range []struct {
		status  int
		method  string
		body    string
		headers []string
	}{
		{403, "POST", ping, []string{"Origin: https://evil.example"}}, {403, "POST", ping, []string{"Origin: null"}},
		{403, "POST", ping, []string{"Host: evil.example"}}, {200, "POST", ping, []string{"Origin: http://localhost:3000"}},
		{415, "POST", ping, []string{"Content-Type: text/plain"}}, {406, "POST", ping, []string{"Accept: application/json"}},
		{400, "POST", `{`, nil}, {400, "POST", `[` + ping + `]`, nil}, {400, "POST", ``, nil},
		{400, "POST", ping, []string{"Mcp-Protocol-Version: 1999-01-01"}},
		{413, "POST", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 17<<20) + `"}}`, nil},
		{405, "PUT", ping, nil}, {406, "GET", "", []string{"Accept: text/html"}}, {404, "GET", "", []string{"Mcp-Session-Id: none"}},
	} {
		if r := s.ask(c.method, c.body, append([]string{id}, c.headers...)...); r.status != c.status {
			t.Errorf("%s %.60s %q: status %d, not %d: %s", c.method, c.body, c.headers, r.status, c.status, r.body)
		}
	}
	s.is(s.ask("POST", ping, id), 200)
}

// TestServeTellsSessions tells a session of a changed list on its stream.
func TestServeTellsSessions(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	s := h.serveHTTP(t, "--expose", "all")
	id := s.session()
	s.is(s.ask("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, id), 200, `"s_odd"`)
	resp := s.open(t.Context(), "GET", "", id)
	defer resp.Body.Close()
	if err := os.WriteFile(filepath.Join(h.dir, ".mcp.json"), []byte(`{"mcpServers":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(resp.Body); ; {
		if !lines.Scan() {
			t.Fatal("the stream has ended")
		}
		if strings.Contains(lines.Text(), "notifications/tools/list_changed") {
			return
		}
	}
}

// modern returns a request of MCP 2026-07-28 and its headers.
func modern(method, name, members string) (body string, headers []string) {
	headers = []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
	if name != "" {
		headers, members = append(headers, "Mcp-Name: "+name), fmt.Sprintf(`"name":%q,`, name)+members
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`,
		method, members), headers
}

// TestServeModern serves a client without a session, and asks it by the result of its request what an older server asks
// in the middle of a call.
func TestServeModern(t *testing.T) {
	t.Parallel()
	s := newHome(t, servedScript()).serveHTTP(t, "--expose", "all")
	do := func(method, name, members string) reply {
		body, headers := modern(method, name, members)
		return s.ask("POST", body, headers...)
	}
	s.is(do("server/discover", "", ""), 200, `"supportedVersions":["2026-07-28"`, `"resultType":"complete"`)
	s.is(do("tools/list", "", ""), 200, `"s_odd"`, `"ttlMs":0,"cacheScope":"private"`)
	s.is(do("ping", "", ""), 404, `"code":-32601`)
	body, headers := modern("resources/read", "", `"uri":"b:other",`)
	s.is(s.ask("POST", body, append(headers, "Mcp-Name: b:other")...), 200, `"code":-32602`) // SEP-2164
	s.is(do("tools/call", "s_odd", `"arguments":{"a":1},`), 200, strings.TrimSuffix(oddResult, "}")+`,"resultType":"complete"}`)
	asked := do("tools/call", "s_ask", "")
	s.is(asked, 200, `"resultType":"input_required"`, `"method":"elicitation/create"`, `Who?`)
	var state struct{ Result struct{ RequestState string } }
	if err := json.Unmarshal([]byte(asked.last()), &state); err != nil {
		t.Fatal(err)
	}
	with := func(state, answer string) string {
		return fmt.Sprintf(`"requestState":%q,"inputResponses":{"question":%s},`, state, answer)
	}
	const ada = `{"action":"accept","content":{"name":"Ada"}}`
	s.is(do("tools/call", "s_ask", with(state.Result.RequestState+"x", ada)), 200, `"code":-32602`)
	s.is(do("tools/call", "s_ask", with(state.Result.RequestState, ada)), 200, `Ada`, `"resultType":"complete"`)
	s.is(do("tools/call", "s_ask", with(state.Result.RequestState, ada)), 200, `"code":-32602`)
	body, headers = modern("tools/call", "s_odd", "")
	s.is(s.ask("POST", body, append(headers, "Mcp-Name: other")...), 400, `"code":-32020`)
	s.is(s.ask("POST", strings.ReplaceAll(body, "2026-07-28", "2027-01-01"),
		"Mcp-Protocol-Version: 2027-01-01", headers[1], headers[2]), 400, `"code":-32022`, `"requested":"2027-01-01"`)
}

// TestServeEndsSubscriptions: a subscription that a client holds open does not keep mcpl from ending.
func TestServeEndsSubscriptions(t *testing.T) {
	t.Parallel()
	s := newHome(t, servedScript()).serveHTTP(t, "--expose", "all")
	body, headers := modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true},`)
	resp := s.open(t.Context(), "POST", body, headers...)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "subscriptions/acknowledged") {
	}
	if lines.Err() != nil || lines.Text() == "" {
		t.Fatalf("%q, %v", lines.Text(), lines.Err())
	}
	began := time.Now()
	s.end()
	if took := time.Since(began); took > 5*time.Second { // requests may take 10 s to end
		t.Errorf("it took %s to end", took)
	}
}

// TestServeAnswersAtTheEnd: calls that are still running when mcpl has to end are answered, with and without a session.
func TestServeAnswersAtTheEnd(t *testing.T) {
	t.Parallel()
	script := servedScript()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "slow", Text: "late",
		Behaviour: mcptest.Behaviour{Progress: 1, Delay: mcptest.Duration(50 * time.Second)}})
	s := newHome(t, script).serveHTTP(t, "--expose", "all")
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s_slow","_meta":{"progressToken":1}}}`
	var open []*bufio.Scanner
	for _, headers := range [][]string{nil, {s.session()}} {
		resp := s.open(t.Context(), "POST", call, headers...)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() && !strings.Contains(lines.Text(), "notifications/progress") {
		}
		open = append(open, lines)
	}
	s.end()
	for i, lines := range open {
		answer := ""
		for lines.Scan() {
			if strings.Contains(lines.Text(), `"id":2`) {
				answer = lines.Text()
			}
		}
		if answer == "" || lines.Err() != nil {
			t.Errorf("call %d got no answer: %v", i, lines.Err())
		}
	}
}
