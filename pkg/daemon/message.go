package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	opCall   = "call"
	opTools  = "tools"
	opStatus = "status"
	opStop   = "stop"
)

// query is one request. Everything the configuration depends on comes with it.
type query struct {
	Op     string `json:"op"`
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`

	Dir      string   `json:"dir,omitempty"`
	Home     string   `json:"home,omitempty"`
	Configs  []string `json:"configs,omitempty"`
	EnvFiles []string `json:"envFiles,omitempty"`
	// Environ is the client's environment, its assignments separated by NUL: values need not be
	// UTF-8, which a JSON string would not survive.
	Environ []byte `json:"environ,omitempty"`

	Timeout             time.Duration `json:"timeout,omitempty"`
	ConnectTimeout      time.Duration `json:"connectTimeout,omitempty"`
	CallTimeout         time.Duration `json:"callTimeout,omitempty"`
	ForceConnectTimeout time.Duration `json:"forceConnectTimeout,omitempty"`
	Idle                time.Duration `json:"idle,omitempty"`
	// Repeatable and HeaderSchema are those of tool.CallOptions.
	Repeatable   bool   `json:"repeatable,omitempty"`
	HeaderSchema string `json:"headerSchema,omitempty"`
	// Events asks for what happens to the server meanwhile.
	Events bool `json:"events,omitempty"`
}

// environ returns the assignments of the environment.
func (q *query) environ() []string {
	if len(q.Environ) == 0 {
		return nil
	}
	return strings.Split(string(q.Environ), "\x00")
}

// event is one thing that happened to a server.
type event struct {
	Server string `json:"server"`
	Text   string `json:"text"`
}

// listing is a tool.Listing whose definitions are bytes, which JSON in JSON would not stay.
type listing struct {
	tool.Listing // without its Tools
	Defs         [][]byte
}

func packListing(l tool.Listing) listing {
	var defs [][]byte
	for _, def := range l.Tools {
		defs = append(defs, def.Raw())
	}
	l.Tools = nil
	return listing{l, defs}
}

func unpackListing(payload []byte) (tool.Listing, error) {
	var p listing
	if err := json.Unmarshal(payload, &p); err != nil {
		return tool.Listing{}, err
	}
	p.Tools = nil
	for _, raw := range p.Defs {
		def, err := tool.ParseDef(raw)
		if err != nil {
			return tool.Listing{}, err
		}
		p.Tools = append(p.Tools, def)
	}
	return p.Listing, nil
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
