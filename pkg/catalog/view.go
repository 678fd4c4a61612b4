package catalog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/index"
)

// View is the index as one request reads it. It does not change, however often the index is replaced, and stays
// readable until Release.
type View struct {
	*index.Snapshot
	catalog *Catalog
	opened  *opened
	since   uint64   // how many listings had been started when the request came
	waited  []string // the servers whose listings the request waited for
}

// Release ends the use of a view. Answers that were read stay valid. Further calls do nothing.
func (v *View) Release() {
	_ = v.catalog.release(v.opened) // the file was only read
	v.Snapshot, v.opened = nil, nil
}

// Tried reports whether the request of this view waited for a listing of the server, or one was started and has ended
// since the request came.
func (v *View) Tried(server string) bool {
	return slices.Contains(v.waited, server) || v.triedSince(server)
}

func (v *View) triedSince(server string) bool {
	v.catalog.mu.Lock()
	defer v.catalog.mu.Unlock()
	return v.catalog.tried[server] > v.since
}

// opened is an open snapshot. The catalog's mu guards its fields.
type opened struct {
	sn *index.Snapshot
	// users counts the views, and one for the catalog while the snapshot is current.
	users int
	// late is true if an answer relied on a list that a background refresh has to renew, renewed if that was started.
	late, renewed bool
}

// release ends one use of o, which may be nil. The last one unmaps the snapshot. It is called without mu held.
func (c *Catalog) release(o *opened) error {
	if o == nil {
		return nil
	}
	c.mu.Lock()
	o.users--
	last := o.users == 0
	c.mu.Unlock()
	if !last {
		return nil
	}
	return o.sn.Close()
}

// acquire returns a view of the current snapshot, nil if there is none. It is called with mu held.
func (c *Catalog) acquire(since uint64) *View {
	if c.current == nil {
		return nil
	}
	c.current.users++
	return &View{Snapshot: c.current.sn, catalog: c, opened: c.current, since: since}
}

// Current returns the index as it is, without listing a server; nil if there is none that matches the configuration.
func (c *Catalog) Current() (*View, error) {
	since, err := c.arrive()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.acquire(since), nil
}

// lookEvery is how often a catalog looks whether another process has replaced the index.
const lookEvery = time.Second

// arrive begins a request: it locates the configuration, looks at the file of the index if that is due, and returns how
// many listings have been started.
func (c *Catalog) arrive() (since uint64, err error) {
	c.mu.Lock()
	if err := c.locate(); err != nil {
		c.mu.Unlock()
		return 0, err
	}
	clock := c.opt.Now()
	due := passed(c.looked, clock, cmp.Or(c.opt.LookEvery, lookEvery))
	if due {
		c.looked = clock
	}
	since = c.started
	c.mu.Unlock()
	if due {
		c.look()
	}
	return since, nil
}

// look opens the index on disk if another process has replaced it. An index that cannot be opened changes nothing: a
// writer may have replaced only some of the files yet. If this process has replaced the current snapshot meanwhile,
// that one is newer and stays.
func (c *Catalog) look() {
	c.mu.Lock()
	trusted, old, view := !c.damaged && c.unsaved == nil, c.current, c.acquire(0)
	c.mu.Unlock()
	if view != nil {
		defer view.Release()
	}
	if !trusted || old != nil && c.store.Holds(old.sn) {
		return
	}
	last, err := c.open()
	if last == nil || err != nil {
		return
	}
	c.mu.Lock()
	if !c.closed && c.current == old {
		c.current, last = last, c.current
	}
	c.mu.Unlock()
	_ = c.release(last) // the file was only read
}

// maxReads is how often Read calls its function at most. Twice is rare, more often takes several writers.
const maxReads = 10

// Read calls use with a view as fresh as the need says, and releases it. If use fails because the index is damaged or
// was replaced meanwhile, Read repairs that and calls use once more: damage to a part of the index shows only when that
// part is read. If use is nil, Read lists what Ensure lists.
func (c *Catalog) Read(ctx context.Context, need Need, use func(*View) error) error {
	for reads := 1; ; reads++ {
		v, err := c.Ensure(ctx, need)
		if err != nil {
			return err
		}
		if use != nil {
			err = use(v)
		}
		again := reads < maxReads && c.repair(v, err)
		v.Release()
		if !again {
			return err
		}
		need.List = ListExpired // all beyond that is done
	}
}

// repair takes the snapshot of v out of use if err says that it cannot be read, and reports whether it did.
func (c *Catalog) repair(v *View, err error) bool {
	damaged := errors.Is(err, index.ErrDamaged)
	if !damaged && !errors.Is(err, index.ErrReplaced) {
		return false
	}
	if !damaged {
		c.look()
	}
	c.mu.Lock()
	first := c.current == v.opened
	if first {
		c.current, c.damaged = nil, damaged
		v.opened.users-- // the catalog's use; v still has one
	}
	c.mu.Unlock()
	if first && damaged && c.opt.Lister != nil {
		c.opt.Events.Notice("the packed index in %s is damaged and is built anew", c.store.Dir)
	}
	return true
}

// settleLimit bounds how long Settle lists servers.
const settleLimit = 5 * time.Second

// Settle does the work that answers have left for later; call it behind an answer. It lists servers once more that said
// meanwhile that they offer something else now, in at most 5 s. If an answer relied on a list that has expired, Settle
// starts the background refresh, once for each state of the index. Mostly there is nothing to do.
func (c *Catalog) Settle(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	c.mu.Lock()
	changed, late := slices.Clone(c.changed), c.current
	if late != nil && late.late && !late.renewed && c.opt.Background != nil {
		late.renewed = true
	} else {
		late = nil
	}
	c.mu.Unlock()
	var errs [2]error
	if len(changed) > 0 {
		limited, cancel := context.WithTimeout(ctx, settleLimit)
		errs[0] = c.Read(limited, Need{Servers: changed, List: ListChanged}, nil)
		cancel()
	}
	if late != nil {
		errs[1] = c.refreshBehind(late)
	}
	return errors.Join(errs[:]...)
}

// refreshBehind starts the background refresh. While the index is being written it does not: the refresh could not
// write anything.
func (c *Catalog) refreshBehind(late *opened) (err error) {
	if unlock, free, lockErr := c.store.TryLock(); lockErr == nil && free {
		unlock()
		if err = c.opt.Background(c.sources); err == nil {
			return nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	late.renewed = false // a later answer tries again
	return err
}
