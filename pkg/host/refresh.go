package host

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Engine refreshes the index of a client's configuration set. engine.Engine is one.
type Engine interface {
	// RefreshLate lists the servers whose lists are due.
	RefreshLate(ctx context.Context) error
	// Relist lists one server, and replaces its definitions in the index if they differ.
	Relist(ctx context.Context, server string) error
	Close() error
}

// EngineOptions are what [Options.NewEngine] makes an engine with.
type EngineOptions struct {
	Env       config.Env
	Selection config.Selection
	// NewCaller reaches the servers: warm ones in the host, others as a client would.
	NewCaller func(*config.Config) engine.Caller
	// Log is called with what happens.
	Log func(who, event string)
}

// Refresh renews the lists that are due in the index of a client. It returns at once if another call does that for the
// same surroundings, or if the host is ending. Failures go to the log.
func (h *Host) Refresh(ctx context.Context, s Surroundings) {
	e := h.env(s, s.key())
	if !h.beginRefresh(e) {
		return
	}
	defer h.endRefresh(e)
	h.withEngine(e, false, func(en Engine) error { return en.RefreshLate(ctx) })
}

// beginRefresh reports whether a refresh may begin for a client environment, and counts it as a listing.
func (h *Host) beginRefresh(e *clientEnv) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining || e.refreshing {
		return false
	}
	e.refreshing = true
	h.listings.Add(1)
	return true
}

func (h *Host) endRefresh(e *clientEnv) {
	defer h.listings.Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	e.refreshing = false
}

// relist lists a warm server again that said that its lists have changed, for the client environment with this id.
func (h *Host) relist(ctx context.Context, server, id string) {
	e := h.beginListing(id)
	if e == nil {
		return
	}
	defer h.listings.Done()
	h.opt.Log(server, "its lists have changed; it is listed again")
	h.withEngine(e, true, func(en Engine) error { return en.Relist(ctx, server) })
}

// beginListing returns the client environment with this id and counts one more listing. It returns nil if the host is
// ending or has forgotten the environment.
func (h *Host) beginListing(id string) *clientEnv {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return nil
	}
	for _, e := range h.envs {
		if e.id == id {
			h.listings.Add(1)
			return e
		}
	}
	return nil
}

// withEngine calls do with an engine for a client environment.
func (h *Host) withEngine(e *clientEnv, onlyWarm bool, do func(Engine) error) {
	h.mu.Lock()
	limits := e.limits
	h.mu.Unlock()
	en, err := h.opt.NewEngine(EngineOptions{Env: e.env, Selection: e.sel, Log: h.opt.Log,
		NewCaller: func(cfg *config.Config) engine.Caller { return &lister{h, e, cfg, limits, onlyWarm} }})
	if err == nil {
		err = errors.Join(do(en), en.Close())
	}
	if err != nil {
		h.opt.Log("", "the index could not be refreshed: "+err.Error())
	}
}

// lister is the caller of a refresh. It uses warm servers, and starts others in processes that end with the listing.
type lister struct {
	host     *Host
	env      *clientEnv
	cfg      *config.Config
	limits   tool.Limits
	onlyWarm bool
}

// List implements [engine.Caller].
func (l *lister) List(ctx context.Context, name string, opt tool.CallOptions) (tool.Listing, error) {
	var listing tool.Listing
	err := l.with(name, opt, func(c engine.Caller) (err error) {
		listing, err = c.List(ctx, name, opt)
		return err
	})
	return listing, err
}

// Call implements [engine.Caller].
func (l *lister) Call(
	ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions,
) (*tool.Result, error) {
	var res *tool.Result
	err := l.with(ref.Server, opt, func(c engine.Caller) (err error) {
		res, err = c.Call(ctx, ref, args, opt)
		return err
	})
	return res, err
}

// Close implements [engine.Caller]. Nothing outlives a request.
func (l *lister) Close() error { return nil }

// with runs f with a caller for a server.
func (l *lister) with(name string, opt tool.CallOptions, f func(engine.Caller) error) error {
	entry, err := l.cfg.Server(name)
	if err != nil {
		return err
	}
	if warm, err := l.host.supervisor.visit(l.env.keyIn(l.cfg, name, opt.Principal), f); warm {
		return err
	}
	if l.onlyWarm {
		return engine.ErrNotFresh
	}
	own := l.host.open(l.env, l.cfg, entry, CallerOptions{Limits: l.limits, Log: l.host.opt.Log})
	return errors.Join(f(own), own.Close())
}
