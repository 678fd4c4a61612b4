//go:build linux || darwin

package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// home is a folder with a configuration, and a daemon for it whose servers are fake.
type home struct {
	t     *testing.T
	env   config.Env
	vars  map[string]string
	place Place
	call  func(ctx context.Context, args json.RawMessage) (*tool.Result, error)
	// talk, when not nil, is called instead of call.
	talk func(ctx context.Context, ref tool.Ref, opt tool.CallOptions) error
	list tool.Listing

	mu     sync.Mutex
	opened []CallerOptions
	served []*config.Config // one for each of opened
	closed int
	asked  []tool.CallOptions
	log    func(server, event string)
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir, err := os.MkdirTemp("", "d") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &home{t: t, vars: map[string]string{"XDG_CACHE_HOME": dir, "XDG_STATE_HOME": dir}}
	h.env = config.Env{Dir: dir, Home: dir, GOOS: runtime.GOOS, Lookup: func(name string) (string, bool) { v, ok := h.vars[name]; return v, ok }}
	h.call = func(_ context.Context, args json.RawMessage) (*tool.Result, error) {
		return &tool.Result{Raw: args}, nil
	}
	h.configure(`{"mcpServers": {"s": {"command": "fake"}, "once": {"command": "fake", "lifecycle": "ephemeral"}}}`)
	if h.place, err = PlaceOf(h.env, h.config().Sources.Key()); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *home) configure(text string) {
	h.t.Helper()
	// Replaced at once: a daemon that looks all the time would see it half written.
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
	return nil
}
func (c homeCaller) Call(ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions) (*tool.Result, error) {
	c.h.mu.Lock()
	c.h.asked = append(c.h.asked, opt)
	c.h.mu.Unlock()
	if c.h.talk != nil {
		return &tool.Result{Raw: []byte("{}")}, c.h.talk(ctx, ref, opt)
	}
	return c.h.call(ctx, args)
}

// serve runs the daemon until the test or ctx ends. ended is closed when it has.
func (h *home) serve(ctx context.Context, change func(*Options)) (ended <-chan struct{}) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	listening, done := make(chan error, 1), make(chan struct{})
	opt := Options{Place: h.place, Identity: "v1", Listening: func(err error) { listening <- err }, StopGrace: 100 * time.Millisecond,
		NewCaller: func(cfg *config.Config, o CallerOptions) engine.Caller {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.served = append(h.served, cfg)
			h.opened, h.log = append(h.opened, o), o.Log
			return homeCaller{h}
		}}
	if change != nil {
		change(&opt)
	}
	go func() {
		defer close(done)
		_ = Serve(ctx, opt) // what fails is told to Listening
	}()
	h.t.Cleanup(func() { cancel(); <-done })
	if err := <-listening; err != nil {
		h.t.Fatal(err)
	}
	return done
}

