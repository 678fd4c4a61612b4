//go:build linux || darwin

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/fixture"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// home is a folder with a configuration, and a daemon for it whose servers are fake.
type home struct {
	t     *testing.T
	env   config.Env
	place Place
	call  func(ctx context.Context, args json.RawMessage) (*tool.Result, error)
	// talk, when not nil, is called instead of call.
	talk func(ctx context.Context, ref tool.Ref, opt tool.CallOptions) error
	list tool.Listing

	mu     sync.Mutex
	opened []host.CallerOptions
	closed int
	asked  []tool.CallOptions
	events []string // the log's
	log    func(server, event string)
	tell   func(tool.Event) // of the server opened last
	// changed is broadcast after each change of the above.
	changed *sync.Cond
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir, err := os.MkdirTemp("", "d") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &home{t: t, env: envOf(dir)}
	h.changed = sync.NewCond(&h.mu)
	h.call = func(_ context.Context, args json.RawMessage) (*tool.Result, error) {
		return &tool.Result{Raw: args}, nil
	}
	h.configure(`{"mcpServers": {"s": {"command": "fake"}, "once": {"command": "fake", "lifecycle": "ephemeral"}}}`)
	if h.place, err = PlaceOf(h.env, h.config().Sources.Key()); err != nil {
		t.Fatal(err)
	}
	return h
}

// envOf returns the environment of a home in a folder.
func envOf(dir string) config.Env {
	vars := map[string]string{"XDG_CACHE_HOME": dir, "XDG_STATE_HOME": dir, "MCPL_TRUST": "all"}
	return config.Env{Dir: dir, Home: dir, GOOS: runtime.GOOS,
		Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, Approver: fixture.Approver{}}
}

func (h *home) configure(text string) {
	h.t.Helper()
	// The file is replaced at once: a daemon that looks just then would see it half written.
	file := filepath.Join(h.env.Dir, ".mcp.json")
	if err := errors.Join(os.WriteFile(file+".new", []byte(text), 0o600), os.Rename(file+".new", file)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) config() *config.Config {
	h.t.Helper()
	src, err := h.env.Locate(config.Selection{})
	if err != nil {
		h.t.Fatal(err)
	}
	cfg, err := h.env.Load(src)
	if err != nil {
		h.t.Fatal(err)
	}
	return cfg
}

// homeCaller is a server of the daemon.
type homeCaller struct{ h *home }

func (c homeCaller) List(ctx context.Context, server string, opt tool.CallOptions) (tool.Listing, error) {
	if c.h.talk != nil {
		return tool.Listing{}, c.h.talk(ctx, tool.Ref{Server: server}, opt)
	}
	return c.h.list, nil
}
func (c homeCaller) Close() error {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	c.h.closed++
	c.h.changed.Broadcast()
	return nil
}
func (c homeCaller) Call(
	ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions,
) (*tool.Result, error) {
	c.h.mu.Lock()
	c.h.asked = append(c.h.asked, opt)
	c.h.mu.Unlock()
	if c.h.talk != nil {
		return &tool.Result{Raw: []byte("{}")}, c.h.talk(ctx, ref, opt)
	}
	return c.h.call(ctx, args)
}

func (c homeCaller) Request(
	ctx context.Context, server, method string, params json.RawMessage, opt tool.CallOptions,
) (json.RawMessage, error) {
	res, err := c.Call(ctx, tool.Ref{Server: server, Name: method}, params, opt)
	if err != nil {
		return nil, err
	}
	return res.Raw, nil
}

func (c homeCaller) Watch(_ context.Context, _ string, _ tool.CallOptions, tell func(tool.Event)) (func(), error) {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	c.h.tell = tell
	return func() {}, nil
}

// serve runs the daemon until the test or ctx ends. ended is closed when it has.
func (h *home) serve(ctx context.Context, change func(*Options)) (ended <-chan struct{}) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	listening, done := make(chan error, 1), make(chan struct{})
	opt := Options{Place: h.place, Identity: "v1", Listening: func(err error) { listening <- err },
		stopGrace: 100 * time.Millisecond,
		NewCaller: func(_ *config.Config, o host.CallerOptions) engine.Caller {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.opened, h.log = append(h.opened, o), o.Log
			return homeCaller{h}
		},
		Event: func(_, event string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.events = append(h.events, event)
			h.changed.Broadcast()
		}}
	if change != nil {
		change(&opt)
	}
	go func() {
		defer close(done)
		_ = Serve(ctx, opt) // Listening gets the error
	}()
	h.t.Cleanup(func() { cancel(); <-done })
	if err := <-listening; err != nil {
		h.t.Fatal(err)
	}
	return done
}

