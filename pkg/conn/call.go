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
	// maxQueued bounds the signs of progress and log messages that wait for a slow audience; the oldest are dropped.
	maxQueued = 256
)

// call is one in-flight request of a caller. It routes progress, log messages and elicitation to its audience.
type call struct {
	clock    *clock
	audience tool.Audience // may be nil
	client   string        // that makes the call, see tool.CallOptions
	trace    tool.Trace    // the span that it belongs to
	askable  bool          // the server may ask something for it: it is not a listing
	turn     chan struct{} // closed when its turn comes; nil if it did not wait for one
	asked    int           // questions it is being asked; guarded by the router's mu
	askedAt  time.Time     // since when; guarded as asked is
	answered bool          // the server has answered, or was never asked

	cancel  context.CancelCauseFunc
	givenUp func() bool                       // the caller's context has ended
	after   func(f func()) (stop func() bool) // calls f when the call ends
	asking  sync.WaitGroup                    // questions
	told    chan struct{}                     // closed when the audience has been told everything

	mu    sync.Mutex
	more  sync.Cond // of mu: queue or ended has changed
	queue []func(tool.Audience)
	ended bool
}

// begin starts a call and waits for its turn. Each sign of progress restarts limit. The context it returns ends with
// the call; the caller has to call [session.end]. After an error there is no call.
func (s *session) begin(ctx context.Context, limit time.Duration, opt tool.CallOptions, askable bool) (
	context.Context, *call, error) {
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	c := &call{audience: opt.Audience, client: opt.Client, trace: opt.Trace, askable: askable,
		told: make(chan struct{}), cancel: cancel,
		givenUp: func() bool { return parent.Err() != nil },
		after:   func(f func()) func() bool { return context.AfterFunc(ctx, f) }}
	c.more.L = &c.mu
	c.clock = newClock(limit, maxTime(limit, opt.MaxTime), cancel)
	err := s.router.enter(ctx, c, limit)
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	if s.router.spoiled(c) {
		s.log("it may still ask something for a call of another client that was given up: another one is started")
		s.retired.Store(true)
	}
	if s.retired.Load() {
		err = errRetired
	} else if c.turn != nil && !s.alive() {
		err = errSessionEnded
	}
	if err != nil {
		s.router.leave(c, true)
		cancel(nil)
		return nil, nil, err
	}
	c.clock.start()
	if c.audience == nil {
		close(c.told)
	} else {
		go c.tell()
	}
	return ctx, c, nil
}

// end ends a call. The audience is not called any more.
func (s *session) end(c *call) {
	s.router.leave(c, c.answered)
	c.clock.pause()
	givenUp := c.givenUp()
	c.cancel(nil)
	c.end(givenUp)
}

// maxTime returns the limit of a request in all.
func maxTime(limit, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	return max(limit, defaultMaxTime)
}

// tell hands what is queued to the audience, in order. It ends with the call.
func (c *call) tell() {
	defer close(c.told)
	for {
		c.mu.Lock()
		for len(c.queue) == 0 && !c.ended {
			c.more.Wait()
		}
		if len(c.queue) == 0 {
			c.mu.Unlock()
			return
		}
		say := c.queue[0]
		c.queue = c.queue[1:]
		c.mu.Unlock()
		say(c.audience)
	}
}

// enqueue queues something for the audience, if there is one.
func (c *call) enqueue(say func(tool.Audience)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.audience == nil {
		return
	}
	if len(c.queue) >= maxQueued {
		c.queue = slices.Delete(c.queue, 0, 1)
	}
	c.queue = append(c.queue, say)
	c.more.Signal()
}

var (
	// errNoAudience is the error of a question in a call without an audience.
	errNoAudience = errors.New("the call has no audience")
	// errOver is the error of a question that comes, or waits, when the call or the connection ends.
	errOver = errors.New("it has ended")
)

// ask runs question with the audience while the clock stands still. The context of question ends with the call too.
func (c *call) ask(ctx context.Context, question func(context.Context, tool.Audience) error) error {
	if c.audience == nil {
		return errNoAudience
	}
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return errOver
	}
	c.asking.Add(1)
	c.clock.pause()
	c.mu.Unlock()
	defer c.asking.Done()
	defer c.clock.resume()
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	defer c.after(giveUp)()
	return question(ctx, c.audience)
}

// end waits until the audience has been told everything. If the call was given up, what is queued is dropped.
func (c *call) end(givenUp bool) {
	c.mu.Lock()
	c.ended = true
	if givenUp {
		c.queue = nil
	}
	c.more.Signal()
	c.mu.Unlock()
	<-c.told
	c.asking.Wait()
}
