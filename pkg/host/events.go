package host

import (
	"context"
	"slices"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// watcher is one who watches a server.
type watcher struct {
	name, env string
	principal tool.Principal
	key       string // of the server, as the configuration last said
	tell      func(tool.Event)
}

// Watch implements [engine.Caller]. It starts nothing: events come while other requests keep the server warm, and go
// on after it was started again or its entry has changed. tell must not wait.
func (c *Caller) Watch(ctx context.Context, server string, tell func(tool.Event)) (stop func(), err error) {
	env := c.host.env(c.surroundings, c.key)
	s, _, err := c.spec(env, server, "")
	if err != nil {
		return nil, err
	}
	remove := c.host.supervisor.watch(&watcher{name: s.name, env: s.env, principal: s.principal, key: s.key, tell: tell})
	unhook := context.AfterFunc(ctx, remove)
	return func() {
		unhook()
		remove()
	}, nil
}

// watch adds a watcher. The function that it returns removes it; it may be called more than once.
func (v *supervisor) watch(w *watcher) (remove func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.watchers = append(v.watchers, w)
	return sync.OnceFunc(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.watchers = slices.DeleteFunc(v.watchers, func(other *watcher) bool { return other == w })
	})
}

// rekey notes the key that the watchers of a wanted server find it by. It needs mu.
func (v *supervisor) rekey(s spec) {
	for _, w := range v.watchers {
		if w.name == s.name && w.env == s.env && w.principal == s.principal {
			w.key = s.key
		}
	}
}

// subscribe passes on the events of a run. It ends with the run's caller.
func (v *supervisor) subscribe(r *run, s spec) {
	_, err := r.caller.Watch(context.Background(), s.name, func(e tool.Event) { v.publish(s.key, e) })
	if err != nil {
		v.log(s.name, "its events cannot be had: "+err.Error())
	}
}

// publish hands an event of a server to those who watch it.
func (v *supervisor) publish(key string, e tool.Event) {
	v.mu.Lock()
	var tells []func(tool.Event)
	for _, w := range v.watchers {
		if w.key == key {
			tells = append(tells, w.tell)
		}
	}
	v.mu.Unlock()
	for _, tell := range tells {
		tell(e)
	}
}