// client returns a client that starts no daemon. What it does in its own process answers "local".
func (h *home) client(change func(*ClientOptions)) *Client {
	opt := ClientOptions{Env: h.env, Identity: "v1", Environ: []string{"A=1"}, InProcess: func() engine.Caller {
		return &fakeCaller{t: h.t, call: func(context.Context, json.RawMessage) (*tool.Result, error) {
			return &tool.Result{Raw: []byte("local")}, nil
		}}
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

// greet connects to the daemon, however long a busy machine takes for it.
func (h *home) greet() *stream {
	h.t.Helper()
	for {
		s, _, err := greet(h.place)
		if err == nil {
			return s
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			h.t.Fatal(err)
		}
	}
}

// handOver sends a call on a greeted stream.
func (h *home) handOver(s *stream) {
	h.t.Helper()
	x := exchange{query: query{Op: opCall, Server: "s", Name: "t", Audience: true}}
	h.client(nil).fill(&x)
	if err := errors.Join(s.writeJSON(kindQuery, x.query), s.write(kindEnviron, []byte(x.environ)), s.write(kindArguments)); err != nil {
		h.t.Fatal(err)
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	c := h.client(nil)
	// Results and arguments cross byte for byte, also what encoding/json would change, and of any size.
	for _, text := range []string{`{ "a" : "<&>\u2028 ` + "\xff" + `" }`, "{}", `"` + strings.Repeat("x", 60<<20) + `"`} {
		if got := h.ask(c, text); got != text {
			t.Errorf("%.40q came back as %.40q", text, got)
		}
	}
	h.call = func(context.Context, json.RawMessage) (*tool.Result, error) {
		return &tool.Result{Raw: []byte("{}"), IsError: true}, nil
	}
	if res, err := c.Call(t.Context(), ref, nil, tool.CallOptions{}); err != nil || !res.IsError {
		t.Errorf("%+v, %v", res, err)
	}
	if len(h.opened) != 1 {
		t.Errorf("%d callers", len(h.opened))
	}
	// The limit is the flag's, else the entry's, else the setting's, each as it is now.
	h.asked = nil
	slow := h.client(func(o *ClientOptions) { o.Limits.Call = 3 * time.Second })
	for _, timeout := range []time.Duration{time.Second, 0, 0} {
		if _, err := slow.Call(t.Context(), ref, nil, tool.CallOptions{Timeout: timeout, Repeatable: timeout > 0, HeaderSchema: strings.Repeat("<s>", int(timeout/time.Second))}); err != nil {
			t.Error(err)
		}
		if len(h.asked) == 2 {
			h.configure(`{"mcpServers": {"s": {"command": "fake", "callTimeout": "2s"}}}`)
		}
	}
	// All are of the same client, which is another one than c.
	client := h.asked[0].Client
	if _, err := c.Call(t.Context(), ref, nil, tool.CallOptions{}); err != nil || client == "" || h.asked[3].Client == client {
		t.Errorf("clients %q and %+v, %v", client, h.asked, err)
	}
	if want := []tool.CallOptions{{Timeout: time.Second, Client: client, Repeatable: true, HeaderSchema: "<s>"}, {Timeout: 3 * time.Second, Client: client}, {Timeout: 2 * time.Second, Client: client}}; !slices.Equal(h.asked[:3], want) {
		t.Errorf("asked with %+v", h.asked)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	parse := func(kind tool.Kind, text string) tool.Def {
		def, err := tool.Parse(kind, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return def
	}
	h.list = tool.Listing{Tools: []tool.Def{parse(tool.Tool, `{"name":"t","inputSchema":{ "type" : "object", "x": 1.0 },"description":"<b>`+"\xfe"+`"}`)},
		Resources: []tool.Def{parse(tool.Resource, `{"uri":"file:///<x>", "size": 1.0}`), parse(tool.Template, `{"uriTemplate":"file:///{p}","name":"n"}`)},
		Prompts:   []tool.Def{parse(tool.Prompt, `{"name":"p","arguments":[ {"name":"a"} ]}`)},
		Stderr:    "last words",
		Known:     tool.Known{Protocol: "2025-11-25"}, ServerName: "n", ServerVersion: "v", Instructions: "i", TTL: time.Minute, Notes: []string{"odd"}}
	got, err := h.client(nil).List(t.Context(), "s", tool.CallOptions{})
	if err != nil || !reflect.DeepEqual(got, h.list) {
		t.Errorf("%+v, %v", got, err)
	}
}

// The socket loses nothing of a fault.
func TestFault(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	want := &fault.Fault{Type: fault.Protocol, Message: "m <>", Traceback: "a\nb", Help: "h", Server: "s", Tool: "t",
		Suggestions: []string{"x"}, Arguments: []fault.Argument{{Pointer: "/a", Problem: "p", Expected: "e", Nearest: "n"}}, Result: json.RawMessage(`{"n":1.0}`)}
	h.call = func(context.Context, json.RawMessage) (*tool.Result, error) { return nil, want }
	c := h.client(nil)
	_, err := c.Call(t.Context(), ref, nil, tool.CallOptions{})
	if got := fault.From(err); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	// What is wrong with the configuration by now is told as well.
	h.configure(`{"mcpServers": {"s": {"command": "fake", "env": {"T": "${NOT_THERE}"}}}}`)
	if _, err := c.Call(t.Context(), ref, nil, tool.CallOptions{}); !fault.Is(err, fault.MissingVariable) {
		t.Errorf("%v", err)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	h.call = func(context.Context, json.RawMessage) (*tool.Result, error) {
		h.log("s", "it happens")
		return &tool.Result{}, nil
	}
	var mu sync.Mutex
	var heard []string
	h.ask(h.client(func(o *ClientOptions) {
		o.Log = func(who, event string) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, who+": "+event)
		}
	}), "{}")
	if got := strings.Join(heard, "\n"); got != "s: it happens" {
		t.Errorf("heard %q", got)
	}
	var logged []LogLine
	if err := ReadLog(t.Context(), h.place, "s", false, func(l LogLine) error { logged = append(logged, l); return nil }); err != nil ||
		len(logged) != 1 || logged[0].Event != "it happens" {
		t.Errorf("logged %v, %v", logged, err)
	}
}

// Ctrl-C, and the death of a client, end the call at the server.
func TestCancel(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	running, ended := make(chan struct{}, 2), make(chan error, 2)
	h.call = func(ctx context.Context, _ json.RawMessage) (*tool.Result, error) {
		running <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, fault.New(fault.Interrupted, "interrupted at the server", "")
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-running; cancel() }()
	_, err := h.client(nil).Call(ctx, ref, nil, tool.CallOptions{})
	if f := fault.From(err); f.Type != fault.Interrupted || f.Message != "interrupted at the server" {
		t.Errorf("%+v", f)
	}
	if cause := <-ended; !errors.Is(cause, context.Canceled) {
		t.Errorf("cause %v", cause)
	}
	s := h.greet()
	h.handOver(s)
	<-running
	s.close()
	if cause := <-ended; !errors.Is(cause, errGone) {
		t.Errorf("cause %v", cause)
	}
}

// One slow call holds up no other, and a hundred at once are served by one server.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	held := make(chan struct{})
	h.call = func(_ context.Context, args json.RawMessage) (*tool.Result, error) {
		if string(args) == "slow" {
			<-held
		}
		return &tool.Result{Raw: args}, nil
	}
	c := h.client(nil)
	var slow, wg sync.WaitGroup
	slow.Go(func() { h.ask(c, "slow") })
	for range 100 {
		wg.Go(func() {
			if got := h.ask(h.client(nil), "fast"); got != "fast" {
				t.Errorf("got %q", got)
			}
		})
	}
	wg.Wait()
	close(held)
	slow.Wait()
	if len(h.opened) != 1 {
		t.Errorf("%d callers", len(h.opened))
	}
}

// Servers get the client's environment, those of other clients none of it.
func TestSurroundings(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	with := func(dir string, environ ...string) {
		h.ask(h.client(func(o *ClientOptions) { o.Environ = environ }), "{}")
	}
	with(h.env.Dir, "TOKEN=a", "TERM=xterm", "MCPL_TTL=1m", "SHLVL=1")
	with(h.env.Dir, "TERM=dumb", "TOKEN=a") // the same but for the terminal
	with(h.env.Dir, "TOKEN=b")
	if len(h.opened) != 2 {
		t.Fatalf("%d callers", len(h.opened))
	}
	for i, token := range []string{"TOKEN=a", "TOKEN=b"} {
		if o := h.opened[i]; strings.Join(o.Environ, " ") != token+" PWD="+h.env.Dir || o.Dir != h.env.Dir {
			t.Errorf("%+v", o)
		}
	}
}

func TestConfigurationChange(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	c := h.client(nil)
	h.ask(c, "{}")
	h.configure(`{"mcpServers": {"s": {"command": "fake", "callTimeout": "3s", "idle": "1h"}}}`)
	h.ask(c, "{}") // nothing that makes it another server
	h.configure(`{"mcpServers": {"s": {"command": "fake", "args": ["new"]}}}`)
	h.ask(c, "{}")
	if len(h.opened) != 2 {
		t.Errorf("%d callers", len(h.opened))
	}
	if st, running, err := Ask(h.place); err != nil || !running || len(st.Servers) != 1 || st.Servers[0].Name != "s" || st.Servers[0].State != "idle" ||
		st.Servers[0].Calls != 1 || st.PID != os.Getpid() || st.Requests != 0 {
		t.Errorf("%+v, %v, %v", st, running, err)
	}
}

func TestInProcess(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if got := h.ask(h.client(nil), "{}"); got != "local" {
		t.Errorf("no daemon: %q", got)
	}
	h.serve(t.Context(), nil)
	if res, err := h.client(nil).Call(t.Context(), tool.Ref{Server: "once", Name: "t"}, nil, tool.CallOptions{}); err != nil || string(res.Raw) != "local" {
		t.Errorf("ephemeral: %v, %v", res, err)
	}
	before := len(h.opened)
	asked := false
	c := h.client(func(o *ClientOptions) { o.Ephemeral = func(server string) bool { asked = true; return server == "s" } })
	if got := h.ask(c, "{}"); got != "local" || !asked || len(h.opened) != before {
		t.Errorf("known to be ephemeral: %q", got)
	}
	// A named pipe stands for --config <(...): it can be read once, and not by the daemon.
	pipe := filepath.Join(h.env.Dir, "pipe")
	if err := makePipe(pipe); err != nil {
		t.Fatal(err)
	}
	c = h.client(nil)
	c.sources.Configs[0].Path = pipe
	if got := h.ask(c, "{}"); got != "local" {
		t.Errorf("pipe: %q", got)
	}
}

// A client that has its logins elsewhere does not get those of the daemon.
func TestLoginsOfAnotherFolder(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.configure(`{"mcpServers": {"s": {"command": "fake"}, "web": {"url": "https://example.com/mcp"}}}`)
	h.serve(t.Context(), func(o *Options) { o.StateDir = h.env.StateDir() })
	for _, tt := range []struct {
		server, state string
		local         bool
	}{{"web", h.env.Dir, false}, {"web", t.TempDir(), true}, {"s", t.TempDir(), false}} {
		c := h.client(func(o *ClientOptions) { o.Environ = []string{"XDG_STATE_HOME=" + tt.state} })
		res, err := c.Call(t.Context(), tool.Ref{Server: tt.server, Name: "t"}, json.RawMessage(`{}`), tool.CallOptions{})
		if err != nil || (string(res.Raw) == "local") != tt.local {
			t.Errorf("%+v: %v %v", tt, res, err)
		}
	}
}

// A client that may do nothing itself says so, and has done nothing.
func TestOnlyWarm(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	call := func(ref tool.Ref, identity string) error {
		c := h.client(func(o *ClientOptions) { o.InProcess, o.Identity = nil, identity })
		_, err := c.Call(t.Context(), ref, nil, tool.CallOptions{})
		return err
	}
	if err := call(ref, "v1"); !errors.Is(err, engine.ErrNotFresh) {
		t.Errorf("no daemon: %v", err)
	}
	ended := h.serve(t.Context(), nil)
	if err := call(ref, "v1"); err != nil {
		t.Error(err)
	}
	if err := call(tool.Ref{Server: "once", Name: "t"}, "v1"); !errors.Is(err, engine.ErrNotFresh) {
		t.Errorf("ephemeral: %v", err)
	}
	if err := call(ref, "v2"); !errors.Is(err, engine.ErrNotFresh) {
		t.Errorf("another version: %v", err)
	}
	select {
	case <-ended:
		t.Error("the daemon was made to end")
	default:
	}
}

func TestOneDaemon(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	// What a killed one left: a socket that nobody listens on.
	l, err := listen(h.place.Socket)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if got := h.ask(h.client(nil), "{}"); got != "local" {
		t.Errorf("stale socket: %q", got)
	}
	h.serve(t.Context(), nil)
	if got := h.ask(h.client(nil), "{}"); got != "{}" {
		t.Errorf("got %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := Serve(ctx, Options{Place: h.place}); err == nil || !strings.Contains(err.Error(), "another daemon") {
		t.Errorf("a second one: %v", err)
	}
	if got := h.ask(h.client(nil), "{}"); got != "{}" {
		t.Errorf("after the second one: %q", got)
	}
	for path, mode := range map[string]os.FileMode{h.place.Socket: 0o600, filepath.Dir(h.place.Socket): 0o700, h.place.Lock: 0o600, h.place.Log: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// A client of another version has the daemon end, once its calls have.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	running, held := make(chan struct{}), make(chan struct{})
	h.call = func(context.Context, json.RawMessage) (*tool.Result, error) {
		close(running)
		<-held
		return &tool.Result{Raw: []byte("old")}, nil
	}
	ended := h.serve(t.Context(), nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		if got := h.ask(h.client(nil), "{}"); got != "old" {
			t.Errorf("the running call: %q", got)
		}
	})
	<-running
	greeted := h.greet()
	defer greeted.close()
	newer := func(o *ClientOptions) { o.Identity = "v2" }
	if got := h.ask(h.client(newer), "{}"); got != "local" {
		t.Errorf("the newer client: %q", got)
	}
	// Who was greeted before that is refused, with nothing done.
	h.handOver(greeted)
	if k, _, err := greeted.read(); k != kindRefusal || err != nil {
		t.Errorf("greeted before: %q, %v", k, err)
	}
	// It was waited for once. Who comes later, of whatever version, is told at once.
	for _, change := range []func(*ClientOptions){newer, nil} {
		before := time.Now()
		if got := h.ask(h.client(change), "{}"); got != "local" || time.Since(before) > replacePatience/2 {
			t.Errorf("a later client: %q after %s", got, time.Since(before))
		}
	}
	if st, running, err := Ask(h.place); err != nil || !running || !st.Ending || st.Requests != 1 {
		t.Errorf("%+v, %v, %v", st, running, err)
	}
	select {
	case <-ended:
		t.Error("it ended before its call")
	default:
	}
	close(held)
	wg.Wait()
	<-ended
	h.call = func(context.Context, json.RawMessage) (*tool.Result, error) {
		return &tool.Result{Raw: []byte("new")}, nil
	}
	h.serve(t.Context(), func(o *Options) { o.Identity = "v2" })
	if got := h.ask(h.client(newer), "{}"); got != "new" {
		t.Errorf("the new daemon: %q", got)
	}
}

// A daemon that is told to stop lets calls go on for a while, and then cancels them.
func TestStop(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	running := make(chan struct{})
	h.call = func(ctx context.Context, _ json.RawMessage) (*tool.Result, error) {
		close(running)
		<-ctx.Done()
		return nil, fault.New(fault.Interrupted, "interrupted", "").Because(context.Cause(ctx))
	}
	told := 0
	ended := h.serve(t.Context(), func(o *Options) { o.Ending = func() { told++ } })
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := h.client(nil).Call(t.Context(), ref, nil, tool.CallOptions{})
		if f := fault.From(err); f == nil || f.Type != fault.Interrupted || f.Traceback != errStopped.Error() {
			t.Errorf("%+v", f)
		}
	})
	<-running
	// That it is already ending, as slowly as its calls need, does not make the stop slower.
	if err := replace(t.Context(), h.place, time.Millisecond); !errors.Is(err, errBusyEnding) {
		t.Errorf("leaving: %v", err)
	}
	if stopped, err := Stop(t.Context(), h.place); err != nil || !stopped {
		t.Errorf("%v, %v", stopped, err)
	}
	wg.Wait()
	<-ended
	if told != 1 {
		t.Errorf("the end was told %d times", told)
	}
	if stopped, err := Stop(t.Context(), h.place); err != nil || stopped {
		t.Errorf("again: %v, %v", stopped, err)
	}
	if _, err := os.Stat(h.place.Socket); err == nil {
		t.Error("the socket is left")
	}
}

// A request that nothing can end does not keep the daemon, and with it the lock, for ever.
func TestStuckRequest(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	running, held := make(chan struct{}), make(chan struct{})
	defer close(held)
	h.call = func(context.Context, json.RawMessage) (*tool.Result, error) {
		close(running)
		<-held
		return &tool.Result{}, nil
	}
	ended := h.serve(t.Context(), func(o *Options) { o.cancelGrace = 10 * time.Millisecond })
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := h.client(nil).Call(t.Context(), ref, nil, tool.CallOptions{}); !fault.Is(err, fault.ServerConnection) {
			t.Error(err)
		}
	})
	<-running
	if stopped, err := Stop(t.Context(), h.place); err != nil || !stopped {
		t.Errorf("%v, %v", stopped, err)
	}
	<-ended
	wg.Wait()
	if lines := h.logged("1 requests do not end"); len(lines) != 1 {
		t.Errorf("logged %q", lines)
	}
	h.serve(t.Context(), nil) // the lock is free
}

func TestQuits(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	held := make(chan struct{})
	h.call = func(context.Context, json.RawMessage) (*tool.Result, error) { <-held; return &tool.Result{}, nil }
	ended := h.serve(t.Context(), func(o *Options) { o.QuitAfter = 500 * time.Millisecond })
	var wg sync.WaitGroup
	wg.Go(func() { h.ask(h.client(nil), "{}") })
	select {
	case <-ended:
		t.Error("it ended during a call")
	case <-time.After(time.Second):
	}
	close(held)
	wg.Wait()
	<-ended
}

// A daemon whose socket was cleaned away ends, and leaves that of the next one alone.
func TestLostSocket(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	ended := h.serve(t.Context(), func(o *Options) { o.lookEvery = time.Millisecond })
	if err := os.RemoveAll(filepath.Dir(h.place.Socket)); err != nil {
		t.Fatal(err)
	}
	if _, err := PlaceOf(h.env, h.config().Sources.Key()); err != nil { // makes the folder again
		t.Fatal(err)
	}
	h.serve(t.Context(), nil)
	<-ended
	if got := h.ask(h.client(nil), "{}"); got != "{}" {
		t.Errorf("the next one: %q", got)
	}
}

// impostor is what a client meets instead of a daemon.
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
			serve(newStream(polled{conn}))
			conn.Close()
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
}

