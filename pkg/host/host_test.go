package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

var _ engine.Caller = (*Caller)(nil)

// home is a folder with a configuration, and a host whose servers are fake.
type home struct {
	*Host
	t   testing.TB
	dir string

	mu     sync.Mutex
	call   func(ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions) (*tool.Result, error)
	opened []*homeCaller
	log    []string
}

// homeCaller is one server of a home.
type homeCaller struct {
	CallerOptions
	h       *home
	command string
	tell    func(tool.Event)
	closed  bool
}

func (c *homeCaller) List(ctx context.Context, server string, opt tool.CallOptions) (tool.Listing, error) {
	_, err := c.Call(ctx, tool.Ref{Server: server}, nil, opt)
	return tool.Listing{ServerName: "fake"}, err
}

func (c *homeCaller) Call(
	ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions,
) (*tool.Result, error) {
	c.h.mu.Lock()
	call := c.h.call
	c.h.mu.Unlock()
	if call == nil {
		return &tool.Result{Raw: args}, nil
	}
	return call(ctx, ref, args, opt)
}

func (c *homeCaller) Request(
	ctx context.Context, server, method string, params json.RawMessage, opt tool.CallOptions,
) (json.RawMessage, error) {
	res, err := c.Call(ctx, tool.Ref{Server: server, Name: method}, params, opt)
	if err != nil {
		return nil, err
	}
	return res.Raw, nil
}

func (c *homeCaller) Watch(_ context.Context, _ string, _ tool.CallOptions, tell func(tool.Event)) (func(), error) {
	c.tell = tell
	return func() {}, nil
}

func (c *homeCaller) Close() error {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	c.closed = true
	return nil
}

// newHome starts a host, which is closed at the end of the test.
func newHome(t testing.TB, change func(*Options)) *home {
	t.Helper()
	h := &home{t: t, dir: t.TempDir()}
	h.configure(`{"s": {"command": "fake", "inheritEnv": true}, "b": {"command": "fake", "inheritEnv": true}, "once": {"command": "fake", "lifecycle": "ephemeral"}}`)
	opt := Options{
		NewCaller: func(cfg *config.Config, o CallerOptions) engine.Caller {
			h.mu.Lock()
			defer h.mu.Unlock()
			c := &homeCaller{CallerOptions: o, h: h, command: cfg.Servers[0].Command}
			h.opened = append(h.opened, c)
			return c
		},
		Log: func(server, event string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.log = append(h.log, server+": "+event)
		},
	}
	if change != nil {
		change(&opt)
	}
	h.Host = New(opt)
	t.Cleanup(func() { h.Close() })
	return h
}

func (h *home) configure(servers string) {
	h.t.Helper()
	h.configureAt(servers, time.Now())
}

// configureAt replaces the configuration at once: the host may look just then.
func (h *home) configureAt(servers string, at time.Time) {
	h.t.Helper()
	file := filepath.Join(h.dir, ".mcp.json")
	if err := errors.Join(os.WriteFile(file+".new", []byte(`{"mcpServers": `+servers+`}`), 0o600),
		os.Chtimes(file+".new", at, at), os.Rename(file+".new", file)); err != nil {
		h.t.Fatal(err)
	}
}

// here are the surroundings of a client in the home.
func (h *home) here(environ ...string) Surroundings {
	return Surroundings{Dir: h.dir, Home: h.dir, Environ: append(environ, "MCPL_TRUST=all")}
}

// ask calls a tool of a server and returns the error.
func (h *home) ask(s Surroundings, server string) error {
	_, err := h.Caller(s, nil).Call(h.t.Context(), tool.Ref{Server: server, Name: "t"}, nil, tool.CallOptions{})
	return err
}

// mustAsk fails the test if the call fails.
func (h *home) mustAsk(s Surroundings, server string) {
	h.t.Helper()
	if err := h.ask(s, server); err != nil {
		h.t.Errorf("%s: %v", server, err)
	}
}

