package catalog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
)

// Ensure returns a view of the index that is as fresh as the need says. The caller releases it. A server that fails to
// list does not fail the request: the index says how it failed.
//
// A request waits only for the servers that it needs. If another process is listing servers, the request waits until
// that process has written the index, and then looks whether anything is left to do.
func (c *Catalog) Ensure(ctx context.Context, need Need) (*View, error) {
	since, err := c.arrive()
	if err != nil {
		return nil, err
	}
	if need.List == ListChanged {
		if err := c.known(need.Servers); err != nil {
			return nil, err
		}
	}
	if v := c.serve(need, since); v != nil {
		return v, nil
	}
	u, v, err := c.join(ctx, need, since)
	if u == nil {
		return v, err
	}
	defer c.leave(u)
	waited, err := c.list(ctx, u, need, since)
	if err != nil {
		return nil, err
	}
	v, err = c.save(ctx, u, need, since)
	if v != nil {
		v.waited = waited
	}
	return v, err
}

// known fails for a server that is not configured.
func (c *Catalog) known(servers []string) error {
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	for _, name := range servers {
		if _, err := cfg.Server(name); err != nil {
			return err
		}
	}
	return nil
}

// serve returns a view of the current snapshot, or nil if that does not serve the need.
func (c *Catalog) serve(need Need, since uint64) *View {
	c.mu.Lock()
	v := c.acquire(since)
	c.mu.Unlock()
	if v == nil || c.fresh(v, need) {
		return v
	}
	v.Release()
	return nil
}

// fresh reports whether a view serves the need. If it does so only because a background refresh follows, fresh notes
// that for Settle.
func (c *Catalog) fresh(v *View, need Need) bool {
	clock, late := c.opt.Now(), false
	for _, s := range v.Servers() {
		if !need.covers(s.Name) || s.Off || !c.opt.Allows(s.Name) {
			continue
		}
		tried := need.List != ListExpired && v.triedSince(s.Name)
		switch c.due(&s.Facts, tried, need, clock) {
		case dueNow:
			return false
		case dueLater:
			late = true
		}
	}
	if late {
		c.mu.Lock()
		defer c.mu.Unlock()
		v.opened.late = true
	}
	return true
}

// update is one period in which this process keeps the index locked. All requests that list servers meanwhile share it.
// The catalog's mu guards its fields.
type update struct {
	cfg    *config.Config
	unlock func()
	cat    *index.Catalog // as it will be written
	dirty  bool           // cat differs from what was written
	users  int            // requests; the last one unlocks the file
}

// join returns the update that runs in this process, or begins one. The caller ends its part with leave. If another
// request or process has done the work meanwhile, join returns a view instead.
func (c *Catalog) join(ctx context.Context, need Need, since uint64) (*update, *View, error) {
	cfg, err := c.Config()
	if err != nil {
		return nil, nil, err
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, nil, Interrupted(ctx)
	}
	if v := c.serve(need, since); v != nil {
		return nil, v, nil
	}
	c.mu.Lock()
	u := c.update
	if u != nil {
		u.users++
	}
	c.mu.Unlock()
	if u != nil {
		return u, nil, nil
	}
	unlock, err := c.lock(ctx, need)
	if err != nil {
		return nil, nil, err
	}
	c.look()
	if v := c.serve(need, since); v != nil {
		unlock()
		return nil, v, nil
	}
	return c.begin(cfg, unlock, need), nil, nil
}

// begin begins an update of the locked index: it reads what is known and reconciles that with the configuration.
func (c *Catalog) begin(cfg *config.Config, unlock func(), need Need) *update {
	old := c.unsaved // only a request with the turn changes it, as this one
	if old == nil {
		var notice string
		if old, notice = c.store.Load(); notice != "" && need.List != ListChanged {
			c.opt.Events.Notice("%s", notice)
		}
	}
	u := &update{cfg: cfg, unlock: unlock, users: 1, cat: c.reconcile(cfg, old)}
	c.mu.Lock()
	defer c.mu.Unlock()
	u.dirty = c.current == nil || need.List != ListChanged
	for _, s := range cfg.Servers {
		if s.Usable() != nil { // a listing could find out no more
			c.tried[s.Name] = c.nextListing()
		}
	}
	c.update = u
	return u
}

// leave ends the part of one request in an update. The last one unlocks the index. Answers that are not saved by then
// are dropped: only requests that were cancelled wanted them.
func (c *Catalog) leave(u *update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u.users--; u.users == 0 {
		c.update = nil
		u.unlock()
	}
}

// lock locks the index for writing. An index that cannot be written is not locked: the answer comes from memory.
func (c *Catalog) lock(ctx context.Context, need Need) (unlock func(), err error) {
	if need.List == ListDue {
		unlock, free, err := c.store.TryLock()
		if err == nil && !free {
			err = ErrBusy
		}
		return unlock, err
	}
	waiting := time.AfterFunc(500*time.Millisecond, func() {
		c.opt.Events.Status("waiting for another mcpl that is refreshing the index")
	})
	unlock, err = c.store.Lock(ctx)
	if !waiting.Stop() {
		c.opt.Events.Status("")
	}
	switch {
	case err == nil:
		return unlock, nil
	case ctx.Err() != nil:
		return nil, Interrupted(ctx)
	case need.List == ListChanged:
		return nil, err // nothing can be kept
	}
	return func() {}, nil
}

// save writes the index if the update holds anything new, and returns a view of it.
func (c *Catalog) save(ctx context.Context, u *update, need Need, since uint64) (*View, error) {
	c.turn <- struct{}{} // never for long: this process has the file locked
	err := c.write(ctx, u)
	c.mu.Lock()
	v := c.acquire(since)
	c.mu.Unlock()
	<-c.turn
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, errClosed
	}
	c.fresh(v, need) // it may still rely on a list that has expired
	return v, nil
}

// write writes the index if the update holds anything new, and makes it current. If it cannot be written, it is kept in
// memory.
func (c *Catalog) write(ctx context.Context, u *update) error {
	c.mu.Lock()
	if c.closed || !u.dirty && c.current != nil {
		c.mu.Unlock()
		return nil
	}
	u.dirty = false
	cat := &index.Catalog{Servers: slices.Clone(u.cat.Servers), Warnings: u.cat.Warnings}
	c.mu.Unlock()
	names := u.cfg.EnvNames
	sn, err := c.store.Save(ctx, cat, index.Stamp{Sources: c.files(), EnvNames: names,
		EnvDigest: c.opt.Env.EnvDigest(names), Approvals: c.approvals})
	if sn == nil {
		if ctx.Err() != nil {
			c.mu.Lock()
			u.dirty = true // another request of the update may still write it
			c.mu.Unlock()
			err = Interrupted(ctx)
		}
		return err
	}
	if err != nil {
		c.opt.Events.Notice("the index cannot be kept in %s, so servers are asked each time: %v", c.store.Dir, err)
	} else {
		cat = nil
	}
	last := &opened{sn: sn, users: 1}
	c.mu.Lock()
	if !c.closed {
		c.current, last = last, c.current
		c.damaged, c.unsaved = false, cat
	}
	c.mu.Unlock()
	_ = c.release(last) // the file was only read
	return nil
}

// Interrupted returns the fault of a request whose context has ended.
func Interrupted(ctx context.Context) *fault.Fault {
	f := fault.New(fault.Interrupted, "interrupted", "It was cancelled. Type the command again to retry.")
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		f.Because(cause)
	}
	return f
}
