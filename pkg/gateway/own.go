package gateway

import (
	"context"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// ownServers are the servers that a session has for itself. Each is watched from before its first request on, and stops when
// nobody watches it any more ([engine.Caller]).
type ownServers struct {
	mu      sync.Mutex
	watches map[string]ownWatch // by server; nil once the session has ended
}

// ownWatch is the watch of one server, and the engine that it was begun with.
type ownWatch struct {
	engine *engine.Engine
	stop   func()
}

// sessionAt returns the session of requests of the client to a server: "" unless a session has that for itself, and the
// client has one. It has the server watched.
func (c *Client) sessionAt(ctx context.Context, gen *generation, server string) string {
	if c.out == nil || c.modern() || !gen.Engine.PerSession(server) {
		return ""
	}
	c.own.mu.Lock()
	defer c.own.mu.Unlock()
	before, watched := c.own.watches[server]
	if c.own.watches == nil || watched && before.engine == gen.Engine {
		return c.id
	}
	stop, err := gen.Engine.Watch(context.WithoutCancel(ctx), server, c.ownOptions(), c.heard)
	if err != nil { // the request fails too, or its server stops when it is idle
		c.gateway.opt.Log(server, "what it says to a session of its own is not heard: "+err.Error())
		return c.id
	}
	c.own.watches[server] = ownWatch{gen.Engine, stop}
	if watched { // not before: the server would stop
		before.stop()
	}
	return c.id
}

// ownOptions are the options of requests to servers that the client has for itself.
func (c *Client) ownOptions() tool.CallOptions {
	return tool.CallOptions{Session: c.id, Principal: tool.Principal(c.who.Principal.Name)}
}

// heard takes what a server says that the client has for itself.
func (c *Client) heard(e tool.Event) { c.gateway.announce(e, c) }

// end ends the watches, and so the servers.
func (o *ownServers) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range o.watches {
		w.stop()
	}
	o.watches = nil
}
