package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// relay sends the request on to the server of ref, with these members of its params replaced, and returns what the
// server answers. args are the arguments of a tool or prompt, for the gate.
func (r *request) relay(ctx context.Context, ref tool.Ref, args json.RawMessage, members ...tool.Field) (
	json.RawMessage, error) {
	if r.state.Server == ref.Server && r.state.State != nil {
		members = append(members, tool.Field{Key: "requestState", Value: r.state.State})
	}
	result, err := r.passed(ctx, ref, args, false, func(plan *engine.Plan) (json.RawMessage, error) {
		return r.view.Relay(ctx, plan, r.message.Method, r.with(members...), r.options(ctx, ref.Server))
	})
	if err != nil {
		return nil, err
	}
	return r.withState(ref.Server, r.withTasks(ref.Server, result))
}

// withState returns a result with its requestState sealed: the client brings it back, and must not change it, nor bring
// it to another server.
func (r *request) withState(server string, result json.RawMessage) (json.RawMessage, error) {
	fields, err := tool.SplitObject(result)
	if err != nil {
		return result, nil // odd, and the server's own
	}
	for i, f := range fields {
		if f.Key != "requestState" {
			continue
		}
		sealed, err := r.client.gateway.sealer.seal(r.client.statePurpose(), state{Server: server, State: f.Value},
			Suspension)
		if err != nil {
			return nil, err
		}
		fields[i].Value = tool.Quote(sealed)
		return tool.JoinObject(fields), nil
	}
	return result, nil
}

// read reads a resource.
func (r *request) read(ctx context.Context) (json.RawMessage, error) {
	var p struct {
		URI string `json:"uri"`
	}
	if err := r.params(&p); err != nil {
		return nil, err
	}
	l, err := r.client.lists(ctx, r.view)
	if err != nil {
		return nil, err
	}
	ref, ok := l.resource(p.URI)
	if !ok {
		return nil, r.noResource(p.URI)
	}
	return r.relay(ctx, ref, nil, tool.Field{Key: "uri", Value: tool.Quote(ref.Name)})
}

// noResource returns the error of a URI that is not known. Its code is another since MCP 2026-07-28 (SEP-2164).
func (r *request) noResource(uri string) error {
	code := mcp.ResourceNotFound
	if r.client.modern() {
		code = mcp.InvalidParams
	}
	data := tool.JoinObject([]tool.Field{{Key: "uri", Value: tool.Quote(uri)}})
	return &tool.UpstreamError{Code: code, Data: data,
		Message: fmt.Sprintf("no server lists the resource %q, or a template that it fits", fault.Name(uri))}
}

// resource returns what a URI is read as: a resource of the first server that lists it, else of the first with a
// template that it fits. A URI counts as the list has it, or as its server has it, which links in results do.
func (l *lists) resource(uri string) (tool.Ref, bool) {
	for _, name := range []func(offer) string{listed, own} {
		for _, o := range l.resources {
			if name(o) == uri {
				return o.ref, true
			}
		}
	}
	for _, name := range []func(offer) string{listed, own} {
		for _, o := range l.templates {
			if pattern := name(o); fits(pattern, uri) {
				prefix := strings.TrimSuffix(pattern, o.ref.Name)
				return tool.Ref{Server: o.ref.Server, Name: strings.TrimPrefix(uri, prefix), Kind: tool.Resource}, true
			}
		}
	}
	return tool.Ref{}, false
}

func listed(o offer) string { return o.name }

func own(o offer) string { return o.ref.Name }

// fits reports whether a URI may be of a template (RFC 6570): it has the literal parts of the template, in order. What
// stands between them is for the server to judge.
func fits(template, uri string) bool {
	literal, rest, varies := strings.Cut(template, "{")
	uri, begins := strings.CutPrefix(uri, literal)
	if !varies || !begins {
		return begins && uri == "" && template != ""
	}
	for varies {
		var closed bool
		if _, rest, closed = strings.Cut(rest, "}"); !closed {
			return false
		}
		if literal, rest, varies = strings.Cut(rest, "{"); !varies {
			break
		}
		at := strings.Index(uri, literal)
		if at < 0 {
			return false
		}
		uri = uri[at+len(literal):]
	}
	return strings.HasSuffix(uri, literal)
}

// getPrompt gets a prompt.
func (r *request) getPrompt(ctx context.Context) (json.RawMessage, error) {
	var p struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	}
	if err := r.params(&p); err != nil {
		return nil, err
	}
	ref, err := r.named(ctx, tool.Prompt, p.Name)
	if err != nil {
		return nil, err
	}
	return r.relay(ctx, ref, p.Args, tool.Field{Key: "name", Value: tool.Quote(ref.Name)})
}

// named returns what a client's name of a kind means.
func (r *request) named(ctx context.Context, kind tool.Kind, name string) (tool.Ref, error) {
	l, err := r.client.lists(ctx, r.view)
	if err != nil {
		return tool.Ref{}, err
	}
	ref, ok := l.find(kind, name)
	if !ok {
		return ref, &tool.UpstreamError{Code: mcp.InvalidParams,
			Message: fmt.Sprintf("there is no %s %q; %s/list shows them", kind, fault.Name(name), listOf(kind))}
	}
	return ref, nil
}

// complete completes an argument of a prompt, or a variable of a template.
func (r *request) complete(ctx context.Context) (json.RawMessage, error) {
	var p struct {
		Ref json.RawMessage `json:"ref"`
	}
	var of struct {
		Type string `json:"type"`
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	if err := r.params(&p); err != nil {
		return nil, err
	}
	fields, err := tool.SplitObject(p.Ref)
	if err != nil || json.Unmarshal(p.Ref, &of) != nil {
		return nil, &tool.UpstreamError{Code: mcp.InvalidParams, Message: "completion/complete wants a ref"}
	}
	var ref tool.Ref
	switch of.Type {
	case "ref/prompt":
		if ref, err = r.named(ctx, tool.Prompt, of.Name); err != nil {
			return nil, err
		}
		rename(fields, "name", ref.Name)
	case "ref/resource":
		l, err := r.client.lists(ctx, r.view)
		if err != nil {
			return nil, err
		}
		var known bool
		if ref, known = l.template(of.URI); !known {
			return nil, r.noResource(of.URI)
		}
		rename(fields, "uri", ref.Name)
	default:
		return nil, &tool.UpstreamError{Code: mcp.InvalidParams, Message: "the ref is of no known type"}
	}
	params := r.with(tool.Field{Key: "ref", Value: tool.JoinObject(fields)})
	return r.askServer(ctx, ref.Server, params)
}

// template returns the server of a template, or of a resource.
func (l *lists) template(pattern string) (tool.Ref, bool) {
	for _, o := range l.templates {
		if o.name == pattern || o.ref.Name == pattern {
			return o.ref, true
		}
	}
	return l.resource(pattern)
}