// want compares how many servers were opened and how many of them are open.
func (h *home) want(opened, open int) {
	h.t.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, c := range h.opened {
		if !c.closed {
			n++
		}
	}
	if len(h.opened) != opened || n != open {
		h.t.Errorf("%d servers were opened and %d are open, want %d and %d", len(h.opened), n, opened, open)
	}
}

// logged returns the log's lines that contain a text.
func (h *home) logged(part string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var lines []string
	for _, line := range h.log {
		if strings.Contains(line, part) {
			lines = append(lines, line)
		}
	}
	return lines
}

// inBubble runs a test with virtual time.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Parallel()
	synctest.Test(t, f)
}

// later lets the host look at the files once more.
func later() {
	time.Sleep(watchEvery + time.Millisecond) // virtual
	synctest.Wait()
}

// Clients share a server if it would be started the same way for them.
func TestSharing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHome(t, nil)
		h.mustAsk(h.here("TOKEN=a", "TERM=xterm", "MCPL_TTL=1m", "SHLVL=1"), "s")
		h.mustAsk(h.here("TERM=dumb", "TOKEN=a"), "s") // the same but for the terminal
		h.want(1, 1)
		h.mustAsk(h.here("TOKEN=b"), "s")
		h.want(2, 2)
		for i, token := range []string{"TOKEN=a", "TOKEN=b"} {
			c := h.opened[i]
			if strings.Join(c.Environ, " ") != token+" PWD="+h.dir || c.Dir != h.dir || c.Root != "" || !c.Listen {
				t.Errorf("%+v", c.CallerOptions)
			}
		}
		// A server that is offered the folder of the project is another one.
		rooted := h.here("TOKEN=a")
		rooted.Roots = true
		h.mustAsk(rooted, "s")
		h.want(3, 3)
		if c := h.opened[2]; c.Root != h.dir {
			t.Errorf("%+v", c.CallerOptions)
		}
		// Another principal never gets the server that is only for this one, in whatever order they come.
		h.configure(`{"s": {"command": "fake", "inheritEnv": true, "scope": "user"}}`)
		for range 2 {
			for _, p := range []tool.Principal{"", "ada", "bob"} {
				opt := tool.CallOptions{Principal: p}
				if _, err := h.Caller(h.here("TOKEN=b"), nil).List(t.Context(), "s", opt); err != nil {
					t.Error(err)
				}
			}
		}
		h.want(5, 5)
	})
}

// A changed entry gives a new server only if it would be started in another way.
func TestConfigurationChange(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHome(t, nil)
		h.mustAsk(h.here(), "s")
		h.configure(`{"s": {"command": "fake", "callTimeout": "3s", "idle": "1h"}}`)
		h.mustAsk(h.here(), "s")
		h.want(1, 1)
		h.configure(`{"s": {"command": "fake", "args": ["new"]}}`)
		h.mustAsk(h.here(), "s")
		h.want(2, 1)
		if st := h.Status(); len(st) != 1 || st[0].Name != "s" || st[0].State != "idle" || st[0].Calls != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// The time limit of a call is the request's, or the entry's, or the client's, each as it is now.
func TestLimits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHome(t, nil)
		var got time.Duration
		h.call = func(_ context.Context, _ tool.Ref, _ json.RawMessage, opt tool.CallOptions) (*tool.Result, error) {
			if got = opt.Timeout; opt.Audience != nil {
				t.Error("no audience became one")
			}
			return nil, nil
		}
		slow := h.here()
		slow.Limits.Call = 3 * time.Second
		call := func(timeout time.Duration) time.Duration {
			opt := tool.CallOptions{Timeout: timeout}
			if _, err := h.Caller(slow, nil).Call(t.Context(), tool.Ref{Server: "s"}, nil, opt); err != nil {
				t.Error(err)
			}
			return got
		}
		if call(time.Second) != time.Second || call(0) != 3*time.Second {
			t.Errorf("limit %s", got)
		}
		h.configure(`{"s": {"command": "fake", "callTimeout": "2s"}}`)
		if call(0) != 2*time.Second {
			t.Errorf("the entry's limit: %s", got)
		}
		h.want(1, 1)
	})
}

