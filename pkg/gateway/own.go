package gateway

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// ownServers are the servers that a session has for itself, or shares with the other sessions of its user only. Each is
// watched from before its first request on. A server of the session stops with its last watch ([engine.Caller]).
type ownServers struct {
	mu      sync.Mutex
	watches map[string]ownWatch // by server; nil once the session has ended
}

// ownWatch is the watch of one server, and the engine that it was begun with.
type ownWatch struct {
	engine *engine.Engine
	stop   func()
}

// owner is whose a server is: all share that of the zero owner.
type owner struct {
	session   *Client
	principal tool.Principal
	forward   string // headers of the client that the server gets, in JSON
}

// ownerAt returns whose server of this name the client uses.
func (c *Client) ownerAt(gen *generation, server string) (o owner) {
	perSession, perUser := gen.Engine.Scope(server)
	if perSession && c.out != nil && !c.modern() {
		o.session = c
	}
	if perUser {
		o.principal = tool.Principal(c.who.Principal.identity())
	}
	return o
}

// options returns the options of requests to the server of the owner.
func (o owner) options() tool.CallOptions {
	opt := tool.CallOptions{Principal: o.principal}
	_ = json.Unmarshal([]byte(o.forward), &opt.Forward) // it is empty, or was made here
	if c := o.session; c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		opt.Session, opt.Sampling, opt.Principal = c.id, c.can.Sampling != nil, tool.Principal(c.who.Principal.identity())
	}
	return opt
}

// use returns whose server of this name the client uses, and has it watched if not all share it.
func (c *Client) use(ctx context.Context, gen *generation, server string) owner {
	o := c.ownerAt(gen, server)
	if (o == owner{}) || c.out == nil {
		return o
	}
	c.own.mu.Lock()
	defer c.own.mu.Unlock()
	before, watched := c.own.watches[server]
	if c.own.watches == nil || watched && before.engine == gen.Engine {
		return o
	}
	stop, err := gen.Engine.Watch(context.WithoutCancel(ctx), server, o.options(), c.heard)
	if err != nil { // the request fails too, or its server stops when it is idle
		c.gateway.opt.Log(server, "a client does not hear what it says: "+err.Error())
		return o
	}
	c.own.watches[server] = ownWatch{gen.Engine, stop}
	if watched { // not before: the server would stop
		before.stop()
	}
	return o
}

// heard takes an event of a server that not all share.
func (c *Client) heard(e tool.Event) { c.gateway.announce(e.Server, e, c) }

// end ends the watches, and so the servers.
func (o *ownServers) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range o.watches {
		w.stop()
	}
	o.watches = nil
}
