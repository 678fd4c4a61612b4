package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/host"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// clientRequest is one request on the client's side.
type clientRequest struct {
	query    query
	frame    frame         // the query with all that belongs to it
	fits     bool          // the daemon takes it
	audience tool.Audience // may be nil
	observe  host.Observer // may be nil
}

// lostError says that the daemon went away, or fell silent, after it had got a request.
type lostError struct{ cause error }

func (e *lostError) Error() string { return "the daemon was lost in the middle of a request" }
func (e *lostError) Unwrap() error { return e.cause }

// fault describes the loss for a request that may have been done.
func (e *lostError) fault(ref tool.Ref) *fault.Fault {
	why := "it ended, or was killed"
	if errors.Is(e.cause, os.ErrDeadlineExceeded) {
		why = fmt.Sprintf("it said nothing for %s", silence)
	}
	without := fault.Step{Verb: ref.Kind.Verb(), Server: ref.Server, Tool: ref.Name,
		Args: []string{"--no-daemon"}}
	return fault.New(fault.ServerConnection,
		"mcpl's daemon was lost in the middle of the call to "+ref.String()+": "+why,
		"The tool may have run or not: check before you call it again. The next call starts a new daemon.").
		Then("See what happened with", fault.Step{Verb: "daemon logs"}).
		Then("Call it without the daemon with", without).
		On(ref.Server, ref.Name).Because(e.cause)
}

// wait waits for the answer to a request that was sent. host.ErrEnding and host.ErrDeclined say that the daemon has
// done nothing. When ctx ends, wait asks the daemon to cancel the request, and waits for its answer to that.
func (r *clientRequest) wait(ctx context.Context, s *stream) ([]byte, error) {
	s.patience = silence // for a daemon that has stopped reading
	cancelled := make(chan *time.Timer, 1)
	stop := context.AfterFunc(ctx, func() {
		_ = s.send(frame{kind: kindCancel}) // if the daemon is gone, the reader below notices
		cancelled <- time.AfterFunc(cancelPatience, s.interrupt)
	})
	answer, err := r.readAnswer(ctx, s)
	if !stop() {
		(<-cancelled).Stop()
	}
	if lost := new(lostError); errors.As(err, &lost) && ctx.Err() != nil {
		return nil, interrupted(&r.query)
	}
	return answer, err
}

// readAnswer reads frames up to the last one. When it returns, the audience and the observer are not called any more.
func (r *clientRequest) readAnswer(ctx context.Context, s *stream) (answer []byte, err error) {
	side := newSideReader(s, r.audience)
	defer side.wg.Wait()
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		if ctx.Err() == nil {
			s.readWithin(silence)
		}
		k, payload, err := s.read()
		if err != nil {
			return nil, &lostError{err}
		}
		var failure error
		switch k {
		case kindBeat:
			continue
		case kindEvent:
			var e event
			if unpack(payload, &e) == nil && r.observe != nil {
				r.observe(e.Server, e.Text)
			}
			continue
		case kindAnswer:
			return payload, nil
		case kindRefusal:
			return nil, host.ErrEnding
		case kindDecline:
			return nil, host.ErrDeclined
		case kindUpstream:
			upstream := new(tool.UpstreamError)
			failure, err = upstream, unpack(payload, upstream, &upstream.Data)
		case kindFailure:
			failure, err = unpackFault(payload)
		default:
			if side.handleFrame(asking, k, payload) {
				continue
			}
			err = fmt.Errorf("a frame of kind %q", k)
		}
		if err != nil {
			failure = unexpected(&r.query, err)
		}
		return nil, failure
	}
}

// interrupted is the fault of a cancelled request if the daemon has not said how it ended.
func interrupted(q *query) *fault.Fault {
	help := "The daemon was asked to cancel it. Type the command again to retry."
	if q.Op == opCall && q.Kind == tool.Tool {
		help = "The daemon was asked to cancel it, and it may be done in part or whole: " +
			"check before you type the command again."
	}
	return fault.New(fault.Interrupted, "interrupted during "+q.Op+" of "+q.Server, help).On(q.Server, q.Name)
}

// unexpected is the fault of an answer that the two sides have not agreed on.
func unexpected(q *query, cause error) *fault.Fault {
	const message = "the answer of mcpl's daemon does not fit the request"
	return fault.New(fault.Internal, message, "This is a defect of mcpl.").
		Then("Start the daemon anew with", fault.Step{Verb: "daemon restart"}).On(q.Server, q.Name).Because(cause)
}
