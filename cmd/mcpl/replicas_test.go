//go:build linux || darwin

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// sessionKey is a key that replicas share.
const sessionKey = "MCPL_SESSION_KEYS=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// replica is one of several gateways.
type replica struct {
	site
	home home
	// kill kills it and returns what it has said on stderr since it listens. It may be called more than once.
	kill func() string
}

// startReplicas runs n gateways with the same servers, each in a home of its own, and the key in common.
func startReplicas(t *testing.T, n int, script mcptest.Script, redis string, args ...string) []replica {
	t.Helper()
	all := make([]replica, n)
	for i := range all {
		h := newHome(t, script)
		h.vars = append(h.vars, sessionKey, "MCPL_REDIS_URL="+redis)
		all[i] = h.replica(t, args...)
	}
	return all
}

// replica runs mcpl serve --http in a home, on a free port.
func (h home) replica(t *testing.T, args ...string) replica {
	t.Helper()
	cmd, _, url, rest := h.listening(t, append([]string{"127.0.0.1:0"}, args...)...)
	kill := sync.OnceValue(func() string {
		_ = cmd.Process.Kill() // it runs, or has been killed
		said := <-rest
		_ = cmd.Wait() // killed
		return said
	})
	t.Cleanup(func() { kill() })
	return replica{site{t: t, url: url}, h, kill}
}

// redisServer runs Debian's Redis on a socket, and returns its URL and what kills it. It skips the test if there is
// none.
func redisServer(t *testing.T) (url string, kill func()) {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("Redis is not here: apt-get install redis-server")
	}
	dir, err := os.MkdirTemp("/tmp", "mcpl-redis-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "redis.sock")
	cmd := exec.Command(program, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // it runs, or its log says why not
		_ = cmd.Wait()         // killed
	})
	t.Cleanup(kill)
	mcptest.Wait(t, "Redis", func() bool {
		_, err := os.Stat(socket)
		return err == nil
	})
	return "unix://" + socket + "?read_timeout=10s", kill // the machine may be busy
}

// call returns a request of a revision with sessions.
func call(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

// asks makes a call that is suspended by a question, of MCP 2026-07-28, and returns the request that answers it.
func (s site) asks(headers ...string) (body string, with []string) {
	s.t.Helper()
	body, own := modern("tools/call", "s_ask", "")
	r := s.ask("POST", body, append(own, headers...)...)
	s.is(r, 200, `"resultType":"input_required"`)
	var state struct{ Result struct{ RequestState string } }
	if err := json.Unmarshal([]byte(lastMessage(r.body)), &state); err != nil {
		s.t.Fatal(err)
	}
	body, own = modern("tools/call", "s_ask", fmt.Sprintf(`"requestState":%q,"inputResponses":{"question":%s},`,
		state.Result.RequestState, `{"action":"accept","content":{"name":"Ada"}}`))
	return body, append(own, headers...)
}

// lastMessage returns the last message of a response, which is a stream if it took long.
func lastMessage(body string) string {
	if at := strings.LastIndex(body, "\ndata: "); at >= 0 {
		return body[at+len("\ndata: "):]
	}
	return body
}

// question makes a call in a session that its server asks something in, has the message that answers that sent, and
// returns the rest of the stream.
func (s site) question(session string, send func(answer string)) (rest string) {
	s.t.Helper()
	resp := s.open(s.t.Context(), "POST", call(3, "tools/call", `{"name":"s_ask"}`), session)
	defer resp.Body.Close()
	asked := false
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if asked {
			rest += lines.Text() + "\n"
			continue
		}
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		var q struct {
			ID     json.RawMessage
			Method string
		}
		if is && json.Unmarshal([]byte(data), &q) == nil && q.Method == "elicitation/create" {
			asked = true
			send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ada"}}}`, q.ID))
		}
	}
	if !asked {
		s.t.Error("the stream has no question")
	}
	return rest
}

