package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Probe is what trying a server brought to light.
type Probe struct {
	Server *config.Server
	// Off says that the server is disabled, by its entry or by choice; it was not tried.
	Off     bool
	Listing tool.Listing
	Took    time.Duration
	Failure *fault.Fault // nil: what it offers was listed
}

// Probe tries servers (none: all), all at once: each is started or reached and asked for its
// tools, whatever the index knows. An entry that cannot be used is a failure too. The index is not changed.
func (e *Engine) Probe(ctx context.Context, names []string) ([]Probe, error) {
	cfg, err := e.Config()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = cfg.Names()
	}
	var probes []Probe
	for _, name := range names {
		server, err := cfg.Server(name)
		f := fault.From(err)
		switch {
		case err == nil:
			probes = append(probes, Probe{Server: server})
		case f.Type == fault.Config:
			probes = append(probes, Probe{Server: cfg.Unusable(name), Failure: f})
		default:
			return nil, err
		}
	}
	caller, err := e.live()
	if err != nil {
		return nil, err
	}
	done := make(chan string) // one receive below for each probe
	var waiting []string
	for i := range probes {
		waiting = append(waiting, probes[i].Server.Name)
		go func() {
			e.probe(ctx, caller, &probes[i])
			done <- probes[i].Server.Name
		}()
	}
	defer e.opt.Events.Status("")
	for range probes {
		e.opt.Events.Status(fmt.Sprintf("trying %d servers: %d answered, waiting for %s", len(probes), len(probes)-len(waiting), strings.Join(waiting, ", ")))
		name := <-done
		waiting = slices.DeleteFunc(waiting, func(s string) bool { return s == name })
	}
	if ctx.Err() != nil {
		return nil, interrupted(ctx)
	}
	return probes, nil
}

func (e *Engine) probe(ctx context.Context, caller Caller, p *Probe) {
	if p.Failure != nil {
		return
	}
	if p.Off = p.Server.Disabled || !e.opt.Switches.AllowsServer(p.Server.Name); p.Off {
		return
	}
	if err := p.Server.Usable(); err != nil {
		p.Failure = fault.From(err)
		return
	}
	started := time.Now()
	listing, err := caller.List(ctx, p.Server.Name, tool.CallOptions{})
	p.Listing, p.Failure, p.Took = listing, fault.From(err), time.Since(started)
}
