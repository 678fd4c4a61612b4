package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// maxSideFrames is how many side frames, those beside the answer, wait for a client that reads slowly. Beyond that only
// questions are kept.
const maxSideFrames = 256

// writeSideFrames writes side frames and beats until done is closed, then the side frames that are left. If the client
// is lost, the reader of its replies notices.
func writeSideFrames(s *stream, frames <-chan frame, done <-chan struct{}) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		select {
		case f := <-frames:
			_ = s.send(f)
			continue
		case <-beat.C:
			_ = s.send(frame{kind: kindBeat})
			continue
		case <-done:
		}
		select {
		case f := <-frames:
			_ = s.send(f)
		default:
			return
		}
	}
}

// remoteAudience is a tool.Audience in the daemon. It passes everything on to the client at the other end of the
// socket.
type remoteAudience struct {
	can    tool.Capabilities
	frames chan<- frame
	gone   <-chan struct{} // closed when the request ends or its client gives it up

	mu   sync.Mutex
	last int
	open map[int]chan<- reply // by the id of a question without a reply; each has room for one
}

func newRemoteAudience(can tool.Capabilities, frames chan<- frame, gone <-chan struct{}) *remoteAudience {
	return &remoteAudience{can: can, frames: frames, gone: gone, open: make(map[int]chan<- reply)}
}

// send sends a side frame, unless too many wait: a client that does not read must not hold up the server.
func (a *remoteAudience) send(f frame) {
	select {
	case a.frames <- f:
	default:
	}
}

// observe is a host.Observer.
func (a *remoteAudience) observe(server, text string) {
	a.send(pack(kindEvent, event{server, text}))
}

// Can implements [tool.Audience].
func (a *remoteAudience) Can() tool.Capabilities { return a.can }

// Progress implements [tool.Audience].
func (a *remoteAudience) Progress(p tool.Progress) {
	a.send(pack(kindProgress, p, p.Raw))
}

// Message implements [tool.Audience].
func (a *remoteAudience) Message(m tool.Message) {
	data := m.Data
	m.Data = nil
	a.send(pack(kindMessage, m, data, m.Raw))
}

// Elicit implements [tool.Audience]. A client that cancels, or is gone, gives its questions up.
func (a *remoteAudience) Elicit(ctx context.Context, q tool.Question) (tool.Reply, error) {
	return a.put(ctx, askElicit, q)
}

// Sample implements [tool.Audience].
func (a *remoteAudience) Sample(ctx context.Context, s tool.Sampling) (json.RawMessage, error) {
	r, err := a.put(ctx, askSample, tool.Question{Server: s.Server, Raw: s.Raw})
	return r.Content, err
}

// Roots implements [tool.Audience].
func (a *remoteAudience) Roots(ctx context.Context) (json.RawMessage, error) {
	r, err := a.put(ctx, askRoots, tool.Question{})
	return r.Content, err
}

// put asks the client something and waits for its reply.
func (a *remoteAudience) put(ctx context.Context, what string, q tool.Question) (tool.Reply, error) {
	answer := make(chan reply, 1)
	a.mu.Lock()
	a.last++
	id := a.last
	a.open[id] = answer
	a.mu.Unlock()
	schema := q.Schema
	q.Schema = nil
	select {
	case a.frames <- pack(kindQuestion, question{id, what, q}, schema, q.Raw):
	case <-ctx.Done():
		return tool.Reply{}, ctx.Err()
	case <-a.gone:
		return tool.Reply{}, errGone
	}
	select {
	case r := <-answer:
		switch {
		case r.Upstream != nil:
			return tool.Reply{}, r.Upstream
		case r.Failed != "":
			return tool.Reply{}, errors.New(r.Failed)
		}
		return r.Reply, nil
	case <-ctx.Done():
		a.send(pack(kindWithdrawal, id))
		return tool.Reply{}, ctx.Err()
	case <-a.gone:
		return tool.Reply{}, errGone
	}
}

// handleReply passes a reply frame to the question that it answers. It drops one whose question was withdrawn. It
// reports whether the frame is a reply at all.
func (a *remoteAudience) handleReply(k kind, payload []byte) (ok bool) {
	var r reply
	var data json.RawMessage
	if k != kindReply || unpack(payload, &r, &r.Content, &data) != nil {
		return false
	}
	if r.Upstream != nil {
		r.Upstream.Data = data
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if room := a.open[r.ID]; room != nil {
		room <- r
		delete(a.open, r.ID)
	}
	return true
}

// sideReader is the client's end of a [remoteAudience]: it passes side frames to the audience of a request.
type sideReader struct {
	stream   *stream
	audience tool.Audience              // may be nil
	open     map[int]context.CancelFunc // by the question's id; the reader of the frames uses it
	wg       sync.WaitGroup             // questions that the audience answers now
}

func newSideReader(s *stream, a tool.Audience) *sideReader {
	return &sideReader{stream: s, audience: a, open: make(map[int]context.CancelFunc)}
}

// handleFrame handles one side frame. When ctx ends, its questions are given up. It reports whether the frame belongs
// here.
func (r *sideReader) handleFrame(ctx context.Context, k kind, payload []byte) (ok bool) {
	if r.audience == nil {
		return false
	}
	var err error
	switch k {
	case kindProgress:
		var p tool.Progress
		if err = unpack(payload, &p, &p.Raw); err == nil {
			r.audience.Progress(p)
		}
	case kindMessage:
		var m tool.Message
		if err = unpack(payload, &m, &m.Data, &m.Raw); err == nil {
			r.audience.Message(m)
		}
	case kindQuestion:
		var q question
		if err = unpack(payload, &q, &q.Schema, &q.Raw); err == nil {
			r.ask(ctx, q)
		}
	case kindWithdrawal:
		var id int
		err = unpack(payload, &id)
		if cancel := r.open[id]; cancel != nil {
			cancel()
		}
	default:
		return false
	}
	return err == nil
}

// ask has the audience answer a question, in a goroutine that ends with ctx: frames are read on meanwhile.
func (r *sideReader) ask(ctx context.Context, q question) {
	ctx, cancel := context.WithCancel(ctx)
	r.open[q.ID] = cancel
	r.wg.Go(func() {
		defer cancel()
		head, content, err := r.answer(ctx, q)
		if ctx.Err() != nil {
			return // the daemon has withdrawn the question, or hears that the request is given up
		}
		var data json.RawMessage
		if own := new(tool.UpstreamError); errors.As(err, &own) {
			data = own.Data
			head = reply{Upstream: &tool.UpstreamError{Code: own.Code, Message: own.Message}}
		} else if err != nil {
			head, content = reply{Failed: err.Error()}, nil
		}
		head.ID = q.ID
		_ = r.stream.send(pack(kindReply, head, content, data)) // the reader notices a lost daemon
	})
}

// answer has the audience answer a question. content is a raw text beside the reply.
func (r *sideReader) answer(ctx context.Context, q question) (head reply, content json.RawMessage, err error) {
	switch q.Ask {
	case askSample:
		content, err = r.audience.Sample(ctx, tool.Sampling{Server: q.Server, Raw: q.Raw})
	case askRoots:
		content, err = r.audience.Roots(ctx)
	default:
		head.Reply, err = r.audience.Elicit(ctx, q.Question)
		content, head.Content = head.Content, nil
	}
	return head, content, err
}
