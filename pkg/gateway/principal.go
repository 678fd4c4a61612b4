package gateway

import (
	"cmp"
	"encoding/json"
)

// Principal is who a client acts for, and what it may do. The zero value is the person who runs the gateway.
type Principal struct {
	// Name is what people call it: the name of a token, or of a login.
	Name string `json:"name,omitempty"`
	// ID tells principals apart: another token may get the name of one that was revoked. If empty, Name does.
	ID string `json:"id,omitempty"`
	// Servers are globs of the servers that are there for it. If empty, all are.
	Servers []string `json:"servers,omitempty"`
	// Tier is the most that tools may do which it calls.
	Tier Tier `json:"tier,omitempty"`
	// Profile is the only profile that it may use. If empty, it may use all of them, or none.
	Profile string `json:"profile,omitempty"`
	// PerMinute bounds its calls in a minute, and AtOnce those at the same time. Zero means that nothing does.
	PerMinute int `json:"perMinute,omitempty"`
	AtOnce    int `json:"atOnce,omitempty"`
}

// Tier is the most that a tool may do, as its annotations say (MCP 2025-11-25, ToolAnnotations). A tool without them
// may do anything.
type Tier string

// The tiers. An empty one is TierDestructive.
const (
	TierRead        Tier = "read"        // only read
	TierWrite       Tier = "write"       // change something and destroy nothing
	TierDestructive Tier = "destructive" // anything
)

// identity returns what tells the principal from all others. It is empty for the person who runs the gateway.
func (p Principal) identity() string { return cmp.Or(p.ID, p.Name) }

// key tells apart principals that may do different things.
func (p Principal) key() string {
	key, _ := json.Marshal(p) // texts and numbers always encode
	return string(key)
}

// Equal reports whether p and q are the same and may do the same.
func (p Principal) Equal(q Principal) bool { return p.key() == q.key() }

// TokenError says why the token of a client does not count, in words that the client may read.
type TokenError struct {
	Code   TokenCode
	Reason string
	// HasExpired says that the token counted until its time was over: its client can get another one.
	HasExpired bool
}

// TokenCode is the kind of a [TokenError].
type TokenCode string

// The kinds of errors of tokens. The first two are those of RFC 6750, 3.1.
const (
	// InvalidToken is the code of a token that is none of this gateway, or none any more.
	InvalidToken TokenCode = "invalid_token"
	// InsufficientScope is the code of a good token that may do nothing here.
	InsufficientScope TokenCode = "insufficient_scope"
	// CannotJudge is the code of a token that cannot be judged now, and may be good.
	CannotJudge TokenCode = "temporarily_unavailable"
)

// Error implements error.
func (e *TokenError) Error() string { return string(e.Code) + ": " + e.Reason }
