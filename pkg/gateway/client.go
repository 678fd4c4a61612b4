package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Outlet takes messages for a client. Its methods may be called concurrently and do not wait for the client.
type Outlet interface {
	// Send takes a message that others follow. It reports false if the message is lost, since too much waits for the
	// client.
	Send(message []byte) bool
	// Tell takes news of a request, as Send does: a client that reads slowly may miss it.
	Tell(message []byte)
	// Answer takes the response to the request that the outlet was given with: its last message.
	Answer(response []byte)
	// Cancelled is Answer for a request that the client has cancelled: the response need not be sent.
	Cancelled(response []byte)
}

// Client is one client of the gateway: a connection, or a session. Its methods may be called concurrently.
type Client struct {
	gateway *Gateway
	id      string // that tells clients apart; of a session its ID
	who     Identity
	out     Outlet     // of messages that belong to no request; nil if it has no session
	active  *activeSet // of a session
	shared  record     // of a session
	own     ownServers
	wg      sync.WaitGroup // requests; Add only while mu is held and closed is false

	mu       sync.Mutex
	closed   bool
	revision string   // empty before initialize
	hears    notifier // of changes; nil before it wants to
	can      abilities
	level    int                           // the least level of log messages that it wants
	requests map[string]*request           // in flight, by id
	asked    map[string]chan<- mcp.Message // questions to the client, by id
	lastID   int64                         // of a question
	uris     map[string]bool               // that it is subscribed to
	missing  []string                      // that it is subscribed to at other replicas, and not here
	told     map[tool.Kind]string          // lists that the client has, as their digests
}

// abilities are what a client can do, as it says in initialize.
type abilities struct {
	Elicitation *json.RawMessage `json:"elicitation,omitempty"`
	Sampling    *json.RawMessage `json:"sampling,omitempty"`
	Roots       *json.RawMessage `json:"roots,omitempty"`
	// Extensions are those since MCP 2026-07-28.
	Extensions map[string]json.RawMessage `json:"extensions,omitempty"`
}

// followsTasks reports whether a call of the client may become a task without its asking (SEP-2663).
func (c *Client) followsTasks() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, follows := c.can.Extensions[tasksExtension]
	return follows
}

// short returns the same without what the gateway does not read.
func (a abilities) short() abilities {
	only := func(has *json.RawMessage, members ...string) *json.RawMessage {
		if has == nil {
			return nil
		}
		fields, _ := tool.SplitObject(*has) // another value has no members
		var kept []tool.Field
		for _, f := range fields {
			if slices.Contains(members, f.Key) {
				kept = append(kept, tool.Field{Key: f.Key, Value: json.RawMessage("{}")})
			}
		}
		object := json.RawMessage(tool.JoinObject(kept))
		return &object
	}
	s := abilities{Elicitation: only(a.Elicitation, "form", "url"), Sampling: only(a.Sampling), Roots: only(a.Roots)}
	if _, follows := a.Extensions[tasksExtension]; follows {
		s.Extensions = map[string]json.RawMessage{tasksExtension: json.RawMessage("{}")}
	}
	return s
}

// Identity says whose a client is, and what it asked to see.
type Identity struct {
	Principal Principal
	// Profile is what the client uses; "" for none.
	Profile string
	Expose  Exposure
}

// Equal reports whether clients of these identities may stand for one another.
func (i Identity) Equal(other Identity) bool {
	return i.Profile == other.Profile && i.Expose == other.Expose && i.Principal.Equal(other.Principal)
}

// Connect returns a client. Messages that belong to no request go to out; if that is nil, the client has no session. id
// tells it from the clients of all gateways. Whoever connects it closes it.
func (g *Gateway) Connect(id string, who Identity, out Outlet) *Client {
	return &Client{gateway: g, id: id, who: who, out: out,
		active: newActiveSet(), own: ownServers{watches: make(map[string]ownWatch)}, shared: sessionRecord(id),
		requests: make(map[string]*request), asked: make(map[string]chan<- mcp.Message),
		uris: make(map[string]bool), told: make(map[tool.Kind]string)}
}

