package conn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errTimeout is the cause of a context that one of our limits has ended.
var errTimeout = errors.New("timed out")

// errMaxTime is errTimeout for a request that has reached the limit of its time in all.
var errMaxTime = fmt.Errorf("%w in all", errTimeout)

// clock ends a request after limit without a sign of progress, or after most in all. It stands still while a person is
// asked.
type clock struct {
	limit time.Duration
	end   context.CancelCauseFunc

	mu      sync.Mutex
	silence *time.Timer
	due     time.Time // when silence ends the request
	most    *time.Timer
	left    time.Duration // of most, when it last began to run
	since   time.Time     // when that was
	pauses  int           // questions being answered; one more before start and after the end
	renewed bool          // there was progress
}

// newClock returns a clock that ends a request by calling end. It stands still until [clock.start].
func newClock(limit, most time.Duration, end context.CancelCauseFunc) *clock {
	return &clock{limit: limit, end: end, left: most, pauses: 1}
}

// start starts the clock, once. The caller has to pause it at the end.
func (c *clock) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses--; c.pauses == 0 {
		c.run()
	}
}

// run starts both limits. The caller holds mu.
func (c *clock) run() {
	c.since = time.Now()
	c.due = c.since.Add(c.limit)
	c.silence = time.AfterFunc(c.limit, c.silent)
	c.most = time.AfterFunc(c.left, c.over)
}

// silent ends the request, unless progress came just before.
func (c *clock) silent() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses > 0 || time.Now().Before(c.due) {
		return
	}
	c.end(errTimeout)
}

// over ends the request, whatever its progress.
func (c *clock) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.pauses > 0:
	case c.renewed || c.left < c.limit:
		c.end(errMaxTime)
	default:
		c.end(errTimeout)
	}
}

// renew restarts limit: the request has made progress.
func (c *clock) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses == 0 && c.silence.Stop() {
		c.renewed = true
		c.due = time.Now().Add(c.limit)
		c.silence.Reset(c.limit)
	}
}

// pause stops the clock until resume was called as often: for good if it is not.
func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses++; c.pauses > 1 {
		return
	}
	c.silence.Stop()
	if c.most.Stop() {
		c.left -= time.Since(c.since)
	}
}

// resume undoes a pause and restarts limit.
func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses--; c.pauses == 0 {
		c.renewed = true
		c.run()
	}
}
