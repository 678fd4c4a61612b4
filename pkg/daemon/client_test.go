//go:build linux || darwin

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

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
		opt := tool.CallOptions{Timeout: timeout, Repeatable: timeout > 0,
			HeaderSchema: strings.Repeat("<s>", int(timeout/time.Second))}
		if _, err := slow.Call(t.Context(), ref, nil, opt); err != nil {
			t.Error(err)
		}
		if len(h.asked) == 2 {
			h.configure(`{"mcpServers": {"s": {"command": "fake", "callTimeout": "2s"}}}`)
		}
	}
	// All are of the same client, which is another one than c.
	client := h.asked[0].Client
	_, err := c.Call(t.Context(), ref, nil, tool.CallOptions{})
	if err != nil || client == "" || h.asked[3].Client == client {
		t.Errorf("clients %q and %+v, %v", client, h.asked, err)
	}
	want := []tool.CallOptions{{Timeout: time.Second, Client: client, Repeatable: true, HeaderSchema: "<s>"},
		{Timeout: 3 * time.Second, Client: client}, {Timeout: 2 * time.Second, Client: client}}
	if !reflect.DeepEqual(h.asked[:3], want) {
		t.Errorf("asked with %+v", h.asked)
	}
	// The servers inherit the client's environment and run in its folder.
	if o := h.opened[0]; strings.Join(o.Environ, " ") != "A=1 PWD="+h.env.Dir || o.Dir != h.env.Dir {
		t.Errorf("opened with %+v", o)
	}
	st, running, err := Ask(h.place)
	if err != nil || !running || len(st.Servers) != 1 || st.Servers[0].Name != "s" || st.Servers[0].State != "idle" ||
		st.PID != os.Getpid() || st.Requests != 0 {
		t.Errorf("%+v, %v, %v", st, running, err)
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
	h.list = tool.Listing{
		Tools: []tool.Def{
			parse(tool.Tool, `{"name":"t","inputSchema":{ "type" : "object", "x": 1.0 },"description":"<b>`+"\xfe"+`"}`),
			parse(tool.Tool, `{"name":"u"}`)},
		Resources: []tool.Def{parse(tool.Resource, `{"uri":"file:///<x>", "size": 1.0}`),
			parse(tool.Template, `{"uriTemplate":"file:///{p}","name":"n"}`)},
		Prompts: []tool.Def{parse(tool.Prompt, `{"name":"p","arguments":[ {"name":"a"} ]}`)},
		Stderr:  "last words",
		Known:   tool.Known{Protocol: "2025-11-25"}, ServerName: "n", ServerVersion: "v", Instructions: "i",
		TTL: time.Minute, Notes: []string{"odd"}}
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
		Next: []fault.Next{
			{Why: "w", Step: &fault.Step{Verb: "auth login", Server: "s", Tool: "t", Args: []string{"--x", "<a b>"}}},
			{Set: &fault.Set{Variable: "V", File: "/f"}}},
		Suggestions: []string{"x"}, Result: json.RawMessage(`{"n":1.0}`),
		Arguments: []fault.Argument{{Pointer: "/a", Problem: "p", Expected: "e", Nearest: "n"}}}
	h.call = func(context.Context, json.RawMessage) (*tool.Result, error) { return nil, want }
	c := h.client(nil)
	_, err := c.Call(t.Context(), ref, nil, tool.CallOptions{})
	if got := fault.From(err); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	// So it is with a mistake in the configuration.
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
	note := func(l LogLine) error { logged = append(logged, l); return nil }
	if err := ReadLog(t.Context(), h.place, "s", false, note); err != nil ||
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
	s := h.connect()
	h.handOver(s)
	<-running
	s.close()
	if cause := <-ended; !errors.Is(cause, errGone) {
		t.Errorf("cause %v", cause)
	}
}

