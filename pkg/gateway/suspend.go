package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// Suspension is how long a call waits for the answer of its client to a question.
	Suspension = 10 * time.Minute
	// maxSuspended bounds the calls that wait, and maxOwnSuspended those of one owner.
	maxSuspended    = 1000
	maxOwnSuspended = 100
)

// statePurpose is the purpose of what a client keeps sealed in a requestState: no other owner can bring it back.
func (c *Client) statePurpose() string { return "requestState of " + c.who.Principal.key() }

// state is what a requestState of the gateway holds: a call that waits here, or a server's own state.
type state struct {
	Call   string          `json:"call,omitempty"`
	Home   string          `json:"home,omitempty"`   // the replica that the call waits at
	Target string          `json:"target,omitempty"` // of the call
	Server string          `json:"server,omitempty"`
	State  json.RawMessage `json:"state,omitempty"`
}

// suspended is a call whose server asks something in the middle of it, though its client can be asked only by a result
// (MCP 2026-07-28, multi round-trip requests): it goes on while the client fetches the answer.
type suspended struct {
	cancel    context.CancelCauseFunc
	questions chan question
	done      chan outcome // has room for one

	mu      sync.Mutex
	request *request // the latest of the client; the first one is the audience
}

// question is one question of a server.
type question struct {
	method string
	params json.RawMessage
	answer chan json.RawMessage // has room for one
}

// outcome is how a call ended.
type outcome struct {
	result json.RawMessage
	err    error
}

// suspendable makes a call of a client that can be asked only by a result: from its beginning, or from where it waits.
func (r *request) suspendable(ctx context.Context) (json.RawMessage, error) {
	var p struct {
		State     *string                    `json:"requestState"`
		Responses map[string]json.RawMessage `json:"inputResponses"`
	}
	if err := r.params(&p); err != nil {
		return nil, err
	}
	g := r.client.gateway
	var kept state
	if p.State != nil {
		if err := g.sealer.open(r.client.statePurpose(), *p.State, &kept); err != nil {
			return nil, &tool.UpstreamError{Code: mcp.InvalidParams, Message: "the requestState is not valid: " + err.Error()}
		}
		r.state = kept
	}
	if kept.Call == "" {
		return r.start(ctx)
	}
	if kept.Target != r.target() {
		return nil, &tool.UpstreamError{Code: mcp.InvalidParams, Message: "the requestState is that of another call"}
	}
	if kept.Home != g.replica {
		return r.handOver(ctx, kept.Home)
	}
	s, asked := g.resume(kept.Call)
	answer := p.Responses[theQuestion]
	switch _, err := tool.SplitObject(answer); {
	case s == nil:
		return nil, &tool.UpstreamError{Code: mcp.InvalidParams, Message: "the call that waited for this has ended"}
	case err != nil: // asked once more
		return r.ask(s, asked)
	}
	s.mu.Lock()
	s.request = r
	s.mu.Unlock()
	asked.answer <- answer
	return r.await(ctx, s)
}

// target returns what the request calls: its method, and what it names.
func (r *request) target() string {
	var p struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	_ = r.params(&p) // its method says no more about it then
	return r.message.Method + " " + p.Name + " " + p.URI
}

// start makes the call in a goroutine that outlasts this request if the server asks something.
func (r *request) start(ctx context.Context) (json.RawMessage, error) {
	calling, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	s := &suspended{cancel: cancel, questions: make(chan question), done: make(chan outcome, 1), request: r}
	call := *r // the request itself ends with its answer, the call may not
	call.suspended = s
	r.gen.enter()
	r.client.gateway.calls.Go(func() {
		defer cancel(nil)
		result, err := call.handle(calling)
		s.done <- outcome{result, errors.Join(err, call.gen.leave())}
	})
	return r.await(ctx, s)
}

// await waits for the end of a call, or for a question, with which the request is answered.
func (r *request) await(ctx context.Context, s *suspended) (json.RawMessage, error) {
	select {
	case o := <-s.done:
		return o.result, o.err
	case q := <-s.questions:
		return r.ask(s, q)
	case <-ctx.Done(): // a lost connection is a cancellation in this revision
		s.cancel(context.Cause(ctx))
		o := <-s.done
		return o.result, o.err
	}
}

// theQuestion names the question in the input that is required: there is one at a time.
const theQuestion = "question"

// ask answers the request with a question.
func (r *request) ask(s *suspended, q question) (json.RawMessage, error) {
	g := r.client.gateway
	id, err := g.suspend(r.client.who.Principal, s, q)
	if err != nil {
		s.cancel(err)
		return nil, err
	}
	sealed, err := g.sealer.seal(r.client.statePurpose(), state{Call: id, Home: g.replica, Target: r.target()}, Suspension)
	if err != nil {
		return nil, err
	}
	asked := []tool.Field{{Key: "method", Value: tool.Quote(q.method)}}
	if q.params != nil {
		asked = append(asked, tool.Field{Key: "params", Value: q.params})
	}
	return tool.JoinObject([]tool.Field{
		{Key: "resultType", Value: json.RawMessage(`"input_required"`)},
		{Key: "inputRequests", Value: tool.JoinObject([]tool.Field{{Key: theQuestion, Value: tool.JoinObject(asked)}})},
		{Key: "requestState", Value: tool.Quote(sealed)},
	}), nil
}

// waiting is a call that waits for an answer.
type waiting struct {
	*suspended
	owner Principal
	asked question
	timer *time.Timer
}

// errLate is the cause of calls whose client did not answer a question.
var errLate = fmt.Errorf("the server's question was not answered: no answer came within %s", Suspension)

// suspend keeps a call until its client comes back.
func (g *Gateway) suspend(owner Principal, s *suspended, q question) (id string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := 0
	for _, w := range g.suspended {
		if w.owner.identity() == owner.identity() {
			own++
		}
	}
	if own >= maxOwnSuspended || len(g.suspended) >= maxSuspended {
		return "", fmt.Errorf("too many calls wait for answers: answer those that wait, or let them end, which takes %s",
			Suspension)
	}
	id = rand.Text()
	g.suspended[id] = waiting{s, owner, q, time.AfterFunc(Suspension, func() {
		if late, _ := g.resume(id); late != nil {
			late.cancel(errLate)
		}
	})}
	return id, nil
}

// resume returns a call that waits, once, and what it was asked.
func (g *Gateway) resume(id string) (*suspended, question) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w, ok := g.suspended[id]
	if !ok {
		return nil, question{}
	}
	w.timer.Stop()
	delete(g.suspended, id)
	return w.suspended, w.asked
}

// Waiting returns the principals whose calls wait for answers that their clients come back with.
func (g *Gateway) Waiting() []Principal {
	g.mu.Lock()
	defer g.mu.Unlock()
	owners := make(map[string]Principal)
	for _, w := range g.suspended {
		owners[w.owner.key()] = w.owner
	}
	return slices.Collect(maps.Values(owners))
}

// EndWaiting cancels the calls of a principal that wait for answers.
func (g *Gateway) EndWaiting(owner Principal, cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, w := range g.suspended {
		if w.owner.Equal(owner) {
			w.timer.Stop()
			w.cancel(cause)
			delete(g.suspended, id)
		}
	}
}

// askBack asks the client by the result of its request, and waits until it comes back with the answer.
func (s *suspended) askBack(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	q := question{method, params, make(chan json.RawMessage, 1)}
	select {
	case s.questions <- q:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// current returns the request that the client waits for now.
func (s *suspended) current() *request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.request
}
