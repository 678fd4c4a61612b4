package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// fakeCaller answers as told and counts.
type fakeCaller struct {
	call   func(ctx context.Context, args json.RawMessage) (*tool.Result, error)
	closed atomic.Bool
	using  atomic.Int64
	t      testing.TB
}

func (c *fakeCaller) List(context.Context, string, tool.CallOptions) (tool.Listing, error) {
	return tool.Listing{}, nil
}

func (c *fakeCaller) Call(
	ctx context.Context, _ tool.Ref, args json.RawMessage, _ tool.CallOptions,
) (*tool.Result, error) {
	c.using.Add(1)
	defer c.using.Add(-1)
	if c.closed.Load() {
		c.t.Error("a closed caller is used")
	}
	return c.call(ctx, args)
}

func (c *fakeCaller) Request(
	ctx context.Context, _, _ string, params json.RawMessage, opt tool.CallOptions,
) (json.RawMessage, error) {
	_, err := c.Call(ctx, tool.Ref{}, params, opt)
	return params, err
}

func (c *fakeCaller) Watch(context.Context, string, tool.CallOptions, func(tool.Event)) (func(), error) {
	return func() {}, nil
}

func (c *fakeCaller) Close() error {
	if c.using.Load() > 0 {
		c.t.Error("a caller in use is closed")
	}
	if c.closed.Swap(true) {
		c.t.Error("a caller is closed twice")
	}
	return nil
}

// bench is a supervisor whose servers are fake.
type bench struct {
	*supervisor
	t       testing.TB
	here    *clientEnv
	mu      sync.Mutex
	opened  []*fakeCaller
	current map[string]string // the keys that the configuration wants, by name
	outcome error
}

func newBench(t testing.TB) *bench {
	opt := Options{Log: func(string, string) {}, Restart: fault.Step{Verb: "daemon restart"}, relistAfter: relistAfter,
		RelistGap: relistGap}
	return &bench{supervisor: newSupervisor(opt, func(string, *clientEnv, owner) {}), t: t, here: envNamed("here"),
		current: map[string]string{}}
}

// envNamed returns a client environment of its own.
func envNamed(dir string) *clientEnv { return newClientEnv(Surroundings{Dir: dir}) }

func (b *bench) spec(name, key string) spec {
	b.current[name] = key
	return spec{key: key, name: name, env: b.here, idle: time.Minute, isProcess: true,
		current: func(name string, _ owner) string { return b.current[name] },
		open: func(func(string, string), func()) engine.Caller {
			c := &fakeCaller{t: b.t}
			c.call = func(context.Context, json.RawMessage) (*tool.Result, error) { return nil, b.outcome }
			b.mu.Lock()
			defer b.mu.Unlock()
			b.opened = append(b.opened, c)
			return c
		}}
}

// do runs f as a request to the server that s describes.
func (b *bench) do(s spec, f func(u *use) error) error {
	u, err := b.acquire(s, nil)
	if err != nil {
		return err
	}
	err = f(u)
	b.release(u, err)
	return err
}

func (b *bench) call(s spec) error {
	return b.do(s, func(u *use) error {
		_, err := u.run.caller.Call(b.t.Context(), tool.Ref{}, nil, tool.CallOptions{})
		return err
	})
}

func (b *bench) close() {
	b.stop()
	b.runs.Wait()
}

func (b *bench) want(t testing.TB, opened, open int) {
	t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, c := range b.opened {
		if !c.closed.Load() {
			n++
		}
	}
	if len(b.opened) != opened || n != open {
		t.Errorf("%d callers were opened and %d are open, want %d and %d", len(b.opened), n, opened, open)
	}
}

func TestIdle(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t)
		s := b.spec("s", "1")
		for range 3 {
			if err := b.call(s); err != nil {
				t.Fatal(err)
			}
			time.Sleep(59 * time.Second) // virtual
		}
		b.want(t, 1, 1)
		time.Sleep(2 * time.Second)
		b.want(t, 1, 0)
		_ = b.call(s)
		b.want(t, 2, 1)
		// A keep-alive server stays, until the configuration says otherwise.
		s.keepAlive = true
		_ = b.call(s)
		time.Sleep(time.Hour)
		b.want(t, 2, 1)
		if !b.keepsAlive() {
			t.Error("keeps none alive")
		}
		s.keepAlive, s.idle = false, time.Second
		_ = b.call(s)
		time.Sleep(2 * time.Second)
		b.want(t, 2, 0)
		if len(b.servers) != 0 {
			t.Errorf("remembered: %v", b.servers)
		}
		b.close()
	})
}