// TestReplicasAlone: replicas that have keys in common, and no Redis, continue sessions, and say what is elsewhere.
func TestReplicasAlone(t *testing.T) {
	t.Parallel()
	replicas := startReplicas(t, 2, servedScript(), "", "--no-auth", "--expose", "all")
	one, two := replicas[0], replicas[1]
	id := one.session()
	two.is(two.ask("POST", call(2, "tools/call", `{"name":"s_odd","arguments":{"a":1}}`), id), 200, oddResult)
	body, headers := one.asks()
	two.is(two.ask("POST", body, headers...), 200, `"error":`, "another replica", "MCPL_REDIS_URL")
	one.is(one.ask("POST", body, headers...), 200, `Ada`)

	ask := strings.Replace(hello, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1)
	asker := "Mcp-Session-Id: " + one.ask("POST", ask).header.Get("Mcp-Session-Id")
	text := two.question(asker, func(answer string) { // what the client can do is in its id
		one.is(one.ask("POST", answer, asker), 400, "another replica")
		two.is(two.ask("POST", answer, asker), 202)
	})
	if !strings.Contains(text, "Ada") {
		t.Error(text)
	}
	steps := call(4, "tools/call", `{"name":"s_steps","_meta":{"progressToken":5}}`)
	r := two.ask("POST", steps, id)
	event := regexp.MustCompile(`(?m)^id: (\S+)$`).FindStringSubmatch(r.body)
	if event == nil {
		t.Fatal(r.body)
	}
	one.is(one.ask("GET", "", id, "Last-Event-ID: "+event[1]), 503, "another replica")
	two.is(two.ask("GET", "", id, "Last-Event-ID: "+event[1]), 200, `"id":4,"result":`)

	two.is(two.ask("DELETE", "", id), 204)
	two.is(two.ask("POST", ping, id), 404)
	one.kill()
	two.is(two.ask("POST", ping, asker), 200)
}

// TestReplicasShare: what changes in a session at one replica holds at the others, and so does its end; answers find
// the replica that has asked. When Redis has gone, all goes on.
func TestReplicasShare(t *testing.T) {
	t.Parallel()
	url, killRedis := redisServer(t)
	script := servedScript()
	script.Tools = append(script.Tools, mcptest.Tool{Name: "update", Text: "done", Behaviour: mcptest.Behaviour{
		Asks: []mcptest.Ask{{Method: "notifications/resources/updated", Params: `{"uri":"a:one"}`, ID: "none"}}}})
	script.Methods = map[string]mcptest.Behaviour{"resources/subscribe": {Result: `{}`}}
	replicas := startReplicas(t, 2, script, url, "--no-auth", "--expose", "activate")
	one, two := replicas[0], replicas[1]
	ask := strings.Replace(hello, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1)
	id := "Mcp-Session-Id: " + one.ask("POST", ask).header.Get("Mcp-Session-Id")
	listed := func(name string) bool {
		return strings.Contains(two.ask("POST", call(2, "tools/list", `{}`), id).body, `{"name":"`+name+`"`)
	}
	if listed("s_update") {
		t.Error("it is active")
	}
	news := two.open(t.Context(), "GET", "", id)
	defer news.Body.Close()
	lines := bufio.NewScanner(news.Body)
	one.is(one.ask("POST", call(3, "tools/call", `{"name":"activate","arguments":{"activate":["s_*"]}}`), id), 200, `\"success\":true`)
	awaitLine(t, lines, "notifications/tools/list_changed")
	if !listed("s_update") {
		t.Error("it is not active at the other replica")
	}
	// The other replica has a process of the server of its own, and makes the subscription there.
	one.is(one.ask("POST", call(4, "resources/subscribe", `{"uri":"a:one"}`), id), 200, `"result":{}`)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		awaitLine(t, lines, "notifications/resources/updated")
	}()
	for told := false; !told; {
		two.is(two.ask("POST", call(5, "tools/call", `{"name":"s_update"}`), id), 200, "done")
		select {
		case <-heard:
			told = true
		default:
		}
	}

	text := one.question(id, func(answer string) { two.is(two.ask("POST", answer, id), 202) })
	if !strings.Contains(text, "Ada") {
		t.Error(text)
	}
	body, headers := modern("tools/call", "activate", `"arguments":{"activate":["s_ask"]},`)
	two.is(two.ask("POST", body, headers...), 200, `\"success\":true`)
	body, headers = one.asks()
	two.is(two.ask("POST", body, headers...), 200, `Ada`, `"resultType":"complete"`)
	two.is(two.ask("POST", body, headers...), 200, "the call that waited for this has ended")

	gone := "Mcp-Session-Id: " + one.ask("POST", ask).header.Get("Mcp-Session-Id")
	two.is(two.ask("POST", ping, gone), 200)
	two.is(two.ask("DELETE", "", gone), 204)
	one.is(one.ask("POST", ping, gone), 404)
	one.is(one.ask("DELETE", "", gone), 404)

	body, headers = one.asks()
	killRedis()
	two.is(two.ask("POST", body, headers...), 200, "cannot be reached now")
	one.is(one.ask("POST", body, headers...), 200, `Ada`)
	one.is(one.ask("POST", ping, id), 200)
	if !listed("s_update") {
		t.Error("what was active is not any more")
	}
	later := one.session()
	two.is(two.ask("POST", call(6, "tools/list", `{}`), later), 200, `"activate"`)
	for _, r := range []replica{one, two} {
		if said := r.kill(); strings.Count(said, "Redis does not answer") != 1 {
			t.Errorf("%q", said)
		}
	}
}

