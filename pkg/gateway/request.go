package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// request is one request of a client while it is answered. It is the audience of the requests to servers that are made
// for it.
type request struct {
	client  *Client
	message mcp.Message
	header  Header // nil if it came without headers
	out     Outlet
	cancel  context.CancelCauseFunc
	gen     *generation
	view    *view // of gen, for the client
	meta    meta
	trace   tool.Trace // that it belongs to; while it calls a server, the span of the call
	// suspended is set if the client can be asked only by the result of the request. state is what it has kept.
	suspended *suspended
	state     state
	about     string // the server that it went to
}

// meta is what the gateway reads of the _meta of a request.
type meta struct {
	Progress json.RawMessage `json:"progressToken"`
	Parent   json.RawMessage `json:"traceparent"`
	State    json.RawMessage `json:"tracestate"`
}

// answer returns the response to the request.
func (r *request) answer(ctx context.Context) []byte {
	var params struct {
		Meta meta `json:"_meta"`
	}
	if r.message.Params != nil && json.Unmarshal(r.message.Params, &params) != nil {
		return mcp.Answer(r.message.ID, nil, &tool.UpstreamError{Code: mcp.InvalidParams,
			Message: "the _meta of a request is an object"})
	}
	r.meta = params.Meta
	r.trace = tool.ParseTrace(tool.Text(params.Meta.Parent), tool.Text(params.Meta.State))
	r.gen = r.client.gateway.enter()
	result, err := r.result(ctx)
	if leaving := r.gen.leave(); leaving != nil {
		r.client.gateway.opt.Log("", leaving.Error())
	}
	if err != nil && ctx.Err() != nil { // it failed because no client waits for it
		err = &tool.UpstreamError{Code: mcp.InternalError, Message: context.Cause(ctx).Error()}
	}
	return mcp.Answer(r.message.ID, result, r.failure(err))
}

// result returns the result of the request.
func (r *request) result(ctx context.Context) (result json.RawMessage, err error) {
	if r.view, err = r.gen.viewOf(ctx, r.client); err != nil {
		return nil, err
	}
	r.client.followActive(ctx)
	if r.client.modern() {
		return r.handleModern(ctx)
	}
	return r.handleSession(ctx)
}

// handleSession answers a request of a revision with sessions.
func (r *request) handleSession(ctx context.Context) (json.RawMessage, error) {
	switch r.message.Method {
	case "initialize":
		return r.initialize()
	case "ping":
		return json.RawMessage("{}"), nil
	case "logging/setLevel":
		return r.setLevel(ctx)
	case "resources/subscribe":
		return r.subscribe(ctx)
	case "resources/unsubscribe":
		return r.unsubscribe(ctx)
	}
	result, err := r.handle(ctx)
	return withoutType(result), err
}

// handle answers a request that every revision has.
func (r *request) handle(ctx context.Context) (json.RawMessage, error) {
	switch r.message.Method {
	case "tools/list":
		return r.list(ctx, tool.Tool)
	case "tools/call":
		return r.callTool(ctx)
	case "resources/list":
		return r.list(ctx, tool.Resource)
	case "resources/templates/list":
		return r.list(ctx, tool.Template)
	case "prompts/list":
		return r.list(ctx, tool.Prompt)
	}
	if r.gen.Unsure != nil {
		return nil, r.gen.Unsure
	}
	switch r.message.Method {
	case "resources/read":
		return r.read(ctx)
	case "prompts/get":
		return r.getPrompt(ctx)
	case "completion/complete":
		return r.complete(ctx)
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/update":
		return r.task(ctx)
	}
	return nil, r.noMethod()
}

func (r *request) noMethod() error {
	return &tool.UpstreamError{Code: mcp.MethodNotFound, Message: "there is no method " + fault.Name(r.message.Method)}
}

// failure returns err as the error of a response; nil if err is nil.
func (r *request) failure(err error) *tool.UpstreamError {
	var own *tool.UpstreamError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	}
	f := fault.From(err)
	own = &tool.UpstreamError{Code: mcp.InternalError, Message: f.Message}
	switch f.Type {
	case fault.ServerNotFound, fault.ToolNotFound, fault.Usage, fault.InvalidArguments:
		own.Code = mcp.InvalidParams
	}
	own.Data = tool.JoinObject([]tool.Field{{Key: "type", Value: tool.Quote(string(f.Type))},
		{Key: "help", Value: tool.Quote(r.words(f))}})
	return own
}

// params decodes the params of the request.
func (r *request) params(into any) error {
	params := r.message.Params
	if params == nil {
		params = json.RawMessage("{}")
	}
	if err := json.Unmarshal(params, into); err != nil {
		return &tool.UpstreamError{Code: mcp.InvalidParams, Message: "the params of " + r.message.Method +
			" are not what the protocol says: " + err.Error()}
	}
	return nil
}

// with returns the params of the request with other values for these members, and without what belongs to the
// connection between the client and the gateway.
func (r *request) with(members ...tool.Field) json.RawMessage {
	fields, err := tool.SplitObject(r.message.Params)
	if err != nil {
		fields = nil // the request has no params
	}
	for i, f := range fields {
		if f.Key == "_meta" {
			fields[i].Value = passable(f.Value)
		}
		for _, m := range members {
			if f.Key == m.Key {
				fields[i] = m
			}
		}
	}
	return tool.JoinObject(fields)
}

