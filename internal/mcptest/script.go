// Package mcptest is a real MCP server over stdio that does what a script says, right or wrong.
// Tests run it as a process of its own, so that what they prove about pipes, signals, exit
// codes and process groups holds for real servers too.
//
// JSON-RPC is written here by hand: an SDK refuses to misbehave. A [Script] lists every way
// in which the server can; all of them combine. The zero script is a well-behaved server
// without tools. The package starts no client, knows nothing of mcpl and imports nothing of it.
//
// A test package gets the server by calling [Maybe] first thing in its TestMain, and then
// [Command] or [Config] in its tests. With testscript, [Run] serves as a command of its own:
//
//	func TestMain(m *testing.M) {
//		mcptest.Maybe()
//		testscript.Main(m, map[string]func(){"mcptest": mcptest.Run})
//	}
//
// after which a configuration may say {"command": "mcptest", "args": ["script.json"]}.
package mcptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Script says what the server does. Paths are relative to its working directory.
type Script struct {
	// Tools are listed in this order; a name may occur twice (the first one is called).
	Tools []Tool `json:"tools,omitempty"`
	// Resources, Templates (definitions, byte for byte) and Prompts are what the server offers beside
	// them. If there are templates, a URI of none of the resources reads as a text that names it.
	Resources []Resource `json:"resources,omitempty"`
	Templates []Raw      `json:"templates,omitempty"`
	Prompts   []Prompt   `json:"prompts,omitempty"`
	// Generate adds tools after those.
	Generate *Generate `json:"generate,omitempty"`
	// PageSize is the number of definitions per page of a list; 0 is all on one page.
	PageSize int `json:"pageSize,omitempty"`
	// Cursor is "endless" for a new nextCursor on every page, also on the empty pages after
	// the last definition, or "repeat" for the same nextCursor on every page.
	Cursor string `json:"cursor,omitempty"`
	// TTLMs is sent as ttlMs with every page.
	TTLMs *int64 `json:"ttlMs,omitempty"`

	// Version is the protocol revision answered to initialize. By default it is the one the
	// client asked for, or 2025-11-25 where that is not a revision with a handshake.
	Version string `json:"version,omitempty"`
	// Modern is "only" for a server of revision 2026-07-28, which answers server/discover and
	// refuses initialize, or "both" for one that also has the old handshake. By default
	// server/discover is an unknown method.
	Modern string `json:"modern,omitempty"`
	// ServerInfo and Capabilities replace what the handshake says; they default to
	// {"name":"mcptest","version":"1.0.0"} and {"tools":{"listChanged":true}}, with what else the
	// script has.
	ServerInfo   Raw    `json:"serverInfo,omitempty"`
	Capabilities Raw    `json:"capabilities,omitempty"`
	Instructions string `json:"instructions,omitempty"`

	// Start is what happens before the first message is read. With Never the server never
	// reads one. Error and Result mean nothing here.
	Start Behaviour `json:"start,omitzero"`
	// Methods says what happens when a message of a method arrives, "initialize",
	// "tools/list" or "notifications/initialized" for example; an unlisted method is answered
	// as the protocol says. For a notification Error and Result mean nothing.
	Methods map[string]Behaviour `json:"methods,omitempty"`
	// Between are lines written to stdout before every answer.
	Between []string `json:"between,omitempty"`
	// ListChanged is how many notifications/tools/list_changed follow the client's
	// notifications/initialized at once.
	ListChanged int `json:"listChanged,omitempty"`

	// IgnoreEOF keeps the server running after its stdin has ended.
	IgnoreEOF bool `json:"ignoreEOF,omitempty"`
	// IgnoreCancel has it go on with requests that its client has cancelled, as the protocol allows.
	IgnoreCancel bool `json:"ignoreCancel,omitempty"`
	// IgnoreTerm makes it ignore SIGTERM, SIGINT and SIGHUP.
	IgnoreTerm bool `json:"ignoreTerm,omitempty"`
	// Grandchild starts a child that sits there and is never waited for.
	Grandchild *Grandchild `json:"grandchild,omitempty"`

	// Starts is a file that gets a line "pid unixnano" at every start.
	Starts string `json:"starts,omitempty"`
	// Received is a file that gets every line read from stdin.
	Received string `json:"received,omitempty"`
	// Answers is a file that gets the client's answers to the server's own requests.
	Answers string `json:"answers,omitempty"`
	// Cancelled is a file that gets every notifications/cancelled message.
	Cancelled string `json:"cancelled,omitempty"`

	// Later replaces this script from a later start on; it needs Starts, which counts them. If
	// several apply, the last one counts. The files named here stay in force unless
	// the later script names its own.
	Later []Later `json:"later,omitempty"`
}

// Later is the script from the From-th start on, the first start being 1.
type Later struct {
	From   int    `json:"from"`
	Script Script `json:"script"`
}

