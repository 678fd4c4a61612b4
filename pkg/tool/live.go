package tool

import "time"

// Listing is what a live server says of itself and of its tools.
type Listing struct {
	// Tools in the server's order, each name once.
	Tools []Def
	// Protocol is the MCP revision that was agreed on, like "2025-11-25".
	Protocol string
	// ServerName, ServerVersion and Instructions are as the server gave them; any may be empty.
	ServerName, ServerVersion, Instructions string
	// TTL is how long the server says its list stays valid (ttlMs, MCP 2026-07-28); 0 is unsaid.
	TTL time.Duration
	// Connect is how long start and handshake took.
	Connect time.Duration
	// Notes tell what was odd about the list: duplicate names, bad definitions, endless pages.
	Notes []string
}

// CallOptions change one call.
type CallOptions struct {
	// Timeout bounds the call once the server is connected; 0 means what the configuration says.
	Timeout time.Duration
	// Repeatable says that the call does no harm when it is made twice, as the tool's annotations
	// readOnlyHint and idempotentHint promise: it is made again, once, where the connection broke
	// off before the answer.
	Repeatable bool
	// HeaderSchema is the tool's input schema where it marks arguments that are to be repeated in
	// headers (x-mcp-header, MCP 2026-07-28); "" where it marks none.
	HeaderSchema string
}
