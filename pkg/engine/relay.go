package engine

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Relay makes a planned call, if the gate lets it pass, with a request that a face relays: its params pass as they are,
// and so does the result. An error of the server is a [*tool.UpstreamError], others are faults.
func (e *Engine) Relay(ctx context.Context, p *Plan, method string, params json.RawMessage, opt tool.CallOptions) (
	json.RawMessage, error) {
	return throughGate(ctx, e, p, opt, func(caller Caller, opt tool.CallOptions) (json.RawMessage, error) {
		return caller.Request(ctx, p.Ref.Server, method, params, opt)
	})
}

// Ask relays a request that calls nothing, such as completion/complete, to a server that is on.
func (e *Engine) Ask(ctx context.Context, server, method string, params json.RawMessage, opt tool.CallOptions) (
	json.RawMessage, error) {
	if err := e.CheckServers([]string{server}); err != nil {
		return nil, err
	}
	caller, err := e.callable()
	if err != nil {
		return nil, err
	}
	return caller.Request(ctx, server, method, params, opt)
}

// Watch calls tell with each notification of a server that belongs to no call, as [Caller.Watch] does.
func (e *Engine) Watch(ctx context.Context, server string, opt tool.CallOptions, tell func(tool.Event)) (
	stop func(), err error) {
	caller, err := e.callable()
	if err != nil {
		return nil, err
	}
	return caller.Watch(ctx, server, opt, tell)
}

// Forwards returns the headers that a server gets from the requests of clients, in the order of its entry: its own name
// of each, and that of the client.
func (e *Engine) Forwards(server string) iter.Seq2[string, string] {
	return func(yield func(to, from string) bool) {
		entry := e.entry(server)
		if entry == nil || entry.Credentials != config.Forwarded {
			return
		}
		for _, h := range entry.Forward {
			if !yield(h.Name, h.Value) {
				return
			}
		}
	}
}

// HasOwnCredentials reports whether a server gets credentials of the client that calls, and not those of the gateway.
func (e *Engine) HasOwnCredentials(server string) bool {
	entry := e.entry(server)
	return entry != nil && (entry.Credentials == config.OfUser || entry.Credentials == config.Forwarded)
}

// Fingerprint identifies how a server is started or reached, as [config.Server.Fingerprint] does. It is empty if the
// server cannot be used, or is off.
func (e *Engine) Fingerprint(server string) string {
	entry := e.entry(server)
	if entry == nil || e.CheckServers([]string{server}) != nil {
		return ""
	}
	return entry.Fingerprint()
}

// entry returns the entry of a server; nil if it cannot be used.
func (e *Engine) entry(server string) *config.Server {
	cfg, err := e.catalog.Config()
	if err != nil {
		return nil
	}
	entry, err := cfg.Server(server)
	if err != nil {
		return nil
	}
	return entry
}

// Scope reports whether each session, and whether each principal, has a server of this name for itself.
func (e *Engine) Scope(server string) (perSession, perUser bool) {
	entry := e.entry(server)
	if entry == nil {
		return false, false
	}
	return entry.PerSession(), entry.PerUser()
}
