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
	definitions(ctx context.Context, gen *generation, l *lists, kind tool.Kind) ([]json.RawMessage, error)
	// call answers tools/call of one of them.
	call(ctx context.Context, r *request, name string) (json.RawMessage, error)
}

// exposure returns the exposure of the client.
func (c *Client) exposure() exposure {
	switch c.expose {
	case Activate:
		return activating{c.gateway, c.activeSet()}
	case All:
		return all{}
	}
	return searching{}
}

// lists returns what the servers offer, under the names that the client uses.
func (c *Client) lists(ctx context.Context, gen *generation) (*lists, error) {
	l, err := gen.current(ctx)
	if err != nil {
		return nil, err
	}
	return c.exposure().lists(l), nil
}

// definitions returns the definitions of a kind that the client sees.
func (c *Client) definitions(ctx context.Context, gen *generation, kind tool.Kind) ([]json.RawMessage, error) {
	l, err := gen.current(ctx)
	if err != nil {
		return nil, err
	}
	return c.exposure().definitions(ctx, gen, l, kind)
}

// whole shows everything under its usual name.
type whole struct{}

func (whole) lists(l *lists) *lists { return l }

func (whole) definitions(_ context.Context, gen *generation, l *lists, kind tool.Kind) ([]json.RawMessage, error) {
	return gen.visible(*l.of(kind)), nil
}

// callTool calls a tool.
func (r *request) callTool(ctx context.Context) (json.RawMessage, error) {
	var p struct {
		Name string `json:"name"`
	}
	if err := r.params(&p); err != nil {
		return nil, err
	}
	if r.gen.unsure != nil {
		return r.asResult(nil, r.gen.unsure)
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
