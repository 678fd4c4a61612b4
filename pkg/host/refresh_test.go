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

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// fakeCatalog lists as a test says: the servers that have changed, or due.
type fakeCatalog struct {
	CatalogOptions
	due    func(ctx context.Context, list func(server string) (tool.Listing, error)) error
	closed bool
}

func (c *fakeCatalog) Read(ctx context.Context, need catalog.Need, _ func(*catalog.View) error) error {
	src, err := c.Env.Locate(c.Selection)
	if err != nil {
		return err
	}
	cfg, err := c.Env.Load(src)
	if err != nil {
		return err
	}
	list := func(server string) (tool.Listing, error) { return c.Lister(ctx, cfg, server, tool.CallOptions{}) }
	if need.List == catalog.ListDue && need.Servers == nil {
		return c.due(ctx, list)
	}
	if need.List != catalog.ListChanged || len(need.Servers) != 1 {
		return fmt.Errorf("it needs %+v", need)
	}
	_, err = list(need.Servers[0])
	return err
}

func (c *fakeCatalog) Close() error {
	c.closed = true
	return nil
}

// catalogs makes fake catalogs and keeps them.
type catalogs struct {
	made []*fakeCatalog
	due  func(ctx context.Context, list func(server string) (tool.Listing, error)) error
}

func (f *catalogs) make(o CatalogOptions) (Catalog, error) {
	c := &fakeCatalog{CatalogOptions: o, due: f.due}
	f.made = append(f.made, c)
	return c, nil
}

// A refresh lists warm servers where they are, and others in processes that end with the listing. There is one at a
// time for a client environment.
func TestRefresh(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		held := make(chan struct{})
		full := errors.New("the disk is full")
		f := &catalogs{due: func(_ context.Context, list func(server string) (tool.Listing, error)) error {
			<-held
			for _, name := range []string{"s", "b", "once"} {
				if l, err := list(name); err != nil || l.ServerName != "fake" {
					t.Errorf("%s: %+v, %v", name, l, err)
				}
			}
			if _, err := list("none"); !fault.Is(err, fault.ServerNotFound) {
				t.Errorf("unknown: %v", err)
			}
			return full
		}}
		h := newHome(t, func(o *Options) { o.NewCatalog = f.make })
		h.mustAsk(h.here("A=1"), "s")
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { h.Refresh(t.Context(), h.here("A=1")) })
		}
		synctest.Wait()
		close(held)
		wg.Wait()
		h.want(3, 1)
		if len(f.made) != 1 || !f.made[0].closed || f.made[0].Env.Dir != h.dir {
			t.Errorf("catalogs: %+v", f.made)
		} else if v, _ := f.made[0].Env.Lookup("A"); v != "1" {
			t.Errorf("A=%s", v)
		}
		if st := h.Status(); len(st) != 1 || st[0].Calls != 1 {
			t.Errorf("it counts as a call: %+v", st)
		}
		if got := h.logged(": the index could not be refreshed: the disk is full"); len(got) != 1 {
			t.Errorf("logged %q", h.log)
		}
		full = catalog.ErrBusy // another process is at it
		h.Refresh(t.Context(), h.here("A=1"))
		if len(f.made) != 2 || len(h.logged("could not be refreshed")) != 1 {
			t.Errorf("%d catalogs, logged %q", len(f.made), h.log)
		}
	})
}

// Close waits for a refresh, and none begins after it.
func TestRefreshAndClose(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := &catalogs{due: func(ctx context.Context, _ func(string) (tool.Listing, error)) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		h := newHome(t, func(o *Options) { o.NewCatalog = f.make })
		ctx, cancel := context.WithCancel(t.Context())
		var refreshing, closing sync.WaitGroup
		refreshing.Go(func() { h.Refresh(ctx, h.here()) })
		synctest.Wait()
		var closed atomic.Bool
		closing.Go(func() { h.Close(); closed.Store(true) })
		synctest.Wait()
		if closed.Load() {
			t.Error("it did not wait for the refresh")
		}
		cancel()
		refreshing.Wait()
		closing.Wait()
		h.Refresh(t.Context(), h.here())
		if len(f.made) != 1 {
			t.Errorf("%d catalogs", len(f.made))
		}
	})
}

// A failure to make a catalog goes to the log.
func TestNoCatalog(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHome(t, func(o *Options) {
			o.NewCatalog = func(CatalogOptions) (Catalog, error) { return nil, errors.New("no catalog today") }
		})
		h.Refresh(t.Context(), h.here())
		if got := h.logged("no catalog today"); len(got) != 1 {
			t.Errorf("logged %q", h.log)
		}
	})
}

// A warm server whose lists have changed is listed again, once, for the client that used it last.
func TestRelist(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := new(catalogs)
		h := newHome(t, func(o *Options) { o.NewCatalog = f.make })
		h.configure(`{"s": {"command": "fake"}, "u": {"command": "fake", "scope": "user"}}`)
		h.mustAsk(h.here("A=1"), "s")
		h.mustAsk(h.here("A=1", "TERM=x"), "s")
		var listed []string
		h.call = func(_ context.Context, ref tool.Ref, _ json.RawMessage, _ tool.CallOptions) (*tool.Result, error) {
			listed = append(listed, ref.Server)
			return nil, nil
		}
		for range 5 {
			h.opened[0].Changed("s")
		}
		time.Sleep(relistAfter)
		h.want(1, 1)
		if !slices.Equal(listed, []string{"s"}) || len(f.made) != 1 {
			t.Errorf("listed %v with %d catalogs", listed, len(f.made))
		} else if v, _ := f.made[0].Env.Lookup("TERM"); v != "x" {
			t.Errorf("TERM=%s", v)
		}
		// The index never gets the lists of another principal.
		opt := tool.CallOptions{Principal: "ada"}
		if _, err := h.Caller(h.here("A=1"), nil).List(t.Context(), "u", opt); err != nil {
			t.Error(err)
		}
		h.opened[1].Changed("s")
		time.Sleep(relistGap + relistAfter)
		h.want(2, 2)
		if len(f.made) != 1 {
			t.Errorf("%d catalogs", len(f.made))
		}
	})
}

