package host

import (
	"context"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// watcher is one who watches a server.
type watcher struct {
	spec // its key is that of the server as the configuration last said
	tell func(tool.Event)
}

// Watch implements [engine.Caller]. It starts nothing: events come while other requests keep the server warm, and go
// on after it was started again or its entry has changed. tell must not wait.
func (c *Caller) Watch(ctx context.Context, server string, tell func(tool.Event)) (stop func(), err error) {
	s, err := c.spec(c.host.env(c.surroundings, c.key), server, "")
	if err != nil {
		return nil, err
	}
	v, w := c.host.supervisor, &watcher{s, tell}
	v.watching.Lock()
	defer v.watching.Unlock()
	v.watchers = append(v.watchers, w)
	remove := func() {
		v.watching.Lock()
		defer v.watching.Unlock()
		v.watchers = slices.DeleteFunc(v.watchers, func(other *watcher) bool { return other == w })
	}
	unhook := context.AfterFunc(ctx, remove)
	return func() {
		unhook()
		remove()
	}, nil
}

// rekey notes the key that the watchers of a wanted server find it by.
func (v *supervisor) rekey(s spec) {
	v.watching.Lock()
	defer v.watching.Unlock()
	for _, w := range v.watchers {
		if w.name == s.name && w.env == s.env && w.principal == s.principal {
			w.key = s.key
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
