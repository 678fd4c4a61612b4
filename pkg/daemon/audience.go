package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// sideFrame is a frame that the daemon sends to a client beside the answer.
type sideFrame struct {
	kind kind
	head any
	raws [][]byte
}

// maxSideFrames is how many side frames wait for a client that reads slowly. Beyond that only questions are kept.
const maxSideFrames = 256

func (f sideFrame) write(s *stream) { _ = s.writePacked(f.kind, f.head, f.raws...) } // the reader notices a lost client

// writeSideFrames writes side frames and beats until done is closed, then the side frames that are left.
func writeSideFrames(s *stream, frames <-chan sideFrame, done <-chan struct{}) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		select {
		case f := <-frames:
			f.write(s)
			continue
		case <-beat.C:
			_ = s.write(kindBeat)
			continue
		case <-done:
		}
		select {
		case f := <-frames:
			f.write(s)
		default:
			return
		}
	}
}

// remoteAudience is a tool.Audience in the daemon. It passes everything on to the client at the other end of the
// socket.
type remoteAudience struct {
	tool.Unable
	frames chan<- sideFrame
	gone   <-chan struct{} // closed when the request ends or its client gives it up

	mu   sync.Mutex
	last int
	open map[int]chan<- reply // by the question's id; each has room for one
}

func newRemoteAudience(frames chan<- sideFrame, gone <-chan struct{}) *remoteAudience {
	return &remoteAudience{frames: frames, gone: gone, open: make(map[int]chan<- reply)}
}

// send sends a side frame, unless too many wait: a client that does not read must not hold up the server.
func (a *remoteAudience) send(k kind, head any, raws ...[]byte) {
	select {
	case a.frames <- sideFrame{k, head, raws}:
	default:
	}
}

// observe is a host.Observer.
func (a *remoteAudience) observe(server, text string) {
	a.send(kindEvent, event{server, text})
}

// Progress implements [tool.Audience].
func (a *remoteAudience) Progress(p tool.Progress) {
	a.send(kindProgress, p)
}

// Message implements [tool.Audience].
func (a *remoteAudience) Message(m tool.Message) {
	data := m.Data
	m.Data = nil
	a.send(kindMessage, m, data)
}

// Elicit implements [tool.Audience]. A client that cancels, or is gone, gives its questions up.
func (a *remoteAudience) Elicit(ctx context.Context, q tool.Question) (tool.Reply, error) {
	id, answer := a.ask()
	defer a.forget(id)
	schema := q.Schema
	q.Schema = nil
	select {
	case a.frames <- sideFrame{kindQuestion, question{id, q}, [][]byte{schema}}:
	case <-ctx.Done():
		return tool.Reply{}, ctx.Err()
	case <-a.gone:
		return tool.Reply{}, errGone
	}
	select {
	case r := <-answer:
		if r.Failed != "" {
			return tool.Reply{}, errors.New(r.Failed)
		}
		return r.Reply, nil
	case <-ctx.Done():
		a.send(kindWithdrawal, id)
		return tool.Reply{}, ctx.Err()
	case <-a.gone:
		return tool.Reply{}, errGone
	}
}

// ask notes a question that is open.
func (a *remoteAudience) ask() (id int, answer <-chan reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	room := make(chan reply, 1)
	a.open[a.last] = room
	return a.last, room
}

func (a *remoteAudience) forget(id int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, id)
}

// handleReply passes a reply frame to the question that it answers. It drops one whose question was withdrawn. It
// reports whether the frame is a reply at all.
func (a *remoteAudience) handleReply(k kind, payload []byte) (ok bool) {
	var r reply
	if k != kindReply || unpack(payload, &r, &r.Content) != nil {
		return false
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
	audience tool.Audience // may be nil

	mu   sync.Mutex
	open map[int]context.CancelFunc // by the question's id
	wg   sync.WaitGroup             // questions that the audience answers now
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
		if err = unpack(payload, &p); err == nil {
			r.audience.Progress(p)
		}
	case kindMessage:
		var m tool.Message
		if err = unpack(payload, &m, &m.Data); err == nil {
			r.audience.Message(m)
		}
	case kindQuestion:
		var q question
		if err = unpack(payload, &q, &q.Schema); err == nil {
			r.ask(ctx, q)
		}
	case kindWithdrawal:
		var id int
		if err = unpack(payload, &id); err == nil {
			r.withdraw(id)
		}
	default:
		return false
	}
	return err == nil
}

// ask has the audience answer a question, in a goroutine that ends with ctx: frames are read on meanwhile.
func (r *sideReader) ask(ctx context.Context, q question) {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	r.open[q.ID] = cancel
	r.mu.Unlock()
	r.wg.Go(func() {
		defer cancel()
		answer, err := r.audience.Elicit(ctx, q.Question)
		if ctx.Err() != nil {
			return // the daemon has withdrawn the question, or hears that the request is given up
		}
		content := answer.Content
		answer.Content = nil
		head := reply{ID: q.ID, Reply: answer}
		if err != nil {
			head, content = reply{ID: q.ID, Failed: err.Error()}, nil
		}
		_ = r.stream.writePacked(kindReply, head, content) // the reader notices a lost daemon
	})
}

// withdraw ends a question that the audience still answers.
func (r *sideReader) withdraw(id int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel := r.open[id]; cancel != nil {
		cancel()
		delete(r.open, id)
	}
}