func TestInProcess(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if got := h.ask(h.client(nil), "{}"); got != "local" {
		t.Errorf("no daemon: %q", got)
	}
	h.serve(t.Context(), nil)
	once := tool.Ref{Server: "once", Name: "t"}
	if res, err := h.client(nil).Call(t.Context(), once, nil, tool.CallOptions{}); err != nil || string(res.Raw) != "local" {
		t.Errorf("ephemeral: %v, %v", res, err)
	}
	before := len(h.opened)
	asked := false
	c := h.client(func(o *ClientOptions) {
		o.Ephemeral = func(server string) bool { asked = true; return server == "s" }
	})
	if got := h.ask(c, "{}"); got != "local" || !asked || len(h.opened) != before {
		t.Errorf("known to be ephemeral: %q", got)
	}
	// A named pipe stands for --config <(...): it can be read once, and not by the daemon.
	pipe := filepath.Join(h.env.Dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
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
		c := h.client(func(o *ClientOptions) { o.Environ = []string{"XDG_STATE_HOME=" + tt.state, "MCPL_TRUST=all"} })
		to := tool.Ref{Server: tt.server, Name: "t"}
		res, err := c.Call(t.Context(), to, json.RawMessage(`{}`), tool.CallOptions{})
		if err != nil || (string(res.Raw) == "local") != tt.local {
			t.Errorf("%+v: %v %v", tt, res, err)
		}
	}
}

// A client that makes no requests in its own process says so, and has done nothing.
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

// Nothing is lost before the daemon has a call. After that the call is made again only if that does no harm, and is
// never given up silently.
func TestLostDaemon(t *testing.T) {
	t.Parallel()
	hello := func(s *stream) { _ = s.send(pack(kindGreeting, greeting{Version: "v1", PID: 1})) }
	readAll := func(s *stream) { _, _, _ = s.read() }
	for name, serve := range map[string]func(*stream){
		"at once":   func(*stream) {},
		"garbage":   func(s *stream) { _, _ = s.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) },
		"silent":    func(s *stream) { _, _, _ = s.read() },
		"refuses":   func(s *stream) { hello(s); readAll(s); _ = s.send(frame{kind: kindRefusal}) },
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
		"after the call":    func(s *stream) { hello(s); readAll(s) },
		"after a beat":      func(s *stream) { hello(s); readAll(s); _ = s.send(frame{kind: kindBeat}) },
		"within the result": func(s *stream) { hello(s); readAll(s); _, _ = s.Write([]byte("r\x00\x00\x00\x05\x00{")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			var calls atomic.Int64
			impostor(t, h, func(s *stream) { calls.Add(1); serve(s) })
			_, err := h.client(nil).Call(t.Context(), ref, nil, tool.CallOptions{})
			f := fault.From(err)
			if f == nil || f.Type != fault.ServerConnection ||
				!strings.Contains(f.Message, "lost in the middle of the call to s/t") ||
				!strings.Contains(f.Help, "may have run or not") || len(f.Next) != 2 ||
				f.Server != "s" || f.Tool != "t" || calls.Load() != 1 {
				t.Errorf("%+v after %d calls", f, calls.Load())
			}
			res, err := h.client(nil).Call(t.Context(), ref, nil, tool.CallOptions{Repeatable: true})
			if err != nil || string(res.Raw) != "local" {
				t.Errorf("repeatable: %v, %v", res, err)
			}
		})
	}
}

// TestF17FrozenDaemon waits once for a daemon that does not answer, says so once, and asks again after a minute, or
// as soon as there is another daemon.
func TestF17FrozenDaemon(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	var connections, said atomic.Int64
	impostor(t, h, func(s *stream) { connections.Add(1); _, _, _ = s.read(); _, _, _ = s.read() })
	call := func(early bool) {
		c := h.client(func(o *ClientOptions) {
			if o.Frozen = func() { said.Add(1) }; early {
				o.InProcess = nil
			}
		})
		res, err := c.Call(t.Context(), ref, nil, tool.CallOptions{})
		if !early && (err != nil || string(res.Raw) != "local") || early && !errors.Is(err, engine.ErrNotFresh) {
			t.Errorf("%v, %v", res, err)
		}
	}
	check := func(when string, connected, noted int64) {
		t.Helper()
		if connections.Load() != connected || said.Load() != noted {
			t.Errorf("%s: %d connections, said %d times", when, connections.Load(), said.Load())
		}
	}
	call(true)
	check("on the early path", 1, 0)
	call(false)
	check("then in main", 1, 1)
	path, content := h.place.mark(1) // as if another process had found out
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	call(false)
	check("the next process", 1, 1)
	past := time.Now().Add(-2 * frozenFor)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	call(false)
	check("after a minute", 2, 2)
	if err := os.Chtimes(h.place.Socket, past, past); err != nil { // another daemon's
		t.Fatal(err)
	}
	call(false)
	check("another daemon", 3, 3)
}

