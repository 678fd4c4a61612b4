package tool

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Listing is a live server's word on itself and on what it offers.
type Listing struct {
	// Tools in the server's order, each name once.
	Tools []Def
	// Resources, with the templates after them, and Prompts. Each name appears once.
	Resources, Prompts []Def
	// Known says how the server was reached, for the next time.
	Known Known
	// ServerName, ServerVersion and Instructions are the server's own texts. Any may be empty.
	ServerName, ServerVersion, Instructions string
	// TTL is the server's word on how long its list stays valid (ttlMs, MCP 2026-07-28). Zero means that it does not
	// say.
	TTL time.Duration
	// Connect is the duration of start and handshake, Lists that of the listing.
	Connect, Lists time.Duration
	// Stderr is the end of a process's stderr, secrets masked.
	Stderr string
	// Notes lists oddities of the list: duplicate names, bad definitions, endless pages.
	Notes []string
}

// Known holds what an earlier connection to a server has found out. A new connection tries that first, and finds it
// out again if it does not hold any more.
type Known struct {
	// Protocol is the MCP revision that was agreed on, like "2025-11-25". If empty, it is unknown.
	Protocol string `json:"protocol,omitempty"`
	// Transport is the transport that worked: "stdio", "http" or "sse". If empty, it is unknown.
	Transport string `json:"transport,omitempty"`
	// Asks says that the server has sent a question that names no call while several clients used it. Calls of
	// different clients to one process of it then take turns.
	Asks bool `json:"asks,omitempty"`
}

// ErrNotSent is the cause of faults of requests that never reached their server, which is not to blame.
var ErrNotSent = errors.New("the request was not sent")

// Principal is the one who requests are made for. The empty one is the user of the command line. Requests of
// different principals never share a server whose entry has "scope": "user".
type Principal string

// CallOptions change one request to a server.
type CallOptions struct {
	// Timeout bounds the request once the server is connected. Each sign of progress, and the answer to a question,
	// begin it anew. Zero means that the configuration decides.
	Timeout time.Duration
	// MaxTime bounds the request however much progress it makes. Zero means 10 min, or the Timeout if that is longer.
	MaxTime time.Duration
	// Repeatable says that the call does no harm when it is made twice, as the tool's annotations readOnlyHint and
	// idempotentHint promise. If the connection breaks off before the answer, the call is made once more.
	Repeatable bool
	// ReadOnly says that the call changes nothing, as the tool's annotation readOnlyHint promises. A server that had only
	// such calls gets less time to end.
	ReadOnly bool `json:",omitempty"`
	// Task says that the tool must be called as a task (execution.taskSupport "required", MCP 2025-11-25,
	// basic/utilities/tasks).
	Task bool
	// Known says how the server was reached before.
	Known Known
	// Brief says that the server is needed for this request only: if it was started for it, it ends before the request
	// returns.
	Brief bool `json:",omitempty"`
	// Resolve has a request that is sent verbatim made again with the input that the server requires (MCP 2026-07-28,
	// multi round-trip requests), which the audience gives. Else the caller gets the server's wish as the result.
	Resolve bool `json:",omitempty"`
	// Tasks says that the caller of a request that is sent verbatim follows a task that the server makes of it. Else that
	// is followed for it, and the result is that of the call.
	Tasks bool `json:",omitempty"`
	// Pin is the hash of the definition (its canonical JSON, without icons and _meta) that the call was checked with. If
	// the server has listed another one in the connection that the call uses, or says that its list has changed and then
	// lists another one, the call is not made, and its fault holds that definition. If empty, nothing is compared. PinNow
	// also lists what was not listed in the connection before.
	Pin    string `json:",omitempty"`
	PinNow bool   `json:",omitempty"`
	// Audience receives progress, log messages and requests of the server. If nil, they are dropped and declined.
	Audience Audience `json:"-"`
	// Principal is the one who the request is made for.
	Principal Principal `json:",omitempty"`
	// Forward are headers of the client's request that a server over HTTP gets whose entry says so. Requests with other
	// values never share a connection.
	Forward []Header `json:",omitempty"`
	// Client names the program run, or the session, that makes the request. A question of a server that names no call
	// goes to a client only if no other client's call is in flight.
	Client string `json:",omitempty"`
	// Session names the session that the request belongs to. No other request gets a server that each session has for
	// itself, by its entry. If empty, the request belongs to none, and such a server is that of all such requests.
	Session string `json:",omitempty"`
	// Trace is the span that the request belongs to. It goes to the server in the _meta of the request (SEP-414), and over
	// HTTP also in its headers.
	Trace Trace `json:",omitzero"`
	// Sampling says that the client of the session has a language model. A server that it has for itself hears of that in
	// the handshake, if it starts with this request.
	Sampling bool `json:",omitempty"`
	// HeaderSchema is the tool's input schema if it marks arguments to be repeated in headers (x-mcp-header, MCP
	// 2026-07-28). It is empty if the schema marks none.
	HeaderSchema string
}

