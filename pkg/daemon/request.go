package daemon

import (
	"cmp"
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
	s.readWithin(queryPatience)
	q, environ, args, err := readQuery(s)
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
		if s.write(kindTaken) == nil { // else the client does it in another way
			d.refresh(ctx, d.originOf(&q, environ))
		}
	case q.onServers():
		d.work(ctx, s, &q, d.originOf(&q, environ), args)
	}
	return false
}

// readQuery reads a query and what belongs to it.
func readQuery(s *stream) (q query, environ string, args json.RawMessage, err error) {
	if err := s.readJSON(kindQuery, &q); err != nil || !q.onServers() {
		return q, "", nil, err
	}
	data, err := s.expect(kindEnviron)
	if err != nil || q.Op != opCall {
		return q, string(data), nil, err
	}
	if args, err = s.expect(kindArguments); len(args) == 0 {
		args = nil
	}
	return q, string(data), args, err
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
func (d *server) work(ctx context.Context, s *stream, q *query, from *origin, args json.RawMessage) {
	ctx, cancel := context.WithCancelCause(ctx)
	notes, done := make(chan note, maxNotes), make(chan struct{})
	client := newAudience(notes, ctx.Done())
	var wg sync.WaitGroup
	wg.Go(func() { hearClient(s, client, cancel) }) // ends when reading is made to fail below
	told := make(chan struct{})
	go func() { // ends when done is closed
		defer close(told)
		tell(s, notes, done)
	}()
	answer := d.do(ctx, &request{q, from, args, notes, client})
	close(done)
	<-told
	answer(s)
	s.interrupt()
	wg.Wait()
	cancel(nil)
}

// hearClient takes the replies of a request's client, and cancels the request when the client says so,
// is gone, or says what does not belong.
func hearClient(s *stream, client *audience, cancel context.CancelCauseFunc) {
	for {
		k, payload, err := s.read()
		var r reply
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return
		case err == nil && k == kindCancel:
			cancel(context.Canceled)
			return
		case err == nil && k == kindReply && json.Unmarshal(payload, &r) == nil:
			client.answer(r)
		default:
			cancel(errGone)
			return
		}
	}
}

// request is a call or a listing that is to be done.
type request struct {
	*query
	from   *origin
	args   json.RawMessage
	notes  chan<- note
	client *audience
}

// options are those of the call, with the limits that hold here: they are no part of what a server
// is known by, so that they come with each request.
func (r *request) options(entry *config.Server, alive func()) tool.CallOptions {
	opt := r.Options
	if r.Op == opCall {
		opt.Timeout = cmp.Or(opt.Timeout, entry.CallTimeout, r.Limits.Call)
	}
	if r.Audience {
		r.client.alive = alive
		opt.Audience = r.client
	}
	return opt
}

// do does a call or a listing and returns what writes its answer.
func (d *server) do(ctx context.Context, r *request) func(*stream) {
	wanted, entry, err := d.spec(r.query, r.from)
	switch {
	case err != nil:
		return failed(err)
	case entry.Lifecycle == config.Ephemeral, entry.Transport != config.Stdio && d.opt.StateDir != "" && d.opt.StateDir != r.from.env.StateDir():
		return func(s *stream) { _ = s.write(kindDecline) }
	}
	var watch chan<- note
	if r.Events {
		watch = r.notes
	}
	var answer func(*stream)
	err = d.hub.do(wanted, watch, func(c engine.Caller, alive func()) error {
		opt := r.options(entry, alive)
		if r.Op == opTools {
			l, err := c.List(ctx, r.Server, opt)
			answer = func(s *stream) { _ = s.writeJSON(kindListing, packListing(l)) }
			return err
		}
		res, err := c.Call(ctx, tool.Ref{Server: r.Server, Name: r.Name, Kind: r.Kind}, r.args, opt)
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