// The host declines what its client has to do itself, and has then done nothing.
func TestDeclines(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHome(t, func(o *Options) { o.StateDir = "/logins/mcpl" })
		h.configure(`{"s": {"command": "fake"}, "web": {"url": "https://example.com/mcp"}, "once": {"command": "fake", "lifecycle": "ephemeral"}}`)
		own, other := h.here("XDG_STATE_HOME=/logins"), h.here("XDG_STATE_HOME=/elsewhere")
		if err := h.ask(own, "once"); !errors.Is(err, ErrDeclined) {
			t.Errorf("ephemeral: %v", err)
		}
		if err := h.ask(other, "web"); !errors.Is(err, ErrDeclined) {
			t.Errorf("logins elsewhere: %v", err)
		}
		if err := h.ask(own, "none"); !fault.Is(err, fault.ServerNotFound) {
			t.Errorf("unknown: %v", err)
		}
		if err := h.ask(Surroundings{Dir: t.TempDir(), Home: h.dir + "/none"}, "s"); !fault.Is(err, fault.Config) {
			t.Errorf("no configuration: %v", err)
		}
		h.want(0, 0)
		h.mustAsk(own, "web")
		h.mustAsk(other, "s")
		h.want(2, 2)
		h.Close()
		if err := h.ask(own, "s"); !errors.Is(err, ErrEnding) {
			t.Errorf("closed: %v", err)
		}
	})
}

// Each request hears the events of its server, and no others.
func TestObserver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHome(t, nil)
		held := make(chan struct{})
		h.call = func(context.Context, tool.Ref, json.RawMessage, tool.CallOptions) (*tool.Result, error) {
			<-held
			return &tool.Result{}, nil
		}
		var wg sync.WaitGroup
		heard := make([][]string, 3)
		for i, server := range []string{"s", "s", "b"} {
			c := h.Caller(h.here(), func(server, event string) { heard[i] = append(heard[i], server+": "+event) })
			wg.Go(func() { _, _ = c.Call(t.Context(), tool.Ref{Server: server}, nil, tool.CallOptions{}) })
			synctest.Wait()
		}
		h.opened[0].Log("s", "it happens")
		close(held)
		wg.Wait()
		h.opened[0].Log("s", "too late")
		if got := fmt.Sprint(heard); got != "[[s: it happens] [s: it happens] []]" {
			t.Error(got)
		}
		if got := h.logged("s: "); len(got) != 2 {
			t.Errorf("logged %q", got)
		}
	})
}

// replying is an audience that answers after a while.
type replying struct {
	tool.Unable
	after time.Duration
}

func (replying) Progress(tool.Progress) {}
func (replying) Message(tool.Message)   {}
func (r replying) Elicit(context.Context, tool.Question) (tool.Reply, error) {
	time.Sleep(r.after) // virtual
	return tool.Reply{Action: tool.Accept}, nil
}

// Whatever a server says during a request, which then times out, shows that it lives. It is not started again.
func TestSignsOfLife(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for name, say := range map[string]func(a tool.Audience){
			"nothing":  nil,
			"progress": func(a tool.Audience) { a.Progress(tool.Progress{Done: 1}) },
			"message":  func(a tool.Audience) { a.Message(tool.Message{}) },
			"question": func(a tool.Audience) { _, _ = a.Elicit(t.Context(), tool.Question{}) },
			"sampling": func(a tool.Audience) { _, _ = a.Sample(t.Context(), tool.Sampling{}) },
			"roots":    func(a tool.Audience) { _, _ = a.Roots(t.Context()) },
		} {
			h := newHome(t, nil)
			h.mustAsk(h.here(), "s")
			time.Sleep(time.Second) // virtual
			h.call = func(_ context.Context, _ tool.Ref, _ json.RawMessage, opt tool.CallOptions) (*tool.Result, error) {
				time.Sleep(time.Second)
				if say != nil {
					say(opt.Audience)
				}
				return nil, fault.New(fault.Timeout, "too late", "")
			}
			opt := tool.CallOptions{Audience: replying{after: time.Minute}}
			_, err := h.Caller(h.here(), nil).Call(t.Context(), tool.Ref{Server: "s"}, nil, opt)
			if !fault.Is(err, fault.Timeout) {
				t.Errorf("%s: %v", name, err)
			}
			open := 1
			if say == nil {
				open = 0
			}
			h.want(1, open)
		}
	})
}