// Header is a header of a request over HTTP.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Limits bound the phases of what is asked of a server. Zero sets none.
type Limits struct {
	// Connect bounds start and handshake, Call each listing and call, for servers whose entry sets none.
	Connect time.Duration `json:"connect,omitempty"`
	Call    time.Duration `json:"call,omitempty"`
	// ForceConnect beats the entries' own limits (the --connect-timeout flag).
	ForceConnect time.Duration `json:"forceConnect,omitempty"`
}

// Audience receives progress, log messages and elicitation requests of one call, and answers the requests. Its
// methods may be called concurrently, and are not called after the call has returned. Texts come from a server and
// are not yet safe for a terminal.
type Audience interface {
	// Can returns what the audience can do for a server. It does not change during a call.
	Can() Capabilities
	// Progress receives the progress of the request.
	Progress(Progress)
	// Message receives a log message (MCP 2025-11-25, server/utilities/logging).
	Message(Message)
	// Elicit asks the user. An error, such as that of ctx, cancels the question at the server. Without a user to ask, it
	// declines.
	Elicit(ctx context.Context, q Question) (Reply, error)
	// Sample has the client's language model answer (MCP 2025-11-25, client/sampling) and returns the result of
	// sampling/createMessage, verbatim. It is called only if Can says so. A [*UpstreamError] reaches the server as it is.
	Sample(ctx context.Context, s Sampling) (json.RawMessage, error)
	// Roots returns the result of roots/list (MCP 2025-11-25, client/roots), verbatim. It is called only if Can says so;
	// else the roots of the server's entry count.
	Roots(ctx context.Context) (json.RawMessage, error)
}

// Capabilities are what an audience can do for a server.
type Capabilities struct {
	Elicit bool `json:"elicit,omitempty"` // it can ask a user, or decline for one
	Sample bool `json:"sample,omitempty"` // it has a language model
	Roots  bool `json:"roots,omitempty"`  // it has roots of its own
}

// Unable is for audiences that have neither a language model nor roots of their own: they embed it.
type Unable struct{}

// Can implements [Audience]: it can elicit.
func (Unable) Can() Capabilities { return Capabilities{Elicit: true} }

// Sample implements [Audience]. It fails.
func (Unable) Sample(context.Context, Sampling) (json.RawMessage, error) {
	return nil, &UpstreamError{Code: -32601, Message: "there is no language model"}
}

// Roots implements [Audience]. It fails.
func (Unable) Roots(context.Context) (json.RawMessage, error) {
	return nil, &UpstreamError{Code: -32601, Message: "there are no roots"}
}

// Progress is a notification of progress (MCP 2025-11-25, basic/utilities/progress).
type Progress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"` // zero: unknown
	Message string  `json:"message,omitempty"`
	// Raw are the params of the notification as the server sent them; nil if mcpl tells the progress itself.
	Raw json.RawMessage `json:"-"`
}

// Message is a log message of a server.
type Message struct {
	Level  string          `json:"level"` // of RFC 5424, as "warning"
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data"`
	// Raw are the params of the notification as the server sent them.
	Raw json.RawMessage `json:"-"`
}

// Question is what a server asks its user in the middle of a request (MCP 2025-11-25, client/elicitation).
type Question struct {
	Server  string `json:"server"`
	Message string `json:"message"`
	// Schema of the answer, of an object with flat members; nil if the user is to open URL instead.
	Schema json.RawMessage `json:"schema,omitempty"`
	URL    string          `json:"url,omitempty"`
	// Raw are the params of the request as the server sent them.
	Raw json.RawMessage `json:"-"`
}

// Sampling is a request of a server to the client's language model.
type Sampling struct {
	Server string `json:"server"`
	// Raw are the params of sampling/createMessage as the server sent them.
	Raw json.RawMessage `json:"-"`
}

// Event is a notification of a server that belongs to no call, such as notifications/tools/list_changed.
type Event struct {
	Server string `json:"server"`
	// Method is empty if events may have been lost, so that anything may have changed, and if the server has ended.
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"` // as the server sent them
	// Ended says that the server has ended by itself.
	Ended bool `json:"ended,omitempty"`
}

// UpstreamError is a JSON-RPC error as the other side, mostly a server, answered with it (JSON-RPC 2.0, section 5.1).
type UpstreamError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns the message.
func (e *UpstreamError) Error() string { return e.Message }

// Reply is the answer to a [Question].
type Reply struct {
	Action Action `json:"action"`
	// Content is the object that was asked for, with Accept and a Schema; else nil.
	Content json.RawMessage `json:"content,omitempty"`
}

// Action is the user's decision.
type Action string

// The decisions of a user.
const (
	Accept  Action = "accept"
	Decline Action = "decline"
	Cancel  Action = "cancel" // the user decided nothing
)
