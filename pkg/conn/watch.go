package conn

import (
	"context"
	"slices"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// watcher receives the notifications of a server.
type watcher struct {
	server string
	tell   func(tool.Event)
}

// Watch calls tell with each notification of a server that belongs to no call, until ctx ends or stop is called:
// changed lists, updated resources and any other, but not progress, log messages and cancellations. It starts
// nothing, but waits for a start that is going on. tell may be called concurrently, also once more while stop runs, and
// must not wait. Errors are faults. A pool has one connection to a server, whoever makes requests, so that opt does not
// matter.
func (p *Pool) Watch(ctx context.Context, server string, _ tool.CallOptions, tell func(tool.Event)) (
	stop func(), err error) {
	if _, err := p.cfg.Server(server); err != nil {
		return nil, err
	}
	slot, err := p.slot(server)
	if err != nil {
		return nil, err
	}
	w := &watcher{server, tell}
	p.mu.Lock()
	p.watchers = append(p.watchers, w)
	p.mu.Unlock()
	remove := sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.watchers = slices.DeleteFunc(p.watchers, func(other *watcher) bool { return other == w })
	})
	select {
	case <-slot.turn:
		if slot.session != nil && slot.session.alive() {
			slot.session.listen()
		}
		slot.turn <- struct{}{}
	case <-p.closing:
		remove()
		return nil, closedPool(server)
	case <-ctx.Done():
		remove()
		return func() {}, nil
	}
	unhook := context.AfterFunc(ctx, remove)
	return func() {
		unhook()
		remove()
	}, nil
}

// publish passes an event to the watchers of its server.
func (p *Pool) publish(e tool.Event) {
	p.mu.Lock()
	watchers := slices.Clone(p.watchers)
	p.mu.Unlock()
	for _, w := range watchers {
		if w.server == e.Server {
			w.tell(e)
		}
	}
}

// watched reports whether a server has a watcher.
func (p *Pool) watched(server string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.watchers, func(w *watcher) bool { return w.server == server })
}
