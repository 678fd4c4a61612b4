package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Bounds of the wait before a server that is down is tried again. It doubles each time.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// health knows which servers are down: they crashed, or could not be started. Clients do not see what they offer until
// a retry succeeds. A server that was never started, or has stopped since it was idle, is not down.
type health struct {
	gateway *Gateway

	mu      sync.Mutex
	watched map[string]bool    // servers that were used
	down    map[string]*outage // by server
	moved   bool               // the servers that are down have changed since the gateway last asked
}

// outage is the time for which a server is down.
type outage struct {
	why   error
	hurry chan struct{} // has room for one: the server is tried again at once
}

func newHealth(g *Gateway) *health {
	return &health{gateway: g, watched: make(map[string]bool), down: make(map[string]*outage)}
}

// used notes how a request to a server ended. The first one has the server watched.
func (h *health) used(server string, err error) {
	var answered *tool.UpstreamError
	f := fault.From(err)
	switch {
	case err == nil:
		h.mend(server)
		h.watch(server)
	case h.gateway.hasOwnCredentials(server):
		// It is asked with the credentials of a client, whose fault it may be.
	case f != nil && !errors.As(err, &answered) && !errors.Is(err, tool.ErrNotSent) &&
		slices.Contains([]fault.Type{fault.ServerConnection, fault.Protocol}, f.Type):
		// The server may have lost no more than the connection of one call.
		h.gateway.goroutine(func(ctx context.Context) {
			if !h.answers(ctx, server) && ctx.Err() == nil {
				h.fail(server, err)
			}
		})
	}
}

// mend notes that a server answers.
func (h *health) mend(server string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o := h.down[server]; o != nil {
		select {
		case o.hurry <- struct{}{}: // the retry finds it up
		default:
		}
	}
}

// hasOwnCredentials reports whether a server gets credentials of its clients, and not those of the gateway.
func (g *Gateway) hasOwnCredentials(server string) bool {
	gen := g.enter()
	defer func() { _ = gen.leave() }() // an engine that was replaced meanwhile has nothing to say
	return gen.Engine.HasOwnCredentials(server)
}

// watch has the end of a server noticed, and what it says of its lists.
func (h *health) watch(server string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watched[server] {
		return
	}
	h.watched[server] = true
	h.gateway.goroutine(func(ctx context.Context) {
		gen := h.gateway.enter()
		stop, err := gen.Engine.Watch(ctx, server, tool.CallOptions{}, func(e tool.Event) {
			if e.Ended {
				h.fail(server, fault.New(fault.ServerConnection, server+" has ended", "").On(server, ""))
			}
			h.gateway.announce(server, e, nil)
		})
		if err == nil {
			select {
			case <-gen.replaced:
			case <-ctx.Done():
			}
			stop()
		}
		h.mu.Lock()
		delete(h.watched, server)
		h.mu.Unlock()
		_ = gen.leave() // an engine that was replaced has nothing to say
	})
}

// fail notes that a server is down, and tries it again until it is not.
func (h *health) fail(server string, why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down[server] != nil {
		return
	}
	o := &outage{why, make(chan struct{}, 1)}
	h.down[server], h.moved = o, true
	h.gateway.opt.Log(server, "it is down: "+why.Error())
	h.gateway.goroutine(func(ctx context.Context) { h.retry(ctx, server, o) })
}

// retry tries a server until it answers, its entry is gone, or ctx ends.
func (h *health) retry(ctx context.Context, server string, o *outage) {
	for wait := minRetry; ; wait = min(2*wait, maxRetry) {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-o.hurry:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if h.answers(ctx, server) {
			break
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.down, server)
	h.moved = true
	h.gateway.opt.Log(server, "it answers again")
}

// answers reports whether a server answers, or is not wanted any more.
func (h *health) answers(ctx context.Context, server string) bool {
	gen := h.gateway.enter()
	_, err := gen.Engine.Ask(ctx, server, "ping", nil, tool.CallOptions{})
	_ = gen.leave() // an engine that was replaced meanwhile has nothing to say
	var answered *tool.UpstreamError
	return err == nil || errors.As(err, &answered) || fault.Is(err, fault.ServerNotFound) ||
		fault.Is(err, fault.AuthRequired)
}

// hurry has the servers that are down tried again at once.
func (h *health) hurry() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.down {
		select {
		case o.hurry <- struct{}{}:
		default:
		}
	}
}

// isDown returns why a server is down; nil if it is not.
func (h *health) isDown(server string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o := h.down[server]; o != nil {
		return o.why
	}
	return nil
}

// changed reports whether the servers that are down have changed since the last time.
func (h *health) changed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	moved := h.moved
	h.moved = false
	return moved
}
