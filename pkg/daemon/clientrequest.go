package daemon

import (
	"context"
	"encoding/json"
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
	environ  string
	args     json.RawMessage
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
	without := fault.Step{Verb: verbOf(ref.Kind), Server: ref.Server, Tool: ref.Name, Args: []string{"--no-daemon"}}
	return fault.New(fault.ServerConnection,
		"mcpl's daemon was lost in the middle of the call to "+ref.String()+": "+why,
		"The tool may have run or not: check before you call it again. The next call starts a new daemon.").
		Then("See what happened with", fault.Step{Verb: "daemon logs"}).
		Then("Call it without the daemon with", without).
		On(ref.Server, ref.Name).Because(e.cause)
}

// verbOf returns the verb that makes a call of this kind.
func verbOf(kind tool.Kind) string {
	switch kind {
	case tool.Resource, tool.Template:
		return "read"
	case tool.Prompt:
		return "prompt"
	}
	return "call"
}

// frames returns the frames of the request.
func (r *clientRequest) frames() []frame {
	frames := []frame{{kindQuery, [][]byte{r.query.encode()}}, {kindEnviron, [][]byte{[]byte(r.environ)}}}
	if r.query.hasArguments() {
		frames = append(frames, frame{kindArguments, [][]byte{r.args}})
	}
	return frames
}

// wait waits for the answer to a request that was sent, and decodes it if it is a frame of the kind want.
// host.ErrEnding and host.ErrDeclined say that the daemon has done nothing. When ctx ends, wait asks the daemon to
// cancel the request, and waits for its answer to that.
func (r *clientRequest) wait(ctx context.Context, s *stream, want kind, decode func([]byte) error) error {
	s.patience = silence // for a daemon that has stopped reading
	cancelled := make(chan *time.Timer, 1)
	stop := context.AfterFunc(ctx, func() {
		_ = s.write(kindCancel) // if the daemon is gone, the reader below notices
		cancelled <- time.AfterFunc(cancelPatience, s.interrupt)
	})
	got, payload, err := r.readAnswer(ctx, s)
	if !stop() {
		(<-cancelled).Stop()
	}
	if lost := new(lostError); errors.As(err, &lost) && ctx.Err() != nil {
		return interrupted(&r.query)
	}
	if err != nil {
		return err
	}
	var failure error
	switch {
	case got == kindRefusal:
		return host.ErrEnding
	case got == kindDecline:
		return host.ErrDeclined
	case got == kindUpstream:
		failure, err = unpackUpstream(payload)
	case got == kindFailure:
		failure, err = unpackFault(payload)
	case got != want:
		err = fmt.Errorf("a frame of kind %q", got)
	case decode != nil:
		err = decode(payload)
	}
	if err != nil {
		return unexpected(r.query.Server, r.query.Name, err)
	}
	return failure
}

// readAnswer reads frames up to the last one. When it returns, the audience and the observer are not called any more.
func (r *clientRequest) readAnswer(ctx context.Context, s *stream) (kind, []byte, error) {
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
			return 0, nil, &lostError{err}
		}
		switch k {
		case kindBeat:
		case kindEvent:
			var e event
			if unpack(payload, &e) == nil && r.observe != nil {
				r.observe(e.Server, e.Text)
			}
		case kindResult, kindListing, kindTaken, kindFailure, kindUpstream, kindDecline, kindRefusal:
			return k, payload, nil
		default:
			if !side.handleFrame(asking, k, payload) {
				return 0, nil, unexpected(r.query.Server, r.query.Name, fmt.Errorf("a frame of kind %q", k))
			}
		}
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
func unexpected(server, name string, cause error) *fault.Fault {
	const message = "the answer of mcpl's daemon does not fit the request"
	return fault.New(fault.Internal, message, "This is a defect of mcpl.").
		Then("Start the daemon anew with", fault.Step{Verb: "daemon restart"}).On(server, name).Because(cause)
}