// begin has the client told of changes, at out.
func (c *Client) begin(out notifier) {
	c.mu.Lock()
	c.hears = out
	c.mu.Unlock()
	c.gateway.mu.Lock()
	defer c.gateway.mu.Unlock()
	c.gateway.clients[c] = struct{}{}
}

// IsBusy reports whether a request of the client is in flight.
func (c *Client) IsBusy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.requests) > 0
}

// Close cancels what the client has in flight, and returns when all of it has ended. The servers that it has for itself
// stop then.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	for _, r := range c.requests {
		r.cancel(errGone)
	}
	c.mu.Unlock()
	c.wg.Wait() // a request may still enter the client among those that hear of changes
	c.gateway.mu.Lock()
	delete(c.gateway.clients, c)
	c.gateway.mu.Unlock()
	c.own.end()
	c.gateway.subscriptions.leave(c)
}

// hasEnded reports whether Close was called.
func (c *Client) hasEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Header returns a header of the request over HTTP that a message came with, "" if it has none.
type Header = func(name string) string

// Receive takes one message of the client and does not wait for what it asks for. Answers go to out. A request ends
// with ctx, or with the client. header is nil for a message that came without headers.
func (c *Client) Receive(ctx context.Context, m mcp.Message, header Header, out Outlet) {
	switch {
	case m.IsResponse():
		_ = c.TakeAnswer(ctx, m) // one that nothing waits for is dropped
	case m.IsRequest():
		c.begun(ctx, m, header, out)
	default:
		c.notified(m)
	}
}

// begun answers a request in a goroutine of its own.
func (c *Client) begun(ctx context.Context, m mcp.Message, header Header, out Outlet) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &request{client: c, message: m, header: header, out: out, cancel: cancel}
	c.mu.Lock()
	if c.closed || c.requests[string(m.ID)] != nil {
		c.mu.Unlock() // an outlet may look at the client
		cancel(nil)
		out.Answer(mcp.Answer(m.ID, nil, &tool.UpstreamError{Code: mcp.InvalidRequest,
			Message: fmt.Sprintf("a request with the id %s is being answered, or the session has ended", m.ID)}))
		return
	}
	defer c.mu.Unlock()
	c.requests[string(m.ID)] = r
	c.wg.Go(func() {
		defer cancel(nil)
		answer := r.answer(ctx)
		c.mu.Lock()
		delete(c.requests, string(m.ID))
		c.mu.Unlock()
		if errors.Is(context.Cause(ctx), errCancelled) {
			out.Cancelled(answer)
		} else {
			out.Answer(answer)
		}
	})
}

// errGone is the cause of requests whose client has gone.
var errGone = errors.New("the client has gone")

// errCancelled is the cause of requests that their client has cancelled.
var errCancelled = errors.New("the client has cancelled the request")

// errSlow is why a client is not asked that does not read what it is sent.
var errSlow = errors.New("the client cannot be asked, since it does not read its messages")

// notified takes a notification of the client.
func (c *Client) notified(m mcp.Message) {
	if m.Method != "notifications/cancelled" {
		return
	}
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	c.mu.Lock()
	r := c.requests[string(p.ID)]
	c.mu.Unlock()
	if r != nil && r.message.Method != "initialize" {
		r.cancel(errCancelled)
	}
}

