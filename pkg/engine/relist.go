package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// names is a set of servers. It is safe for concurrent use.
type names struct {
	mu   sync.Mutex
	list []string
}

func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.list, name) {
		n.list = append(n.list, name)
	}
}

func (n *names) drop(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = slices.DeleteFunc(n.list, func(s string) bool { return s == name })
}

func (n *names) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

// catchUpLimit bounds what [Engine.CatchUp] does.
const catchUpLimit = 5 * time.Second

// CatchUp lists those servers once more that have said meanwhile that they offer something else
// now, in at most 5 s. It is for the time behind an answer, before [Engine.Close]; mostly there is
// nothing to do.
func (e *Engine) CatchUp(ctx context.Context) error {
	servers := e.changed.all()
	if len(servers) == 0 || ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpLimit)
	defer cancel()
	return e.relist(ctx, servers)
}

// Relist lists one server once more, and replaces the index where it offers something else than
// the index says. Errors are faults, or of the file system.
func (e *Engine) Relist(ctx context.Context, server string) error {
	return e.relist(ctx, []string{server})
}

// relist does it for several servers, one after the other: mostly it is one. What fails changes
// nothing: a request that needs the server will say what is wrong with it.
func (e *Engine) relist(ctx context.Context, servers []string) error {
	cfg, err := e.Config()
	if err != nil {
		return err
	}
	caller, err := e.live()
	if err != nil {
		return err
	}
	unlock, err := e.store.Lock(ctx)
	if err != nil {
		return err // nothing can be kept
	}
	defer unlock()
	old, _ := e.store.Load() // what is wrong with it was told when it was opened
	cat, _ := e.reconcile(cfg, old, Need{Servers: []string{}})
	different := false
	var errs []error
	for _, name := range servers {
		some, err := e.relistOne(ctx, caller, cfg, cat.Find(name), name)
		different = different || some
		errs = append(errs, err)
	}
	if different {
		_, err := e.keepIndex(cfg, cat)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// relistOne lists one server and enters its answer where that differs from entry.
func (e *Engine) relistOne(ctx context.Context, caller Caller, cfg *config.Config, entry *index.Server, name string) (different bool, err error) {
	server, err := cfg.Server(name)
	if err != nil || server.Disabled || !e.opt.Switches.AllowsServer(name) {
		return false, err
	}
	a := e.listOne(ctx, caller, server, entry.Known)
	if a.err != nil {
		return false, a.err
	}
	if entry.State == index.Listed && entry.Known == a.listing.Known && same(entry.Tools, a.listing.Tools) &&
		same(entry.Resources, a.listing.Resources) && same(entry.Prompts, a.listing.Prompts) {
		return false, nil
	}
	e.record(entry, a)
	return true, nil
}

// same reports whether two lists hold the same definitions in the same order.
func same(a, b []tool.Def) bool {
	return slices.EqualFunc(a, b, func(a, b tool.Def) bool { return bytes.Equal(a.Raw(), b.Raw()) })
}
