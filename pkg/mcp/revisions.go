package mcp

import "slices"

// The revisions of the protocol that change how messages are exchanged.
const (
	// Latest is the newest revision, and the first without sessions: each request says by itself who sends it.
	Latest = "2026-07-28"
	// LatestWithSessions is the newest revision that begins with initialize.
	LatestWithSessions = "2025-11-25"
	// Unsaid is the revision of a request over HTTP that does not say its own: "If the server does not receive an
	// MCP-Protocol-Version header, ... the server SHOULD assume protocol version 2025-03-26" (MCP 2025-11-25,
	// transports).
	Unsaid = "2025-03-26"
)

// Revisions returns the revisions that mcpl speaks as a server, the newest first.
func Revisions() []string {
	return []string{Latest, LatestWithSessions, "2025-06-18", Unsaid, "2024-11-05"}
}

// Knows reports whether mcpl speaks a revision as a server.
func Knows(revision string) bool { return slices.Contains(Revisions(), revision) }

// IsModern reports whether a revision is one without sessions. Revisions are dates.
func IsModern(revision string) bool { return revision >= Latest }

// Agreed returns the revision of a session whose client asks for one in initialize: that, or the newest with sessions.
func Agreed(asked string) string {
	if Knows(asked) && !IsModern(asked) {
		return asked
	}
	return LatestWithSessions
}

// Codes of errors (JSON-RPC 2.0, section 5.1; MCP 2025-11-25 and 2026-07-28).
const (
	ParseError         = -32700
	InvalidRequest     = -32600
	MethodNotFound     = -32601
	InvalidParams      = -32602
	InternalError      = -32603
	ResourceNotFound   = -32002
	HeaderMismatch     = -32020
	MissingCapability  = -32021
	UnsupportedVersion = -32022
)
