package conn

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// tasksExtension is the name under which a client of MCP 2026-07-28 declares that it can follow tasks (SEP-2663).
const tasksExtension = "io.modelcontextprotocol/tasks"

// request sends a request of a call and returns its result as the server sent it. c is nil for a request of the
// session's own. If the server answers with an error, the error is a refusal. The SDK's own methods would decode the
// result, which loses keywords, rejects odd schemas and takes half a second for 20 MB.
func (s *session) request(ctx context.Context, c *call, method string, params []tool.Field) (json.RawMessage, error) {
	id := s.wire.next()
	if c != nil {
		s.router.expect(id, c)
	}
	params = withMeta(params, s.meta(id, c))
	body := json.RawMessage(tool.JoinObject(params))
	response, err := s.wire.SendRequest(ctx, transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION,
		ID: mcp.NewRequestId(id), Method: method, Params: body, Header: s.headers(c, method, body)})
	switch {
	case err != nil:
		return nil, err
	case response.Error != nil:
		return nil, &refusal{method: method, details: *response.Error, data: s.router.dataOf(id)}
	case len(response.Result) == 0:
		return nil, &breach{what: "its answer to " + method + " has neither a result nor an error"}
	}
	return response.Result, nil
}

// withMeta returns params with meta in their _meta, beside the members that the caller has put there.
func withMeta(params []tool.Field, meta []tool.Field) []tool.Field {
	var kept []tool.Field
	for _, p := range params {
		if p.Key != "_meta" {
			kept = append(kept, p)
			continue
		}
		theirs, _ := tool.SplitObject(p.Value) // the protocol wants an object; another value is dropped
		for _, field := range theirs {
			if !slices.ContainsFunc(meta, func(own tool.Field) bool { return own.Key == field.Key }) {
				meta = append(meta, field)
			}
		}
	}
	if len(meta) == 0 {
		return kept
	}
	return append(kept, tool.Field{Key: "_meta", Value: tool.JoinObject(meta)})
}

// meta returns our part of a request's _meta: its progress token, and since 2026-07-28 the handshake's (SEP-2575).
func (s *session) meta(id int64, c *call) []tool.Field {
	var fields []tool.Field
	add := func(key string, value any) {
		raw, err := json.Marshal(value)
		if err == nil { // all of them encode
			fields = append(fields, tool.Field{Key: key, Value: raw})
		}
	}
	if c != nil {
		fields = append(fields, tool.Field{Key: "progressToken", Value: json.RawMessage(strconv.FormatInt(id, 10))})
		for _, t := range traceFields(c.trace) {
			add(t[0], t[1])
		}
	}
	if s.modern() {
		add(mcp.MetaKeyProtocolVersion, s.version)
		add(mcp.MetaKeyClientInfo, s.self())
		add(mcp.MetaKeyClientCapabilities, s.capabilities(true, c))
		if s.offers.Logging != nil && (s.opt.Log != nil || c != nil && c.audience != nil) {
			add(mcp.MetaKeyLogLevel, mcp.LoggingLevelDebug)
		}
	}
	return fields
}

// traceFields returns the names and values by which a span is handed on, in a _meta (SEP-414) as in headers (W3C Trace
// Context). There are none for the zero Trace.
func traceFields(t tool.Trace) [][2]string {
	var fields [][2]string
	if t.ID != "" {
		fields = append(fields, [2]string{"traceparent", t.Parent()})
	}
	if t.ID != "" && t.State != "" {
		fields = append(fields, [2]string{"tracestate", t.State})
	}
	return fields
}

// headers returns the headers of a request over HTTP: the span of its call, and from 2026-07-28 on parts of the request
// that headers repeat (SEP-2243). c is nil for a request of the session's own.
func (s *session) headers(c *call, method string, params json.RawMessage) http.Header {
	if !s.overHTTP() {
		return nil
	}
	headers := make(http.Header)
	if c != nil {
		for _, t := range traceFields(c.trace) {
			headers.Set(t[0], t[1])
		}
	}
	if !s.modern() {
		return headers
	}
	for name, value := range mcp.StandardHeaders(s.version, mcp.MCPMethod(method), params) {
		headers.Set(name, value)
	}
	var call struct {
		Name string `json:"name"`
	}
	if method == methodCall && json.Unmarshal(params, &call) == nil {
		if definition, ok := s.headerTools.Load(call.Name); ok {
			for name, value := range mcp.GenerateParamHeaders(definition.(*mcp.Tool), params) {
				headers.Set(name, value)
			}
		}
	}
	return headers
}

// self is how mcpl introduces itself.
func (s *session) self() mcp.Implementation {
	return mcp.Implementation{Name: "mcpl", Version: s.opt.Version}
}

// capabilities are what mcpl offers a server, in a revision before 2026-07-28 or since. Those of the handshake do not
// depend on the caller, or lists would, unless all requests are of one. Since then each request declares what the
// audience of its call, in, can do.
func (s *session) capabilities(modern bool, in *call) mcp.ClientCapabilities {
	c := mcp.ClientCapabilities{}
	if modern {
		c.Extensions = map[string]any{tasksExtension: struct{}{}}
	}
	can := tool.Capabilities{Elicit: true, Sample: s.opt.Sampling}
	if in != nil && in.audience != nil {
		can = in.audience.Can()
	}
	if can.Elicit {
		c.Elicitation = &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}
	}
	if can.Sample {
		c.Sampling = new(mcp.SamplingCapability)
	}
	if s.roots != nil || can.Roots {
		c.Roots = &struct {
			ListChanged bool `json:"listChanged,omitempty"`
		}{}
	}
	return c
}

// modern reports whether the revision is 2026-07-28 or later.
func (s *session) modern() bool { return mcp.IsModernProtocol(s.version) }
