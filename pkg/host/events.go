package host

import (
	"context"
	"slices"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// watcher is one who watches a server.
type watcher struct {
	spec // its key is that of the server as the configuration last said
	tell func(tool.Event)
}

// Watch implements [engine.Caller]. It starts nothing: events come while other requests keep the server warm, and go
// on after it was started again or its entry has changed. tell must not wait.
func (c *Caller) Watch(ctx context.Context, server string, opt tool.CallOptions, tell func(tool.Event)) (
	stop func(), err error) {
	s, err := c.spec(c.host.env(c.surroundings, c.key), server, opt)
	if err != nil {
		return nil, err
	}
	v, w := c.host.supervisor, &watcher{s, tell}
	v.watching.Lock()
	defer v.watching.Unlock()
	v.watchers = append(v.watchers, w)
	remove := sync.OnceFunc(func() { v.unwatch(w) })
	unhook := context.AfterFunc(ctx, remove)
	return func() {
		unhook()
		remove()
	}, nil
}

// unwatch ends a watch. The server that a session has for itself stops with the last one: the session has ended.
func (v *supervisor) unwatch(w *watcher) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.watching.Lock()
	v.watchers = slices.DeleteFunc(v.watchers, func(other *watcher) bool { return other == w })
	watched := w.owner.session == "" || slices.ContainsFunc(v.watchers, func(other *watcher) bool {
		return other.name == w.name && other.owner.session == w.owner.session
	})
	v.watching.Unlock()
	if !watched {
		v.leave(w.name, w.owner.session)
	}
}

// rekey notes the keys that the watchers of a client environment find their servers by.
func (v *supervisor) rekey(env *clientEnv, current func(name string, of owner) string) {
	v.watching.Lock()
	defer v.watching.Unlock()
	for _, w := range v.watchers {
		if w.env == env {
			w.key = current(w.name, w.owner)
		}
	}
}

// publish hands an event of a server to those who watch it.
func (v *supervisor) publish(key string, e tool.Event) {
	v.watching.Lock()
	var tells []func(tool.Event)
	for _, w := range v.watchers {
		if w.key == key {
			tells = append(tells, w.tell)
		}
	}
	v.watching.Unlock()
	for _, tell := range tells {
		tell(e)
	}
}
