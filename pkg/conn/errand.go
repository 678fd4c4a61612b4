package conn

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// defaultMaxTime bounds a request that makes progress, unless its options do.
	defaultMaxTime = 10 * time.Minute
	// maxHeard is how many signs of progress and log messages may wait for an audience that is slow;
	// then the oldest are dropped.
	maxHeard = 256
)

// errand is a request of a caller while it runs: one or more requests to the server, what the
// server says meanwhile, and what it asks. The contexts of its requests carry it.
type errand struct {
	clock    *clock
	audience tool.Audience // nil: nobody listens
	// elicit asks the audience until the errand, or the session, ends; begun is told how to give the
	// question up.
	elicit func(q tool.Question, begun func(giveUp func())) (tool.Reply, error)

	asking sync.WaitGroup // questions
	told   chan struct{}  // closed when nothing more is told to the audience

	mu    sync.Mutex
	more  sync.Cond // of mu: heard or ended has changed
	heard []func(tool.Audience)
	ended bool
}

type errandKey struct{}

// errandOf returns the errand that a context belongs to, or nil.
func errandOf(ctx context.Context) *errand {
	e, _ := ctx.Value(errandKey{}).(*errand)
	return e
}

// begin starts an errand: limit begins anew with each sign of progress. The function it returns
// ends it, after which the audience is not called any more.
func (s *session) begin(ctx context.Context, limit time.Duration, opt tool.CallOptions) (context.Context, func()) {
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	e := &errand{audience: opt.Audience, told: make(chan struct{})}
	e.more.L = &e.mu
	ctx = context.WithValue(ctx, errandKey{}, e)
	e.elicit = func(q tool.Question, begun func(func())) (tool.Reply, error) {
		ctx, giveUp := context.WithCancel(ctx)
		defer giveUp()
		defer s.crew.after(giveUp)()
		begun(giveUp)
		return e.audience.Elicit(ctx, q)
	}
	e.clock = newClock(limit, maxTime(limit, opt.MaxTime), cancel)
	if e.audience == nil {
		close(e.told)
	} else {
		go e.tell()
	}
	s.desk.enter(e)
	return ctx, func() {
		s.desk.leave(e)
		e.clock.stop()
		givenUp := parent.Err() != nil
		cancel(nil)
		e.end(givenUp)
	}
}

// maxTime is how long a request may take in all.
func maxTime(limit, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	return max(limit, defaultMaxTime)
}

// tell hands what is heard to the audience, in order. It ends with the errand.
func (e *errand) tell() {
	defer close(e.told)
	for {
		e.mu.Lock()
		for len(e.heard) == 0 && !e.ended {
			e.more.Wait()
		}
		if len(e.heard) == 0 {
			e.mu.Unlock()
			return
		}
		say := e.heard[0]
		e.heard = e.heard[1:]
		e.mu.Unlock()
		say(e.audience)
	}
}

// hear puts something into the queue to the audience, if there is one.
func (e *errand) hear(say func(tool.Audience)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended || e.audience == nil {
		return
	}
	if len(e.heard) >= maxHeard {
		e.heard = slices.Delete(e.heard, 0, 1)
	}
	e.heard = append(e.heard, say)
	e.more.Signal()
}

// progress passes a sign of progress on and begins the limit anew.
func (e *errand) progress(p tool.Progress) {
	e.clock.renew()
	e.hear(func(a tool.Audience) { a.Progress(p) })
}

var (
	// errNobody says that there is nobody to ask.
	errNobody = errors.New("nobody is there to ask")
	// errOver is the error of what comes, or waits between two requests, when the errand or the
	// connection ends.
	errOver = errors.New("it has ended")
)

// ask puts a question to the audience, while the clock stands still. begun is told how to give it up.
func (e *errand) ask(q tool.Question, begun func(giveUp func())) (tool.Reply, error) {
	if e.audience == nil {
		return tool.Reply{}, errNobody
	}
	e.mu.Lock()
	if e.ended {
		e.mu.Unlock()
		return tool.Reply{}, errOver
	}
	e.asking.Add(1)
	e.clock.pause()
	e.mu.Unlock()
	defer e.asking.Done()
	defer e.clock.resume()
	return e.elicit(q, begun)
}

// end waits for the audience to have heard all, or what it hears just now where the errand was given up.
func (e *errand) end(givenUp bool) {
	e.mu.Lock()
	e.ended = true
	if givenUp {
		e.heard = nil
	}
	e.more.Signal()
	e.mu.Unlock()
	<-e.told
	e.asking.Wait()
}
