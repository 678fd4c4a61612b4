package daemon

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// greeting is the first frame of a daemon to every client.
type greeting struct {
	Version string `json:"version"` // see [Identity]
	PID     int    `json:"pid"`
	// Ending is for how long the daemon has taken no requests because it ends. Zero means that it takes them.
	Ending time.Duration `json:"ending,omitempty"`
}

// The operations of a query.
const (
	opCall    = "call"
	opTools   = "tools"
	opRequest = "request"
	opWatch   = "watch" // until the client goes away
	opRefresh = "refresh"
	opStatus  = "status"
	opStop    = "stop"     // after all calls
	opStopNow = "stop-now" // soon
)

// query is one request. It brings everything that the configuration depends on; the environment is in a frame of its
// own.
type query struct {
	Op string `json:"op"`
	// Identity is that of the client. The daemon refuses requests to servers from clients of another one.
	Identity string `json:"identity,omitempty"`

	Server string    `json:"server,omitempty"`
	Kind   tool.Kind `json:"kind,omitempty"`
	Name   string    `json:"name,omitempty"` // see tool.Ref; of a request its method

	Surroundings host.Surroundings `json:"surroundings,omitzero"` // without Environ

	// Audience says whether the client has one, which does not cross the socket, and Can what that can do.
	Options  tool.CallOptions  `json:"options,omitzero"`
	Audience bool              `json:"audience,omitempty"`
	Can      tool.Capabilities `json:"can,omitzero"`
	// Events asks for event frames.
	Events bool `json:"events,omitempty"`
}

// ref returns what the query calls.
func (q *query) ref() tool.Ref { return tool.Ref{Server: q.Server, Name: q.Name, Kind: q.Kind} }

// opFrame returns the query of an operation that needs nothing but its name.
func opFrame(op string) frame { return frame{kindQuery, [][]byte{[]byte(`{"op":"` + op + `"}`)}} }

// onServers reports whether the request needs the configuration, and so the environment.
func (q *query) onServers() bool {
	return q.hasArguments() || q.Op == opTools || q.Op == opRefresh || q.Op == opWatch
}

// hasArguments reports whether arguments or params follow.
func (q *query) hasArguments() bool { return q.Op == opCall || q.Op == opRequest }

// separator stands between the assignments of an environment. They contain no NUL and need not be UTF-8.
const separator = "\x00"

// event is one thing that happened to a server.
type event struct {
	Server string `json:"server"`
	Text   string `json:"text"`
}

// The methods of a question.
const (
	askElicit = "elicit"
	askSample = "sample"
	askRoots  = "roots"
)

// question is what an audience is asked. Its schema, if it has one, and its raw form are raw texts beside it. A reply
// with the same id answers it.
type question struct {
	ID            int    `json:"id"`
	Ask           string `json:"ask"`
	tool.Question        // of sampling and roots only Server and Raw
}

// reply answers a question. The content of a tool.Reply, or the result of a model or of roots, is a raw text beside it,
// and so is the data of an error.
type reply struct {
	ID int `json:"id"`
	tool.Reply
	// Upstream is the JSON-RPC error of a model or of roots.
	Upstream *tool.UpstreamError `json:"upstream,omitempty"`
	// Failed says why there is no answer: the client has given the question up.
	Failed string `json:"failed,omitempty"`
}

// err returns why a reply is none.
func (r *reply) err() error {
	switch {
	case r.Upstream != nil:
		return r.Upstream
	case r.Failed != "":
		return errors.New(r.Failed)
	}
	return nil
}

// listing is a tool.Listing; its definitions are raw texts beside it.
type listing struct {
	tool.Listing
	// Counts are how many definitions each list has, in the order of definitionsOf.
	Counts []int
}

// pack returns a payload of a head and raw JSON texts beside it: the length of the head's JSON (uint32, big-endian),
// that JSON, and the same of each raw text. Raw texts cross byte for byte, which JSON within JSON would not.
func pack(head any, raws ...[]byte) ([]byte, error) {
	data, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	size := 4 + len(data)
	for _, raw := range raws {
		size += 4 + len(raw)
	}
	payload := make([]byte, 0, size)
	for _, part := range slices.Concat([][]byte{data}, raws) {
		payload = append(binary.BigEndian.AppendUint32(payload, uint32(len(part))), part...)
	}
	return payload, nil
}

