package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Probe is the outcome of trying a server.
type Probe struct {
	Server *config.Server
	// Off is true if the server is disabled, by its entry or by choice. It was not tried then.
	Off     bool
	Listing tool.Listing
	Took    time.Duration
	Failure *fault.Fault // nil if the server was listed
}

// Probe tries the servers named, or all if none is: it starts or reaches each and lists it, whatever the index knows.
// [catalog.Catalog.Probe] says how many it starts at a time. An entry that cannot be used is a failure too. The index
// does not change.
func (e *Engine) Probe(ctx context.Context, names []string) ([]Probe, error) {
	cfg, err := e.catalog.Config()
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
	done := make(chan string) // one receive below for each probe
	var waiting []string
	for i := range probes {
		waiting = append(waiting, probes[i].Server.Name)
		go func() {
			e.probe(ctx, &probes[i])
			done <- probes[i].Server.Name
		}()
	}
	defer e.events.Status("")
	for range probes {
		e.events.Status(progress(len(probes), waiting))
		name := <-done
		waiting = slices.DeleteFunc(waiting, func(s string) bool { return s == name })
	}
	if ctx.Err() != nil {
		return nil, catalog.Interrupted(ctx)
	}
	return probes, nil
}

// progress says how far the trying of servers is.
func progress(count int, waiting []string) string {
	if count == 1 {
		return "trying " + waiting[0]
	}
	return fmt.Sprintf("trying %d servers: %d answered, waiting for %s",
		count, count-len(waiting), strings.Join(waiting, ", "))
}

func (e *Engine) probe(ctx context.Context, p *Probe) {
	if p.Failure != nil {
		return
	}
	if p.Off = p.Server.Disabled || !e.switches.AllowsServer(p.Server.Name); p.Off {
		return
	}
	if err := p.Server.Usable(); err != nil {
		p.Failure = fault.From(err)
		return
	}
	var err error
	p.Listing, p.Took, err = e.catalog.Probe(ctx, p.Server)
	p.Failure = fault.From(err)
}
