// Package engine is what mcpl does, free of terminals, sockets and MCP roles: it finds the
// configuration, keeps the index fresh, and answers Search, Inspect, List, Refresh and Call
// from it, for tools, resources and prompts.
//
// Live servers are reached through a [Caller] that the composition root chooses; an engine
// without one answers from a fresh index or says [ErrNotFresh]. How answers look is decided in
// pkg/output and internal/verb.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Caller reaches live servers. conn.Pool does it in this process,
// daemon.Client through the daemon.
type Caller interface {
	// List lists what a server offers. Errors are faults.
	List(ctx context.Context, server string, opt tool.CallOptions) (tool.Listing, error)
	// Call calls a tool, gets a prompt or, without args, reads a resource, as the kind of ref says. A
	// result that reports an error is a result. Errors are faults.
	Call(ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions) (*tool.Result, error)
	// Close releases what was started. It returns when nothing is left running.
	Close() error
}

// Switches say what is on. What is off is found nowhere and callable by no path.
type Switches interface {
	Allows(server, name string) bool
	AllowsServer(server string) bool
	// Whole reports whether every tool of a server is on.
	Whole(server string) bool
}

// Events are told of what happens beside the answer. They may be called concurrently.
type Events interface {
	// Notice is one sentence a user should read.
	Notice(format string, args ...any)
	// Status is what is going on right now, for a line that is replaced; "" ends it.
	Status(line string)
	// Verbose is for people who want to know all.
	Verbose(who, event string)
}

// ErrNotFresh says that the answer needs the configuration to be read or a server to be asked,
// and that this engine was made without a way to do so.
var ErrNotFresh = errors.New("the index is not fresh")

// Options make an [Engine]. All but NewCaller are needed.
type Options struct {
	Env       config.Env
	Selection config.Selection
	Settings  config.Settings
	Switches  Switches
	Events    Events
	Now       func() time.Time
	// Background starts a process that runs [Engine.RefreshLate]; nil: nothing is refreshed
	// behind an answer.
	Background func(*config.Sources) error
	// Warm, when not nil, opens the caller for calls of an engine without NewCaller: one that answers
	// ErrNotFresh for what it cannot do.
	Warm func(*config.Sources) Caller
	// NewCaller is asked for a caller once the first live server is needed. That calls changed, from
	// any goroutine, when a server says that it offers something else now.
	NewCaller func(cfg *config.Config, changed func(server string)) Caller
}

// Engine answers for one configuration set. It is for one request at a time.
type Engine struct {
	opt     Options
	sources *config.Sources
	store   index.Store
	cfg     *config.Config  // nil until needed
	sn      *index.Snapshot // nil until opened; matches the sources
	caller  Caller          // nil until needed
	// distrust is set once the index on disk was found damaged, until it is built anew.
	distrust bool
	// asked are the servers that were asked for what they offer by this engine.
	asked []string
	// late is set once an answer relies on a list that a background refresh has to renew.
	late bool
	// changed are the servers to be listed once more.
	changed names
}

// New returns an engine. Nothing is read yet.
func New(opt Options) *Engine { return &Engine{opt: opt} }

// Close stops what was started and releases the index.
func (e *Engine) Close() error {
	var err error
	if e.caller != nil {
		err = e.caller.Close()
	}
	if e.sn != nil {
		err = errors.Join(err, e.sn.Close())
		e.sn = nil
	}
	return err
}

// locate finds the configuration files and opens the index where it matches them.
func (e *Engine) locate() error {
	if e.sources != nil {
		return nil
	}
	sources, err := e.opt.Env.Locate(e.opt.Selection)
	if err != nil {
		return err
	}
	if len(sources.Configs) == 0 {
		return sources.NoConfig()
	}
	e.sources = sources
	e.store = index.Store{Dir: filepath.Join(e.opt.Env.CacheDir(), sources.Key())}
	e.reopen()
	return nil
}

// reopen opens the index anew. One that is missing, damaged or made from other sources leaves
// e.sn nil: it will be rebuilt.
func (e *Engine) reopen() {
	if e.sn != nil {
		e.sn.Close()
		e.sn = nil
	}
	if e.distrust {
		return
	}
	sn, err := e.store.Open()
	if err != nil {
		return
	}
	if !sn.Matches(e.files(), e.opt.Env.EnvDigest) {
		sn.Close()
		return
	}
	e.sn = sn
}

func (e *Engine) files() []config.Source {
	return slices.Concat(e.sources.Configs, e.sources.EnvFiles)
}

// Config reads the configuration.
func (e *Engine) Config() (*config.Config, error) {
	if err := e.locate(); err != nil {
		return nil, err
	}
	if e.cfg == nil {
		cfg, err := e.opt.Env.Load(e.sources)
		if err != nil {
			return nil, err
		}
		e.cfg = cfg
	}
	return e.cfg, nil
}

// live returns the caller for the configuration as read.
func (e *Engine) live() (Caller, error) {
	if e.opt.NewCaller == nil {
		return nil, ErrNotFresh
	}
	cfg, err := e.Config()
	if err != nil {
		return nil, err
	}
	if e.caller == nil {
		e.caller = e.opt.NewCaller(cfg, e.changed.add)
	}
	return e.caller, nil
}

// ServerNames returns the configured servers in order, from a matching index or else from the
// configuration.
func (e *Engine) ServerNames() ([]string, error) {
	if err := e.locate(); err != nil {
		return nil, err
	}
	var names []string
	if e.sn != nil {
		for _, s := range e.sn.Servers() {
			names = append(names, s.Name)
		}
		return names, nil
	}
	if e.opt.NewCaller == nil {
		return nil, ErrNotFresh
	}
	cfg, err := e.Config()
	if err != nil {
		return nil, err
	}
	for _, s := range cfg.Servers {
		names = append(names, s.Name)
	}
	return names, nil
}

// Cached returns the index as it is, without asking any server; nil where there is none that
// matches the configuration.
func (e *Engine) Cached() (*index.Snapshot, error) {
	err := e.locate()
	return e.sn, err
}
