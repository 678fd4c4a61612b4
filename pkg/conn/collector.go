package conn

import (
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// collector gathers definitions over pages and notes what is odd about them.
type collector struct {
	tools   []tool.Def
	notes   []string
	headers bool // definitions are also made headers of
	names   map[string]bool
	cursors map[mcp.Cursor]bool
}

func (c *collector) add(raw json.RawMessage) {
	def, err := tool.ParseDef(raw)
	if err != nil {
		c.notes = append(c.notes, fmt.Sprintf("a definition was left out: %v", err))
		return
	}
	if c.names[def.Name] {
		c.notes = append(c.notes, fmt.Sprintf("the tool %q is defined more than once; the first definition counts", def.Name))
		return
	}
	// "Clients using the Streamable HTTP transport MUST reject tool definitions where any x-mcp-header
	// value violates these constraints" (MCP 2026-07-28, server/tools).
	if c.headers {
		if err := wrongMarks(def.InputSchema); err != nil {
			c.notes = append(c.notes, fmt.Sprintf("the tool %q was left out: %v", def.Name, err))
			return
		}
	}
	if c.names == nil {
		c.names = make(map[string]bool)
	}
	c.names[def.Name] = true
	c.tools = append(c.tools, def)
}

// stop reports whether to ask for no more pages although the server offers next.
func (c *collector) stop(next mcp.Cursor, pages int) bool {
	switch {
	case c.cursors[next]:
		c.notes = append(c.notes, fmt.Sprintf("page %d of its tools points back to an earlier one; what came until then is kept", pages))
	case pages >= maxPages || len(c.tools) >= maxTools:
		c.notes = append(c.notes, fmt.Sprintf("its tools have no end; the first %d are kept", len(c.tools)))
	default:
		if c.cursors == nil {
			c.cursors = make(map[mcp.Cursor]bool)
		}
		c.cursors[next] = true
		return false
	}
	return true
}
