package daemon

import (
	"context"
	"errors"
	"time"

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
// lost. If this process makes the server's requests itself, or begins to, the events are those of its own server.
func (c *Client) Watch(ctx context.Context, server string, opt tool.CallOptions, tell func(tool.Event)) (
	stop func(), err error) {
	r := c.newRequest(query{Op: opWatch, Server: server, Options: opt}, nil, nil)
	s, _, err := c.ask(ctx, r)
	if errors.Is(err, host.ErrDeclined) {
		own, err := c.local()
		if err != nil {
			return nil, err
		}
		return own.Watch(ctx, server, opt, tell)
	}
	if err != nil {
		return nil, err
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
		case <-c.gaveUp:
			timer.Stop()
			c.watchHere(ctx, r, tell)
			return
		case <-timer.C:
		}
		var err error
		if s, _, err = c.hand(ctx, r); err == nil {
			tell(tool.Event{Server: r.query.Server})
		}
	}
}

// watchHere watches a server of this process until ctx ends.
func (c *Client) watchHere(ctx context.Context, r *clientRequest, tell func(tool.Event)) {
	own, err := c.local()
	if err != nil {
		return // it makes no requests then
	}
	stop, err := own.Watch(ctx, r.query.Server, r.query.Options, tell)
	if err != nil {
		c.logf("%s is not watched any more: %v", r.query.Server, err)
		return
	}
	tell(tool.Event{Server: r.query.Server})
	<-ctx.Done()
	stop()
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
