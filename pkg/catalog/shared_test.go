package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcp-launchpad/mcpl/internal/fixture"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
)

// request is one request that runs in a goroutine.
type request struct {
	cancel context.CancelFunc
	view   *View
	err    error
	done   chan struct{}
}

// ensure begins a request.
func (w *world) ensure(c *Catalog, need Need) *request {
	ctx, cancel := context.WithCancel(w.t.Context())
	r := &request{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.view, r.err = c.Ensure(ctx, need)
	}()
	return r
}

// tools waits for the request, releases its view, and returns what that holds.
func (r *request) tools(t *testing.T) string {
	t.Helper()
	<-r.done
	if r.err != nil {
		t.Fatal(r.err)
	}
	defer r.view.Release()
	names, err := tools(r.view)
	if err != nil {
		t.Error(err)
	}
	return strings.Join(names, " ")
}

// together runs a test in virtual time, where synctest.Wait waits until every request waits for something.
func together(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, f)
	})
}

// TestOneListing: requests that need the same server at the same time list it once.
func TestOneListing(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]List{"expired": ListExpired, "failed": ListFailed} {
		together(t, name, func(t *testing.T) {
			w := newWorld(t, "a", "b")
			if list == ListFailed {
				w.down["a"] = fault.New(fault.Timeout, "slow", "")
				w.read("a b", "b/b_tool")
				delete(w.down, "a")
				w.asked = nil
			}
			w.hold["a"] = true
			c := w.catalog()
			var requests []*request
			for range 20 {
				requests = append(requests, w.ensure(c, Need{Servers: []string{"a"}, List: list}))
			}
			h := <-w.held
			synctest.Wait()
			h.answer <- answer{listing: fixture.Listing(t, "a_tool")}
			for _, r := range requests {
				if <-r.done; !r.view.Tried("a") || r.view.Tried("b") {
					t.Error("the view does not know what was listed for it")
				}
				if got := r.tools(t); !strings.Contains(got, "a/a_tool") {
					t.Errorf("got %q", got)
				}
			}
			if asked := w.requests(); asked != "a" {
				t.Errorf("asked %q", asked)
			}
		})
	}
}

// TestProcessesTakeTurns: many processes on a cold cache list each server once, and all get the answer.
func TestProcessesTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b", "c")
	var wg sync.WaitGroup
	for range 20 {
		c := w.catalog()
		wg.Go(func() {
			if err := c.Read(t.Context(), Need{}, func(v *View) error {
				if names, err := tools(v); err != nil || len(names) != 3 {
					return fmt.Errorf("%q, %w", names, err)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if asked := w.requests(); asked != "a b c" {
		t.Errorf("asked %q", asked)
	}
}

// TestSlowServer: a request does not wait for a server that only others need.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "slow", "quick")
		w.hold["slow"] = true
		c := w.catalog()
		all := w.ensure(c, Need{})
		h := <-w.held
		synctest.Wait()
		quick := w.ensure(c, Need{Servers: []string{"quick"}})
		if got := quick.tools(t); got != "quick/quick_tool" {
			t.Errorf("got %q", got)
		}
		// It has been written, too, but other processes have to wait.
		w.early = true
		if v, err := w.catalog().Ensure(t.Context(), Need{Servers: []string{"quick"}}); err != nil {
			t.Errorf("in another process: %v", err)
		} else {
			v.Release()
		}
		if _, free, _ := c.store.TryLock(); free {
			t.Error("the index is not locked while a server is listed")
		}
		h.answer <- answer{listing: fixture.Listing(t, "slow_tool")}
		if got := all.tools(t); got != "quick/quick_tool slow/slow_tool" {
			t.Errorf("got %q", got)
		}
		if asked := w.requests(); asked != "quick slow" {
			t.Errorf("asked %q", asked)
		}
		unlock, free, err := c.store.TryLock()
		if !free || err != nil {
			t.Errorf("the index is still locked: %v", err)
		}
		unlock()
	})
}

// TestGivenUp: a listing goes on as long as one request waits for it, and ends with the last one.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.hold["a"] = true
		c := w.catalog()
		first, second := w.ensure(c, Need{}), w.ensure(c, Need{})
		h := <-w.held
		synctest.Wait()
		first.cancel()
		if <-first.done; !fault.Is(first.err, fault.Interrupted) {
			t.Errorf("given up: %v", first.err)
		}
		h.answer <- answer{listing: fixture.Listing(t, "a_tool")}
		if got := second.tools(t); got != "a/a_tool" {
			t.Errorf("got %q", got)
		}
		last := w.ensure(c, Need{List: ListAll})
		h = <-w.held
		last.cancel()
		if <-last.done; !fault.Is(last.err, fault.Interrupted) {
			t.Errorf("given up: %v", last.err)
		}
		<-h.ended
		// The next one begins anew, and nothing of the last one was kept.
		next := w.ensure(c, Need{List: ListAll})
		(<-w.held).answer <- answer{listing: fixture.Listing(t, "a_new")}
		if got := next.tools(t); got != "a/a_new" {
			t.Errorf("got %q", got)
		}
	})
}

// TestListAllAfter: who wants to know what a server offers now is not served by a listing that was under way, and what
// that says later does not replace what is newer.
func TestListAllAfter(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]List{"all": ListAll, "changed": ListChanged} {
		together(t, name, func(t *testing.T) {
			w := newWorld(t, "a")
			w.hold["a"] = true
			c := w.catalog()
			need := Need{Servers: []string{"a"}, List: list}
			before := w.ensure(c, need)
			old := <-w.held
			after := w.ensure(c, need)
			now := <-w.held
			now.answer <- answer{listing: fixture.Listing(t, "a_new")}
			if got := after.tools(t); got != "a/a_new" {
				t.Errorf("got %q", got)
			}
			old.answer <- answer{listing: fixture.Listing(t, "a_old")}
			if got := before.tools(t); got != "a/a_new" {
				t.Errorf("got %q", got)
			}
			w.read("", "a/a_new")
		})
	}
}