// TakeAnswer takes the answer of the client to a question. The error says that another replica has asked, and does
// not get it. An answer that nothing waits for any more is dropped.
func (c *Client) TakeAnswer(ctx context.Context, m mcp.Message) *tool.UpstreamError {
	id := string(m.ID)
	c.mu.Lock()
	waiting := c.asked[id]
	delete(c.asked, id)
	c.mu.Unlock()
	if waiting != nil {
		waiting <- m // it has room
		return nil
	}
	home, _, is := strings.Cut(tool.Text(m.ID), "-")
	switch {
	case !is || home == c.gateway.replica:
		return nil
	case c.gateway.opt.Shared == nil:
		return errElsewhere()
	}
	answer := note{Kind: answerGiven, Session: c.id, Message: mcp.Answer(m.ID, m.Result, m.Error)}
	if err := c.gateway.tell(ctx, home, answer); err != nil {
		return unreachable(err)
	}
	return nil
}

// questionID returns the id of a question. Where replicas continue one another's sessions it names this one, since the
// answer may come to another, and its number may be that of a question from there.
func (c *Client) questionID(number int64) json.RawMessage {
	if len(c.gateway.opt.Keys) == 0 {
		return strconv.AppendInt(nil, number, 10)
	}
	return tool.Quote(fmt.Sprintf("%s-%d", c.gateway.replica, number))
}

// ask sends a request to the client and returns its answer, which it may take as long for as a call is suspended. If
// that or ctx ends first, the client hears of it.
func (c *Client) ask(ctx context.Context, out Outlet, method string, params json.RawMessage) (json.RawMessage, error) {
	ctx, end := context.WithTimeoutCause(ctx, Suspension, errLate)
	defer end()
	answer := make(chan mcp.Message, 1)
	c.mu.Lock()
	c.lastID++
	id := c.questionID(c.lastID)
	c.asked[string(id)] = answer
	c.mu.Unlock()
	forget := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asked, string(id))
	}
	if !out.Send(mcp.Request(id, method, params)) {
		forget()
		return nil, errSlow
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
	}
	forget()
	note, err := json.Marshal(map[string]any{"requestId": id, "reason": context.Cause(ctx).Error()})
	if err == nil { // it always encodes
		out.Send(mcp.Notification("notifications/cancelled", note))
	}
	return nil, context.Cause(ctx)
}

// concerns reports whether a server that the client sees has said that this list of it has changed.
func (c *Client) concerns(v *view, said map[news]bool, list string) bool {
	for n := range said {
		if n.list == list && (n.of == nil || n.of == c) && v.Shows(n.server) {
			return true
		}
	}
	return false
}

// tellChanged tells the client which of the lists that it has read differ now, or are said to have changed.
func (c *Client) tellChanged(ctx context.Context, gen *generation, said map[news]bool) {
	v, err := gen.viewOf(ctx, c)
	if err != nil {
		return // the next request of the client says so
	}
	c.mu.Lock()
	out := c.hears
	c.mu.Unlock()
	told := make(map[string]bool)
	for _, kind := range []tool.Kind{tool.Tool, tool.Resource, tool.Template, tool.Prompt} {
		c.mu.Lock()
		before, has := c.told[kind]
		c.mu.Unlock()
		if !has && !c.mayBeElsewhere() {
			continue
		}
		now, err := c.digest(ctx, v, kind)
		list := listOf(kind)
		announced := c.concerns(v, said, list) && (kind != tool.Tool || c.who.Expose == All)
		if err != nil || now == before && !announced {
			continue
		}
		c.mu.Lock()
		c.told[kind] = now
		c.mu.Unlock()
		if method := "notifications/" + list + "/list_changed"; !told[method] {
			told[method] = true
			out(method, nil)
		}
	}
}

// listOf returns the list, as notifications name it, that things of a kind stand in.
func listOf(kind tool.Kind) string {
	switch kind {
	case tool.Resource, tool.Template:
		return "resources"
	case tool.Prompt:
		return "prompts"
	}
	return "tools"
}

// notifier sends notifications to a client.
type notifier func(method string, params json.RawMessage)

// untagged returns the notifier of a session.
func untagged(out Outlet) notifier {
	return func(method string, params json.RawMessage) { out.Send(mcp.Notification(method, params)) }
}
