package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// defaultIdle is how long a server stays without a request, if neither its entry nor its client says.
const defaultIdle = 15 * time.Minute

// Caller reaches the warm servers of a host from one client environment. It implements [engine.Caller], and its
// methods may be called concurrently. Errors are faults, except [ErrDeclined] and [ErrEnding].
type Caller struct {
	host         *Host
	surroundings Surroundings
	key          string
	observe      Observer
}

// Caller returns a caller for clients with these surroundings. If observe is nil, only the log hears of events.
func (h *Host) Caller(s Surroundings, observe Observer) *Caller {
	return &Caller{host: h, surroundings: s, key: s.key(), observe: observe}
}

// List implements [engine.Caller].
func (c *Caller) List(ctx context.Context, server string, opt tool.CallOptions) (tool.Listing, error) {
	if opt.Brief {
		return c.listBriefly(ctx, server, opt)
	}
	return request(c, server, opt, func(warm engine.Caller, opt tool.CallOptions) (tool.Listing, error) {
		return warm.List(ctx, server, opt)
	})
}

// listBriefly lists a server that is warm, or else one that ends with the listing: after a list of all servers those
// that no call needs would fill the memory for as long as they may be idle.
func (c *Caller) listBriefly(ctx context.Context, server string, opt tool.CallOptions) (l tool.Listing, err error) {
	wanted, err := c.spec(c.host.env(c.surroundings, c.key), server, opt)
	if err != nil {
		return l, err
	}
	list := func(caller engine.Caller) (err error) {
		l, err = caller.List(ctx, server, opt)
		return err
	}
	opt.Timeout = cmp.Or(opt.Timeout, wanted.limit)
	if warm, err := c.host.supervisor.visit(wanted.key, list); warm {
		return l, err
	}
	if !c.host.beginListing() {
		return l, ErrEnding
	}
	defer c.host.listings.Done()
	own := wanted.open(func(server, event string) {
		c.host.opt.Log(server, event)
		if c.observe != nil {
			c.observe(server, event)
		}
	}, func() {})
	err = list(own)
	if closeErr := own.Close(); err == nil {
		err = closeErr
	}
	return l, err
}

// Call implements [engine.Caller].
func (c *Caller) Call(
	ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions,
) (*tool.Result, error) {
	return request(c, ref.Server, opt, func(warm engine.Caller, opt tool.CallOptions) (*tool.Result, error) {
		return warm.Call(ctx, ref, args, opt)
	})
}

// Request implements [engine.Caller].
func (c *Caller) Request(
	ctx context.Context, server, method string, params json.RawMessage, opt tool.CallOptions,
) (json.RawMessage, error) {
	return request(c, server, opt, func(warm engine.Caller, opt tool.CallOptions) (json.RawMessage, error) {
		return warm.Request(ctx, server, method, params, opt)
	})
}

// Close implements [engine.Caller]. The servers belong to the host and stay.
func (c *Caller) Close() error { return nil }

// request runs f with a server, which it starts if need be, and the options of the request for it. The key of a server
// does not contain its entry's timeout, so that a change holds from the next request on without a new server.
func request[T any](
	c *Caller, name string, opt tool.CallOptions, f func(warm engine.Caller, opt tool.CallOptions) (T, error),
) (res T, err error) {
	wanted, err := c.spec(c.host.env(c.surroundings, c.key), name, opt)
	if err != nil {
		return res, err
	}
	u, err := c.host.supervisor.acquire(wanted, c.observe)
	if err != nil {
		return res, err
	}
	defer func() { c.host.supervisor.release(u, err) }()
	if opt.Audience != nil {
		opt.Audience = &audience{opt.Audience, func() { c.host.supervisor.alive(u.run) }}
	}
	opt.Timeout = cmp.Or(opt.Timeout, wanted.limit)
	return f(u.run.caller, opt)
}

// spec returns what the supervisor has to know of the server that a request with these options wants.
func (c *Caller) spec(env *clientEnv, name string, opt tool.CallOptions) (spec, error) {
	cfg, err := env.config()
	if err != nil {
		return spec{}, err
	}
	entry, err := cfg.Server(name)
	if err != nil {
		return spec{}, err
	}
	if err := entry.Usable(); err != nil {
		return spec{}, err
	}
	if entry.Lifecycle == config.Ephemeral {
		return spec{}, fmt.Errorf("%s is ephemeral: %w", name, ErrDeclined)
	}
	isProcess := entry.Transport == config.Stdio
	if dir := c.host.opt.StateDir; !isProcess && dir != "" && dir != env.env.StateDir() {
		return spec{}, fmt.Errorf("the logins of %s are in another state folder: %w", name, ErrDeclined)
	}
	of := ownerOf(entry, opt)
	return spec{
		key: env.key(cfg, entry, of), name: entry.Name, env: env, owner: of, principal: opt.Principal,
		config: cfg,
		limit:  cmp.Or(entry.CallTimeout, c.surroundings.Limits.Call),
		idle:   cmp.Or(entry.Idle, c.surroundings.Idle, defaultIdle), keepAlive: entry.Lifecycle == config.KeepAlive,
		isProcess: isProcess,
		current:   func(name string, of owner) string { return env.keyIn(cfg, name, of) },
		open: func(log func(server, event string), changed func()) engine.Caller {
			return c.host.open(env, cfg, entryFor(entry, opt), CallerOptions{Limits: c.surroundings.Limits, Log: log,
				Changed: func(string) { changed() }, Listen: true, Sampling: of.session != "" && opt.Sampling})
		},
	}, nil
}

// entryFor returns the entry of a server with the credentials of a request.
func entryFor(entry *config.Server, opt tool.CallOptions) *config.Server {
	var headers []config.KeyValue
	if entry.Credentials == config.Forwarded {
		for _, h := range opt.Forward {
			headers = append(headers, config.KeyValue{Name: h.Name, Value: h.Value})
		}
	}
	return entry.For(string(opt.Principal), headers)
}

// audience is the audience of a request that also notes each sign of life of the server.
type audience struct {
	tool.Audience
	alive func()
}

// Progress implements [tool.Audience].
func (a *audience) Progress(p tool.Progress) {
	a.alive()
	a.Audience.Progress(p)
}

// Message implements [tool.Audience].
func (a *audience) Message(m tool.Message) {
	a.alive()
	a.Audience.Message(m)
}

// Elicit implements [tool.Audience].
func (a *audience) Elicit(ctx context.Context, q tool.Question) (tool.Reply, error) {
	a.alive()
	return a.Audience.Elicit(ctx, q)
}

// Sample implements [tool.Audience].
func (a *audience) Sample(ctx context.Context, s tool.Sampling) (json.RawMessage, error) {
	a.alive()
	return a.Audience.Sample(ctx, s)
}

// Roots implements [tool.Audience].
func (a *audience) Roots(ctx context.Context) (json.RawMessage, error) {
	a.alive()
	return a.Audience.Roots(ctx)
}
