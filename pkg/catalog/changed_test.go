package catalog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/fixture"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func (w *world) written() time.Time {
	w.t.Helper()
	info, err := os.Stat(filepath.Join(w.cache(), "search.idx"))
	if err != nil {
		w.t.Fatal(err)
	}
	return info.ModTime()
}

// TestSettle: what a server says to have changed is listed once more, behind the answer, and kept if it differs.
func TestSettle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	w.read("a b", "a/a_tool", "b/b_tool")
	// A listing covers every change before it.
	asked := w.with(func(c *Catalog) error {
		var errs []error
		for range 2 {
			c.Changed("a")
			errs = append(errs, c.Read(t.Context(), Need{List: ListAll}, nil), c.Settle(t.Context()))
		}
		return errors.Join(errs...)
	})
	if asked != "a a b b" {
		t.Errorf("asked %q", asked)
	}
	before := w.written()
	if asked := w.with(func(*Catalog) error { return nil }); asked != "" || w.written() != before {
		t.Errorf("nothing changed: asked %q", asked)
	}
	changed := func(c *Catalog) error {
		for range 4 {
			c.Changed("a")
		}
		return nil
	}
	if asked := w.with(changed); asked != "a" || w.written() != before {
		t.Errorf("nothing differs: asked %q, written %v", asked, w.written() != before)
	}
	// Each kind counts.
	for i, next := range []tool.Listing{
		fixture.Listing(t, "a_other"),
		fixture.Offers(t, fixture.Listing(t, "a_other"), `resource {"uri":"book://new"}`),
		fixture.Offers(t, fixture.Listing(t, "a_other"), `resource {"uri":"book://new","name":"new"}`),
		fixture.Offers(t, fixture.Listing(t, "a_other"), `resource {"uri":"book://new","name":"new"}`, `prompt {"name":"new"}`),
	} {
		w.servers["a"] = next
		if asked := w.with(changed); asked != "a" {
			t.Errorf("change %d: asked %q", i, asked)
		}
		w.with(func(c *Catalog) error {
			return c.Read(t.Context(), Need{}, func(v *View) error {
				s, _ := v.Server("a")
				got, want := []int{s.Tools, s.Resources, s.Prompts}, []int{len(next.Tools), len(next.Resources), len(next.Prompts)}
				if !slices.Equal(got, want) || !s.ListedAt.Equal(w.clock()) {
					t.Errorf("change %d: %+v", i, s)
				}
				return nil
			})
		})
	}
	// A failure changes nothing, and neither does the end of the request.
	w.down["a"] = fault.New(fault.Timeout, "too slow", "")
	c := w.catalog()
	c.Changed("a")
	if err := c.Settle(t.Context()); !fault.Is(err, fault.Timeout) {
		t.Errorf("it fails: %v", err)
	}
	c.Changed("a")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Settle(ended); err != nil {
		t.Errorf("given up: %v", err)
	}
	delete(w.down, "a")
	w.read("", "a/a_other", "b/b_tool")
}

func TestListChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	relist := func(server string) (asked string, err error) {
		asked = w.with(func(c *Catalog) error {
			err = c.Read(t.Context(), Need{Servers: []string{server}, List: ListChanged}, nil)
			return nil
		})
		return asked, err
	}
	w.read("a b", "a/a_tool", "b/b_tool")
	w.servers["a"], w.servers["b"] = fixture.Listing(t, "a_new"), fixture.Listing(t, "b_new")
	if asked, err := relist("a"); asked != "a" || err != nil {
		t.Errorf("asked %q, %v", asked, err)
	}
	w.read("", "a/a_new", "b/b_tool")
	// A server that had failed is well again.
	w.down["b"] = fault.New(fault.Timeout, "slow", "")
	w.with(func(c *Catalog) error { return c.Read(t.Context(), Need{List: ListAll}, nil) })
	if _, err := relist("b"); !fault.Is(err, fault.Timeout) {
		t.Errorf("of one that is down: %v", err)
	}
	delete(w.down, "b")
	w.servers["b"] = fixture.Listing(t, "b_tool")
	if _, err := relist("b"); err != nil {
		t.Error(err)
	}
	w.with(func(c *Catalog) error {
		return c.Read(t.Context(), Need{Servers: []string{}}, func(v *View) error {
			if info, _ := v.Server("b"); info.State != index.Listed || info.Error != nil {
				t.Errorf("b is %+v", info)
			}
			return nil
		})
	})
	// A server that is off or unknown is not asked.
	w.switches.Disabled = []string{"b"}
	if asked, err := relist("b"); asked != "" || err != nil {
		t.Errorf("of one that is off: asked %q, %v", asked, err)
	}
	if asked, err := relist("none"); asked != "" || !fault.Is(err, fault.ServerNotFound) {
		t.Errorf("of none: asked %q, %v", asked, err)
	}
	if err := os.Remove(filepath.Join(w.dir, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := relist("a"); !fault.Is(err, fault.Config) {
		t.Errorf("without a configuration: %v", err)
	}
}

// TestBackgroundOnce: however many answers rely on an expired list, one refresh is started for it.
func TestBackgroundOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.read("a", "a/a_tool")
	w.pass(w.settings.TTL + time.Minute)
	c := w.catalog()
	answers := func(n int) {
		t.Helper()
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				err := errors.Join(c.Read(t.Context(), Need{}, nil), c.Settle(t.Context()))
				if err != nil && !errors.Is(err, os.ErrPermission) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	w.refused = os.ErrPermission
	answers(1)
	answers(1)
	if w.refreshes != 2 {
		t.Errorf("%d tries of a refresh that cannot be started", w.refreshes)
	}
	w.refused, w.refreshes = nil, 0
	unlock := w.lock()
	answers(10)
	if w.refreshes != 0 {
		t.Errorf("%d refreshes while the index is being written", w.refreshes)
	}
	unlock()
	answers(50)
	if w.refreshes != 1 || w.requests() != "a" {
		t.Errorf("%d refreshes, asked %q", w.refreshes, w.requests())
	}
	// The refresh is done, and the next list expires in its turn.
	if err := w.catalog().Read(t.Context(), Need{List: ListDue}, nil); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Minute)
	answers(10)
	if w.refreshes != 1 {
		t.Errorf("%d refreshes of a fresh list", w.refreshes)
	}
	w.pass(w.settings.TTL)
	answers(10)
	if w.refreshes != 2 || w.requests() != "a a" {
		t.Errorf("%d refreshes, asked %q", w.refreshes, w.requests())
	}
}
