package conn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// holdLimit bounds the wait of a question until it is clear to which client it belongs.
	holdLimit = 10 * time.Second
	// personLimit bounds the wait of a call for one that waits for the answer of a person, who may have gone.
	personLimit = 10 * time.Second
)

var (
	// errWhose ends a question of a call that has left, or that may belong to several clients.
	errWhose = errors.New("mcpl cannot tell to which of several clients this request belongs")
	// errShared says that calls of several clients are in flight, errLeft that one of another client has left.
	errShared = fmt.Errorf("%w yet", errWhose)
	errLeft   = fmt.Errorf("%w, one of which is gone", errWhose)
	// errRetired ends a call that was not sent, since another session takes the place of its own.
	errRetired = errors.New("another process of the server is started")
	// errTurn ends a call that has waited too long for the calls of other clients.
	errTurn = errors.New("the calls of other clients did not end in time")
	// errPerson ends a call that has waited for one that waits for the answer of another client.
	errPerson = fmt.Errorf("%w: one of them waits for an answer", errTurn)
)

// router knows the calls of a session in flight and says to which of them a message of the server belongs.
//
// Over Streamable HTTP the stream says so; a progress token and a task's id do too. Over stdio, and in the other
// streams of HTTP, nothing does. Such a message belongs to the one call in flight, or to the one client whose calls
// are in flight. With calls of several clients the router never guesses: it holds a question until one client is
// left, since the call that asked is the one that does not end. A server that has once asked so gets the calls of
// different clients in turns.
//
// A server may go on with a call that was given up, and ask for it later (MCP 2025-11-25, cancellation: a receiver "MAY
// ignore" the notification). So a question that names no call goes to no other client after that.
type router struct {
	turns     atomic.Bool // the calls of different clients take turns
	questions sync.Map    // by the id of the server's request, as JSON: func() that gives the question up

	mu        sync.Mutex
	calls     []*call                    // in flight, oldest first
	queue     []*call                    // waiting for their turn, oldest first
	requests  map[string]*call           // by the id of a request to the server, as JSON; it is the progress token too
	data      map[string]json.RawMessage // of the errors that the server answered requests with, by their ids
	tasks     map[string]*call           // by the id of the task that a call became
	left      chan struct{}              // closed when a call leaves; nil if no goroutine waits for that
	abandoned int                        // calls that have left without an answer
	lost      []string                   // their clients; two stand for all, since no client is both
}

func newRouter() *router {
	return &router{requests: make(map[string]*call), data: make(map[string]json.RawMessage),
		tasks: make(map[string]*call)}
}

// enter adds a call in flight. A call that the server may ask something for waits for its turn, for at most limit; then
// enter fails with errTurn, and with the error of ctx if that ends first. If a call holds it up that waits for an
// answer, it fails with errPerson after personLimit.
func (r *router) enter(ctx context.Context, c *call, limit time.Duration) error {
	r.mu.Lock()
	if !c.askable || !r.turns.Load() || len(r.queue) == 0 && r.fits(c) {
		r.calls = append(r.calls, c)
		r.mu.Unlock()
		return nil
	}
	c.turn = make(chan struct{})
	r.queue = append(r.queue, c)
	r.mu.Unlock()
	began, end, look := time.Now(), time.After(limit), time.NewTicker(personLimit/10)
	defer look.Stop()
	for {
		err := errTurn
		select {
		case <-c.turn:
			return nil
		case <-look.C:
			if time.Since(began) < personLimit || !r.someoneThinks() {
				continue
			}
			err = errPerson
		case <-end:
		case <-ctx.Done():
			err = ctx.Err()
		}
		r.leave(c, true)
		return err
	}
}

// someoneThinks reports whether a call in flight has waited for the answer to a question for personLimit. A queue in
// which questions are answered soon goes on.
func (r *router) someoneThinks() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.calls, func(c *call) bool { return c.asked > 0 && time.Since(c.askedAt) >= personLimit })
}

// fits reports whether no call of another client is in flight. It needs mu.
func (r *router) fits(c *call) bool {
	return !slices.ContainsFunc(r.calls, func(other *call) bool { return other.askable && other.client != c.client })
}

// leave removes a call. If answered, the server has answered it or never had it, and open questions are not for it.
func (r *router) leave(c *call, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := func(other *call) bool { return other == c }
	r.calls, r.queue = slices.DeleteFunc(r.calls, is), slices.DeleteFunc(r.queue, is)
	mine := func(_ string, other *call) bool { return other == c }
	maps.DeleteFunc(r.requests, mine)
	maps.DeleteFunc(r.tasks, mine)
	maps.DeleteFunc(r.data, func(id string, _ json.RawMessage) bool { return r.requests[id] == nil })
	if c.askable && !answered {
		r.abandoned++
		if len(r.lost) < 2 && !slices.Contains(r.lost, c.client) {
			r.lost = append(r.lost, c.client)
		}
	}
	if r.left != nil {
		close(r.left)
		r.left = nil
	}
	for len(r.queue) > 0 && r.fits(r.queue[0]) {
		next := r.queue[0]
		r.calls, r.queue = append(r.calls, next), r.queue[1:]
		close(next.turn)
	}
}

// drain waits until no call is in flight, until ctx ends, or until closing is closed.
func (r *router) drain(ctx context.Context, closing <-chan struct{}) {
	for {
		r.mu.Lock()
		busy, left := len(r.calls) > 0, r.nextLeave()
		r.mu.Unlock()
		if !busy {
			return
		}
		select {
		case <-left:
		case <-ctx.Done():
			return
		case <-closing:
			return
		}
	}
}

