package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/gateway/redis"
	"github.com/mcp-launchpad/mcpl/pkg/state"
)

// TestMain checks that nothing of a server is left.
func TestMain(m *testing.M) {
	redis.Silence()
	mcptest.Maybe()
	goleak.VerifyTestMain(m)
}

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// quiet drops what a catalog says.
type quiet struct{}

func (quiet) Notice(string, ...any)  {}
func (quiet) Status(string)          {}
func (quiet) Verbose(string, string) {}

// inside returns the ID in the sealed id of a session.
func inside(t *testing.T, s *Server, sealed string) string {
	t.Helper()
	id, ok := s.opt.Gateway.OpenSession(gateway.Identity{Expose: s.opt.Expose}, sealed)
	if !ok {
		t.Fatalf("%q does not open", sealed)
	}
	return id.ID
}

// start serves a gateway without servers.
func start(t testing.TB, options ...func(*gateway.Options)) (*Server, string, *clock) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, ".mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return serve(t, dir, func(*config.Config, func(string)) engine.Caller { return noServers{} }, options...)
}

// serve serves a gateway over the configuration in a folder.
func serve(t testing.TB, dir string, callers func(*config.Config, func(string)) engine.Caller,
	options ...func(*gateway.Options)) (*Server, string, *clock) {
	t.Helper()
	file := filepath.Join(dir, ".mcp.json")
	clock := &clock{now: time.Now()}
	open := func() (gateway.Opened, error) {
		env := config.Env{Dir: dir, Home: dir, GOOS: runtime.GOOS, Lookup: func(string) (string, bool) { return "", false }}
		index := catalog.Options{Env: env, Events: quiet{}, Now: time.Now,
			Selection: config.Selection{Configs: []string{file}}}
		return gateway.Opened{Narrow: narrowNothing, Engine: engine.New(engine.Options{Switches: state.All{}, Catalog: index,
			NewCaller: callers})}, nil
	}
	opt := gateway.Options{Open: open, Stamp: func() string { return "" }, Now: clock.time}
	for _, option := range options {
		option(&opt)
	}
	g, err := gateway.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Gateway: g, Expose: gateway.All, Now: opt.Now})
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		h.Close()
		http.DefaultClient.CloseIdleConnections()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, h.URL + "/mcp", clock
}

// noServers is a caller without servers.
type noServers struct{ engine.Caller }

func (noServers) Close() error { return nil }