// Before a call was handed over nothing is lost; after that it is made again only where that does
// no harm, and never silently given up.
func TestLostDaemon(t *testing.T) {
	t.Parallel()
	hello := func(s *stream) { _ = s.writeJSON(kindGreeting, greeting{Version: "v1", PID: 1}) }
	hear := func(s *stream) {
		for range 3 {
			_, _, _ = s.read()
		}
	}
	for name, serve := range map[string]func(*stream){
		"at once":   func(*stream) {},
		"garbage":   func(s *stream) { _, _ = s.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) },
		"silent":    func(s *stream) { _, _, _ = s.read() },
		"refuses":   func(s *stream) { hello(s); hear(s); _ = s.write(kindRefusal) },
		"mid-frame": func(s *stream) { _, _ = s.Write([]byte("g\x00\x00\x00\xff{")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			impostor(t, h, serve)
			if got := h.ask(h.client(nil), "{}"); got != "local" {
				t.Errorf("got %q", got)
			}
		})
	}
	for name, serve := range map[string]func(*stream){
		"after the call":    func(s *stream) { hello(s); hear(s) },
		"after a beat":      func(s *stream) { hello(s); hear(s); _ = s.write(kindBeat) },
		"within the result": func(s *stream) { hello(s); hear(s); _, _ = s.Write([]byte("r\x00\x00\x00\x05\x00{")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			var calls atomic.Int64
			impostor(t, h, func(s *stream) { calls.Add(1); serve(s) })
			_, err := h.client(nil).Call(t.Context(), ref, nil, tool.CallOptions{})
			f := fault.From(err)
			if f == nil || f.Type != fault.ServerConnection || !strings.Contains(f.Message, "lost in the middle of the call to s/t") ||
				!strings.Contains(f.Help, "may have run or not") || f.Server != "s" || f.Tool != "t" || calls.Load() != 1 {
				t.Errorf("%+v after %d calls", f, calls.Load())
			}
			res, err := h.client(nil).Call(t.Context(), ref, nil, tool.CallOptions{Repeatable: true})
			if err != nil || string(res.Raw) != "local" {
				t.Errorf("repeatable: %v, %v", res, err)
			}
		})
	}
}