// TestReplicasTellLists: what a server of one replica says of its lists reaches the clients of another.
func TestReplicasTellLists(t *testing.T) {
	t.Parallel()
	url, _ := redisServer(t)
	script := mcptest.Script{Tools: []mcptest.Tool{{Name: "touch", Text: "done", Behaviour: mcptest.Behaviour{
		Asks: []mcptest.Ask{{Method: "notifications/tools/list_changed", ID: "none"}}}}}}
	replicas := startReplicas(t, 2, script, url, "--no-auth", "--expose", "all")
	replicas[1].hearsOfTools(replicas[0].site)
}

// handedOver begins a call at one replica, which never ends, and goes on with it at another. then gets the stream.
func handedOver(t *testing.T, then func(one replica, leave func(), lines *bufio.Scanner)) {
	t.Helper()
	url, _ := redisServer(t)
	script := servedScript()
	for i, tool := range script.Tools {
		if tool.Name == "ask" {
			script.Tools[i].Never = true
		}
	}
	replicas := startReplicas(t, 2, script, url, "--no-auth", "--expose", "all")
	one, two := replicas[0], replicas[1]
	body, headers := one.asks()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp := two.open(ctx, "POST", body, headers...) // it has begun: nothing came for a while
	defer resp.Body.Close()
	then(one, leave, bufio.NewScanner(resp.Body))
}

// TestReplicasHandOverCancelled: a call that was handed over ends with its client.
func TestReplicasHandOverCancelled(t *testing.T) {
	t.Parallel()
	handedOver(t, func(one replica, leave func(), _ *bufio.Scanner) {
		leave()
		mcptest.WaitLines(t, one.home.cancelled, 1)
	})
}

// TestReplicasHandOverLost: who has handed a call over hears of the end of the replica that makes it.
func TestReplicasHandOverLost(t *testing.T) {
	t.Parallel()
	handedOver(t, func(one replica, _ func(), lines *bufio.Scanner) {
		one.kill()
		awaitLine(t, lines, "the replica of this gateway that waited for this answer has ended")
	})
}

