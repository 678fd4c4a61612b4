package conn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Bounds of a request that the server wants input for (MCP 2026-07-28, multi round-trip requests).
const (
	maxRounds = 10 // with input
	maxLater  = 3  // in a row without input: the server asks to come again later
	// firstLater is the wait before the first of those; each further wait is twice as long.
	firstLater = 500 * time.Millisecond
)

var (
	errRounds = fmt.Errorf("it asked for more input %d times", maxRounds)
	errLater  = fmt.Errorf("it asked to come again later %d times", maxLater)
	errModel  = errors.New("it asks for the answer of a language model (sampling), and mcpl has none")
)

// resultHead is the part of a result that says of which kind it is.
type resultHead struct {
	Type     string          `json:"resultType"`
	Requests json.RawMessage `json:"inputRequests"`
	State    json.RawMessage `json:"requestState"`
	Task     json.RawMessage `json:"task"`
	IsError  json.RawMessage `json:"isError"`
}

// rounds sends a request, and again with the input that the server asks for, until it answers. It follows a task.
func (s *session) rounds(ctx context.Context, c *call, method string, params []tool.Field, task bool) (
	*tool.Result, error) {
	task = task && method == methodCall && s.takesTasks()
	if task {
		params = append(params[:len(params):len(params)], tool.Field{Key: "task", Value: json.RawMessage("{}")})
	}
	n := round{later: firstLater}
	for {
		raw, err := s.request(ctx, c, method, append(params[:len(params):len(params)], n.more...))
		if err != nil {
			return nil, err
		}
		var head *resultHead
		if json.Unmarshal(raw, &head) != nil || head == nil {
			return resultIn(method, raw) // odd, which need not be wrong
		}
		switch {
		case s.isTask(method, head, task):
			if raw, err = s.follow(ctx, c, raw); err != nil {
				return nil, err
			}
			return resultIn(method, raw)
		case head.Type != "input_required":
			return &tool.Result{Raw: raw, IsError: method == methodCall && string(head.IsError) == "true"}, nil
		}
		if err := s.fulfilRound(ctx, c, head, &n); err != nil {
			return nil, err
		}
	}
}

// isTask reports whether a result says that the call became a task. asked says that the call asked for that.
func (s *session) isTask(method string, head *resultHead, asked bool) bool {
	return method == methodCall && (s.modern() && head.Type == "task" || asked && head.Task != nil)
}

// round counts the inputs that a request was given, and how often the server has asked to come again later.
type round struct {
	inputs, waits int
	later         time.Duration
	more          []tool.Field // goes into the next request
}

// fulfilRound prepares the next request: it gets the input that the server asks for, or waits.
func (s *session) fulfilRound(ctx context.Context, c *call, head *resultHead, n *round) error {
	requests, err := tool.SplitObject(orEmpty(head.Requests))
	if err != nil {
		return &breach{what: "the input that it requires is not what the protocol says", cause: err}
	}
	n.more = nil
	if len(requests) == 0 {
		if n.waits++; n.waits > maxLater {
			return errLater
		}
		if _, err := s.sleep(ctx, n.later, nil); err != nil {
			return err
		}
		n.later *= 2
	} else {
		if n.inputs, n.waits, n.later = n.inputs+1, 0, firstLater; n.inputs > maxRounds {
			return errRounds
		}
		responses, err := s.fulfil(ctx, c, requests)
		if err != nil {
			return err
		}
		n.more = append(n.more, tool.Field{Key: "inputResponses", Value: responses})
	}
	if head.State != nil {
		n.more = append(n.more, tool.Field{Key: "requestState", Value: head.State})
	}
	return nil
}

// orEmpty returns raw, or an empty object if raw is missing or null.
func orEmpty(raw json.RawMessage) json.RawMessage {
	if raw == nil || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}

// fulfil returns the inputs that a server asks for before it answers, in its order.
func (s *session) fulfil(ctx context.Context, c *call, requests []tool.Field) (json.RawMessage, error) {
	var responses []tool.Field
	for _, request := range requests {
		var r struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(request.Value, &r); err != nil {
			return nil, &breach{what: "the input that it requires is not what the protocol says", cause: err}
		}
		response, err := s.input(ctx, c, r.Method, r.Params)
		if err != nil {
			return nil, err
		}
		responses = append(responses, tool.Field{Key: request.Key, Value: response})
	}
	return tool.JoinObject(responses), nil
}

// input returns one input that a request needs.
func (s *session) input(ctx context.Context, c *call, method string, params json.RawMessage) (json.RawMessage, error) {
	var response json.RawMessage
	var refused *tool.UpstreamError
	switch method {
	case string(mcp.MethodSamplingCreateMessage):
		if c.audience == nil || !c.audience.Can().Sample {
			return nil, errModel
		}
		response, refused = s.sample(ctx, c, params)
	case string(mcp.MethodElicitationCreate):
		response, refused = s.elicit(ctx, c, params)
	case string(mcp.MethodListRoots):
		response, refused = s.listRoots(ctx, c)
	default:
		refused = notOffered(method)
	}
	if refused != nil {
		return nil, &breach{what: fmt.Sprintf("it requires %s as input: %s", method, refused.Message)}
	}
	return response, nil
}

// sleep waits for d, until woken is closed, which it reports, or until the request or the connection ends.
func (s *session) sleep(ctx context.Context, d time.Duration, woken <-chan struct{}) (bool, error) {
	select {
	case <-time.After(d):
		return false, nil
	case <-woken:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-s.goroutines.ended:
		return false, errOver
	}
}