// TestF15LargeQuery makes requests in its own process that would have the daemon hold more than a client may.
func TestF15LargeQuery(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	large := strings.Repeat("x", maxQuery)
	for name, change := range map[string]func(*ClientOptions){
		"environment": func(o *ClientOptions) { o.Environ = []string{"A=" + large} },
		"query":       func(o *ClientOptions) { o.Selection.EnvFiles = []string{large} },
	} {
		c := h.client(change)
		if got := h.ask(c, "{}"); got != "local" {
			t.Errorf("%s: %q", name, got)
		}
		r := c.newRequest(query{Op: opCall, Server: "s", Name: "t"}, nil, nil)
		s := h.connect()
		if err := s.send(r.frame); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := s.read(); err == nil {
			t.Errorf("%s: the daemon took it", name)
		}
		s.close()
	}
	if got := h.ask(h.client(nil), "1"); got != "1" {
		t.Errorf("got %q", got)
	}
	s := h.connect()
	defer s.close()
	if _, err := s.Write([]byte("q\x3f\xff\xff\xff")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.read(); err == nil {
		t.Error("the daemon waits for a gigabyte")
	}
}

// A listing is made again if the daemon is lost, since that does no harm.
func TestLostListing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	impostor(t, h, func(s *stream) {
		_ = s.send(pack(kindGreeting, greeting{Version: "v1", PID: 1}))
		_, _, _ = s.read()
	})
	var said []string
	c := h.client(func(o *ClientOptions) { o.Log = func(_, event string) { said = append(said, event) } })
	if _, err := c.List(t.Context(), "s", tool.CallOptions{}); err != nil || len(said) != 1 || !strings.Contains(said[0], "makes it again") {
		t.Errorf("%v, said %q", err, said)
	}
}

// The loss of the daemon names the verb to use without it.
func TestLostRequest(t *testing.T) {
	t.Parallel()
	for kind, want := range map[tool.Kind]string{
		tool.Tool: "call s x --no-daemon", tool.Resource: "read s x --no-daemon", tool.Prompt: "prompt s x --no-daemon",
	} {
		f := (&lostError{os.ErrDeadlineExceeded}).fault(tool.Ref{Server: "s", Name: "x", Kind: kind})
		if got := strings.Join(f.Next[1].Step.Words(), " "); got != want || !strings.Contains(f.Message, "said nothing for 30s") {
			t.Errorf("%s: %+v", kind, f)
		}
	}
}

// Refresh returns as soon as the daemon has begun. Failures after that are in the log.
func TestRefresh(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	refresh := func(identity string) error {
		return h.client(func(o *ClientOptions) { o.InProcess, o.Identity = nil, identity }).Refresh(t.Context())
	}
	if err := refresh("v1"); !absent(err) {
		t.Error(err)
	}
	held := make(chan struct{})
	ended := h.serve(t.Context(), func(o *Options) {
		o.NewCatalog = func(o host.CatalogOptions) (host.Catalog, error) {
			if v, _ := o.Env.Lookup("A"); v != "1" || o.Env.Dir != h.env.Dir {
				t.Errorf("%+v", o)
			}
			<-held
			return nil, errors.New("no catalog today")
		}
	})
	if err := refresh("v2"); err == nil {
		t.Error("of another version")
	}
	if err := refresh("v1"); err != nil {
		t.Error(err)
	}
	close(held)
	h.wait("a line in the log", func() bool {
		return slices.Contains(h.events, "the index could not be refreshed: no catalog today")
	})
	c := h.client(nil)
	c.sources.Configs[0].Path = "/dev/null"
	if err := c.Refresh(t.Context()); err == nil {
		t.Error("from a device")
	}
	select {
	case <-ended:
		t.Error("it was made to end")
	default:
	}
}
