package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// exchange is one request as its client makes it.
type exchange struct {
	query    query
	environ  string
	args     json.RawMessage
	audience tool.Audience           // nil: nobody listens
	log      func(who, event string) // nil: nobody listens
}

// answer is the last frame of a request.
type answer struct {
	kind    kind
	payload []byte
}

// lostError says that the daemon went away, or fell silent, after a request was handed to it.
type lostError struct{ cause error }

func (e *lostError) Error() string { return "the daemon was lost in the middle of a request" }
func (e *lostError) Unwrap() error { return e.cause }

// fault describes the loss for the tool that was called.
func (e *lostError) fault(ref tool.Ref) *fault.Fault {
	why := "it ended, or was killed"
	if errors.Is(e.cause, os.ErrDeadlineExceeded) {
		why = fmt.Sprintf("it said nothing for %s", silence)
	}
	return fault.New(fault.ServerConnection, "mcpl's daemon was lost in the middle of the call to "+ref.String()+": "+why,
		"The tool may have run or not: look before you call it again. The next call starts a new daemon. What happened: mcpl daemon logs. "+
			"To do without: mcpl --no-daemon call "+fault.Quote(ref.Server)+" "+fault.Quote(ref.Name)+" ...").
		On(ref.Server, ref.Name).Because(e.cause)
}

// frames returns the request as it is sent.
func (x *exchange) frames() ([]frame, error) {
	data, err := json.Marshal(x.query)
	if err != nil {
		return nil, err
	}
	frames := []frame{{kindQuery, [][]byte{data}}, {kindEnviron, [][]byte{[]byte(x.environ)}}}
	if x.query.Op == opCall {
		frames = append(frames, frame{kindArguments, [][]byte{x.args}})
	}
	return frames, nil
}

// do waits for the answer to a request that was sent. errEnding: it was refused, and nothing done.
// When ctx ends the daemon is told to cancel, and its answer is waited for.
func (x *exchange) do(ctx context.Context, s *stream) (*answer, error) {
	s.patience = silence // for a daemon that has stopped reading
	cancelled := make(chan *time.Timer, 1)
	stop := context.AfterFunc(ctx, func() {
		_ = s.write(kindCancel) // where the daemon is gone, the reader below learns of it
		cancelled <- time.AfterFunc(cancelPatience, s.interrupt)
	})
	a, err := x.await(ctx, s)
	if !stop() {
		(<-cancelled).Stop()
	}
	if err == nil && a.kind == kindFailure {
		f, err := unpackFault(a.payload)
		if err != nil {
			return nil, strange(x.query.Server, x.query.Name, err)
		}
		return nil, f
	}
	var lost *lostError
	if errors.As(err, &lost) && ctx.Err() != nil {
		return nil, interrupted(&x.query)
	}
	return a, err
}

// await reads frames until the last one. Nobody is told or asked anything any more when it has
// returned.
func (x *exchange) await(ctx context.Context, s *stream) (*answer, error) {
	heard := newListener(s, x.audience)
	defer heard.wg.Wait()
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
		switch k {
		case kindBeat:
		case kindEvent:
			var e event
			if json.Unmarshal(payload, &e) == nil && x.log != nil {
				x.log(e.Server, e.Text)
			}
		case kindRefusal:
			return nil, errEnding
		case kindResult, kindListing, kindTaken, kindFailure, kindDecline:
			return &answer{k, payload}, nil
		default:
			if !heard.hear(asking, k, payload) {
				return nil, strange(x.query.Server, x.query.Name, fmt.Errorf("a frame of kind %q", k))
			}
		}
	}
}

// interrupted is the fault of a request that was cancelled and of which no more was heard.
func interrupted(q *query) *fault.Fault {
	help := "The daemon was told to cancel it. Type the command again to retry."
	if q.Op == opCall && q.Kind == tool.Tool {
		help = "The daemon was told to cancel it, and it may be done in part or whole: look before you type the command again."
	}
	return fault.New(fault.Interrupted, "interrupted during "+q.Op+" of "+q.Server, help).On(q.Server, q.Name)
}

// strange is the fault of an answer that is not what the two sides agreed on.
func strange(server, name string, cause error) *fault.Fault {
	return fault.New(fault.Internal, "mcpl's daemon answered with something else than was asked",
		"This is a defect of mcpl. Start the daemon anew with: mcpl daemon restart").On(server, name).Because(cause)
}
