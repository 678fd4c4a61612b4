package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Outcome says how a call ended.
type Outcome string

// The outcomes.
const (
	// Succeeded is a call that its server answered with a result.
	Succeeded Outcome = "ok"
	// Reported is a call of a tool that ran and reported an error (isError).
	Reported Outcome = "tool_error"
	// Failed is a call that its server answered with an error, or did not answer.
	Failed Outcome = "error"
	// Refused is a call that was not made: the gate did not let it pass, or its arguments do not fit.
	Refused Outcome = "refused"
	// Cancelled is a call that its client has cancelled, or did not wait for.
	Cancelled Outcome = "cancelled"
)

// Record is what there is to know of a call that has ended, without its arguments and its result.
type Record struct {
	// Method is tools/call, prompts/get or resources/read.
	Method string
	// Principal is the one who has made the call; "" over stdin and stdout, and where clients need no token.
	Principal string
	Server    string
	// Name is that of the tool or prompt as its server has it. A resource has the URI that its server lists, or the
	// template of URIs that it fits: the variables of a template are arguments.
	Name    string
	Outcome Outcome
	// Code is that of the error with which the server answered; zero if it did not.
	Code int
	// Began is when the gateway began with the call, and Took how long that lasted, questions to the client included.
	Began time.Time
	Took  time.Duration
	// Bytes is the size of the server's result.
	Bytes int
	// Trace is the span of the call, and Parent that of the client's request. Both may be zero.
	Trace, Parent tool.Trace
}

// Traced returns a request of a client with the span that it belongs to, as its headers say, in its _meta. What stands
// there already wins: one connection has many requests.
func Traced(m mcp.Message, parent, state string) mcp.Message {
	span := tool.ParseTrace(parent, state)
	if span.ID == "" || !m.IsRequest() {
		return m
	}
	params := m.Params
	if params == nil {
		params = json.RawMessage("{}")
	}
	fields, err := tool.SplitObject(params)
	if err != nil {
		return m
	}
	with := func(meta json.RawMessage) json.RawMessage {
		own, err := tool.SplitObject(meta)
		if err != nil || has(own, "traceparent") {
			return meta
		}
		own = append(own, tool.Field{Key: "traceparent", Value: tool.Quote(span.Parent())})
		if span.State != "" && !has(own, "tracestate") {
			own = append(own, tool.Field{Key: "tracestate", Value: tool.Quote(span.State)})
		}
		return tool.JoinObject(own)
	}
	if !has(fields, "_meta") {
		fields = append(fields, tool.Field{Key: "_meta", Value: json.RawMessage("{}")})
	}
	for i, f := range fields {
		if f.Key == "_meta" {
			fields[i].Value = with(f.Value)
		}
	}
	m.Params = tool.JoinObject(fields)
	return m
}

func has(fields []tool.Field, key string) bool {
	for _, f := range fields {
		if f.Key == key {
			return true
		}
	}
	return false
}

// observed makes a call of ref by call, which returns the result as the server gave it, and has it recorded.
func (r *request) observed(ctx context.Context, ref tool.Ref, call func() (json.RawMessage, error)) (
	json.RawMessage, error) {
	opt := r.client.gateway.opt
	record := r.record(ctx, ref)
	if opt.Trace != nil {
		r.trace = opt.Trace(record.Parent)
		record.Trace = r.trace
	}
	result, err := call()
	if opt.Observe == nil {
		return result, err
	}
	record.Took = opt.Now().Sub(record.Began)
	record.Bytes = len(result)
	var answered *tool.UpstreamError
	switch {
	case err == nil && isError(result):
		record.Outcome = Reported
	case err == nil:
		record.Outcome = Succeeded
	case ctx.Err() != nil:
		record.Outcome = Cancelled
	case errors.As(err, &answered):
		record.Outcome, record.Code = Failed, answered.Code
	case refusal(fault.From(err).Type):
		record.Outcome = Refused
	default:
		record.Outcome = Failed
	}
	opt.Observe(record)
	return result, err
}

// refused has a call recorded that is not made.
func (r *request) refused(ctx context.Context, ref tool.Ref) {
	if observe := r.client.gateway.opt.Observe; observe != nil {
		record := r.record(ctx, ref)
		record.Outcome = Refused
		observe(record)
	}
}

// record begins the record of a call of ref.
func (r *request) record(ctx context.Context, ref tool.Ref) Record {
	record := Record{Method: r.message.Method, Principal: r.client.who.Principal.Name, Server: ref.Server, Name: ref.Name,
		Began: r.client.gateway.opt.Now(), Parent: r.trace, Trace: r.trace}
	if ref.Kind == tool.Resource {
		record.Name = ""
		if l, err := r.view.current(ctx); err == nil {
			record.Name = l.listedAs(ref)
		}
	}
	return record
}

// listedAs returns how the list of its server names a resource: by its URI, or by a template that it fits.
func (l *lists) listedAs(ref tool.Ref) string {
	for _, o := range l.resources {
		if o.ref.Server == ref.Server && o.ref.Name == ref.Name {
			return ref.Name
		}
	}
	for _, o := range l.templates {
		if o.ref.Server == ref.Server && fits(o.ref.Name, ref.Name) {
			return o.ref.Name
		}
	}
	return ""
}

// refusal reports whether a fault of this type says that a call was not made.
func refusal(t fault.Type) bool {
	switch t {
	case fault.ApprovalRequired, fault.ToolNotFound, fault.ServerNotFound, fault.InvalidArguments, fault.Usage:
		return true
	}
	return false
}

// isError reports whether the result of a tool says that the tool has failed.
func isError(result json.RawMessage) bool {
	const key = "isError"
	if !bytes.Contains(result, []byte(key)) {
		return false // it is not split for that
	}
	fields, err := tool.SplitObject(result)
	if err != nil {
		return false
	}
	for _, f := range fields {
		if f.Key == key {
			return string(f.Value) == "true"
		}
	}
	return false
}
