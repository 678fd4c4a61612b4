//go:build linux || darwin

package daemon

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

// wait waits until something is so.
func (h *home) wait(what string, so func() bool) {
	h.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		h.mu.Lock()
		done := so()
		h.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(end) {
			h.t.Fatalf("it never came to that: %s", what)
		}
	}
}

// logged returns the log's lines that a text is part of.
func (h *home) logged(part string) []string {
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

const servers = `{"mcpServers": {"s": {"command": "fake"}, "b": {"command": "fake"%s}, "once": {"command": "fake", "lifecycle": "ephemeral"}}}`

// The daemon follows the files while nobody asks for anything.
func TestWatch(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.configure(fmt.Sprintf(servers, ""))
	h.serve(t.Context(), func(o *Options) { o.watchEvery = time.Millisecond })
	held, running := make(chan struct{}), make(chan struct{})
	h.call = func(_ context.Context, args json.RawMessage) (*tool.Result, error) {
		if string(args) == "hold" {
			close(running)
			<-held
		}
		return &tool.Result{Raw: args}, nil
	}
	c := h.client(nil)
	call := func(server string) {
		t.Helper()
		if _, err := c.Call(t.Context(), tool.Ref{Server: server, Name: "t"}, nil, tool.CallOptions{}); err != nil {
			t.Error(err)
		}
	}
	call("s")
	call("b")
	// A file that is broken, or gone, changes nothing, and that is said once. One that goes just when it is
	// looked at is a complaint of its own.
	complaints := func() int { return len(h.logged("the configuration is left as it was")) }
	h.configure(`{"mcpServers": {`)
	h.wait("a complaint", func() bool { return complaints() == 1 })
	path := filepath.Join(h.env.Dir, ".mcp.json")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	h.wait("another complaint", func() bool { return len(h.logged("another configuration is in force")) == 1 })
	h.configure(fmt.Sprintf(servers, ""))
	time.Sleep(20 * time.Millisecond) // for what must not happen
	if st, _, err := Ask(h.place); err != nil || len(st.Servers) != 2 || h.closed != 0 {
		t.Errorf("%+v, %v, %d are closed", st, err, h.closed)
	}
	if n := complaints(); n > 3 {
		t.Errorf("logged %q", h.logged("the configuration is left as it was"))
	}
	// What changed ends, once its call has, and starts anew with the next.
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = c.Call(t.Context(), tool.Ref{Server: "b", Name: "t"}, json.RawMessage("hold"), tool.CallOptions{})
	})
	<-running
	h.configure(fmt.Sprintf(servers, `, "args": ["new"]`))
	h.wait("a line", func() bool { return len(h.logged("its entry has changed or is gone")) == 1 })
	if h.closed != 0 {
		t.Error("it ended before its call")
	}
	close(held)
	wg.Wait()
	h.wait("the end of the changed one", func() bool { return h.closed == 1 })
	call("b")
	if len(h.opened) != 3 {
		t.Errorf("%d callers", len(h.opened))
	}
	h.configure(fmt.Sprintf(servers, `, "args": ["new"], "disabled": true`))
	h.wait("the end of the disabled one", func() bool { return h.closed == 2 })
	h.configure(`{"mcpServers": {"b": {"command": "fake"}}}`)
	h.wait("the end of the removed one", func() bool { return h.closed == 3 })
	// With another configuration in force there, none of this one's ends but by itself.
	call("b")
	if err := os.MkdirAll(filepath.Join(h.env.Dir, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, filepath.Join(h.env.Dir, ".claude", "mcp.json")); err != nil {
		t.Fatal(err)
	}
	h.wait("a complaint", func() bool { return len(h.logged("another configuration is in force")) == 2 })
	if h.closed != 3 {
		t.Errorf("%d are closed", h.closed)
	}
}