// passable returns a _meta without what is said between the client and the gateway only.
func passable(meta json.RawMessage) json.RawMessage {
	fields, err := tool.SplitObject(meta)
	if err != nil {
		return json.RawMessage("{}")
	}
	own := []string{"progressToken", metaRevision, metaClient, metaCapabilities, metaLevel}
	return tool.JoinObject(slices.DeleteFunc(fields, func(f tool.Field) bool { return slices.Contains(own, f.Key) }))
}

// options returns the options of requests to a server that are made for this one.
func (r *request) options(ctx context.Context, server string) tool.CallOptions {
	headers, _ := r.forwarded(server) // a call without one of them is not made
	opt := r.client.use(ctx, r.gen, server).options()
	opt.Audience, opt.Client, opt.Resolve = r, r.client.id, !r.client.modern()
	opt.Tasks, opt.Trace = r.client.followsTasks(), r.trace
	opt.Principal, opt.Forward = tool.Principal(r.client.who.Principal.identity()), headers
	return opt
}

// forwarded returns the headers of the client that a server gets, and the names of those that it lacks.
func (r *request) forwarded(server string) (headers []tool.Header, lacking []string) {
	for to, from := range r.gen.Engine.Forwards(server) {
		value := ""
		if r.header != nil {
			value = r.header(from)
		}
		if value == "" {
			lacking = append(lacking, from)
		} else {
			headers = append(headers, tool.Header{Name: to, Value: value})
		}
	}
	return headers, lacking
}

// allForwarded returns the headers of the client that a server gets, or the fault of a client that has not sent all.
func (r *request) allForwarded(server string) ([]tool.Header, error) {
	headers, lacking := r.forwarded(server)
	if len(lacking) == 0 {
		return headers, nil
	}
	message := fmt.Sprintf("%s gets its credentials from the client, which has not sent %s", server,
		strings.Join(lacking, ", "))
	return nil, fault.New(fault.AuthRequired, message,
		"A person adds this header, with the credentials, to the client's configuration.").On(server, "")
}

// askServer sends a request that calls nothing on to a server, within the limits of the principal.
func (r *request) askServer(ctx context.Context, server string, params json.RawMessage) (json.RawMessage, error) {
	if _, err := r.allForwarded(server); err != nil {
		return nil, err
	}
	end, err := r.client.gateway.limits.begin(ctx, r.client.who.Principal)
	if err != nil {
		return nil, err
	}
	defer end()
	return r.view.Ask(ctx, server, r.message.Method, params, r.options(ctx, server))
}

// Can implements [tool.Audience].
func (r *request) Can() tool.Capabilities {
	r.client.mu.Lock()
	defer r.client.mu.Unlock()
	can := r.client.can
	return tool.Capabilities{Elicit: can.Elicitation != nil, Sample: can.Sampling != nil, Roots: can.Roots != nil}
}

// Progress implements [tool.Audience].
func (r *request) Progress(p tool.Progress) {
	if r.meta.Progress == nil || p.Raw == nil {
		return
	}
	r.tell("notifications/progress", p.Raw, tool.Field{Key: "progressToken", Value: r.meta.Progress})
}

// Message implements [tool.Audience].
func (r *request) Message(m tool.Message) {
	r.client.mu.Lock()
	least := r.client.level
	r.client.mu.Unlock()
	if slices.Index(levels(), m.Level) >= least {
		r.tell("notifications/message", m.Raw)
	}
}

// tell sends a notification of a server on, with other values for these members.
func (r *request) tell(method string, params json.RawMessage, members ...tool.Field) {
	fields, err := tool.SplitObject(params)
	if err != nil {
		return
	}
	for i, f := range fields {
		for _, m := range members {
			if f.Key == m.Key {
				fields[i] = m
			}
		}
	}
	out := r.out
	if r.suspended != nil {
		out = r.suspended.current().out
	}
	out.Tell(mcp.Notification(method, tool.JoinObject(fields)))
}

// askClient asks the client and returns its answer. A client that does not answer loses the request: a server that goes
// on without the answer could ask again and again.
func (r *request) askClient(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	params = r.withTasks(r.about, params)
	if r.suspended != nil {
		return r.suspended.askBack(ctx, method, params)
	}
	answer, err := r.client.ask(ctx, r.out, method, params)
	if errors.Is(err, errLate) {
		r.cancel(errLate)
	}
	return answer, err
}

// Elicit implements [tool.Audience].
func (r *request) Elicit(ctx context.Context, q tool.Question) (tool.Reply, error) {
	if !r.Can().Elicit || q.Raw == nil {
		return tool.Reply{Action: tool.Decline}, nil
	}
	var reply tool.Reply
	raw, err := r.askClient(ctx, "elicitation/create", q.Raw)
	if err == nil {
		err = json.Unmarshal(raw, &reply)
	}
	return reply, err
}

// Sample implements [tool.Audience].
func (r *request) Sample(ctx context.Context, s tool.Sampling) (json.RawMessage, error) {
	return r.askClient(ctx, "sampling/createMessage", s.Raw)
}

// Roots implements [tool.Audience].
func (r *request) Roots(ctx context.Context) (json.RawMessage, error) {
	return r.askClient(ctx, "roots/list", nil)
}
