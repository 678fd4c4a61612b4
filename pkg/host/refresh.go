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
		h.list(ctx, e, false, catalog.Need{List: catalog.ListDue})
	}
}

// relist lists a warm server again that said that its lists have changed, for the client environment with this id,
// unless the host has forgotten that.
func (h *Host) relist(ctx context.Context, server, id string) {
	for _, e := range h.envsOf([]string{id}) {
		if h.beginListing() {
			h.opt.Log(server, "its lists have changed; it is listed again")
			h.list(ctx, e, true, catalog.Need{Servers: []string{server}, List: catalog.ListChanged})
			h.listings.Done()
		}
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

// list lists servers for the index of a client environment. If another process does that, nothing is left to do.
func (h *Host) list(ctx context.Context, e *clientEnv, onlyWarm bool, need catalog.Need) {
	h.mu.Lock()
	limits := e.limits
	h.mu.Unlock()
	c, err := h.opt.NewCatalog(CatalogOptions{Env: e.env, Selection: e.sel, Log: h.opt.Log,
		Lister: lister{h, e, limits, onlyWarm}.list})
	if err == nil {
		err = errors.Join(c.Read(ctx, need, nil), c.Close())
	}
	if err != nil && !errors.Is(err, catalog.ErrBusy) {
		h.opt.Log("", "the index could not be refreshed: "+err.Error())
	}
}

// lister lists servers for a refresh. It uses warm servers, and starts others in processes that end with the listing.
type lister struct {
	host     *Host
	env      *clientEnv
	limits   tool.Limits
	onlyWarm bool
}

// list is a [catalog.Lister].
func (l lister) list(
	ctx context.Context, cfg *config.Config, name string, opt tool.CallOptions,
) (listing tool.Listing, err error) {
	entry, err := cfg.Server(name)
	if err != nil {
		return listing, err
	}
	list := func(c engine.Caller) (err error) {
		listing, err = c.List(ctx, name, opt)
		return err
	}
	if warm, err := l.host.supervisor.visit(l.env.keyIn(cfg, name, opt.Principal), list); warm {
		return listing, err
	}
	if l.onlyWarm {
		return listing, engine.ErrNotFresh
	}
	own := l.host.open(l.env, cfg, entry, CallerOptions{Limits: l.limits, Log: l.host.opt.Log})
	err = errors.Join(list(own), own.Close())
	return listing, err
}
