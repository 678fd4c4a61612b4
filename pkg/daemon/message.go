package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
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

// query is one request. It brings everything that the configuration depends on; the environment and the arguments are
// raw texts beside it.
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
}

// ref returns what the query calls.
func (q *query) ref() tool.Ref { return tool.Ref{Server: q.Server, Name: q.Name, Kind: q.Kind} }

// do makes a request to a server: the daemon with its host, a client that cannot have the daemon in its own process.
func (q *query) do(
	ctx context.Context, caller engine.Caller, args json.RawMessage, opt tool.CallOptions,
) (a answer, err error) {
	switch q.Op {
	case opTools:
		a.listing, err = caller.List(ctx, q.Server, opt)
	case opRequest:
		a.result = new(tool.Result)
		a.result.Raw, err = caller.Request(ctx, q.Server, q.Name, args, opt)
	default:
		a.result, err = caller.Call(ctx, q.ref(), args, opt)
	}
	return a, err
}

// answer is what comes of a query to a server: a listing, or the result of a call or a request.
type answer struct {
	listing tool.Listing
	result  *tool.Result // nil for a listing
}

// listsOf returns the lists of a listing: tools, resources, prompts.
func listsOf(l *tool.Listing) [3]*[]tool.Def {
	return [...]*[]tool.Def{&l.Tools, &l.Resources, &l.Prompts}
}

// frame returns the frame of the answer: whether the tool reports an error, and the result as it came; or the listing
// without its lists, and each of them as an array of definitions.
func (a answer) frame() frame {
	if a.result != nil {
		return pack(kindAnswer, a.result.IsError, a.result.Raw)
	}
	var arrays [][]byte
	for _, list := range listsOf(&a.listing) {
		var defs [][]byte
		for _, def := range *list {
			defs = append(defs, def.Whole())
		}
		arrays = append(arrays, slices.Concat([]byte("["), bytes.Join(defs, []byte(",")), []byte("]")))
		*list = nil
	}
	return pack(kindAnswer, a.listing, arrays...)
}

// unpackAnswer decodes the answer to a query with this operation.
func unpackAnswer(op string, payload []byte) (a answer, err error) {
	if op != opTools {
		a.result = new(tool.Result)
		return a, unpack(payload, &a.result.IsError, &a.result.Raw)
	}
	kinds, arrays := [...]tool.Kind{tool.Tool, tool.Resource, tool.Prompt}, [3]json.RawMessage{}
	if err = unpack(payload, &a.listing, &arrays[0], &arrays[1], &arrays[2]); err != nil {
		return a, err
	}
	for i, list := range listsOf(&a.listing) {
		defs, err := tool.SplitArray(arrays[i])
		if err != nil {
			return a, err
		}
		for _, raw := range defs {
			def, err := tool.Parse(kinds[i], raw)
			if err != nil {
				return a, err
			}
			*list = append(*list, def)
		}
	}
	return a, nil
}

// failed returns the frame of a failure: the whole fault, or that the host has done nothing.
func failed(err error) frame {
	var upstream *tool.UpstreamError
	switch {
	case errors.As(err, &upstream):
		return pack(kindUpstream, tool.UpstreamError{Code: upstream.Code, Message: upstream.Message}, upstream.Data)
	case errors.Is(err, host.ErrEnding):
		return frame{kind: kindRefusal}
	case errors.Is(err, host.ErrDeclined):
		return frame{kind: kindDecline}
	}
	return pack(kindFailure, fault.From(err))
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
