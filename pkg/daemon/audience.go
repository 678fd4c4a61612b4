package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// note is something that the daemon tells a client beside the answer.
type note struct {
	kind kind
	body any // for JSON
}

// maxNotes is how many notes wait for a client that reads slowly. Of what is beyond that only
// questions are kept.
const maxNotes = 256

// tell writes notes, and that the request is being worked on, until done is closed; then the notes that
// are left. Of a client that is gone its reader learns.
func tell(s *stream, notes <-chan note, done <-chan struct{}) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		select {
		case n := <-notes:
			_ = s.writeJSON(n.kind, n.body)
			continue
		case <-beat.C:
			_ = s.write(kindBeat)
			continue
		case <-done:
		}
		select {
		case n := <-notes:
			_ = s.writeJSON(n.kind, n.body)
		default:
			return
		}
	}
}

// audience is the client of a request as its server meets it: a tool.Audience at the other end of
// the socket.
type audience struct {
	tool.Unable
	notes chan<- note
	gone  <-chan struct{} // closed when the request ends or is given up
	alive func()          // told of each sign of life of the server

	mu   sync.Mutex
	last int
	open map[int]chan<- reply // by the question's id; room for one
}

func newAudience(notes chan<- note, gone <-chan struct{}) *audience {
	return &audience{notes: notes, gone: gone, open: make(map[int]chan<- reply)}
}

// say tells the client, unless it does not read: that must not hold up the server.
func (a *audience) say(n note) {
	select {
	case a.notes <- n:
	default:
	}
}

// Progress implements [tool.Audience].
func (a *audience) Progress(p tool.Progress) {
	a.alive()
	a.say(note{kindProgress, p})
}

// Message implements [tool.Audience].
func (a *audience) Message(m tool.Message) {
	a.alive()
	a.say(note{kindMessage, message{m, m.Data}})
}

// Elicit implements [tool.Audience]. A client that cancels, or is gone, gives its questions up.
func (a *audience) Elicit(ctx context.Context, q tool.Question) (tool.Reply, error) {
	a.alive()
	defer a.alive()
	id, answer := a.ask()
	defer a.forget(id)
	select {
	case a.notes <- note{kindQuestion, question{id, q, q.Schema}}:
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
		return r.whole(), nil
	case <-ctx.Done():
		a.say(note{kindWithdrawal, id})
		return tool.Reply{}, ctx.Err()
	case <-a.gone:
		return tool.Reply{}, errGone
	}
}

// ask notes a question that is open.
func (a *audience) ask() (id int, answer <-chan reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	room := make(chan reply, 1)
	a.open[a.last] = room
	return a.last, room
}

func (a *audience) forget(id int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, id)
}

// answer hands a reply to whoever asked. One to a question that was withdrawn meanwhile is dropped.
func (a *audience) answer(r reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if room := a.open[r.ID]; room != nil {
		room <- r
		delete(a.open, r.ID)
	}
}

// listener is the other end of an [audience]: it has the frames of a request heard by whom the
// request is made for.
type listener struct {
	stream   *stream
	audience tool.Audience // nil: nobody listens

	mu   sync.Mutex
	open map[int]context.CancelFunc // by the question's id
	wg   sync.WaitGroup             // questions being asked
}

func newListener(s *stream, a tool.Audience) *listener {
	return &listener{stream: s, audience: a, open: make(map[int]context.CancelFunc)}
}

// hear takes one frame that is no answer. Questions are given up with ctx. ok is false where the
// frame does not belong here.
func (l *listener) hear(ctx context.Context, k kind, payload []byte) (ok bool) {
	if l.audience == nil {
		return false
	}
	var err error
	switch k {
	case kindProgress:
		var p tool.Progress
		if err = json.Unmarshal(payload, &p); err == nil {
			l.audience.Progress(p)
		}
	case kindMessage:
		var m message
		if err = json.Unmarshal(payload, &m); err == nil {
			l.audience.Message(m.whole())
		}
	case kindQuestion:
		var q question
		if err = json.Unmarshal(payload, &q); err == nil {
			l.ask(ctx, q)
		}
	case kindWithdrawal:
		var id int
		if err = json.Unmarshal(payload, &id); err == nil {
			l.withdraw(id)
		}
	default:
		return false
	}
	return err == nil
}

// ask has a question answered while frames are read on: others may come meanwhile.
func (l *listener) ask(ctx context.Context, q question) {
	ctx, cancel := context.WithCancel(ctx)
	l.mu.Lock()
	l.open[q.ID] = cancel
	l.mu.Unlock()
	l.wg.Go(func() { // ends with ctx
		defer cancel()
		answer, err := l.audience.Elicit(ctx, q.whole())
		if ctx.Err() != nil {
			return // the request, or the question, was given up, which the daemon is told or knows
		}
		r := reply{ID: q.ID, Reply: answer, Content: answer.Content}
		if err != nil {
			r = reply{ID: q.ID, Failed: err.Error()}
		}
		_ = l.stream.writeJSON(kindReply, r) // of a daemon that is gone the reader learns
	})
}

// withdraw ends a question, if it is still being asked.
func (l *listener) withdraw(id int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cancel := l.open[id]; cancel != nil {
		cancel()
		delete(l.open, id)
	}
}
