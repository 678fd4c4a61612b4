package gateway

import (
	"context"
	"encoding/json"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// exposure shows tools to clients in one way.
type exposure interface {
	// instructions are for the model of the client.
	instructions() string
	// lists returns what the servers offer, under the names that a client uses.
	lists(l *lists) *lists
	// definitions returns the definitions of a kind that a client sees. l has the names that it uses.
	definitions(ctx context.Context, v *view, l *lists, kind tool.Kind) ([]json.RawMessage, error)
	// call answers tools/call of one of them.
	call(ctx context.Context, r *request, name string) (json.RawMessage, error)
}

// exposure returns the exposure of the client.
func (c *Client) exposure() exposure {
	switch c.who.Expose {
	case Activate:
		return activating{c.gateway, c.activeSet()}
	case All:
		return all{}
	}
	return searching{}
}

// lists returns what the servers offer, under the names that the client uses.
func (c *Client) lists(ctx context.Context, v *view) (*lists, error) {
	l, err := v.current(ctx)
	if err != nil {
		return nil, err
	}
	return c.exposure().lists(l), nil
}

// definitions returns the definitions of a kind that the client sees.
func (c *Client) definitions(ctx context.Context, v *view, kind tool.Kind) ([]json.RawMessage, error) {
	l, err := v.current(ctx)
	if err != nil {
		return nil, err
	}
	return c.exposure().definitions(ctx, v, l, kind)
}

// whole shows everything under its usual name.
type whole struct{}

func (whole) lists(l *lists) *lists { return l }

func (whole) definitions(_ context.Context, v *view, l *lists, kind tool.Kind) ([]json.RawMessage, error) {
	return v.visible(*l.of(kind)), nil
}

// callTool calls a tool.
func (r *request) callTool(ctx context.Context) (json.RawMessage, error) {
	var p struct {
		Name string `json:"name"`
	}
	if err := r.params(&p); err != nil {
		return nil, err
	}
	if r.gen.Unsure != nil {
		return r.asResult(nil, r.gen.Unsure)
	}
	return r.client.exposure().call(ctx, r, p.Name)
}

// relayTool calls a tool with the arguments of the request.
func (r *request) relayTool(ctx context.Context, ref tool.Ref) (json.RawMessage, error) {
	var p struct {
		Args json.RawMessage `json:"arguments"`
	}
	if err := r.params(&p); err != nil {
		return nil, err
	}
	result, err := r.relay(ctx, ref, p.Args, tool.Field{Key: "name", Value: tool.Quote(ref.Name)})
	return r.asResult(result, err)
}
