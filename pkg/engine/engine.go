// Package engine holds the use cases of mcpl, free of terminals, sockets and MCP roles: it searches, inspects, lists,
// plans and calls tools, and does the same for resources and prompts.
//
// Make an [Engine] with [New] and share it. Each method is a use case: it reads the index through a
// [catalog.Catalog], which keeps it fresh, and reaches live servers through a [Caller]. An engine keeps nothing of a
// request, so any number of requests may use it at the same time. pkg/output and internal/verb decide how answers look.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/approval"
	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Caller reaches live servers: conn.Pool in this process, daemon.Client through the daemon.
type Caller interface {
	// List lists what a server offers. Errors are faults.
	List(ctx context.Context, server string, opt tool.CallOptions) (tool.Listing, error)
	// Call calls a tool, gets a prompt or, without args, reads a resource, as the kind of ref says. A
	// result may report an error. Errors are faults.
	Call(ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions) (*tool.Result, error)
	// Request sends one request of any method and returns its result as it came. params are a JSON object, or nil: values,
	// order and numbers stay, white space and escapes may not, and their _meta gets mcpl's own progress token. A JSON-RPC
	// error of the server is a *tool.UpstreamError; other errors are faults.
	Request(ctx context.Context, server, method string, params json.RawMessage,
		opt tool.CallOptions) (json.RawMessage, error)
	// Watch calls tell with each notification of a server that belongs to no call, until ctx ends or stop is called. It
	// starts no server. The server is that of requests with the Principal and the Session of opt. A server that a session
	// has for itself stops when its last watch ends. tell may be called concurrently and must not wait. Errors are faults.
	Watch(ctx context.Context, server string, opt tool.CallOptions, tell func(tool.Event)) (stop func(), err error)
	// Close releases what was started. It returns when nothing is left running.
	Close() error
}

// Switches say what is on. Nothing else is found or called.
type Switches interface {
	Allows(server, name string) bool
	AllowsServer(server string) bool
	// Whole reports whether every tool of a server is on.
	Whole(server string) bool
	// InProject reports whether a server, or a tool of it unless name is empty, is off for a project and not everywhere.
	InProject(server, name string) bool
}

// ErrNotFresh says that the answer needs the configuration or a server, and that the engine was made without NewCaller.
var ErrNotFresh = catalog.ErrNotFresh

// Options make an [Engine].
type Options struct {
	// Catalog makes the engine's catalog. New sets its Allows and its Lister.
	Catalog  catalog.Options
	Switches Switches
	// Policy are the rules for calls. Approvals has what was asked and approved of the calls that they ask about.
	Policy    policy.Rules
	Approvals approval.Store
	// NewCaller opens the caller when the first live server is needed. The caller calls changed, from any goroutine, when
	// a server says that it offers something else now. If NewCaller is nil, the engine answers from a fresh index or
	// fails with ErrNotFresh.
	NewCaller func(cfg *config.Config, changed func(server string)) Caller
	// Warm opens the caller for calls of an engine without NewCaller. That caller fails with ErrNotFresh if it cannot
	// make a call. Warm may be nil.
	Warm func(*config.Sources) Caller
}

// Engine answers for one configuration set. It is safe for concurrent use.
type Engine struct {
	catalog   *catalog.Catalog
	switches  Switches
	shows     func(server, name string) bool
	help      string // see Narrowing
	refuses   func(server string) error
	policy    policy.Rules
	approvals approval.Store
	folder    string // the working directory
	events    catalog.Events
	callers   *callers
	called    *definitions
}

// New returns an engine. Nothing is read yet.
func New(opt Options) *Engine {
	e := &Engine{switches: opt.Switches, shows: showsAll, refuses: refusesNone, policy: opt.Policy,
		approvals: opt.Approvals, folder: opt.Catalog.Env.Dir, events: opt.Catalog.Events,
		callers: &callers{warm: opt.Warm}, called: new(definitions)}
	opt.Catalog.Allows, opt.Catalog.Pins.Allows = opt.Switches.AllowsServer, opt.Switches.Allows
	if opt.NewCaller != nil {
		e.callers.full = func(cfg *config.Config) Caller { return opt.NewCaller(cfg, e.catalog.Changed) }
		opt.Catalog.Lister = e.callers.list
	}
	e.catalog = catalog.New(opt.Catalog)
	return e
}

// Catalog returns the index that the engine answers from.
func (e *Engine) Catalog() *catalog.Catalog { return e.catalog }

// Close closes the catalog and then the caller. It returns when nothing is left running.
func (e *Engine) Close() error { return errors.Join(e.catalog.Close(), e.callers.close()) }

// live returns the caller for the configuration as read.
func (e *Engine) live() (Caller, error) {
	cfg, err := e.catalog.Config()
	if err != nil {
		return nil, err
	}
	return e.callers.get(func() Caller { return e.callers.full(cfg) })
}

// callable returns the caller for a call.
func (e *Engine) callable() (Caller, error) {
	if e.callers.full != nil || e.callers.warm == nil {
		return e.live()
	}
	sources, err := e.catalog.Sources()
	if err != nil {
		return nil, err
	}
	return e.callers.get(func() Caller { return e.callers.warm(sources) })
}

// callers opens the caller that all requests and the catalog share, when it is first needed.
type callers struct {
	full func(*config.Config) Caller  // nil if there is only warm
	warm func(*config.Sources) Caller // nil if there is only full

	mu     sync.Mutex
	caller Caller // nil before it is opened
	closed bool
}

func (c *callers) get(open func() Caller) (Caller, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New("the engine is closed")
	}
	if c.caller == nil {
		c.caller = open()
	}
	return c.caller, nil
}

// close closes the caller. No other is opened any more.
func (c *callers) close() error {
	c.mu.Lock()
	c.closed = true
	caller := c.caller
	c.mu.Unlock()
	if caller == nil {
		return nil
	}
	return caller.Close()
}

// list is the lister of the catalog.
func (c *callers) list(
	ctx context.Context, cfg *config.Config, server string, opt tool.CallOptions) (tool.Listing, error) {
	caller, err := c.get(func() Caller { return c.full(cfg) })
	if err != nil {
		return tool.Listing{}, err
	}
	return caller.List(ctx, server, opt)
}