// The host follows the files while no request comes.
func TestWatch(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var looked atomic.Int64
		h := newHome(t, func(o *Options) { o.Looked = func() { looked.Add(1) } })
		time.Sleep(time.Hour)
		if n := looked.Load(); n != 0 {
			t.Errorf("%d looks without a server", n)
		}
		held := make(chan struct{})
		h.call = func(_ context.Context, _ tool.Ref, args json.RawMessage, _ tool.CallOptions) (*tool.Result, error) {
			if string(args) == "hold" {
				<-held
			}
			return nil, nil
		}
		both := `{"s": {"command": "fake"}, "b": {"command": "fake"%s}}`
		h.configure(fmt.Sprintf(both, ""))
		h.mustAsk(h.here(), "s")
		h.mustAsk(h.here(), "b")
		later()
		if n := looked.Load(); n < 2 {
			t.Errorf("%d looks", n)
		}
		// A file that is broken, or gone, changes nothing, which the log says once.
		h.configure(`{`)
		later()
		later()
		if got := h.logged("the configuration is left as it was"); len(got) != 1 || !strings.HasPrefix(got[0], ": ") {
			t.Errorf("broken: %q", got)
		}
		if err := os.Remove(filepath.Join(h.dir, ".mcp.json")); err != nil {
			t.Fatal(err)
		}
		later()
		later()
		if got := h.logged("another configuration is in force"); len(got) != 1 {
			t.Errorf("gone: %q", got)
		}
		h.configure(fmt.Sprintf(both, ""))
		later()
		h.want(2, 2)
		// A changed one ends after its call, and starts again with the next.
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _ = h.Caller(h.here(), nil).Call(t.Context(), tool.Ref{Server: "b"}, json.RawMessage("hold"), tool.CallOptions{})
		})
		synctest.Wait()
		h.configure(fmt.Sprintf(both, `, "args": ["new"]`))
		later()
		if got := h.logged("b: its entry has changed or is gone"); len(got) != 1 {
			t.Errorf("changed: %q", got)
		}
		h.want(2, 2)
		close(held)
		wg.Wait()
		h.want(2, 1)
		h.mustAsk(h.here(), "b")
		h.want(3, 2)
		h.configure(fmt.Sprintf(both, `, "args": ["new"], "disabled": true`))
		later()
		h.want(3, 1)
		h.configure(`{"b": {"command": "fake"}}`)
		later()
		h.want(3, 0)
	})
}

// The host looks at regular times, however many servers are started meanwhile: what one client changes does not end the
// servers of others at once.
func TestLooksRegularly(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var looked atomic.Int64
		h := newHome(t, func(o *Options) { o.Looked = func() { looked.Add(1) } })
		for i := range 50 {
			h.mustAsk(h.here(fmt.Sprint("A=", i%5)), []string{"s", "b"}[i%2])
			time.Sleep(watchEvery / 10)
		}
		synctest.Wait()
		if n := looked.Load(); n < 5 || n > 7 {
			t.Errorf("%d looks in %s", n, 5*watchEvery)
		}
		// It stops looking with the last server, and begins with the next.
		time.Sleep(2 * defaultIdle)
		h.want(10, 0)
		before := looked.Load()
		time.Sleep(time.Hour)
		h.mustAsk(h.here(), "s")
		later()
		if n := looked.Load() - before; n != 2 {
			t.Errorf("%d looks after an hour without a server", n)
		}
	})
}

