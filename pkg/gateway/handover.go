package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// lookAfter is how often a replica looks whether the one that it has handed a call over to is still there.
	lookAfter = 5 * time.Second
	// maxHanded bounds a message that is handed over, in bytes: Redis gives up a receiver when 32 MB wait for it.
	maxHanded = 8 << 20
)

// handed are the calls that were handed over: from here to another replica, and from others to this one.
type handed struct {
	mu      sync.Mutex
	cancels map[string]context.CancelCauseFunc // of those that run here
	replies map[string]*queue                  // to those that run elsewhere
}

func newHanded() *handed {
	return &handed{cancels: make(map[string]context.CancelCauseFunc), replies: make(map[string]*queue)}
}

// cancel cancels a call that runs here.
func (h *handed) cancel(call string) {
	h.mu.Lock()
	cancel := h.cancels[call]
	h.mu.Unlock()
	if cancel != nil {
		cancel(errGone)
	}
}

// reply takes a message of a call that runs elsewhere.
func (h *handed) reply(call string, message []byte) {
	h.mu.Lock()
	q := h.replies[call]
	h.mu.Unlock()
	if q != nil {
		q.Send(message)
	}
}

// parsed returns a message of the protocol. ok is false if it is none.
func parsed(raw []byte) (m mcp.Message, ok bool) {
	m, wrong := mcp.Parse(raw)
	return m, wrong == nil
}

// errElsewhere is the error of an answer that came to another replica than the one that waits for it.
func errElsewhere() *tool.UpstreamError {
	return &tool.UpstreamError{Code: mcp.InvalidParams, Message: "another replica of this gateway waits for this " +
		"answer: have the balancer send each client to one replica, or give the replicas a Redis (MCPL_REDIS_URL)"}
}

// errEnded is the error of an answer whose replica is not there any more.
func errEnded() *tool.UpstreamError {
	return &tool.UpstreamError{Code: mcp.InvalidParams,
		Message: "the replica of this gateway that waited for this answer has ended: make the call again"}
}

// unreachable returns the error of an answer that could not be handed over.
func unreachable(err error) *tool.UpstreamError {
	if errors.Is(err, errNoReplica) {
		return errEnded()
	}
	return &tool.UpstreamError{Code: mcp.InternalError, Message: "another replica of this gateway waits for this " +
		"answer, and cannot be reached now: send it again, or make the call again"}
}

// handOver has another replica answer the request, and passes on what it says.
func (r *request) handOver(ctx context.Context, home string) (json.RawMessage, error) {
	g := r.client.gateway
	if g.opt.Shared == nil {
		return nil, errElsewhere()
	}
	call := note{Kind: callMade, Call: rand.Text(), Who: &r.client.who,
		Message: mcp.Request(r.message.ID, r.message.Method, r.message.Params)}
	if len(call.Message) > maxHanded {
		return nil, errElsewhere()
	}
	replies := newQueue()
	g.handed.mu.Lock()
	g.handed.replies[call.Call] = replies
	g.handed.mu.Unlock()
	var reading sync.WaitGroup
	heard := make(chan mcp.Message, 1)
	reading.Go(func() { _ = replies.write(passOn(r.out, heard)) }) // it fails with the response
	defer func() {
		g.handed.mu.Lock()
		delete(g.handed.replies, call.Call)
		g.handed.mu.Unlock()
		replies.end()
		reading.Wait()
	}()
	if err := g.tell(ctx, home, call); err != nil {
		return nil, unreachable(err)
	}
	look := time.NewTicker(lookAfter)
	defer look.Stop()
	for {
		select {
		case m := <-heard:
			if m.Error != nil {
				return nil, m.Error
			}
			return m.Result, nil
		case <-look.C:
			if err := g.tell(ctx, home, note{Kind: areYouThere}); err != nil && ctx.Err() == nil {
				return nil, unreachable(err)
			}
		case <-ctx.Done():
			_ = g.tell(context.WithoutCancel(ctx), home, note{Kind: callCancelled, Call: call.Call}) // it ends some time
			return nil, context.Cause(ctx)
		}
	}
}

// eachMessage is a writer of messages, a line each.
type eachMessage func(message []byte) error

// Write implements [io.Writer] for one line.
func (f eachMessage) Write(line []byte) (int, error) {
	return len(line), f(bytes.TrimSuffix(line, []byte("\n")))
}

// errLast ends the writing with the response.
var errLast = errors.New("that was the response")

// passOn writes messages of a call that runs elsewhere to the client, and its response to a channel with room for one.
func passOn(out Outlet, response chan<- mcp.Message) eachMessage {
	return func(message []byte) error {
		m, ok := parsed(message)
		switch {
		case !ok:
		case m.IsResponse():
			response <- m
			return errLast
		default:
			out.Send(message)
		}
		return nil
	}
}

// answerFor answers a request that another replica has handed over.
func (g *Gateway) answerFor(ctx context.Context, n note) {
	m, ok := parsed(n.Message)
	if !ok || !m.IsRequest() || n.Who == nil {
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g.handed.mu.Lock()
	g.handed.cancels[n.Call] = cancel
	g.handed.mu.Unlock()
	defer func() {
		g.handed.mu.Lock()
		defer g.handed.mu.Unlock()
		delete(g.handed.cancels, n.Call)
	}()
	replies := newQueue()
	var writing sync.WaitGroup
	writing.Go(func() {
		if err := replies.write(g.handBack(context.WithoutCancel(ctx), n)); err != nil {
			cancel(err) // no one waits for it
		}
	})
	defer writing.Wait()
	defer replies.end()
	c := g.Connect(rand.Text(), *n.Who, nil)
	defer c.Close()
	if wrong := c.Introduce(m); wrong != nil {
		replies.Answer(mcp.Answer(m.ID, nil, wrong))
		return
	}
	c.Receive(ctx, m, nil, replies)
	c.wg.Wait()
}

// handBack writes the messages of a call to the replica that has handed it over.
func (g *Gateway) handBack(ctx context.Context, call note) eachMessage {
	return func(message []byte) error {
		if m, ok := parsed(message); ok && len(message) > maxHanded && m.IsResponse() {
			message = mcp.Answer(m.ID, nil, &tool.UpstreamError{Code: mcp.InternalError,
				Message: "the result is too large to be handed from one replica of this gateway to another: make the call again"})
		}
		return g.tell(ctx, call.From, note{Kind: callReply, Call: call.Call, Message: message})
	}
}
