package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// errGone is the cause of a request's end if its client is gone.
var errGone = errors.New("the client is gone")

// serve answers the one request of a connection. keep says that the stream stays open until the daemon has ended. A
// failure of the stream itself concerns only the client.
func (d *daemon) serve(ctx context.Context, s *stream) (keep bool) {
	if s.send(pack(kindGreeting, greeting{d.opt.Identity, os.Getpid(), d.endingFor()})) != nil {
		return false
	}
	var q query
	var args, environ json.RawMessage
	s.awaitLarge(queryPatience)
	k, payload, err := s.read()
	if err != nil || k != kindQuery || unpack(payload, &q, &args, &environ) != nil {
		return false
	}
	if head, _, _ := bytes.Cut(payload, []byte(separator)); !fits(head, args, environ) {
		return false
	}
	if len(environ) > 0 {
		q.Surroundings.Environ = strings.Split(string(environ), separator)
	}
	s.readWithin(0)
	switch {
	case q.Op == opStop || q.Op == opStopNow:
		d.askedToStop(s, q.Op == opStopNow)
		return true
	case q.Op == opStatus:
		_ = s.send(pack(kindAnswer, d.status()))
	case d.endingFor() > 0 || q.Identity != d.opt.Identity:
		_ = s.send(frame{kind: kindRefusal})
	case q.Op == opRefresh:
		if s.send(frame{kind: kindAnswer}) == nil { // otherwise the client does it in another way
			d.host.Refresh(ctx, q.Surroundings)
		}
	default:
		d.work(ctx, s, &q, args)
	}
	return false
}

// endingFor returns for how long the daemon has taken no requests. Zero means that it takes them.
func (d *daemon) endingFor() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending.IsZero() {
		return 0
	}
	return max(1, time.Since(d.ending))
}

// askedToStop begins the end of the daemon. The stream is closed after it.
func (d *daemon) askedToStop(s *stream, hurry bool) {
	d.mu.Lock()
	d.watchers = append(d.watchers, s)
	d.mu.Unlock()
	if hurry {
		d.hurry()
	} else {
		d.end("asked to make room for another version")
	}
}

// work does a request to a server and writes its answer. It ends early when the client cancels it or is gone.
func (d *daemon) work(ctx context.Context, s *stream, q *query, args json.RawMessage) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	frames, done := make(chan frame, maxSideFrames), make(chan struct{})
	client := newRemoteAudience(q.Can, frames, ctx.Done())
	var reader, writer sync.WaitGroup
	reader.Go(func() { readReplies(s, client, cancel) })   // ends when interrupt below makes reading fail
	writer.Go(func() { writeSideFrames(s, frames, done) }) // ends when done is closed
	opt := q.Options
	if q.Audience {
		opt.Audience = client
	}
	var last frame
	caller := d.host.Caller(q.Surroundings, client.observe)
	if q.Op == opWatch {
		last = failed(d.relayEvents(ctx, caller, q, frames, cancel))
	} else if a, err := q.do(ctx, caller, args, opt); err != nil {
		last = failed(err)
	} else {
		last = a.frame()
	}
	close(done)
	writer.Wait()
	_ = s.send(last)
	s.interrupt()
	reader.Wait()
}

// relayEvents sends the events of a server until its client goes away, is too slow, or the daemon ends. Meanwhile the
// connection does not count as a request: it keeps the daemon neither from ending nor from being idle.
func (d *daemon) relayEvents(
	ctx context.Context, caller *host.Caller, q *query, out chan<- frame, cancel func(error),
) error {
	d.addActive(-1)
	defer d.addActive(1)
	taken := make(chan struct{}) // the client waits for the answer before it takes events
	stop, err := caller.Watch(ctx, q.Server, q.Options, func(e tool.Event) {
		<-taken
		params := e.Params
		e.Params = nil
		select {
		case out <- pack(kindNotify, e, params):
		default: // the client connects again, and takes events for lost
			cancel(errGone)
		}
	})
	if err != nil {
		return err
	}
	out <- frame{kind: kindAnswer} // the first, so that there is room
	close(taken)
	<-ctx.Done()
	stop()
	return host.ErrEnding
}

// readReplies reads the replies of a request's client. It cancels the request when the client says so, is gone, or
// sends an unexpected frame.
func readReplies(s *stream, client *remoteAudience, cancel context.CancelCauseFunc) {
	for {
		k, payload, err := s.read()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return
		case err == nil && k == kindCancel:
			cancel(context.Canceled)
			return
		case err == nil && client.handleReply(k, payload):
		default:
			cancel(errGone)
			return
		}
	}
}
