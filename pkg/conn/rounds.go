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
	maxLater  = 3  // in a row without any: the server asks to come again later
	// firstLater is how long the first of those is waited for; each further one twice as long.
	firstLater = 500 * time.Millisecond
)

var (
	errRounds = fmt.Errorf("it asked for more input %d times", maxRounds)
	errLater  = fmt.Errorf("it asked to come again later %d times", maxLater)
	errModel  = errors.New("it asks for the answer of a language model (sampling), and mcpl has none")
)

// resultHead says what kind of result came.
type resultHead struct {
	Type     string          `json:"resultType"`
	Requests json.RawMessage `json:"inputRequests"`
	State    json.RawMessage `json:"requestState"`
	Task     json.RawMessage `json:"task"`
	IsError  json.RawMessage `json:"isError"`
}

// rounds sends a request, and again with what the server asks for, until it answers. Where it
// answers with a task that is followed.
func (s *session) rounds(ctx context.Context, method string, params []tool.Field, task bool) (*tool.Result, error) {
	task = task && method == methodCall && s.takesTasks()
	if task {
		params = append(params[:len(params):len(params)], tool.Field{Key: "task", Value: json.RawMessage("{}")})
	}
	later := firstLater
	var more []tool.Field
	for inputs, waits := 0, 0; ; {
		raw, err := s.request(ctx, method, append(params[:len(params):len(params)], more...))
		if err != nil {
			return nil, err
		}
		var head *resultHead
		if json.Unmarshal(raw, &head) != nil || head == nil {
			return resultIn(method, raw) // odd, which need not be wrong
		}
		switch {
		case method == methodCall && (s.modern() && head.Type == "task" || task && head.Task != nil):
			if raw, err = s.follow(ctx, raw); err != nil {
				return nil, err
			}
			return resultIn(method, raw)
		case head.Type != "input_required":
			return &tool.Result{Raw: raw, IsError: method == methodCall && string(head.IsError) == "true"}, nil
		}
		requests, err := tool.SplitObject(orEmpty(head.Requests))
		if err != nil {
			return nil, &breach{what: "the input that it requires is not what the protocol says", cause: err}
		}
		more = nil
		if len(requests) > 0 {
			if inputs, waits, later = inputs+1, 0, firstLater; inputs > maxRounds {
				return nil, errRounds
			}
			responses, err := s.fulfil(ctx, requests)
			if err != nil {
				return nil, err
			}
			more = append(more, tool.Field{Key: "inputResponses", Value: responses})
		} else {
			if waits++; waits > maxLater {
				return nil, errLater
			}
			if err := s.sleep(ctx, later, nil); err != nil {
				return nil, err
			}
			later *= 2
		}
		if head.State != nil {
			more = append(more, tool.Field{Key: "requestState", Value: head.State})
		}
	}
}

// orEmpty returns an object, or an empty one where there is none.
func orEmpty(raw json.RawMessage) json.RawMessage {
	if raw == nil || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}

// fulfil answers what a server asks for before its own answer, in its order.
func (s *session) fulfil(ctx context.Context, requests []tool.Field) (json.RawMessage, error) {
	var responses []tool.Field
	for _, request := range requests {
		var r struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(request.Value, &r); err != nil {
			return nil, &breach{what: "the input that it requires is not what the protocol says", cause: err}
		}
		if r.Method == string(mcp.MethodSamplingCreateMessage) {
			return nil, errModel
		}
		response, refused := s.answer(errandOf(ctx), "", r.Method, r.Params)
		if refused != nil {
			return nil, &breach{what: fmt.Sprintf("it requires %s as input: %s", r.Method, refused.Message)}
		}
		responses = append(responses, tool.Field{Key: request.Key, Value: response})
	}
	return tool.JoinObject(responses), nil
}

// sleep waits for d, or until woken, or until the request or the connection ends.
func (s *session) sleep(ctx context.Context, d time.Duration, woken <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.crew.over:
		return errOver
	}
}