// TestListAllTogether: of those who come while a listing runs, the first begins the next one for all.
func TestListAllTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.configure("a", `off: {"command": "${NONE}"}`) // an entry that cannot be used makes no difference
		w.hold["a"] = true
		c := w.catalog()
		first := w.ensure(c, Need{List: ListAll})
		old := <-w.held
		c.turn <- struct{}{} // no request goes on before all have come
		var requests []*request
		for range 20 {
			requests = append(requests, w.ensure(c, Need{List: ListAll}))
		}
		synctest.Wait()
		<-c.turn
		now := <-w.held
		now.answer <- answer{listing: fixture.Listing(t, "a_new")}
		synctest.Wait()
		old.answer <- answer{listing: fixture.Listing(t, "a_old")}
		for _, r := range append(requests, first) {
			if got := r.tools(t); got != "a/a_new" {
				t.Errorf("got %q", got)
			}
		}
		if asked := w.requests(); asked != "a a" {
			t.Errorf("asked %q", asked)
		}
	})
}

// TestOtherProcess: what another process has written is seen a second later.
func TestOtherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.read("a", "a/a_tool")
		c := w.catalog()
		old := w.ensure(c, Need{})
		<-old.done
		w.servers["a"] = fixture.Listing(t, "first", "second")
		w.with(func(c *Catalog) error { return c.Read(t.Context(), Need{List: ListAll}, nil) })
		if got := w.ensure(c, Need{}).tools(t); got != "a/a_tool" {
			t.Errorf("at once: %q", got)
		}
		if _, err := definition(old.view, "a", "a_tool"); !errors.Is(err, index.ErrReplaced) {
			t.Errorf("definition of what was replaced: %v", err)
		}
		w.pass(lookEvery)
		if got := w.ensure(c, Need{}).tools(t); got != "a/first a/second" {
			t.Errorf("later: %q", got)
		}
		if got := old.tools(t); got != "a/a_tool" { // the view has not changed
			t.Errorf("before: %q", got)
		}
		// Its own writing is not taken for somebody else's.
		w.servers["a"] = fixture.Listing(t, "third")
		if got := w.ensure(c, Need{List: ListAll}).tools(t); got != "a/third" {
			t.Errorf("own: %q", got)
		}
		own := c.current
		w.pass(lookEvery)
		if got := w.ensure(c, Need{}).tools(t); got != "a/third" || c.current != own {
			t.Errorf("own, later: %q, opened anew: %v", got, c.current != own)
		}
	})
}

// TestReplacedWhileRead: a definition that another process has moved meanwhile is read from the new index.
func TestReplacedWhileRead(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string][]string{
		"refreshed": nil,
		// Another process has seen a new configuration, this one makes an index for the one that it knows.
		"of another configuration": {"a", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "a")
			w.read("a", "a/a_tool")
			reads := 0
			err := w.catalog().Read(t.Context(), Need{}, func(v *View) error {
				if reads++; reads == 1 {
					w.servers["a"] = fixture.Listing(t, "longer_than_before", "a_tool")
					if entries != nil {
						w.configure(entries...)
					}
					w.with(func(c *Catalog) error { return c.Read(t.Context(), Need{List: ListAll}, nil) })
				}
				def, err := definition(v, "a", "a_tool")
				if err == nil && def.Name != "a_tool" {
					t.Errorf("got %+v", def)
				}
				return err
			})
			if err != nil || reads != 2 || len(w.notices) > 0 {
				t.Errorf("%v after %d reads, notices %q", err, reads, w.notices)
			}
		})
	}
}

// TestClose: a closed catalog lists nothing any more, and keeps what is lent out.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.read("a", "a/a_tool")
		c := w.catalog()
		kept := w.ensure(c, Need{})
		<-kept.done
		w.hold["a"] = true
		running := w.ensure(c, Need{List: ListAll})
		h := <-w.held
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		<-h.ended
		if <-running.done; !errors.Is(running.err, errClosed) {
			t.Errorf("a running request: %v", running.err)
		}
		if err := c.Read(t.Context(), Need{}, nil); !errors.Is(err, errClosed) {
			t.Errorf("a new request: %v", err)
		}
		if got := kept.tools(t); got != "a/a_tool" {
			t.Errorf("a view of before: %q", got)
		}
		kept.view.Release() // does nothing more
		w.read("", "a/a_tool")
	})
}

// TestManyAtOnce: many requests read one catalog while it, and another process, replace the index. A mapping that was
// unmapped under a reader would end the test.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	w.read("a b", "a/a_tool", "b/b_tool")
	c, other := w.catalog(), w.catalog()
	var wg sync.WaitGroup
	run := func(n int, f func() error) {
		for range n {
			wg.Go(func() {
				for range 5 {
					if err := f(); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	run(200, func() error { return readAll(t.Context(), c) })
	run(4, func() error { return c.Read(t.Context(), Need{List: ListAll}, nil) })
	run(4, func() error { return c.Read(t.Context(), Need{Servers: []string{"a"}, List: ListChanged}, nil) })
	run(4, func() error {
		w.pass(lookEvery)
		return other.Read(t.Context(), Need{List: ListAll}, nil)
	})
	run(4, func() error { c.Changed("b"); return c.Settle(t.Context()) })
	wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current.users != 1 || c.update != nil || len(c.active) > 0 {
		t.Errorf("left over: %d users, update %v, %d listings", c.current.users, c.update, len(c.active))
	}
}