// A server that is not warm any more when its listing begins is not started for it.
func TestRelistOnlyWarm(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := new(catalogs)
		h := newHome(t, nil)
		h.opt.NewCatalog = func(o CatalogOptions) (Catalog, error) {
			h.supervisor.mu.Lock()
			for _, srv := range h.supervisor.servers {
				h.supervisor.retire(srv)
			}
			h.supervisor.mu.Unlock()
			return f.make(o)
		}
		h.mustAsk(h.here(), "s")
		h.opened[0].Changed("s")
		time.Sleep(relistAfter)
		h.want(1, 0)
		if got := h.logged(engine.ErrNotFresh.Error()); len(got) != 1 {
			t.Errorf("logged %q", h.log)
		}
	})
}

// Drain waits for listings, begins none, and cancels them when its context ends. Callers go on.
func TestDrain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := new(catalogs)
		h := newHome(t, func(o *Options) { o.NewCatalog = f.make })
		h.mustAsk(h.here(), "s")
		h.mustAsk(h.here(), "b")
		h.call = func(ctx context.Context, _ tool.Ref, _ json.RawMessage, _ tool.CallOptions) (*tool.Result, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			return nil, fault.New(fault.Interrupted, "cancelled", "")
		}
		h.opened[0].Changed("s")
		time.Sleep(relistAfter)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var drained atomic.Bool
		wg.Go(func() { h.Drain(ctx); drained.Store(true) })
		synctest.Wait()
		if drained.Load() {
			t.Error("it did not wait for the listing")
		}
		h.opened[1].Changed("b")
		time.Sleep(relistAfter)
		cancel()
		wg.Wait()
		if len(f.made) != 1 || len(h.logged("index could not be refreshed: cancelled")) != 1 {
			t.Errorf("%d catalogs, logged %q", len(f.made), h.log)
		}
		h.call = nil
		h.mustAsk(h.here(), "s")
		h.want(2, 2)
	})
}

// Several notices in a row lead to one listing, and a server cannot have itself listed all the time. The listings do
// not keep it from being idle.
func TestRelistSometimes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t)
		var relisted []string
		b.relist = func(name string, e *clientEnv, _ owner) {
			relisted = append(relisted, name+" for "+e.env.Dir)
			warm, err := b.visit("1", func(engine.Caller) error { time.Sleep(time.Second); return nil })
			if !warm || err != nil {
				t.Errorf("%v, %v", warm, err)
			}
		}
		s := b.spec("s", "1")
		_ = b.call(s)
		s.env = envNamed("there")
		_ = b.call(s)
		srv := b.servers["1"]
		r := srv.run
		for range 30 { // for 30 s
			b.changed(srv, r)
			b.changed(srv, r)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if got := strings.Join(relisted, ","); got != "s for there,s for there,s for there" {
			t.Errorf("%q", relisted)
		}
		b.want(t, 1, 1)
		b.changed(srv, r)
		time.Sleep(31 * time.Second) // idle for a minute
		b.want(t, 1, 0)
		b.changed(&server{}, r)
		if warm, _ := b.visit("1", nil); warm || r.relist != nil && r.relist.Stop() {
			t.Error("a server that has ended is to be listed")
		}
		b.close()
	})
}

// servers.md, S2: after a list of all servers through the daemon, 32 of them ran for 15 minutes. A server that is only
// listed ends with the listing; one that is warm is used, and stays.
func TestListedBriefly(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHome(t, nil)
		brief := func() {
			t.Helper()
			if _, err := h.Caller(h.here(), nil).List(t.Context(), "s", tool.CallOptions{Brief: true}); err != nil {
				t.Error(err)
			}
		}
		for range 2 {
			brief()
			if last := h.opened[len(h.opened)-1]; !last.closed || len(h.Status()) != 0 {
				t.Errorf("closed: %t, status %+v", last.closed, h.Status())
			}
		}
		h.want(2, 0)
		h.mustAsk(h.here(), "s")
		brief()
		h.want(3, 1)
		h.Drain(t.Context())
		if _, err := h.Caller(h.here(), nil).List(t.Context(), "b", tool.CallOptions{Brief: true}); !errors.Is(err, ErrEnding) {
			t.Errorf("while it ends: %v", err)
		}
	})
}

// A call that met another definition than the index knows has its server listed again. A rule that refuses a call says
// nothing about the lists.
func TestRelistAfterPin(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t)
		relisted := 0
		b.relist = func(string, *clientEnv, owner) { relisted++ }
		for kind, want := range map[string]int{fault.PinApproval: 1, "policy": 0} {
			relisted = 0
			f := fault.New(fault.ApprovalRequired, "not now", "")
			f.Approval = &fault.Approval{Kind: kind}
			b.outcome = f
			if err := b.call(b.spec("s", "1")); !fault.Is(err, fault.ApprovalRequired) {
				t.Error(err)
			}
			time.Sleep(relistGap + relistAfter)
			synctest.Wait()
			if relisted != want {
				t.Errorf("%s: listed %d times, want %d", kind, relisted, want)
			}
		}
		b.close()
	})
}
