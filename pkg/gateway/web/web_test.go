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

// start serves a gateway without servers.
func start(t *testing.T) (*Server, string, *clock) {
	t.Helper()
	clock := &clock{now: time.Now()}
	s, url := startWith(t, gateway.Options{Now: clock.time})
	return s, url, clock
}

// inside returns the ID in the sealed id of a session.
func inside(t *testing.T, s *Server, sealed string) string {
	t.Helper()
	id, ok := s.opt.Gateway.OpenSession(gateway.Identity{Expose: s.opt.Expose}, sealed)
	if !ok {
		t.Fatalf("%q does not open", sealed)
	}
	return id.ID
}

// startWith is start with other options of the gateway.
func startWith(t *testing.T, opt gateway.Options) (*Server, string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, ".mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	opt.Stamp = func() string { return "" }
	opt.Open = func() (gateway.Opened, error) {
		env := config.Env{Dir: dir, Home: dir, GOOS: runtime.GOOS, Lookup: func(string) (string, bool) { return "", false }}
		index := catalog.Options{Env: env, Events: quiet{}, Now: time.Now,
			Selection: config.Selection{Configs: []string{file}}}
		return gateway.Opened{Narrow: narrowNothing, Engine: engine.New(engine.Options{Switches: state.All{}, Catalog: index,
			NewCaller: func(*config.Config, func(string)) engine.Caller { return noServers{} }})}, nil
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
	return s, h.URL + "/mcp"
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

// TestAbandonedSessions: sessions that their clients leave cost little, and nothing once they have expired.
func TestAbandonedSessions(t *testing.T) {
	t.Parallel()
	s, url, clock := start(t)
	post(t, url, "", initialize)
	before := runtime.NumGoroutine()
	for range 500 {
		if status, _ := post(t, url, "", initialize); status != 200 {
			t.Fatal(status)
		}
	}
	if now := runtime.NumGoroutine(); now > before+50 {
		t.Errorf("%d goroutines, %d before", now, before)
	}
	clock.pass(idle + time.Second)
	s.sweep(t.Context())
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) != 0 {
		t.Errorf("%d sessions are left", len(s.sessions))
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
	large := newStream("4")
	for range 100 {
		large.Send(make([]byte, maxKept/10))
	}
	if large.size > maxKept+maxKept/10 || large.first == 0 {
		t.Errorf("%d bytes are kept from number %d on", large.size, large.first)
	}
	http.DefaultClient.CloseIdleConnections()
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
func narrowNothing(gateway.Principal, string) (n engine.Narrowing, err error) { return n, nil }