// post sends a message and returns the status and the session.
func post(t *testing.T, url, session, message string) (status int, id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set(sessionHeader, session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header.Get(sessionHeader)
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`
	ping       = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

// TestSessionsExpire: a session ends half an hour after its last request, and is kept while a stream of it is open.
func TestSessionsExpire(t *testing.T) {
	t.Parallel()
	s, url, clock := start(t)
	_, idler := post(t, url, "", initialize)
	_, watcher := post(t, url, "", initialize)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set(sessionHeader, watcher)
	stream, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	clock.pass(idle - time.Second)
	if status, _ := post(t, url, idler, ping); status != 200 {
		t.Errorf("before its time: %d", status)
	}
	clock.pass(idle + time.Second)
	for session, want := range map[string]int{idler: 404, watcher: 200} {
		if status, _ := post(t, url, session, ping); status != want {
			t.Errorf("%d, not %d", status, want)
		}
	}
	s.sweep(t.Context())
	s.mu.Lock()
	left := len(s.sessions)
	s.mu.Unlock()
	if left != 1 {
		t.Errorf("%d sessions are left", left)
	}
	leave()
}

// TestStreamIsUse: the time of a session without requests begins when its stream ends, however long that was open.
func TestStreamIsUse(t *testing.T) {
	t.Parallel()
	s, url, clock := start(t)
	_, id := post(t, url, "", initialize)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set(sessionHeader, id)
	stream, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	clock.pass(2 * idle)
	leave()
	s.busy.Wait() // the handler of the stream ends
	if status, _ := post(t, url, id, ping); status != 200 {
		t.Errorf("%d", status)
	}
}

// cost is what a process holds.
type cost struct {
	goroutines, files int
	heap              uint64
}

// costs returns what this process holds, once idle connections are closed.
func costs(t *testing.T) cost {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil && !os.IsNotExist(err) { // only Linux has it
		t.Fatal(err)
	}
	return cost{runtime.NumGoroutine(), len(files), m.HeapAlloc}
}

// TestAbandonedSessions: as many sessions as there may be, which their clients leave, cost little, and nothing once
// they have expired. Not parallel: other tests have goroutines, files and memory too.
func TestAbandonedSessions(t *testing.T) {
	s, url, clock := start(t)
	post(t, url, "", initialize)
	before := costs(t)
	// Some of each belong to a connection that is being closed. A session is its client, a stream and maps: 2 kB here.
	const connections, each, rest = 20, 4 << 10, 4 << 20
	for range maxSessions {
		if status, _ := post(t, url, "", initialize); status != 200 {
			t.Fatal(status)
		}
	}
	now := costs(t)
	if now.goroutines > before.goroutines+connections || now.files > before.files+connections ||
		now.heap > before.heap+maxSessions*each+rest {
		t.Errorf("with the sessions %+v, before %+v", now, before)
	}
	s.mu.Lock()
	if n := len(s.sessions); n != maxSessions {
		t.Errorf("%d sessions", n)
	}
	s.mu.Unlock()
	clock.pass(idle + time.Second)
	s.sweep(t.Context())
	s.retiring.Wait()
	s.mu.Lock()
	left := len(s.sessions)
	s.mu.Unlock()
	if now := costs(t); left != 0 || now.goroutines > before.goroutines+connections ||
		now.files > before.files+connections || now.heap > before.heap+rest {
		t.Errorf("%d sessions are left, %+v, before %+v", left, now, before)
	}
}

// TestStream: a connection that comes back gets what it has missed, and a stream that no one reads keeps little.
func TestStream(t *testing.T) {
	t.Parallel()
	s := newStream("3")
	for i := range 10 {
		s.Send(fmt.Appendf(nil, `{"n":%d}`, i))
	}
	s.Answer([]byte(`{"last":true}`))
	s.Send([]byte("too late"))
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.follow(w, r, 7) }))
	defer h.Close()
	resp, err := http.Get(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var events []string
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if text := lines.Text(); text != "" && text[0] != ':' {
			events = append(events, text)
		}
	}
	want := `id: 3-8|data: {"n":8}|id: 3-9|data: {"n":9}|id: 3-10|data: {"last":true}`
	if got := strings.Join(events, "|"); got != want {
		t.Errorf("%s", got)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestFullStream: a stream that no one reads keeps little, and of that questions before news. A question that it cannot
// keep is not asked, and what was sent makes room for more.
func TestFullStream(t *testing.T) {
	t.Parallel()
	s := newStream("4")
	tenth := make([]byte, maxKept/10)
	question := []byte(`"question"`)
	s.Send(question)
	for range 100 {
		s.Tell(tenth)
	}
	messages, _, _, _ := s.next(0, 0)
	if s.size > maxKept || s.last != 101 || string(messages[0].message) != string(question) {
		t.Errorf("%d bytes are kept, from number %d on", s.size, messages[0].number)
	}
	asked := 1
	for s.Send(tenth) {
		asked++
	}
	s.Tell(tenth)
	if messages, _, _, _ := s.next(0, 0); asked != 10 || len(messages) != asked || s.size > maxKept {
		t.Errorf("%d were taken, %d are kept, with %d bytes", asked, len(messages), s.size)
	}
	s.next(5, 0)
	if !s.Send(tenth) {
		t.Error("what was sent makes no room")
	}
	s.Answer(make([]byte, 2*maxKept))
	if messages, _, _, _ := s.next(0, 0); len(messages) != 1 || len(messages[0].message) != 2*maxKept {
		t.Errorf("%d messages are kept beside the answer", len(messages)-1)
	}
	large := newStream("5")
	if !large.Send(make([]byte, 2*maxKept)) {
		t.Error("a large question is not taken, though no other waits")
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{"localhost": true, "LOCALHOST:80": true, "localhost.": true, "127.0.0.1:7332": true,
		"[::1]:7332": true, "::1": true, "127.9.9.9": true, "evil.example": false, "localhost.evil.example": false,
		"127.0.0.1.evil.example": false, "": false, "10.0.0.1": false, "0.0.0.0:1": false} {
		if got := isLoopback(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

// narrowNothing takes nothing away.
func narrowNothing(context.Context, gateway.Principal, string) (n engine.Narrowing, err error) {
	return n, nil
}
