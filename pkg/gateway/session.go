package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// levels are the levels of log messages, the least one first (RFC 5424; MCP 2025-11-25, server/utilities/logging).
func levels() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

// capabilities returns what the gateway offers clients of a revision, whatever its servers do.
func capabilities(revision string) json.RawMessage {
	tasks := ""
	switch {
	case mcp.IsModern(revision):
		tasks = `,"extensions":{"` + tasksExtension + `":{}}`
	case revision >= tasksSince:
		tasks = `,"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}`
	}
	return json.RawMessage(`{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},` +
		`"prompts":{"listChanged":true},"completions":{},"logging":{}` + tasks + `}`)
}

// tasksSince is the first revision that has tasks.
const tasksSince = "2025-11-25"

// self is how the gateway introduces itself.
func (g *Gateway) self() json.RawMessage {
	return tool.JoinObject([]tool.Field{{Key: "name", Value: tool.Quote("mcpl")},
		{Key: "version", Value: tool.Quote(g.opt.Version)}})
}

// hello is what the gateway reads of the params of initialize.
type hello struct {
	Revision     string    `json:"protocolVersion"`
	Capabilities abilities `json:"capabilities"`
}

// initialize agrees with the client on a revision (MCP 2025-11-25, basic/lifecycle).
func (r *request) initialize() (json.RawMessage, error) {
	var p hello
	if err := r.params(&p); err != nil {
		return nil, err
	}
	c := r.client
	c.mu.Lock()
	c.revision, c.can = mcp.Agreed(p.Revision), p.Capabilities
	revision := c.revision
	c.mu.Unlock()
	if c.out != nil {
		c.begin(untagged(c.out))
	}
	return tool.JoinObject([]tool.Field{
		{Key: "protocolVersion", Value: tool.Quote(revision)},
		{Key: "capabilities", Value: capabilities(revision)},
		{Key: "serverInfo", Value: c.gateway.self()},
		{Key: "instructions", Value: tool.Quote(c.exposure().instructions())},
	}), nil
}

// setLevel sets the least level of the log messages that the client gets. Before it does, it gets all of them.
func (r *request) setLevel(ctx context.Context) (json.RawMessage, error) {
	var p struct {
		Level string `json:"level"`
	}
	if err := r.params(&p); err != nil {
		return nil, err
	}
	level := slices.Index(levels(), p.Level)
	if level < 0 {
		return nil, &tool.UpstreamError{Code: mcp.InvalidParams, Message: "there is no log level " + p.Level}
	}
	c := r.client
	c.mu.Lock()
	c.level = level
	c.mu.Unlock()
	c.share(ctx, map[string]string{levelField: p.Level}, nil)
	return json.RawMessage("{}"), nil
}

// list lists what a client sees of a kind, all of it on one page.
func (r *request) list(ctx context.Context, kind tool.Kind) (json.RawMessage, error) {
	list, err := r.client.definitions(ctx, r.view, kind)
	if err != nil {
		return nil, err
	}
	return r.page(kind, list), nil
}

// page returns the only page of a list, and notes that the client has it.
func (r *request) page(kind tool.Kind, definitions []json.RawMessage) json.RawMessage {
	key := map[tool.Kind]string{tool.Tool: "tools", tool.Resource: "resources", tool.Template: "resourceTemplates",
		tool.Prompt: "prompts"}[kind]
	raw := tool.JoinArray(definitions)
	c := r.client
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told[kind] = digest(raw)
	return tool.JoinObject([]tool.Field{{Key: key, Value: raw}})
}

// digest returns the digest of a list of the client as it is now.
func (c *Client) digest(ctx context.Context, v *view, kind tool.Kind) (string, error) {
	list, err := c.definitions(ctx, v, kind)
	return digest(tool.JoinArray(list)), err
}

func digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return string(sum[:])
}