// TestReplicasLimits: replicas share what a token may use in a minute.
func TestReplicasLimits(t *testing.T) {
	t.Parallel()
	url, killRedis := redisServer(t)
	h := newHome(t, servedScript())
	h.vars = append(h.vars, sessionKey, "MCPL_REDIS_URL="+url)
	var added struct{ Token string }
	if err := json.Unmarshal([]byte(h.serveToken(t, "add", "ada", "--per-minute", "4")), &added); err != nil {
		t.Fatal(err)
	}
	own := "Authorization: Bearer " + added.Token
	odd := call(1, "tools/call", `{"name":"s_odd","arguments":{"a":1}}`)
	other := newHome(t, servedScript())
	other.vars = h.vars
	tokens, err := os.ReadFile(h.tokens())
	if err == nil {
		err = os.MkdirAll(filepath.Dir(other.tokens()), 0o700)
	}
	if err == nil {
		err = os.WriteFile(other.tokens(), tokens, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	one, two := h.replica(t, "--expose", "all"), other.replica(t, "--expose", "all")
	for range 2 {
		one.is(one.ask("POST", odd, own), 200, oddResult)
		two.is(two.ask("POST", odd, own), 200, oddResult)
	}
	one.is(one.ask("POST", odd, own), 200, "4 calls in a minute")
	two.is(two.ask("POST", odd, own), 200, "4 calls in a minute")
	killRedis()
	one.is(one.ask("POST", odd, own), 200, oddResult) // each by itself
}

// TestReplicasShareListings: a replica that begins without an index shows what another one has listed, byte for byte,
// and starts no server for that. One with other keys does.
func TestReplicasShareListings(t *testing.T) {
	t.Parallel()
	url, _ := redisServer(t)
	h := newHome(t, servedScript())
	list := func(key string) string {
		t.Helper()
		own := h
		own.vars = []string{"MCPL_SESSION_KEYS=" + key, "MCPL_REDIS_URL=" + url, "XDG_CACHE_HOME=" + t.TempDir()}
		r := own.replica(t, "--no-auth", "--expose", "all")
		body := r.ask("POST", call(1, "tools/list", `{}`)).body
		body = strings.TrimSpace(lastMessage(body))
		r.is(r.ask("POST", call(1, "prompts/list", `{}`)), 200, `"s_greet"`)
		r.is(r.ask("POST", call(1, "resources/templates/list", `{}`)), 200, `"a:item/{id}"`)
		r.kill()
		return body
	}
	starts := func() int {
		t.Helper()
		text, err := os.ReadFile(h.starts)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
	key := strings.TrimPrefix(sessionKey, "MCPL_SESSION_KEYS=")
	first := list(key)
	before := starts()
	if again := list(key); again != first || !strings.Contains(again, strings.Replace(odd, `"odd"`, `"s_odd"`, 1)) {
		t.Errorf("%s\nis not\n%s", again, first)
	}
	if n := starts(); n != before {
		t.Errorf("the server was started %d times, %d before", n, before)
	}
	list(strings.Replace(key, "AAEC", "BBEC", 1))
	if n := starts(); n == before {
		t.Error("a listing that was sealed with another key was taken")
	}
}

// TestReplicasUsage: wrong keys and a wrong URL end the gateway, and a Redis that is not there, or has no use without
// keys, does not. No message shows a password or a key.
func TestReplicasUsage(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	h.vars = []string{"MCPL_REDIS_URL=redis://:secret@127.0.0.1:1/0"}
	r := h.replica(t, "--no-auth")
	r.is(r.ask("POST", ping, r.session()), 200)
	if said := r.kill(); !strings.Contains(said, "MCPL_SESSION_KEYS is not") || strings.Contains(said, "secret") ||
		!strings.Contains(said, "Redis does not answer") {
		t.Errorf("%q", said)
	}
	for _, c := range []struct{ vars, want string }{
		{"MCPL_REDIS_URL=http://:secret@h " + sessionKey, "MCPL_REDIS_URL: the URL of Redis is not like"},
		{"MCPL_SESSION_KEYS=secret", "key 1 of MCPL_SESSION_KEYS is not 32 bytes"},
	} {
		h.vars = strings.Fields(c.vars)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd, _, stderr := h.mcpl(t, "serve", "--http", "127.0.0.1:0", "--no-auth")
		stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
		_ = cmd.Run() // its exit code is looked at
		stop()
		if code := cmd.ProcessState.ExitCode(); code == 0 || !strings.Contains(stderr.String(), c.want) ||
			strings.Contains(stderr.String(), "secret") {
			t.Errorf("%d, %s", code, stderr)
		}
	}
}
