package host

import (
	"context"
	"errors"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Catalog is the index of a client's configuration set. [catalog.Catalog] is one.
type Catalog interface {
	// Read lists the servers that the need asks for. The host has no use for the view.
	Read(ctx context.Context, need catalog.Need, use func(*catalog.View) error) error
	Close() error
}

// CatalogOptions are what [Options.NewCatalog] makes a catalog with.
type CatalogOptions struct {
	Env       config.Env
	Selection config.Selection
	// Lister reaches the servers: warm ones in the host, others as a client would.
	Lister catalog.Lister
	// Log is called with what happens.
	Log func(who, event string)
}

// Refresh renews the lists that are due in the index of a client. It returns at once if another call does that for the
// same surroundings, or if the host is ending. Failures go to the log.
func (h *Host) Refresh(ctx context.Context, s Surroundings) {
	e := h.env(s, s.key())
	if !e.refreshing.CompareAndSwap(false, true) {
		return
	}
	defer e.refreshing.Store(false)
	if h.beginListing() {
		defer h.listings.Done()
		h.list(ctx, e, catalog.Need{List: catalog.ListDue}, owner{})
	}
}

// relist lists the warm server of an owner again that said that its lists have changed.
func (h *Host) relist(ctx context.Context, server string, e *clientEnv, of owner) {
	if h.beginListing() {
		defer h.listings.Done()
		h.opt.Log(server, "its lists have changed; it is listed again")
		h.list(ctx, e, catalog.Need{Servers: []string{server}, List: catalog.ListChanged}, of)
	}
}

// beginListing counts one more listing, which ends with listings.Done. It reports false if the host is ending.
func (h *Host) beginListing() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.draining {
		h.listings.Add(1)
	}
	return !h.draining
}

// list lists servers of an owner for the index of a client environment. If another process does that, nothing is left
// to do. A server is not started to hear what it offers now.
func (h *Host) list(ctx context.Context, e *clientEnv, need catalog.Need, of owner) {
	lister := h.lister(e, need.List == catalog.ListChanged, of)
	c, err := h.opt.NewCatalog(CatalogOptions{Env: e.env, Selection: e.sel, Log: h.opt.Log, Lister: lister})
	if err == nil {
		err = errors.Join(c.Read(ctx, need, nil), c.Close())
	}
	if err != nil && !errors.Is(err, catalog.ErrBusy) {
		h.opt.Log("", "the index could not be refreshed: "+err.Error())
	}
}

// lister returns what lists servers for a client environment. It uses warm servers, and starts others, unless it may
// not, in processes that end with the listing.
func (h *Host) lister(e *clientEnv, onlyWarm bool, of owner) catalog.Lister {
	h.mu.Lock()
	limits := e.limits
	h.mu.Unlock()
	return func(ctx context.Context, cfg *config.Config, name string, opt tool.CallOptions) (l tool.Listing, err error) {
		entry, err := cfg.Server(name)
		if err != nil {
			return l, err
		}
		list := func(c engine.Caller) (err error) {
			l, err = c.List(ctx, name, opt)
			return err
		}
		if warm, err := h.supervisor.visit(e.keyIn(cfg, name, of), list); warm {
			return l, err
		}
		if onlyWarm {
			return l, engine.ErrNotFresh
		}
		own := h.open(e, cfg, entry, CallerOptions{Limits: limits, Log: h.opt.Log})
		err = errors.Join(list(own), own.Close())
		return l, err
	}
}