// Behaviour is what happens when a message arrives, in the order of the fields.
type Behaviour struct {
	// StderrBytes is the size of the text written to stderr, in lines of 64 bytes.
	StderrBytes int `json:"stderrBytes,omitempty"`
	// Stderr are lines written to stderr.
	Stderr []string `json:"stderr,omitempty"`
	// Noise are lines written to stdout.
	Noise []string `json:"noise,omitempty"`
	// Replay are lines of a recording, each written at its time.
	Replay []Line `json:"replay,omitempty"`
	// Progress is the number of notifications/progress, sent if the client gave a token, with
	// Every between them.
	Progress int      `json:"progress,omitempty"`
	Every    Duration `json:"every,omitempty"`
	// Work is how many megabytes the server hashes, one after the other, as servers need the processor to start.
	Work int `json:"work,omitempty"`
	// Delay is how long the server waits. A cancelled request is not answered any more.
	Delay Duration `json:"delay,omitempty"`
	// Asks are requests of the server to its client.
	Asks []Ask `json:"asks,omitempty"`
	// Exit ends the server.
	Exit *Exit `json:"exit,omitempty"`
	// Never leaves the request without an answer.
	Never bool `json:"never,omitempty"`
	// Error is a JSON-RPC error that is answered, ErrorTimes how often; 0 is always.
	Error      *Error `json:"error,omitempty"`
	ErrorTimes int    `json:"errorTimes,omitempty"`
	// Rounds are the inputRequests of as many results that require input before the real one (MCP
	// 2026-07-28), each with a requestState, which has to come back. {} says to come again later.
	Rounds []Raw `json:"rounds,omitempty"`
	// Result is the result that is answered, byte for byte.
	Result Raw `json:"result,omitempty"`
}

// Line is a line of a recording: what was written on stderr, or else on stdout, At after the first.
type Line struct {
	At     Duration `json:"at,omitempty"`
	Stderr bool     `json:"stderr,omitempty"`
	Text   string   `json:"text"`
}

// slow reports whether b may keep the server busy until something else happens, so that other
// messages have to be read meanwhile.
func (b Behaviour) slow() bool {
	for _, a := range b.Asks {
		if a.Wait {
			return true
		}
	}
	return b.Delay > 0 || b.Every > 0 || len(b.Replay) > 0
}

// Tool is a tool and what a call of it does. A tool for which nothing is said answers with one
// text block that holds its arguments as they came.
type Tool struct {
	// Def is the definition, byte for byte; it need not be a valid one.
	Def Raw `json:"def,omitempty"`
	// Name is the name to call it by; it defaults to the one in Def. Without Def the
	// definition is made of Name, Description and InputSchema ({"type":"object"} by default).
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	InputSchema Raw    `json:"inputSchema,omitempty"`

	Behaviour

	// Text is a text block of the result.
	Text string `json:"text,omitempty"`
	// Bytes is the size of a text block of the result.
	Bytes int `json:"bytes,omitempty"`
	// Env names a variable; a text block says "NAME=value" or "NAME is not set".
	Env string `json:"env,omitempty"`
	// Cwd adds a text block with the working directory.
	Cwd bool `json:"cwd,omitempty"`
	// Kinds adds a block of each kind: "text", "image" ([PNG]), "audio" ([WAV]), "resource" (a
	// text resource), "blob" (a resource holding [Blob]), "resource_link".
	Kinds []string `json:"kinds,omitempty"`
	// Structured is the structuredContent, byte for byte.
	Structured Raw `json:"structured,omitempty"`
	// Replies adds a text block with what the client answered to each of the Asks that waited, or to
	// the last of the Rounds.
	Replies bool `json:"replies,omitempty"`
	// Then are the tools that the server has in place of all others once the tool has been called.
	Then []Tool `json:"then,omitempty"`
	// IsError marks the result as a failure of the tool.
	IsError bool `json:"isError,omitempty"`
	// Task makes a task of a call that asks for one, or of any in revision 2026-07-28.
	Task *Task `json:"task,omitempty"`
}

// Task is what becomes of a call that is made a task.
type Task struct {
	// Polls is how often the client finds it still working, PollMs the interval that the server asks for.
	Polls  int     `json:"polls,omitempty"`
	PollMs float64 `json:"pollMs,omitempty"`
	// Ask is a request to the client before the task ends, for which its status is input_required. It
	// is sent under tasks/result, or from 2026-07-28 on found in the task's state.
	Ask *Ask `json:"ask,omitempty"`
	// Busy is how long it works on after the answer, under tasks/result.
	Busy Duration `json:"busy,omitempty"`
	// Error is the end of a task that fails.
	Error *Error `json:"error,omitempty"`
}

// Resource is a resource and what reading it does.
type Resource struct {
	// Def is the definition, byte for byte. Without it it is made of URI.
	Def Raw    `json:"def,omitempty"`
	URI string `json:"uri"`

	Behaviour

	// Text is what it holds; Blob says that it holds [Blob].
	Text string `json:"text,omitempty"`
	Blob bool   `json:"blob,omitempty"`
}

// Prompt is a prompt and what getting it does: it answers with one message that holds Text, or its
// arguments as they came.
type Prompt struct {
	// Def is the definition, byte for byte. Without it it is made of Name and Arguments.
	Def       Raw    `json:"def,omitempty"`
	Name      string `json:"name"`
	Arguments Raw    `json:"arguments,omitempty"`

	Behaviour

	Text string `json:"text,omitempty"`
}

