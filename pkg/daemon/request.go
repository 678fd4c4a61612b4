package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// errGone is the cause of a request's end if its client is gone.
var errGone = errors.New("the client is gone")

// serve answers the one request of a connection. keep says that the stream stays open until the daemon has ended. A
// failure of the stream itself concerns only the client.
func (d *daemon) serve(ctx context.Context, s *stream) (keep bool) {
	if s.writeJSON(kindGreeting, greeting{d.opt.Identity, os.Getpid(), d.endingFor()}) != nil {
		return false
	}
	s.readWithin(queryPatience)
	q, args, err := readQuery(s)
	if err != nil {
		return false
	}
	s.readWithin(0)
	switch {
	case q.Op == opStop || q.Op == opStopNow:
		d.askedToStop(s, q.Op == opStopNow)
		return true
	case q.Op == opStatus:
		_ = s.writeJSON(kindReport, d.status())
	case d.endingFor() > 0 || q.Identity != d.opt.Identity:
		_ = s.write(kindRefusal)
	case q.Op == opRefresh:
		if s.write(kindTaken) == nil { // otherwise the client does it in another way
			d.host.Refresh(ctx, q.Surroundings)
		}
	case q.onServers():
		d.work(ctx, s, &q, args)
	}
	return false
}

// readQuery reads a query and the frames that belong to it.
func readQuery(s *stream) (q query, args json.RawMessage, err error) {
	if err := s.readJSON(kindQuery, &q); err != nil || !q.onServers() {
		return q, nil, err
	}
	environ, err := s.expect(kindEnviron)
	if len(environ) > 0 {
		q.Surroundings.Environ = strings.Split(string(environ), separator)
	}
	if err != nil || !q.hasArguments() {
		return q, nil, err
	}
	if args, err = s.expect(kindArguments); len(args) == 0 {
		args = nil
	}
	return q, args, err
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
		d.hurry.close()
	}
	d.leave.close()
}

// work does a request to a server and writes its answer. It ends early when the client cancels it or is gone.
func (d *daemon) work(ctx context.Context, s *stream, q *query, args json.RawMessage) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	frames, done := make(chan sideFrame, maxSideFrames), make(chan struct{})
	client := newRemoteAudience(q.Can, frames, ctx.Done())
	var reader, writer sync.WaitGroup
	reader.Go(func() { readReplies(s, client, cancel) })   // ends when interrupt below makes reading fail
	writer.Go(func() { writeSideFrames(s, frames, done) }) // ends when done is closed
	var answer frame
	if q.Op == opWatch {
		answer = failed(d.relayEvents(ctx, q, frames, cancel))
	} else {
		answer = d.do(ctx, q, args, client)
	}
	close(done)
	writer.Wait()
	_ = s.send(answer)
	s.interrupt()
	reader.Wait()
}

// relayEvents sends the events of a server until its client goes away, is too slow, or the daemon ends. Meanwhile the
// connection does not count as a request: it keeps the daemon neither from ending nor from being idle.
func (d *daemon) relayEvents(ctx context.Context, q *query, out chan<- sideFrame, cancel func(error)) error {
	d.addActive(-1)
	defer d.addActive(1)
	taken := make(chan struct{}) // the client waits for kindTaken before it takes events
	stop, err := d.host.Caller(q.Surroundings, nil).Watch(ctx, q.Server, func(e tool.Event) {
		<-taken
		params := e.Params
		e.Params = nil
		select {
		case out <- sideFrame{kindNotify, e, [][]byte{params}}:
		default: // the client connects again, and takes events for lost
			cancel(errGone)
		}
	})
	if err != nil {
		return err
	}
	out <- sideFrame{kind: kindTaken} // the first, so that there is room
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

// do does a request to a server and returns the frame that answers it.
func (d *daemon) do(ctx context.Context, q *query, args json.RawMessage, client *remoteAudience) frame {
	var observe host.Observer
	if q.Events {
		observe = client.observe
	}
	opt := q.Options
	if q.Audience {
		opt.Audience = client
	}
	caller := d.host.Caller(q.Surroundings, observe)
	answer, payload, err := kindResult, [][]byte(nil), error(nil)
	switch q.Op {
	case opRequest:
		var raw json.RawMessage
		raw, err = caller.Request(ctx, q.Server, q.Name, args, opt)
		payload = packResult(&tool.Result{Raw: raw})
	case opTools:
		var l tool.Listing
		var packed []byte
		if l, err = caller.List(ctx, q.Server, opt); err == nil {
			packed, err = packListing(l)
		}
		answer, payload = kindListing, [][]byte{packed}
	default:
		var res *tool.Result
		if res, err = caller.Call(ctx, q.ref(), args, opt); err == nil {
			payload = packResult(res)
		}
	}
	if err != nil {
		return failed(err)
	}
	return frame{answer, payload}
}

// failed returns the frame of a failure: the whole fault, or that the host has done nothing.
func failed(err error) frame {
	var upstream *tool.UpstreamError
	switch {
	case errors.As(err, &upstream):
		payload, _ := packUpstream(upstream) // its texts always encode
		return frame{kindUpstream, [][]byte{payload}}
	case errors.Is(err, host.ErrEnding):
		return frame{kind: kindRefusal}
	case errors.Is(err, host.ErrDeclined):
		return frame{kind: kindDecline}
	}
	payload, _ := json.Marshal(fault.From(err)) // an empty one is a failure too, though one without a text
	return frame{kindFailure, [][]byte{payload}}
}
