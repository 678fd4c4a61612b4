package verb

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/daemon"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// doors are the ways to live servers of a gateway. They outlast its engines, of which each change makes another.
type doors struct {
	host *host.Host
	// listings are those that other replicas have made; nil if there are none.
	listings *gateway.Listings

	// beside is what was in force beside the configuration files when they were last read; "" if they never were. said is
	// the last notice about them. [Session.openAnew] alone uses both, and is not called concurrently.
	beside, said string

	mu      sync.Mutex
	clients map[string]*daemon.Client // by the configuration set; nil if the daemon is not used
	latest  map[string]*config.Config // of each configuration set
}

// caller returns the way to the servers of a configuration.
func (d *doors) caller(s *Session, cfg *config.Config) engine.Caller {
	key := cfg.Sources.Key()
	warm := &fallback{Caller: d.host.Caller(s.surroundings(), nil), open: func(opt tool.CallOptions) engine.Caller {
		return s.ownCaller(d.config(key), opt)
	}}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.latest[key] = cfg
	if d.clients == nil {
		return warm
	}
	if d.clients[key] == nil {
		opt := s.daemonClient(s.callerOptions())
		opt.Start = s.daemonCommand()
		if cfg.Sources.HasTools() && cfg.Sources.Configs[0].Found { // the daemon looks for no tools.toml to find its place
			opt.Start = append(opt.Start, "--config", cfg.Sources.Configs[0].Path)
		}
		opt.Yield = true
		opt.InProcess = func() engine.Caller { return warm }
		d.clients[key] = daemon.NewClient(cfg.Sources, opt)
	}
	return shared{d.clients[key]}
}

// sharing returns a caller that shares what servers list with other replicas.
func (d *doors) sharing(cfg *config.Config, caller engine.Caller) engine.Caller {
	if d.listings == nil {
		return caller
	}
	return d.listings.Over(caller, func(name string) string {
		entry, err := cfg.Server(name)
		if err != nil {
			return "" // the caller says so
		}
		return entry.Fingerprint()
	})
}

// config returns the latest configuration of a set.
func (d *doors) config(key string) *config.Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.latest[key]
}

// close ends the ways. Servers of the daemon stay.
func (d *doors) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, c := range d.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, d.host.Close())...)
}

// shared is a caller that outlasts the engine that it is given to.
type shared struct{ engine.Caller }

// Close implements [engine.Caller].
func (shared) Close() error { return nil }

// ownCaller opens a caller that starts servers for the requests that it is opened for.
func (s *Session) ownCaller(cfg *config.Config, opt tool.CallOptions) engine.Caller {
	own := *cfg
	own.Servers = slices.Clone(cfg.Servers)
	for i, server := range own.Servers {
		own.Servers[i] = server.For(string(opt.Principal), nil)
	}
	o := s.callerOptions()
	o.Environ, o.EnvFile = os.Environ(), s.App.Env.WhereToPut(cfg.Sources)
	if s.Settings.Roots {
		o.Root = s.App.Env.Root(cfg.Sources)
	}
	return s.App.InProcess(&own, o)
}

// fallback makes the requests that a host does not take with servers that end with the request, such as those of
// ephemeral entries.
type fallback struct {
	engine.Caller
	open func(tool.CallOptions) engine.Caller
}

// declined makes a request again by f with a caller of its own if err says that the host does not take it.
func declined[T any](b *fallback, opt tool.CallOptions, res T, err error, f func(engine.Caller) (T, error)) (T, error) {
	if !errors.Is(err, host.ErrDeclined) {
		return res, err
	}
	own := b.open(opt)
	res, err = f(own)
	if closed := own.Close(); err == nil {
		err = closed
	}
	return res, err
}

// List implements [engine.Caller].
func (b *fallback) List(ctx context.Context, server string, opt tool.CallOptions) (tool.Listing, error) {
	l, err := b.Caller.List(ctx, server, opt)
	return declined(b, opt, l, err, func(own engine.Caller) (tool.Listing, error) { return own.List(ctx, server, opt) })
}

// Call implements [engine.Caller].
func (b *fallback) Call(ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions) (
	*tool.Result, error) {
	res, err := b.Caller.Call(ctx, ref, args, opt)
	return declined(b, opt, res, err, func(own engine.Caller) (*tool.Result, error) {
		return own.Call(ctx, ref, args, opt)
	})
}

// Request implements [engine.Caller].
func (b *fallback) Request(ctx context.Context, server, method string, params json.RawMessage, opt tool.CallOptions) (
	json.RawMessage, error) {
	raw, err := b.Caller.Request(ctx, server, method, params, opt)
	return declined(b, opt, raw, err, func(own engine.Caller) (json.RawMessage, error) {
		return own.Request(ctx, server, method, params, opt)
	})
}

// Watch implements [engine.Caller]. A server that ends with each request has nothing to tell between them.
func (b *fallback) Watch(ctx context.Context, server string, opt tool.CallOptions, tell func(tool.Event)) (
	func(), error) {
	stop, err := b.Caller.Watch(ctx, server, opt, tell)
	if errors.Is(err, host.ErrDeclined) {
		return func() {}, nil
	}
	return stop, err
}