// Files that have not changed are read once, those that were written a moment ago each time.
func TestReadOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	put := func(command string, at time.Time) {
		t.Helper()
		file := filepath.Join(h.env.Dir, ".mcp.json")
		text := `{"mcpServers": {"s": {"command": "` + command + `"}}}`
		if err := errors.Join(os.WriteFile(file+".new", []byte(text), 0o600), os.Chtimes(file+".new", at, at), os.Rename(file+".new", file)); err != nil {
			t.Fatal(err)
		}
	}
	c := h.client(nil)
	for i, age := range []time.Duration{time.Hour, -time.Hour} {
		before, at := len(h.opened), time.Now().Add(-age)
		put("one"+fmt.Sprint(i), at)
		h.ask(c, "{}")
		put("two"+fmt.Sprint(i), at) // the same size and time: of an old file nobody can tell
		h.ask(c, "{}")
		if n := len(h.opened) - before; n != 1+i {
			t.Errorf("%s old: %d callers", age, n)
		}
	}
}

// A pipe in the place of a file, as password managers put for .env, would be waited for until somebody writes.
func TestPipeForFile(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	o := &origin{surroundings: surroundings{env: h.env, dir: h.env.Dir}}
	if _, err := o.config(); err != nil {
		t.Fatal(err)
	}
	if err := makePipe(filepath.Join(h.env.Dir, ".env")); err != nil {
		t.Fatal(err)
	}
	complaints := make(chan string, 1)
	go func() {
		_, complaint := o.look()
		complaints <- complaint
	}()
	select {
	case complaint := <-complaints:
		if !strings.Contains(complaint, ".env is no regular file") {
			t.Errorf("complaint %q", complaint)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for the pipe")
	}
}

// What only passed by is forgotten, what a server runs for is not.
func TestForget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &server{origins: map[string]*origin{}}
		d.hub = newHub(func(string, string) {}, func(string, string) {})
		b := &bench{hub: d.hub, t: t, current: map[string]string{}}
		kept := d.originOf(&query{Dir: "/a"}, "A=1")
		d.originOf(&query{Dir: "/b"}, "A=1")
		if again := d.originOf(&query{Dir: "/a"}, "A=1"); again != kept {
			t.Error("the same is another")
		}
		s := b.spec("s", "1")
		s.origin, s.keep = kept.id, true
		_ = b.call(s)
		time.Sleep(originMemory / 2)
		d.originOf(&query{Dir: "/c"}, "A=1")
		time.Sleep(originMemory/2 + time.Second)
		d.forget()
		if len(d.origins) != 2 || d.originOf(&query{Dir: "/a"}, "A=1") != kept {
			t.Errorf("%v", d.origins)
		}
		b.close()
	})
}

// fakeEngine does as told.
type fakeEngine struct {
	EngineOptions
	cfg  *config.Config
	late func(e *fakeEngine, ctx context.Context) error
}

func (e *fakeEngine) RefreshLate(ctx context.Context) error { return e.late(e, ctx) }
func (e *fakeEngine) Relist(ctx context.Context, server string) error {
	_, err := e.NewCaller(e.cfg).List(ctx, server, tool.CallOptions{})
	return err
}
func (e *fakeEngine) Close() error { return nil }

// A refresh lists warm servers where they are, and others in processes that end with it; nobody
// waits for it, and there is one at a time.
func TestRefresh(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.configure(fmt.Sprintf(servers, ""))
	begun, held := make(chan struct{}, 9), make(chan struct{})
	var outcome error
	var running atomic.Int64
	h.serve(t.Context(), func(o *Options) {
		o.NewEngine = func(o EngineOptions) (Engine, error) {
			if v, _ := o.Env.Lookup("A"); v != "1" || o.Env.Dir != h.env.Dir || o.Selection.Configs != nil {
				t.Errorf("%+v", o)
			}
			return &fakeEngine{EngineOptions: o, late: func(e *fakeEngine, ctx context.Context) error {
				if running.Add(1) > 1 {
					t.Error("two at once")
				}
				defer running.Add(-1)
				begun <- struct{}{}
				<-held
				caller := e.NewCaller(h.config())
				for _, name := range []string{"s", "b", "once"} {
					if l, err := caller.List(ctx, name, tool.CallOptions{}); err != nil || l.ServerName != "n" {
						t.Errorf("%s: %+v, %v", name, l, err)
					}
				}
				if _, err := caller.List(ctx, "none", tool.CallOptions{}); !fault.Is(err, fault.ServerNotFound) {
					t.Error(err)
				}
				if res, err := caller.Call(ctx, tool.Ref{Server: "s"}, []byte("7"), tool.CallOptions{}); err != nil || string(res.Raw) != "7" {
					t.Errorf("%+v, %v", res, err)
				}
				return errors.Join(caller.Close(), outcome)
			}}, nil
		}
	})
	h.list.ServerName = "n"
	c := h.client(func(o *ClientOptions) { o.InProcess = nil })
	h.ask(c, "{}")
	for range 3 { // none waits
		if err := c.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
	}
	<-begun
	close(held)
	// Two are opened for each refresh; how many there are beside the first is a matter of time.
	h.wait("the end of what was opened for it", func() bool { return h.closed >= 2 && h.closed == len(h.opened)-1 && running.Load() == 0 })
	if st, _, err := Ask(h.place); err != nil || len(st.Servers) != 1 || st.Servers[0].Calls != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	outcome = errors.New("the disk is full")
	h.wait("a word about it", func() bool { _ = c.Refresh(t.Context()); return len(h.logged("the disk is full")) > 0 })
}