// A listing is made again, which harms nobody, where the daemon is lost.
func TestLostListing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	impostor(t, h, func(s *stream) {
		_ = s.writeJSON(kindGreeting, greeting{Version: "v1", PID: 1})
		_, _, _ = s.read()
		_, _, _ = s.read()
	})
	var said []string
	c := h.client(func(o *ClientOptions) { o.Log = func(_, event string) { said = append(said, event) } })
	if _, err := c.List(t.Context(), "s", tool.CallOptions{}); err != nil || len(said) != 1 || !strings.Contains(said[0], "made again") {
		t.Errorf("%v, said %q", err, said)
	}
}

// After mixed calls, faults, cancellations and vanished clients nothing is left. It counts what the
// whole process has, so that no other test may run beside it.
func TestNothingLeft(t *testing.T) {
	h := newHome(t)
	before, files := runtime.NumGoroutine(), openFiles()
	ctx, cancel := context.WithCancel(t.Context())
	ended := h.serve(ctx, nil)
	var n atomic.Int64
	h.call = func(ctx context.Context, args json.RawMessage) (*tool.Result, error) {
		switch n := n.Add(1); n % 4 {
		case 0:
			if n > 12 { // more crashes than that, and nothing would be started any more
				return nil, fault.New(fault.Protocol, "broken", "")
			}
			return nil, fault.New(fault.ServerConnection, "crash", "")
		case 1:
			<-ctx.Done()
			return nil, fault.New(fault.Interrupted, "interrupted", "")
		case 2:
			return &tool.Result{Raw: bytes.Repeat([]byte("x"), 1<<20)}, nil
		}
		return &tool.Result{Raw: args}, nil
	}
	c := h.client(nil)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond/2)
			defer cancel()
			_, _ = c.Call(ctx, ref, nil, tool.CallOptions{}) // any outcome will do
			if s, _, err := greet(h.place); err == nil {     // and a client that leaves without a word
				s.close()
			}
		})
	}
	wg.Wait()
	cancel()
	<-ended
	c.Close()
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before || openFiles() > files; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines and %d files, before %d and %d\n%s", runtime.NumGoroutine(), openFiles(), before, files, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// openFiles counts the descriptors of this process; where it cannot, all is well.
func openFiles() int {
	entries, _ := os.ReadDir("/dev/fd")
	return len(entries)
}