// Generate makes Count tools named Prefix_00001 and so on that echo their arguments.
type Generate struct {
	Count  int    `json:"count"`
	Prefix string `json:"prefix,omitempty"` // "tool" by default
	// DescriptionBytes pads each description to that size.
	DescriptionBytes int `json:"descriptionBytes,omitempty"`
	// Depth nests that many objects in each input schema.
	Depth int `json:"depth,omitempty"`
}

// Ask is a request of the server to its client, or a notification.
type Ask struct {
	Method string `json:"method"`
	Params Raw    `json:"params,omitempty"`
	// ID is the request's id; by default a number counting from 1, which a client that does not
	// look at the method mistakes for the id of its own request. "none" makes a notification.
	ID Raw `json:"id,omitempty"`
	// Wait holds back what follows until the client has answered.
	Wait bool `json:"wait,omitempty"`
}

// Exit is how the server ends.
type Exit struct {
	Code int `json:"code,omitempty"`
	// Signal is "KILL", "TERM", "INT" or "HUP"; the server sends it to itself. Windows has no
	// signals: there it ends with code 1.
	Signal string `json:"signal,omitempty"`
}

// Error is a JSON-RPC error.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    Raw    `json:"data,omitempty"`
}

// Grandchild is a process in the server's process group that outlives it, at most by
// [Lifetime]. It holds the server's stdout and stderr open, as the children of shells and
// package runners do.
type Grandchild struct {
	// PID is a file that gets its process id.
	PID string `json:"pid"`
	// IgnoreTerm makes it ignore SIGTERM, SIGINT and SIGHUP.
	IgnoreTerm bool `json:"ignoreTerm,omitempty"`
}

// Raw is JSON that is sent byte for byte, or what the script wants instead of JSON. In a
// script it is written as itself, or as a string that holds it, which keeps its white space
// through any tool (a Raw that is itself a JSON string can only be written so). Line breaks become spaces: a message
// is one line.
type Raw string

// MarshalJSON writes r as a string: encoding/json would compact it otherwise.
func (r Raw) MarshalJSON() ([]byte, error) { return json.Marshal(string(r)) }

// UnmarshalJSON reads either form.
func (r *Raw) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, (*string)(r))
	}
	*r = Raw(b)
	return nil
}

func (r Raw) line() string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\r' {
			return ' '
		}
		return c
	}, string(r))
}

// or returns r, or other where r is empty.
func (r Raw) or(other Raw) Raw {
	if r == "" {
		return other
	}
	return r
}

// Duration is a time.Duration that a script writes as "1.5s".
type Duration time.Duration

// MarshalText writes d as time.Duration prints it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// load reads a script: JSON itself, or the path of a file that holds it. Unknown fields are
// errors, so that a misspelt knob does not make a test pass.
func load(arg string) (Script, error) {
	raw := []byte(arg)
	if !strings.HasPrefix(strings.TrimSpace(arg), "{") {
		var err error
		if raw, err = os.ReadFile(arg); err != nil {
			return Script{}, err
		}
	}
	var s Script
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return Script{}, fmt.Errorf("script: %w", err)
	}
	return s, s.check()
}

// check finds what would silently do nothing.
func (s Script) check() error {
	switch s.Cursor {
	case "", "endless", "repeat":
	default:
		return fmt.Errorf("script: cursor %q", s.Cursor)
	}
	switch s.Modern {
	case "", "only", "both":
	default:
		return fmt.Errorf("script: modern %q", s.Modern)
	}
	if len(s.Later) > 0 && s.Starts == "" {
		return errors.New("script: later needs starts")
	}
	for _, t := range s.Tools {
		for _, k := range t.Kinds {
			if block(k) == "" {
				return fmt.Errorf("script: kind %q", k)
			}
		}
	}
	for _, b := range s.behaviours() {
		if b.Exit != nil && b.Exit.Signal != "" && signalNumber(b.Exit.Signal) == 0 {
			return fmt.Errorf("script: signal %q", b.Exit.Signal)
		}
	}
	return nil
}

// behaviours returns how the server starts and answers each request.
func (s Script) behaviours() []Behaviour {
	all := append([]Behaviour{s.Start}, slices.Collect(maps.Values(s.Methods))...)
	for _, t := range s.Tools {
		all = append(all, t.Behaviour)
	}
	for _, r := range s.Resources {
		all = append(all, r.Behaviour)
	}
	for _, p := range s.Prompts {
		all = append(all, p.Behaviour)
	}
	return all
}

// at returns the script for the n-th start.
func (s Script) at(n int) Script {
	now := s
	for _, l := range s.Later {
		if n < l.From {
			continue
		}
		now = l.Script
		now.Received = orElse(now.Received, s.Received)
		now.Answers = orElse(now.Answers, s.Answers)
		now.Cancelled = orElse(now.Cancelled, s.Cancelled)
	}
	return now
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