// A timer that fires just as the server is used again, or has been, stops nothing.
func TestLateTimer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t)
		s := b.spec("s", "1")
		_ = b.call(s)
		srv, r := b.servers["1"], b.servers["1"].run
		time.Sleep(r.idle - 1) // virtual
		_ = b.do(s, func(*use) error { b.expire(srv, r); return nil })
		b.expire(srv, r)
		b.want(t, 1, 1)
		time.Sleep(r.idle)
		b.want(t, 1, 0)
		b.close()
	})
}

// A server in use is not stopped, however long its call takes.
func TestBusyIsNotIdle(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t)
		s := b.spec("s", "1")
		_ = b.call(s)
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = b.do(s, func(*use) error {
				time.Sleep(time.Hour) // virtual
				return nil
			})
		})
		time.Sleep(30 * time.Minute)
		b.want(t, 1, 1)
		wg.Wait()
		b.want(t, 1, 1)
		time.Sleep(61 * time.Second)
		b.want(t, 1, 0)
		b.close()
	})
}

func TestChangedConfiguration(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t)
		old, other := b.spec("s", "old"), b.spec("other", "other")
		_ = b.call(other)
		held := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { _ = b.do(old, func(*use) error { <-held; return nil }) })
		synctest.Wait()
		// The new server does not wait for the old one, which ends after its running call.
		_ = b.call(b.spec("s", "new"))
		b.want(t, 3, 3)
		close(held)
		wg.Wait()
		b.want(t, 3, 2)
		// A removed one is stopped by any request from the same place, and by none from another.
		elsewhere := b.spec("other", "other")
		elsewhere.env = envNamed("elsewhere")
		elsewhere.current = func(name string, _ owner) string { return map[string]string{"other": "other"}[name] }
		_ = b.call(elsewhere)
		b.want(t, 3, 2)
		delete(b.current, "s")
		_ = b.call(other)
		b.want(t, 3, 1)
		// What two places share stays as long as one of them wants it.
		delete(b.current, "other")
		_ = b.call(b.spec("third", "third"))
		b.want(t, 4, 2)
		// A crash is forgotten with its entry.
		b.outcome = fault.New(fault.ServerConnection, "gone", "")
		_ = b.call(b.spec("bad", "bad"))
		delete(b.current, "bad")
		b.outcome = nil
		_ = b.call(b.spec("third", "third"))
		if st := b.status(); slices.ContainsFunc(st, func(s ServerStatus) bool { return s.Name == "bad" }) {
			t.Errorf("status %+v", st)
		}
		b.close()
		b.want(t, 5, 0)
		if err := b.call(old); !errors.Is(err, ErrEnding) {
			t.Errorf("after close: %v", err)
		}
	})
}

// A server that many client environments use remembers the latest, whose configuration counts.
func TestManyEnvs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t)
		s := b.spec("s", "1")
		var all []*clientEnv
		for i := range 2 * maxEnvs {
			all = append(all, envNamed(fmt.Sprint(i)))
		}
		for i := range 10 * maxEnvs {
			s.env = all[i%len(all)]
			_ = b.call(s)
			_ = b.call(s)
		}
		envs := slices.Clone(b.servers["1"].envs)
		if !slices.Equal(envs, all[maxEnvs:]) {
			t.Errorf("remembered %v", envs)
		}
		if running, _ := b.envs(); len(running) != maxEnvs {
			t.Errorf("servers run for %v", running)
		}
		for _, env := range envs {
			b.want(t, 1, 1)
			b.supervisor.mu.Lock()
			b.follow(env, nil, func(string, owner) string { return "other" })
			b.supervisor.mu.Unlock()
		}
		b.want(t, 1, 0)
		b.close()
	})
}

