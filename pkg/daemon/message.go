package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// greeting is what the daemon says of itself to everyone.
type greeting struct {
	Version string `json:"version"` // see [Identity]
	PID     int    `json:"pid"`
	// Ending is for how long it has taken no requests, because it ends; 0: it does not.
	Ending time.Duration `json:"ending,omitempty"`
}

// What a client may ask for.
const (
	opCall    = "call"
	opTools   = "tools"
	opRefresh = "refresh"
	opStatus  = "status"
	opStop    = "stop"     // once all calls have ended
	opStopNow = "stop-now" // soon
)

// query is one request. Everything the configuration depends on comes with it, the environment in
// a frame of its own.
type query struct {
	Op string `json:"op"`
	// Identity is that of the client. What is done with servers is refused to others.
	Identity string `json:"identity,omitempty"`

	Server string    `json:"server,omitempty"`
	Kind   tool.Kind `json:"kind,omitempty"`
	Name   string    `json:"name,omitempty"` // of what is called, see tool.Ref

	Dir      string   `json:"dir,omitempty"`
	Home     string   `json:"home,omitempty"`
	Configs  []string `json:"configs,omitempty"`
	EnvFiles []string `json:"envFiles,omitempty"`

	Limits tool.Limits   `json:"limits,omitzero"`
	Idle   time.Duration `json:"idle,omitempty"`

	// Options have no audience here; Audience says whether there is one.
	Options  tool.CallOptions `json:"options,omitzero"`
	Audience bool             `json:"audience,omitempty"`
	// Events asks for what happens to the server meanwhile.
	Events bool `json:"events,omitempty"`
}

// withOptions returns the query with what a request's options say.
func (q query) withOptions(opt tool.CallOptions) query {
	q.Audience = opt.Audience != nil
	opt.Audience = nil
	q.Options = opt
	return q
}

// opFrame returns the query for what needs no more than its name.
func opFrame(op string) frame { return frame{kindQuery, [][]byte{[]byte(`{"op":"` + op + `"}`)}} }

// onServers reports whether the request needs the configuration, and so the environment.
func (q *query) onServers() bool { return q.Op == opCall || q.Op == opTools || q.Op == opRefresh }

// separator stands between the assignments of an environment, which hold no NUL and need not be
// UTF-8.
const separator = "\x00"

// event is one thing that happened to a server.
type event struct {
	Server string `json:"server"`
	Text   string `json:"text"`
}

// message is a tool.Message whose data is bytes, which JSON in JSON would not stay.
type message struct {
	tool.Message        // without its Data
	Data         []byte `json:"data"`
}

func (m message) whole() tool.Message {
	m.Message.Data = m.Data
	return m.Message
}

// question is a tool.Question to be answered by a reply of the same id.
type question struct {
	ID            int    `json:"id"`
	tool.Question        // without its Schema
	Schema        []byte `json:"schema,omitempty"`
}

func (q question) whole() tool.Question {
	q.Question.Schema = q.Schema
	return q.Question
}

// reply is a tool.Reply to a question.
type reply struct {
	ID         int    `json:"id"`
	tool.Reply        // without its Content
	Content    []byte `json:"content,omitempty"`
	// Failed is why there is no reply: the question was given up.
	Failed string `json:"failed,omitempty"`
}

func (r reply) whole() tool.Reply {
	r.Reply.Content = r.Content
	return r.Reply
}

// listing is a tool.Listing whose definitions are bytes.
type listing struct {
	tool.Listing              // without these:
	Tools, Resources, Prompts [][]byte
}

func packListing(l tool.Listing) listing {
	return listing{l, raws(l.Tools), raws(l.Resources), raws(l.Prompts)}
}

func raws(defs []tool.Def) [][]byte {
	var raws [][]byte
	for _, def := range defs {
		raws = append(raws, def.Raw())
	}
	return raws
}

func unpackListing(payload []byte) (tool.Listing, error) {
	var p listing
	err := json.Unmarshal(payload, &p)
	p.Listing.Tools = parse(tool.Tool, p.Tools, &err)
	p.Listing.Resources = parse(tool.Resource, p.Resources, &err)
	p.Listing.Prompts = parse(tool.Prompt, p.Prompts, &err)
	if err != nil {
		return tool.Listing{}, err
	}
	return p.Listing, nil
}

// parse reads definitions until one of them fails.
func parse(kind tool.Kind, raws [][]byte, failed *error) []tool.Def {
	var defs []tool.Def
	for _, raw := range raws {
		def, err := tool.Parse(kind, raw)
		if err != nil && *failed == nil {
			*failed = err
		}
		defs = append(defs, def)
	}
	return defs
}

func unpackResult(payload []byte) (*tool.Result, error) {
	if len(payload) == 0 {
		return nil, errors.New("an empty result frame")
	}
	return &tool.Result{IsError: payload[0] == 1, Raw: slices.Clip(payload[1:])}, nil
}

// unpackFault decodes a fault with all its members; its result stays as it came.
func unpackFault(payload []byte) (*fault.Fault, error) {
	var result json.RawMessage
	f := &fault.Fault{Result: &result}
	if err := json.Unmarshal(payload, f); err != nil {
		return nil, err
	}
	if f.Type == "" {
		return nil, fmt.Errorf("a fault without a type")
	}
	f.Result = nil
	if len(result) > 0 {
		f.Result = result
	}
	return f, nil
}
