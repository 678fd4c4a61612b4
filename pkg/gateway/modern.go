package gateway

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Members of _meta since MCP 2026-07-28 (SEP-2575).
const (
	metaRevision     = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaLevel        = "io.modelcontextprotocol/logLevel"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// RevisionOf returns the revision that a request says in its _meta, since MCP 2026-07-28; else "".
func RevisionOf(m mcp.Message) string {
	var p struct {
		Meta struct {
			Revision string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return ""
	}
	return p.Meta.Revision
}

// Introduce takes what a client says of itself in a request since MCP 2026-07-28. The error is the answer to the
// request.
func (c *Client) Introduce(m mcp.Message) *tool.UpstreamError {
	var p struct {
		Meta struct {
			Revision     *string          `json:"io.modelcontextprotocol/protocolVersion"`
			Capabilities *json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
			Level        string           `json:"io.modelcontextprotocol/logLevel"`
		} `json:"_meta"`
	}
	invalid := func(text string) *tool.UpstreamError {
		return &tool.UpstreamError{Code: mcp.InvalidParams, Message: text}
	}
	switch {
	case json.Unmarshal(m.Params, &p) != nil || p.Meta.Revision == nil:
		return invalid("the _meta of a request has " + metaRevision)
	case !mcp.Knows(*p.Meta.Revision) || !mcp.IsModern(*p.Meta.Revision):
		return Unsupported(*p.Meta.Revision)
	case p.Meta.Capabilities == nil:
		return invalid("the _meta of a request has " + metaCapabilities)
	}
	var can abilities
	if json.Unmarshal(*p.Meta.Capabilities, &can) != nil {
		return invalid(metaCapabilities + " is an object")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision, c.can = *p.Meta.Revision, can
	if c.level = len(levels()); p.Meta.Level != "" { // who does not ask gets no log messages
		c.level = max(slices.Index(levels(), p.Meta.Level), 0)
	}
	return nil
}

// CheckHeaders compares the headers of tools/call with the arguments that they repeat (MCP 2026-07-28, x-mcp-header).
func (c *Client) CheckHeaders(ctx context.Context, m mcp.Message, header func(string) (string, bool)) (
	wrong *tool.UpstreamError) {
	if m.Method != "tools/call" || c.who.Expose == Search {
		return nil
	}
	gen := c.gateway.enter()
	defer func() { _ = gen.leave() }() // an engine that was replaced meanwhile has nothing to say
	v, err := gen.viewOf(ctx, c)
	if err != nil {
		return &tool.UpstreamError{Code: mcp.InternalError, Message: err.Error()}
	}
	l, err := c.lists(ctx, v)
	if err != nil {
		return &tool.UpstreamError{Code: mcp.InternalError, Message: err.Error()}
	}
	var p struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return nil // the call says so
	}
	i := slices.IndexFunc(l.tools, func(o offer) bool { return o.name == p.Name })
	if i < 0 {
		return nil
	}
	def, err := tool.Parse(tool.Tool, l.tools[i].raw)
	if err != nil {
		return &tool.UpstreamError{Code: mcp.InternalError, Message: err.Error()}
	}
	if text := mcp.CheckHeaders(m, def.InputSchema, header); text != "" {
		return &tool.UpstreamError{Code: mcp.HeaderMismatch, Message: text}
	}
	return nil
}

// Unsupported returns the error of a revision that the gateway does not speak.
func Unsupported(revision string) *tool.UpstreamError {
	data := tool.JoinObject([]tool.Field{{Key: "supported", Value: revisions()},
		{Key: "requested", Value: tool.Quote(revision)}})
	return &tool.UpstreamError{Code: mcp.UnsupportedVersion, Message: "the revision is not spoken here", Data: data}
}

// revisions lists the revisions that the gateway speaks.
func revisions() json.RawMessage {
	list := make([]json.RawMessage, 0, len(mcp.Revisions()))
	for _, r := range mcp.Revisions() {
		list = append(list, tool.Quote(r))
	}
	return tool.JoinArray(list)
}

// modern reports whether the client speaks a revision without sessions.
func (c *Client) modern() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return mcp.IsModern(c.revision)
}

// handleModern answers a request of a revision without sessions. The methods that are gone there are none.
func (r *request) handleModern(ctx context.Context) (result json.RawMessage, err error) {
	switch r.message.Method {
	case "server/discover":
		return complete(r.discover()), nil
	case listenMethod:
		return r.listen(ctx)
	case "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return nil, r.noMethod()
	case "tools/call", "prompts/get", "resources/read":
		result, err = r.suspendable(ctx)
	default:
		result, err = r.handle(ctx)
	}
	if err != nil {
		return nil, err
	}
	switch r.message.Method {
	case "tools/list", "resources/list", "resources/templates/list", "prompts/list", "resources/read":
		result = cacheable(result)
	}
	return complete(result), nil
}

// discover says what the gateway is (MCP 2026-07-28, server/discover).
func (r *request) discover() json.RawMessage {
	meta := tool.JoinObject([]tool.Field{{Key: metaServer, Value: r.client.gateway.self()}})
	return cacheable(tool.JoinObject([]tool.Field{
		{Key: "supportedVersions", Value: revisions()},
		{Key: "capabilities", Value: capabilities(mcp.Latest)},
		{Key: "instructions", Value: tool.Quote(r.client.exposure().instructions())},
		{Key: "_meta", Value: meta},
	}))
}

// complete adds to a result that it is the last, where its server has not said of which type it is.
func complete(result json.RawMessage) json.RawMessage {
	return withMember(result, "resultType", json.RawMessage(`"complete"`))
}

// cacheable adds to a result how long, and who, may keep it, where its server has not said so: this client only, until
// it hears of a change.
func cacheable(result json.RawMessage) json.RawMessage {
	return withMember(withMember(result, "ttlMs", json.RawMessage("0")), "cacheScope", json.RawMessage(`"private"`))
}

// withMember returns an object with a member, unless it has that.
func withMember(object json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	fields, err := tool.SplitObject(object)
	if err != nil || slices.ContainsFunc(fields, func(f tool.Field) bool { return f.Key == key }) {
		return object
	}
	return tool.JoinObject(append(fields, tool.Field{Key: key, Value: value}))
}

// withoutType returns a result without the member that revisions with sessions do not have.
func withoutType(result json.RawMessage) json.RawMessage {
	fields, err := tool.SplitObject(result)
	isType := func(f tool.Field) bool { return f.Key == "resultType" }
	if err != nil || !slices.ContainsFunc(fields, isType) {
		return result
	}
	return tool.JoinObject(slices.DeleteFunc(fields, isType))
}

// listenMethod is the method of requests for notifications.
const listenMethod = "subscriptions/listen"

// listen sends the notifications that the client asks for until it goes (MCP 2026-07-28, subscriptions/listen).
func (r *request) listen(ctx context.Context) (json.RawMessage, error) {
	var p struct {
		Wanted struct {
			Tools     bool     `json:"toolsListChanged"`
			Prompts   bool     `json:"promptsListChanged"`
			Resources bool     `json:"resourcesListChanged"`
			URIs      []string `json:"resourceSubscriptions"`
		} `json:"notifications"`
	}
	if err := r.params(&p); err != nil {
		return nil, err
	}
	c, tag := r.client, tool.JoinObject([]tool.Field{{Key: metaSubscription, Value: r.message.ID}})
	accepted, err := json.Marshal(p.Wanted)
	if err != nil {
		return nil, err
	}
	for _, uri := range p.Wanted.URIs {
		if err := r.subscribeTo(ctx, uri); err != nil {
			return nil, err
		}
	}
	out := tagged(r.out, tag)
	out("notifications/subscriptions/acknowledged",
		tool.JoinObject([]tool.Field{{Key: "notifications", Value: accepted}}))
	for kind, wanted := range map[tool.Kind]bool{tool.Tool: p.Wanted.Tools, tool.Prompt: p.Wanted.Prompts,
		tool.Resource: p.Wanted.Resources, tool.Template: p.Wanted.Resources} {
		if !wanted {
			continue
		}
		now, err := c.digest(ctx, r.view, kind)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		c.told[kind] = now
		c.mu.Unlock()
	}
	c.begin(out)
	<-ctx.Done()
	return complete(tool.JoinObject([]tool.Field{{Key: "_meta", Value: tag}})), nil
}

// tagged returns the notifier of a subscription, which each notification names.
func tagged(out Outlet, tag json.RawMessage) notifier {
	return func(method string, params json.RawMessage) {
		if params == nil {
			params = json.RawMessage("{}")
		}
		out.Send(mcp.Notification(method, withMember(params, "_meta", tag)))
	}
}