// localCaller answers "local", for requests that a client makes in its own process.
type localCaller struct{}

func (localCaller) List(context.Context, string, tool.CallOptions) (tool.Listing, error) {
	return tool.Listing{}, nil
}

func (localCaller) Call(context.Context, tool.Ref, json.RawMessage, tool.CallOptions) (*tool.Result, error) {
	return &tool.Result{Raw: []byte("local")}, nil
}

func (localCaller) Request(
	context.Context, string, string, json.RawMessage, tool.CallOptions,
) (json.RawMessage, error) {
	return []byte("local"), nil
}

func (localCaller) Watch(_ context.Context, server string, _ tool.CallOptions, tell func(tool.Event)) (func(), error) {
	tell(tool.Event{Server: server, Method: "local"})
	return func() {}, nil
}

func (localCaller) Close() error { return nil }

// client returns a client that starts no daemon.
func (h *home) client(change func(*ClientOptions)) *Client {
	opt := ClientOptions{Env: h.env, Identity: "v1", Environ: []string{"A=1", "MCPL_TRUST=all"}, InProcess: func() engine.Caller {
		return localCaller{}
	}}
	if change != nil {
		change(&opt)
	}
	c := NewClient(h.config().Sources, opt)
	h.t.Cleanup(func() { c.Close() })
	return c
}

var ref = tool.Ref{Server: "s", Name: "t"}

// ask calls the tool and returns the result.
func (h *home) ask(c *Client, args string) string {
	h.t.Helper()
	res, err := c.Call(h.t.Context(), ref, json.RawMessage(args), tool.CallOptions{})
	if err != nil {
		h.t.Error(err)
		return ""
	}
	return string(res.Raw)
}

// connect connects to the daemon, however long a busy machine takes for it.
func (h *home) connect() *stream {
	h.t.Helper()
	for {
		s, err := h.greeted()
		if err == nil {
			s.readWithin(0)
			return s
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			h.t.Fatal(err)
		}
	}
}

// greeted connects to the daemon and reads its greeting.
func (h *home) greeted() (*stream, error) {
	s, err := dial(h.place.Socket)
	if err != nil {
		return nil, err
	}
	if _, err = readGreeting(s); err != nil {
		s.close()
	}
	return s, err
}

// handOver sends a call on a connected stream.
func (h *home) handOver(s *stream) {
	h.t.Helper()
	r := h.client(nil).newRequest(query{Op: opCall, Server: "s", Name: "t", Audience: true}, nil, nil)
	if err := s.send(r.frame); err != nil {
		h.t.Fatal(err)
	}
}

// wait waits until something is so.
func (h *home) wait(what string, so func() bool) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	late := false
	defer time.AfterFunc(time.Minute, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		late = true
		h.changed.Broadcast()
	}).Stop()
	for !so() {
		if late {
			h.t.Fatalf("it never came to that: %s", what)
		}
		h.changed.Wait()
	}
}

// logged returns the log's lines that contain a text.
func (h *home) logged(part string) []string {
	h.t.Helper()
	var lines []string
	err := ReadLog(h.t.Context(), h.place, "", false, func(l LogLine) error {
		if strings.Contains(l.Event, part) {
			lines = append(lines, l.Event)
		}
		return nil
	})
	if err != nil {
		h.t.Error(err)
	}
	return lines
}

// impostor listens on the socket in the place of a daemon.
func impostor(t *testing.T, h *home, serve func(*stream)) {
	t.Helper()
	l, err := net.Listen("unix", h.place.Socket)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(newStream(conn, maxRequest))
			conn.Close()
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
}
