package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// minRewatch is how long a watch waits before it connects again, twice as long after each failure up to maxRewatch.
	minRewatch = 50 * time.Millisecond
	maxRewatch = time.Minute
)

// Watch calls tell with the events of a server in the daemon. If the daemon ends, or this client is too slow, the
// watch connects again, to a new daemon if need be, and tells with an event without a method that others may have been
// lost. If this process makes the server's requests itself, the events are those of its own server.
func (c *Client) Watch(ctx context.Context, server string, tell func(tool.Event)) (stop func(), err error) {
	watchOwn := func() (func(), error) {
		own, err := c.local()
		if err != nil {
			return nil, err
		}
		return own.Watch(ctx, server, tell)
	}
	if !c.eligible(server) {
		return watchOwn()
	}
	r := c.newRequest(query{Op: opWatch, Server: server}, nil, nil)
	s, err := c.openWatch(ctx, r)
	var own *fault.Fault
	switch {
	case errors.As(err, &own):
		return nil, err
	case err != nil:
		if !errors.Is(err, host.ErrDeclined) {
			c.givenUp.Store(true)
		}
		return watchOwn()
	}
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	c.watched[s] = cancel
	c.mu.Unlock()
	c.watches.Go(func() { // ends with ctx
		c.keepWatching(ctx, r, s, tell)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watched, s)
	})
	return cancel, nil
}

// openWatch hands a watch to the daemon and returns once the daemon has taken it on. Errors are the faults of the
// daemon's host, host.ErrDeclined, or say why no daemon can be had.
func (c *Client) openWatch(ctx context.Context, r *clientRequest) (*stream, error) {
	for range 2 { // a daemon that ends refuses; the second one is then a new one
		s, err := c.connect(ctx, r.frames())
		if err != nil {
			return nil, err
		}
		if err = r.wait(ctx, s, kindTaken, nil); err == nil {
			return s, nil
		}
		s.close()
		if !errors.Is(err, host.ErrEnding) {
			return nil, err
		}
	}
	return nil, host.ErrEnding
}

// keepWatching reads events until ctx ends. A connection that breaks off is made again.
func (c *Client) keepWatching(ctx context.Context, r *clientRequest, s *stream, tell func(tool.Event)) {
	for wait := minRewatch; ; wait = min(2*wait, maxRewatch) {
		if s != nil {
			if readEvents(ctx, s, tell) {
				wait = minRewatch
			}
			s.close()
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		var err error
		if s, err = c.openWatch(ctx, r); err != nil {
			s = nil
			continue
		}
		tell(tool.Event{Server: r.query.Server})
	}
}

// readEvents reads events until the connection breaks off or ctx ends. It reports whether an event came.
func readEvents(ctx context.Context, s *stream, tell func(tool.Event)) (some bool) {
	defer context.AfterFunc(ctx, s.interrupt)()
	for {
		s.readWithin(silence)
		if ctx.Err() != nil {
			return some
		}
		k, payload, err := s.read()
		if err != nil || ctx.Err() != nil {
			return some
		}
		switch k {
		case kindBeat:
		case kindNotify:
			var e tool.Event
			if unpack(payload, &e, &e.Params) != nil {
				return some
			}
			some = true
			tell(e)
		default:
			return some
		}
	}
}