// Without a daemon of this version a client is told at once, and nothing is started.
func TestNoRefresh(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	refresh := func(identity string) error {
		return h.client(func(o *ClientOptions) { o.InProcess, o.Identity = nil, identity }).Refresh(t.Context())
	}
	if err := refresh("v1"); !absent(err) {
		t.Error(err)
	}
	ended := h.serve(t.Context(), func(o *Options) {
		o.NewEngine = func(EngineOptions) (Engine, error) { return nil, errors.New("no engine today") }
	})
	if err := refresh("v2"); err == nil {
		t.Error("of another version")
	}
	if err := refresh("v1"); err != nil { // taken on; what goes wrong later is in the log
		t.Error(err)
	}
	h.wait("a word about it", func() bool { return len(h.logged("no engine today")) == 1 })
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

// A warm server that says that its lists have changed is listed once, for the client that last
// used it; one that is not warm any more is left alone.
func TestRelist(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	listed := make(chan tool.Ref, 1)
	var engines []EngineOptions
	h.serve(t.Context(), func(o *Options) {
		o.relistAfter = time.Millisecond
		o.NewEngine = func(o EngineOptions) (Engine, error) {
			engines = append(engines, o)
			return &fakeEngine{EngineOptions: o, cfg: h.config()}, nil
		}
	})
	h.ask(h.client(nil), "{}")
	h.ask(h.client(func(o *ClientOptions) { o.Environ = []string{"A=1", "TERM=x"} }), "{}")
	h.talk = func(_ context.Context, ref tool.Ref, _ tool.CallOptions) error { listed <- ref; return nil }
	if o := h.opened[0]; !o.Listen || o.Root != h.env.Dir {
		t.Errorf("opened with %+v", o)
	}
	for range 5 {
		h.opened[0].Changed("s")
	}
	if ref := <-listed; ref.Server != "s" {
		t.Errorf("listed %v", ref)
	}
	if v, _ := engines[0].Env.Lookup("TERM"); v != "x" || len(engines) != 1 {
		t.Errorf("%d engines", len(engines))
	}
	if len(h.opened) != 1 {
		t.Errorf("%d callers", len(h.opened))
	}
}

// Several notices in a row are one, and no server makes mcpl list it all the time. It is idle all the
// same.
func TestRelistSometimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		var relisted []string
		b.relist = func(name, origin string) {
			relisted = append(relisted, name+" for "+origin)
			warm, err := b.visit("1", func(engine.Caller) error { time.Sleep(time.Second); return nil })
			if !warm || err != nil {
				t.Errorf("%v, %v", warm, err)
			}
		}
		s := b.spec("s", "1")
		_ = b.call(s)
		s.origin = "there"
		_ = b.call(s)
		r := b.warm["1"].run
		for range 30 { // for 30 s
			b.changed(b.warm["1"], r)
			b.changed(b.warm["1"], r)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if want := slices.Repeat([]string{"s for there"}, 3); !slices.Equal(relisted, want) {
			t.Errorf("%q", relisted)
		}
		b.want(t, 1, 1)
		b.changed(b.warm["1"], r)
		time.Sleep(31 * time.Second) // idle for a minute
		b.want(t, 1, 0)
		b.changed(&warm{}, r)
		if warm, _ := b.visit("1", nil); warm || r.relist != nil && r.relist.Stop() {
			t.Error("what has ended is to be listed")
		}
		b.close()
	})
}