// A server stays if another configuration comes into force in its folder, until it is idle.
func TestAnotherConfiguration(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHome(t, nil)
		h.mustAsk(h.here(), "s")
		old := filepath.Join(h.dir, ".mcp.json")
		if err := errors.Join(os.Mkdir(filepath.Join(h.dir, ".claude"), 0o700),
			os.Rename(old, filepath.Join(h.dir, ".claude", "mcp.json"))); err != nil {
			t.Fatal(err)
		}
		later()
		if got := h.logged("another configuration is in force"); len(got) != 1 {
			t.Errorf("%q", got)
		}
		h.want(1, 1)
		time.Sleep(defaultIdle)
		h.want(1, 0)
	})
}

// Files that have not changed are read once. Those that were written a moment ago are read each time.
func TestReadOnce(t *testing.T) {
	t.Parallel() // in real time, in which the files have theirs
	h := newHome(t, nil)
	put := func(command string, at time.Time) {
		t.Helper()
		h.configureAt(`{"s": {"command": "`+command+`"}}`, at)
	}
	for i, age := range []time.Duration{time.Hour, -time.Hour} {
		h.mu.Lock()
		before := len(h.opened)
		h.mu.Unlock()
		at := time.Now().Add(-age)
		put("one"+fmt.Sprint(i), at)
		h.mustAsk(h.here(), "s")
		put("two"+fmt.Sprint(i), at) // the same size and time, which nothing tells from an old file
		h.mustAsk(h.here(), "s")
		h.mu.Lock()
		if n := len(h.opened) - before; n != 1+i {
			t.Errorf("%s old: %d servers", age, n)
		}
		h.mu.Unlock()
	}
}

// The host forgets client environments without a running server.
func TestForget(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHome(t, nil)
		h.configure(`{"s": {"command": "fake", "inheritEnv": true, "lifecycle": "keep-alive"}}`)
		if h.KeepsAlive() {
			t.Error("keeps alive what does not run")
		}
		h.mustAsk(h.here("A=1"), "s")
		if !h.KeepsAlive() {
			t.Error("keeps none alive")
		}
		for i := range 10 {
			_ = h.ask(h.here(fmt.Sprint("B=", i)), "none")
		}
		count := func() int {
			h.Host.mu.Lock()
			defer h.Host.mu.Unlock()
			return len(h.envs)
		}
		if n := count(); n != 11 {
			t.Errorf("%d environments", n)
		}
		late := h.Caller(h.here("B=0"), nil)
		time.Sleep(2*envMemory + time.Second)
		if n := count(); n != 1 {
			t.Errorf("%d environments are left", n)
		}
		h.mustAsk(h.here("A=1"), "s")
		h.want(1, 1)
		// A caller outlives what the host remembers.
		if _, err := late.List(t.Context(), "s", tool.CallOptions{}); err != nil {
			t.Error(err)
		}
		h.want(2, 2)
	})
}

// Close waits for the servers in use, which their last request ends.
func TestClose(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHome(t, nil)
		h.mustAsk(h.here(), "b")
		held := make(chan struct{})
		h.call = func(context.Context, tool.Ref, json.RawMessage, tool.CallOptions) (*tool.Result, error) {
			<-held
			return nil, nil
		}
		var requests, closing sync.WaitGroup
		requests.Go(func() { h.mustAsk(h.here(), "s") })
		synctest.Wait()
		var closed atomic.Bool
		closing.Go(func() { h.Close(); closed.Store(true) })
		h.want(2, 1)
		if closed.Load() {
			t.Error("it did not wait for the server in use")
		}
		close(held)
		requests.Wait()
		closing.Wait()
		h.want(2, 0)
		c := h.Caller(h.here(), nil)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if st := h.Status(); !slices.Equal(st, []ServerStatus{}) {
			t.Errorf("%+v", st)
		}
	})
}