// unpackAll decodes the head of a payload and returns its raw texts, an empty one as nil.
func unpackAll(payload []byte, head any) (raws [][]byte, err error) {
	var parts [][]byte
	for len(payload) >= 4 {
		size := int64(binary.BigEndian.Uint32(payload))
		if payload = payload[4:]; size > int64(len(payload)) {
			break
		}
		var part []byte
		if size > 0 {
			part = payload[:size:size]
		}
		parts, payload = append(parts, part), payload[size:]
	}
	if len(parts) == 0 || len(payload) > 0 {
		return nil, errors.New("a payload that is cut off")
	}
	return parts[1:], json.Unmarshal(parts[0], head)
}

// unpack decodes the head of a payload and its raw texts, which must be as many.
func unpack(payload []byte, head any, raws ...*json.RawMessage) error {
	all, err := unpackAll(payload, head)
	if err == nil && len(all) != len(raws) {
		err = fmt.Errorf("a payload with %d raw texts instead of %d", len(all), len(raws))
	}
	if err != nil {
		return err
	}
	for i, raw := range all {
		*raws[i] = raw
	}
	return nil
}

// definitions is one of the lists of a tool.Listing.
type definitions struct {
	kind tool.Kind
	list *[]tool.Def
}

func definitionsOf(l *tool.Listing) []definitions {
	return []definitions{{tool.Tool, &l.Tools}, {tool.Resource, &l.Resources}, {tool.Prompt, &l.Prompts}}
}

func packListing(l tool.Listing) ([]byte, error) {
	head := listing{Listing: l}
	var raws [][]byte
	for _, defs := range definitionsOf(&head.Listing) {
		head.Counts = append(head.Counts, len(*defs.list))
		for _, def := range *defs.list {
			raws = append(raws, def.Raw())
		}
		*defs.list = nil
	}
	return pack(head, raws...)
}

func unpackListing(payload []byte) (tool.Listing, error) {
	var head listing
	raws, err := unpackAll(payload, &head)
	if err != nil {
		return tool.Listing{}, err
	}
	lists := definitionsOf(&head.Listing)
	if len(head.Counts) != len(lists) {
		return tool.Listing{}, errors.New("a listing without all lists")
	}
	for i, defs := range lists {
		*defs.list = nil
		if n := head.Counts[i]; n < 0 || n > len(raws) {
			return tool.Listing{}, errors.New("a listing without all definitions")
		}
		for _, raw := range raws[:head.Counts[i]] {
			def, err := tool.Parse(defs.kind, raw)
			if err != nil {
				return tool.Listing{}, err
			}
			*defs.list = append(*defs.list, def)
		}
		raws = raws[head.Counts[i]:]
	}
	return head.Listing, nil
}

// packUpstream packs a JSON-RPC error of a server.
func packUpstream(e *tool.UpstreamError) ([]byte, error) {
	head := *e
	head.Data = nil
	return pack(head, e.Data)
}

func unpackUpstream(payload []byte) (*tool.UpstreamError, error) {
	e := new(tool.UpstreamError)
	return e, unpack(payload, e, &e.Data)
}

func packResult(res *tool.Result) [][]byte {
	flag := []byte{0}
	if res.IsError {
		flag[0] = 1
	}
	return [][]byte{flag, res.Raw}
}

func unpackResult(payload []byte) (*tool.Result, error) {
	if len(payload) == 0 {
		return nil, errors.New("an empty result frame")
	}
	return &tool.Result{IsError: payload[0] == 1, Raw: slices.Clip(payload[1:])}, nil
}

// unpackFault decodes a fault with all its members. Its result stays as it came.
func unpackFault(payload []byte) (*fault.Fault, error) {
	var result json.RawMessage
	f := &fault.Fault{Result: &result}
	if err := json.Unmarshal(payload, f); err != nil {
		return nil, err
	}
	if f.Type == "" {
		return nil, errors.New("a fault without a type")
	}
	f.Result = nil
	if len(result) > 0 {
		f.Result = result
	}
	return f, nil
}