func TestCrashLimit(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t)
		s := b.spec("s", "1")
		crash := fault.New(fault.ServerConnection, "s exited with code 3", "Do this.").On("s", "x").
			Then("", fault.Step{Verb: "doctor"}).Trace("stderr:\n  out of cheese")
		b.outcome = crash
		// The first start and three restarts; then the fault of the crash comes without a start.
		for range 4 {
			if err := b.call(s); !errors.Is(err, crash) {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		b.want(t, 4, 0)
		for range 3 {
			f := fault.From(b.call(s))
			if f == crash || f.Type != fault.ServerConnection || !strings.Contains(f.Message, "failed to start 4 times") ||
				!strings.Contains(f.Message, "exited with code 3") || !strings.Contains(f.Traceback, "out of cheese") ||
				f.Help != "Do this." || len(f.Next) != 2 || len(crash.Next) != 1 ||
				f.Next[0].Step.Verb != "doctor" || f.Next[1].Step.Verb != "daemon restart" {
				t.Fatalf("%+v", f)
			}
		}
		b.want(t, 4, 0)
		elsewhere := b.spec("far", "2")
		elsewhere.isProcess = false
		for range 9 {
			if err := b.call(elsewhere); !errors.Is(err, crash) {
				t.Fatal(err)
			}
		}
		delete(b.servers, "2")
		b.opened = b.opened[:4]
		if st := b.status(); len(st) != 1 || st[0].State != "crashed" || st[0].Crash != crash.Message {
			t.Errorf("status %+v", st)
		}
		// A minute after the first restart there is room for one more; this one is healthy.
		time.Sleep(58 * time.Second)
		b.outcome = nil
		if err := b.call(s); err != nil {
			t.Fatal(err)
		}
		b.want(t, 5, 1)
		time.Sleep(5 * time.Minute)
		b.want(t, 5, 0)
		b.forget()
		if len(b.servers) != 0 {
			t.Errorf("a crash of long ago is remembered: %v", b.servers)
		}
		b.close()
	})
}

// One crash that ends many calls counts once.
func TestCrashOfMany(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t)
		s := b.spec("s", "1")
		crash := fault.New(fault.ServerConnection, "gone", "")
		held := make(chan struct{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { _ = b.do(s, func(*use) error { <-held; return crash }) })
		}
		synctest.Wait()
		close(held)
		wg.Wait()
		b.want(t, 1, 0)
		if srv := b.servers["1"]; srv == nil || len(srv.restarts) != 0 || srv.crash == nil {
			t.Errorf("%+v", srv)
		}
		b.close()
	})
}

// A server that says nothing for a whole request is replaced, one that answers others is not.
func TestSilentServer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t)
		s := b.spec("s", "1")
		late := fault.New(fault.Timeout, "too late", "")
		slow := func() error {
			return b.do(s, func(*use) error { time.Sleep(30 * time.Second); return late })
		}
		_ = b.call(s)
		time.Sleep(time.Millisecond)
		var wg sync.WaitGroup
		wg.Go(func() { _ = slow() })
		time.Sleep(time.Second)
		_ = b.call(s) // it lives
		wg.Wait()
		b.want(t, 1, 1)
		_ = b.do(s, func(u *use) error { // it says something, to this very request
			time.Sleep(15 * time.Second)
			b.alive(u.run)
			time.Sleep(15 * time.Second)
			return late
		})
		b.want(t, 1, 1)
		_ = slow()
		b.want(t, 1, 0)
		b.outcome = fault.New(fault.Interrupted, "", "")
		_ = b.call(s)
		b.want(t, 2, 1) // a cancelled request says nothing of its server
		b.close()
	})
}

func TestVariants(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t)
		for i := range 20 {
			s := b.spec("s", string(rune('a'+i)))
			s.env = envNamed(s.key) // another folder, or another environment
			_ = b.call(s)
			time.Sleep(time.Millisecond)
		}
		b.want(t, 20, maxVariants)
		if b.servers["t"] == nil || b.servers["a"] != nil {
			t.Error("not the oldest went")
		}
		b.close()
	})
}

// Everything at once, under the race detector: no caller is closed in use, twice, or never.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outcomes := []error{nil, nil, nil, fault.New(fault.ServerConnection, "", ""), fault.New(fault.Timeout, "", ""),
		fault.New(fault.Tool, "", "")}
	var specs []spec
	for i := range 6 {
		s := b.spec("s"+string(rune('0'+i%3)), string(rune('a'+i)))
		s.idle = time.Duration(i) * 10 * time.Microsecond
		own := b.current
		s.current = func(name string, _ owner) string { return own[name] }
		specs = append(specs, s)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 300 {
				_ = b.do(specs[(g+i)%len(specs)], func(u *use) error {
					fake := u.run.caller.(*fakeCaller)
					fake.using.Add(1)
					defer fake.using.Add(-1)
					if fake.closed.Load() {
						t.Error("a closed caller is used")
					}
					return outcomes[(g*7+i)%len(outcomes)]
				})
			}
		})
	}
	wg.Wait()
	b.close()
	for _, c := range b.opened {
		if !c.closed.Load() {
			t.Fatal("a caller was never closed")
		}
	}
}
