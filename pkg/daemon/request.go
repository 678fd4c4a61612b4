package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// errGone is why a request ends whose client is there no more.
var errGone = errors.New("the client is gone")

// serve answers the one request of a connection. keep says that the stream stays open to the end
// of the daemon. What goes wrong with the stream itself concerns only the client.
func (d *server) serve(ctx context.Context, s *stream) (keep bool) {
	if s.writeJSON(kindGreeting, greeting{d.opt.Identity, os.Getpid(), d.endingFor()}) != nil {
		return false
	}
	s.limit(queryPatience)
	var q query
	if s.readJSON(kindQuery, &q) != nil {
		return false
	}
	var args json.RawMessage
	if q.Op == opCall {
		k, payload, err := s.read()
		if err != nil || k != kindArguments {
			return false
		}
		if len(payload) > 0 {
			args = payload
		}
	}
	s.limit(0)
	switch {
	case q.Op == opStop:
		d.askedToStop(s, q.Timeout > 0)
		return true
	case q.Op == opStatus:
		_ = s.writeJSON(kindReport, d.status())
	case d.endingFor() > 0:
		_ = s.write(kindRefusal)
	case q.Op == opCall || q.Op == opTools:
		d.work(ctx, s, &q, args)
	}
	return false
}

// endingFor returns for how long no requests have been taken; 0: they are.
func (d *server) endingFor() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending.IsZero() {
		return 0
	}
	return max(1, time.Since(d.ending))
}

// askedToStop begins the end. The stream is closed when it is over.
func (d *server) askedToStop(s *stream, hurry bool) {
	d.mu.Lock()
	d.watchers = append(d.watchers, s)
	d.mu.Unlock()
	if hurry {
		d.hurry.close()
	}
	d.leave.close()
}

// work does a call or a listing and writes its answer. It ends early when the client cancels it
// or is gone.
func (d *server) work(ctx context.Context, s *stream, q *query, args json.RawMessage) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { listenForEnd(s, cancel) }) // ends when reading is made to fail below
	wg.Go(func() { beat(s, done) })
	events := make(chan event, 256)
	var watch chan<- event
	if q.Events {
		watch = events
	}
	told := make(chan struct{})
	go func() { // ends when events is closed below
		defer close(told)
		for e := range events {
			_ = s.writeJSON(kindEvent, e) // of a client that is gone the reader learns
		}
	}()
	answer := d.do(ctx, q, args, watch)
	// Nobody sends any more: the hub let go of watch when the request ended.
	close(events)
	<-told
	close(done)
	answer(s)
	_ = s.conn.SetReadDeadline(time.Now())
	wg.Wait()
	cancel(nil)
}

// listenForEnd cancels the request when its client says so or is gone.
func listenForEnd(s *stream, cancel context.CancelCauseFunc) {
	k, _, err := s.read()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
	case err == nil && k == kindCancel:
		cancel(context.Canceled)
	default:
		cancel(errGone)
	}
}

// beat tells the client, until done is closed, that its request is being worked on.
func beat(s *stream, done <-chan struct{}) {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			_ = s.write(kindBeat)
		}
	}
}

// do does a call or a listing and returns what writes its answer.
func (d *server) do(ctx context.Context, q *query, args json.RawMessage, watch chan<- event) func(*stream) {
	wanted, entry, err := d.spec(q)
	switch {
	case err != nil:
		return failed(err)
	case entry.Lifecycle == config.Ephemeral:
		return func(s *stream) { _ = s.write(kindDecline) }
	}
	var answer func(*stream)
	err = d.hub.do(wanted, watch, func(c engine.Caller) error {
		if q.Op == opTools {
			l, err := c.List(ctx, q.Server, tool.CallOptions{})
			answer = func(s *stream) { _ = s.writeJSON(kindListing, packListing(l)) }
			return err
		}
		// Limits are no part of what a server is known by, so that they come with each request.
		limit := firstSet(q.Timeout, entry.CallTimeout, q.CallTimeout)
		res, err := c.Call(ctx, tool.Ref{Server: q.Server, Name: q.Tool}, args,
			tool.CallOptions{Timeout: limit, Repeatable: q.Repeatable, HeaderSchema: q.HeaderSchema})
		if err == nil {
			head := []byte{0}
			if res.IsError {
				head[0] = 1
			}
			answer = func(s *stream) { _ = s.write(kindResult, head, res.Raw) }
		}
		return err
	})
	switch {
	case errors.Is(err, errEnding):
		return func(s *stream) { _ = s.write(kindRefusal) }
	case err != nil:
		return failed(err)
	}
	return answer
}

// failed writes the whole fault.
func failed(err error) func(*stream) {
	f := fault.From(err)
	return func(s *stream) { _ = s.writeJSON(kindFailure, f) }
}
