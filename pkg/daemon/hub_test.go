package daemon

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

func (c *fakeCaller) Call(ctx context.Context, _ tool.Ref, args json.RawMessage, _ tool.CallOptions) (*tool.Result, error) {
	c.using.Add(1)
	defer c.using.Add(-1)
	if c.closed.Load() {
		c.t.Error("a closed caller is used")
	}
	return c.call(ctx, args)
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

// bench is a hub whose servers are fake.
type bench struct {
	*hub
	t       testing.TB
	mu      sync.Mutex
	opened  []*fakeCaller
	current map[string]string // what the configuration says: key by name
	outcome error
}

func newBench(t testing.TB) *bench {
	return &bench{hub: newHub(func(string, string) {}, func(string, string) {}), t: t, current: map[string]string{}}
}

func (b *bench) spec(name, key string) spec {
	b.current[name] = key
	return spec{key: key, name: name, origin: "here", idle: time.Minute, process: true,
		current: func(name string) string { return b.current[name] },
		open: func(func(string, string), func()) engine.Caller {
			c := &fakeCaller{t: b.t, call: func(context.Context, json.RawMessage) (*tool.Result, error) { return nil, b.outcome }}
			b.mu.Lock()
			defer b.mu.Unlock()
			b.opened = append(b.opened, c)
			return c
		}}
}

func (b *bench) call(s spec) error {
	return b.do(s, nil, func(c engine.Caller, _ func()) error {
		_, err := c.Call(b.t.Context(), tool.Ref{}, nil, tool.CallOptions{})
		return err
	})
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
		// One that is kept stays, until the configuration says otherwise.
		s.keep = true
		_ = b.call(s)
		time.Sleep(time.Hour)
		b.want(t, 2, 1)
		if !b.keeps() {
			t.Error("keeps nothing")
		}
		s.keep, s.idle = false, time.Second
		_ = b.call(s)
		time.Sleep(2 * time.Second)
		b.want(t, 2, 0)
		if len(b.warm) != 0 {
			t.Errorf("remembered: %v", b.warm)
		}
		b.close()
	})
}

// A timer that fires just as the server is used again, or has been, stops nothing.
func TestLateTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		s := b.spec("s", "1")
		_ = b.call(s)
		w, r, late := b.warm["1"], b.warm["1"].run, b.warm["1"].run.timer
		_ = b.do(s, nil, func(engine.Caller, func()) error { b.expire(w, r, &late); return nil })
		b.expire(w, r, &late)
		b.want(t, 1, 1)
		b.expire(w, r, &r.timer)
		b.want(t, 1, 0)
		b.close()
	})
}

// A server in use is not stopped, however long its call takes.
func TestBusyIsNotIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		s := b.spec("s", "1")
		_ = b.call(s)
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = b.do(s, nil, func(c engine.Caller, _ func()) error {
				time.Sleep(time.Hour)
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		old, other := b.spec("s", "old"), b.spec("other", "other")
		_ = b.call(other)
		held := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { _ = b.do(old, nil, func(engine.Caller, func()) error { <-held; return nil }) })
		synctest.Wait()
		// The new server does not wait for the old one, which ends after its running call.
		_ = b.call(b.spec("s", "new"))
		b.want(t, 3, 3)
		close(held)
		wg.Wait()
		b.want(t, 3, 2)
		// A removed one is stopped by any request from the same place, and by none from another.
		elsewhere := b.spec("other", "other")
		elsewhere.origin = "elsewhere"
		elsewhere.current = func(name string) string { return map[string]string{"other": "other"}[name] }
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
		if err := b.call(old); !errors.Is(err, errEnding) {
			t.Errorf("after close: %v", err)
		}
	})
}

// However many surroundings a server is asked from, few are remembered; what those say counts.
func TestManyOrigins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		s := b.spec("s", "1")
		for i := range 10 * maxOrigins {
			s.origin = fmt.Sprint(i % (2 * maxOrigins))
			_ = b.call(s)
			_ = b.call(s)
		}
		if got := b.origins(); len(got) != maxOrigins || got[0] != "8" || got[7] != "15" {
			t.Errorf("remembered %v", got)
		}
		for _, origin := range b.origins() {
			b.want(t, 1, 1)
			b.follow(origin, func(string) string { return "other" })
		}
		b.want(t, 1, 0)
		b.close()
	})
}

func TestCrashLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		s := b.spec("s", "1")
		crash := fault.New(fault.ServerConnection, "s exited with code 3", "Do this.").On("s", "x").Trace("stderr:\n  out of cheese")
		b.outcome = crash
		// The first start and three restarts; then the crash is told without a start.
		for range 4 {
			if err := b.call(s); !errors.Is(err, crash) {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		b.want(t, 4, 0)
		for range 3 {
			f := fault.From(b.call(s))
			if f == crash || f.Type != fault.ServerConnection || !strings.Contains(f.Message, "failed to start 4 times") || !strings.Contains(f.Message, "exited with code 3") ||
				!strings.Contains(f.Traceback, "out of cheese") || !strings.Contains(f.Help, "Do this.") || !strings.Contains(f.Help, "mcpl daemon restart") {
				t.Fatalf("%+v", f)
			}
		}
		b.want(t, 4, 0)
		elsewhere := b.spec("far", "2")
		elsewhere.process = false
		for range 9 {
			if err := b.call(elsewhere); !errors.Is(err, crash) {
				t.Fatal(err)
			}
		}
		delete(b.warm, "2")
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
		_ = b.call(b.spec("other", "2"))
		if len(b.warm) != 1 {
			t.Errorf("a crash of long ago is remembered: %v", b.warm)
		}
		b.close()
	})
}

// Of many calls that one crash ends, all are told, and it counts once.
func TestCrashOfMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		s := b.spec("s", "1")
		crash := fault.New(fault.ServerConnection, "gone", "")
		held := make(chan struct{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { _ = b.do(s, nil, func(engine.Caller, func()) error { <-held; return crash }) })
		}
		synctest.Wait()
		close(held)
		wg.Wait()
		b.want(t, 1, 0)
		if w := b.warm["1"]; w == nil || len(w.restarts) != 0 || w.crash == nil {
			t.Errorf("%+v", w)
		}
		b.close()
	})
}

// A server that says nothing for a whole request is replaced, one that answers others is not.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		s := b.spec("s", "1")
		late := fault.New(fault.Timeout, "too late", "")
		slow := func() error {
			return b.do(s, nil, func(engine.Caller, func()) error { time.Sleep(30 * time.Second); return late })
		}
		_ = b.call(s)
		time.Sleep(time.Millisecond)
		var wg sync.WaitGroup
		wg.Go(func() { _ = slow() })
		time.Sleep(time.Second)
		_ = b.call(s) // it lives
		wg.Wait()
		b.want(t, 1, 1)
		_ = b.do(s, nil, func(_ engine.Caller, alive func()) error { // it says something, to this very request
			time.Sleep(15 * time.Second)
			alive()
			time.Sleep(15 * time.Second)
			return late
		})
		b.want(t, 1, 1)
		_ = slow()
		b.want(t, 1, 0)
		b.outcome = fault.New(fault.Interrupted, "", "")
		_ = b.call(s)
		b.want(t, 2, 1) // being cancelled is no fault of the server
		b.close()
	})
}

func TestVariants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		for i := range 20 {
			s := b.spec("s", string(rune('a'+i)))
			s.origin = s.key // another folder, or another environment
			_ = b.call(s)
			time.Sleep(time.Millisecond)
		}
		b.want(t, 20, maxVariants)
		if b.warm["t"] == nil || b.warm["a"] != nil {
			t.Error("not the oldest went")
		}
		b.close()
	})
}

// Everything at once, under the race detector: no caller is closed in use, twice, or never.
func TestHubStorm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outcomes := []error{nil, nil, nil, fault.New(fault.ServerConnection, "", ""), fault.New(fault.Timeout, "", ""), fault.New(fault.Tool, "", "")}
	var specs []spec
	for i := range 6 {
		s := b.spec("s"+string(rune('0'+i%3)), string(rune('a'+i)))
		s.idle = time.Duration(i) * 10 * time.Microsecond
		own := b.current
		s.current = func(name string) string { return own[name] }
		specs = append(specs, s)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 300 {
				_ = b.do(specs[(g+i)%len(specs)], make(chan note, 1), func(c engine.Caller, _ func()) error {
					fake := c.(*fakeCaller)
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
