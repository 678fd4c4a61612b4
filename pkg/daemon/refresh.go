package daemon

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Engine is what keeps the index of a client's configuration set: engine.Engine.
type Engine interface {
	// RefreshLate asks the servers whose turn has come.
	RefreshLate(ctx context.Context) error
	// Relist asks one server, and replaces what is known of it where that differs.
	Relist(ctx context.Context, server string) error
	Close() error
}

// EngineOptions are what an engine is made with.
type EngineOptions struct {
	Env       config.Env
	Selection config.Selection
	// NewCaller reaches the servers: those that are warm in the daemon, others as a client would.
	NewCaller func(*config.Config) engine.Caller
	// Log is told what happens.
	Log func(who, event string)
}

// refresh does a client's background refresh, unless one is under way for those surroundings.
func (d *server) refresh(ctx context.Context, o *origin) {
	d.mu.Lock()
	busy := o.refreshing
	o.refreshing = true
	d.mu.Unlock()
	if busy {
		return
	}
	d.withEngine(o, false, func(e Engine) error { return e.RefreshLate(ctx) })
	d.mu.Lock()
	o.refreshing = false
	d.mu.Unlock()
}

// relist lists a warm server anew, which said that what it offers has changed.
func (d *server) relist(ctx context.Context, name, id string) {
	d.mu.Lock()
	var from *origin
	for _, o := range d.origins {
		if o.id == id {
			from = o
		}
	}
	begun := from != nil && d.ending.IsZero()
	if begun {
		d.active++
	}
	d.mu.Unlock()
	if !begun {
		return
	}
	defer d.done()
	d.log(name, "what it offers has changed; it is listed again")
	d.withEngine(from, true, func(e Engine) error { return e.Relist(ctx, name) })
}

// withEngine does something with an engine for a client's surroundings.
func (d *server) withEngine(o *origin, onlyWarm bool, do func(Engine) error) {
	d.mu.Lock()
	l := o.limits
	d.mu.Unlock()
	e, err := d.opt.NewEngine(EngineOptions{Env: o.env, Selection: o.sel, Log: d.log,
		NewCaller: func(cfg *config.Config) engine.Caller { return &lister{d, o, cfg, l, onlyWarm} }})
	if err == nil {
		err = errors.Join(do(e), e.Close())
	}
	if err != nil {
		d.log(logName, "the index could not be refreshed: "+err.Error())
	}
}

// lister is the caller of a refresh: it lists servers that are warm in the hub, and others in
// processes that end with the listing.
type lister struct {
	d        *server
	o        *origin
	cfg      *config.Config
	limits   tool.Limits
	onlyWarm bool
}

// List implements [engine.Caller].
func (l *lister) List(ctx context.Context, name string, opt tool.CallOptions) (tool.Listing, error) {
	var listing tool.Listing
	err := l.with(name, func(c engine.Caller) (err error) {
		listing, err = c.List(ctx, name, opt)
		return err
	})
	return listing, err
}

// Call implements [engine.Caller].
func (l *lister) Call(ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions) (*tool.Result, error) {
	var res *tool.Result
	err := l.with(ref.Server, func(c engine.Caller) (err error) {
		res, err = c.Call(ctx, ref, args, opt)
		return err
	})
	return res, err
}

// Close implements [engine.Caller]. Nothing outlives a request to it.
func (l *lister) Close() error { return nil }

// with runs f with a caller for a server.
func (l *lister) with(name string, f func(engine.Caller) error) error {
	server, err := l.cfg.Server(name)
	if err != nil {
		return err
	}
	if warm, err := l.d.hub.visit(l.o.keyIn(l.cfg, name), f); warm {
		return err
	}
	if l.onlyWarm {
		return engine.ErrNotFresh
	}
	own := l.d.open(l.o, l.cfg, server, l.limits, l.d.log, nil)
	return errors.Join(f(own), own.Close())
}
