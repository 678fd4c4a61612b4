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

// tasksExtension is the name under which a client of MCP 2026-07-28 says that it can follow tasks
// (SEP-2663).
const tasksExtension = "io.modelcontextprotocol/tasks"

// request sends a request of a call, nil for one of the session's own, and returns its result as the server sent it. An error that the server
// answers with is a refusal. The SDK's own methods would decode the result, which loses keywords,
// rejects odd schemas and takes half a second for 20 MB.
func (s *session) request(ctx context.Context, c *call, method string, params []tool.Field) (json.RawMessage, error) {
	id := s.wire.next()
	if c != nil {
		s.router.expect(id, c)
	}
	params = withMeta(params, s.meta(id, c))
	body := json.RawMessage(tool.JoinObject(params))
	answer, err := s.wire.SendRequest(ctx, transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id),
		Method: method, Params: body, Header: s.headers(method, body)})
	switch {
	case err != nil:
		return nil, err
	case answer.Error != nil:
		return nil, &refusal{method: method, details: *answer.Error}
	case len(answer.Result) == 0:
		return nil, &breach{what: "its answer to " + method + " has neither a result nor an error"}
	}
	return answer.Result, nil
}

// withMeta returns params with these members in their _meta, beside those that the caller has put there.
func withMeta(params []tool.Field, meta []tool.Field) []tool.Field {
	var kept []tool.Field
	for _, p := range params {
		if p.Key != "_meta" {
			kept = append(kept, p)
			continue
		}
		theirs, _ := tool.SplitObject(p.Value) // another value means nothing, and the protocol wants an object
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

// meta returns our part of the _meta of a request: the token for its progress, and from 2026-07-28 on what the
// handshake said before (SEP-2575).
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

// headers returns the headers that repeat parts of a request over HTTP from 2026-07-28 on (SEP-2243).
func (s *session) headers(method string, params json.RawMessage) http.Header {
	if !s.modern() || !s.overHTTP() {
		return nil
	}
	headers := make(http.Header)
	for name, value := range mcp.StandardHeaders(s.version, mcp.MCPMethod(method), params) {
		headers.Set(name, value)
	}
	var call struct {
		Name string `json:"name"`
	}
	if method == methodCall && json.Unmarshal(params, &call) == nil {
		if definition, ok := s.headered.Load(call.Name); ok {
			for name, value := range mcp.GenerateParamHeaders(definition.(*mcp.Tool), params) {
				headers.Set(name, value)
			}
		}
	}
	return headers
}

// self is what mcpl says of itself.
func (s *session) self() mcp.Implementation {
	return mcp.Implementation{Name: "mcpl", Version: s.opt.Version}
}

// capabilities are what mcpl offers a server in a revision before 2026-07-28 or since. Those of the handshake do not
// depend on who asks, or lists would. From 2026-07-28 on each request declares what the audience of its call in can do
// beside that; in may be nil.
func (s *session) capabilities(modern bool, in *call) mcp.ClientCapabilities {
	c := mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}}
	if modern {
		c.Extensions = map[string]any{tasksExtension: struct{}{}}
	}
	can := tool.Capabilities{}
	if in != nil && in.audience != nil {
		can = in.audience.Can()
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