// nextLeave returns a channel that is closed when the next call leaves. It needs mu.
func (r *router) nextLeave() <-chan struct{} {
	if r.left == nil {
		r.left = make(chan struct{})
	}
	return r.left
}

// expect notes that the request with that id belongs to c until c leaves.
func (r *router) expect(id int64, c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests[strconv.FormatInt(id, 10)] = c
}

// keepData keeps the data of the error that the request with that id was answered with, until its call leaves. It drops
// the data of a second answer, and of a request without a call.
func (r *router) keepData(id string, data json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.requests[id] != nil && r.data[id] == nil && data != nil {
		r.data[id] = data
	}
}

// dataOf returns what keepData keeps for the request with that id, or nil.
func (r *router) dataOf(id int64) json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.data[strconv.FormatInt(id, 10)]
}

// became notes that c became a task, until c leaves.
func (r *router) became(task string, c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tasks[task] = c
}

// about notes that the requests of the task that these params name, if they do, belong to c until c leaves.
func (r *router) about(params []tool.Field, c *call) {
	for _, p := range params {
		if id := tool.Text(p.Value); p.Key == "taskId" && id != "" {
			r.became(id, c)
		}
	}
}

// byRequest returns the call of the request with that id, or nil.
func (r *router) byRequest(id string) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests[id]
}

// owner returns the call that a message belongs to, which came in the stream of the request with that id ("" if it
// came in no request's stream). It returns nil if no call is in flight, or if that cannot be said.
func (r *router) owner(request string) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, _ := r.find(request, "")
	return c
}

// find returns the call that a message belongs to, nil if no call is in flight. It fails with errShared if the message
// may belong to several clients in flight, and with errWhose if it may belong to a call that has left. It needs mu.
func (r *router) find(request, task string) (c *call, err error) {
	if request != "" || task != "" {
		if c = cmp.Or(r.requests[request], r.tasks[task]); c == nil {
			err = errWhose
		}
		return c, err
	}
	for _, other := range r.calls {
		switch {
		case !other.askable:
		case c == nil:
			c = other
		case other.client != c.client:
			return nil, errShared
		case r.rank(other) > r.rank(c):
			c = other
		}
	}
	if c != nil && r.lostByOther(c.client) {
		return nil, errLeft
	}
	return c, nil
}

// lostByOther reports whether a call of another client has left without an answer. It needs mu.
func (r *router) lostByOther(client string) bool {
	return slices.ContainsFunc(r.lost, func(other string) bool { return other != client })
}

// spoiled reports whether the server must not serve c, the only call in flight: it asks questions that name no call,
// and may still ask one for the call of another client.
func (r *router) spoiled(c *call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.askable && r.turns.Load() && r.lostByOther(c.client) &&
		!slices.ContainsFunc(r.calls, func(other *call) bool { return other.askable && other != c })
}

// canSample reports whether some call in flight has an audience with a language model.
func (r *router) canSample() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.calls, func(c *call) bool { return c.audience != nil && c.audience.Can().Sample })
}

// rank orders a client's calls by how likely a question is for them: a call that has asked waits for its answer.
func (r *router) rank(c *call) int {
	switch {
	case c.audience == nil:
		return 0
	case c.asked > 0:
		return 1
	}
	return 2
}

// assign returns the call that a question belongs to, and counts it as asked until [router.replied]. It returns nil if
// there is no call. If calls of several clients are in flight it waits until those of one are left, for at most
// holdLimit. It fails with errWhose if that does not help, or if a call leaves without an answer meanwhile: the
// question may be that call's. shared is called the first time that the router cannot tell the client at once: from
// then on the calls of different clients take turns.
func (r *router) assign(ctx context.Context, request, task string, shared func()) (*call, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	abandoned, timeout := r.abandoned, time.After(holdLimit)
	for {
		c, err := r.find(request, task)
		switch {
		case r.abandoned != abandoned:
			return nil, errWhose
		case err == nil:
			r.ask(c)
			return c, nil
		case errors.Is(err, errLeft):
			r.noteShared(shared)
			return nil, errWhose
		case !errors.Is(err, errShared):
			return nil, err
		}
		if err := r.await(ctx, r.nextLeave(), timeout, shared); err != nil {
			return nil, err
		}
	}
}

// noteShared notes, outside mu, that the server asks questions of which nothing says whose they are.
func (r *router) noteShared(shared func()) {
	r.mu.Unlock()
	defer r.mu.Lock()
	if !r.turns.Swap(true) {
		shared()
	}
}

// await waits outside mu until a call has left.
func (r *router) await(ctx context.Context, left <-chan struct{}, timeout <-chan time.Time, shared func()) error {
	r.noteShared(shared)
	r.mu.Unlock()
	defer r.mu.Lock()
	select {
	case <-left:
		return nil
	case <-timeout:
		return errWhose
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask counts a question to c, which may be nil. It needs mu.
func (r *router) ask(c *call) {
	if c != nil {
		if c.asked++; c.asked == 1 {
			c.askedAt = time.Now()
		}
	}
}

// replied notes that a question to c, which may be nil, has ended.
func (r *router) replied(c *call) {
	if c != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		c.asked--
	}
}

// withdraw gives up the question with that id, if there is one.
func (r *router) withdraw(id string) {
	if giveUp, ok := r.questions.Load(id); ok {
		giveUp.(func())()
	}
}
