package catalog

import (
	"context"
	"errors"
	"slices"
	"time"
)

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
	changed, late := slices.Clone(c.changed), c.lateSnapshot()
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

// lateSnapshot returns the current snapshot if it needs a background refresh, and notes that the caller starts that.
// Else it returns nil. It is called with mu held.
func (c *Catalog) lateSnapshot() *opened {
	o := c.current
	if o == nil || !o.late || o.renewed || c.opt.Background == nil {
		return nil
	}
	o.renewed = true
	return o
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
