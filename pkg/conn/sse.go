package conn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// ssePeer is a server of the transport before Streamable HTTP (MCP 2024-11-05, transports, HTTP with SSE): one
// long GET brings its messages, and each of ours goes out in a POST. Together they are two streams of messages as
// a child's pipes are, so the SDK's transport over streams speaks through them. The SDK's own transport for SSE
// takes a server's request for the response to ours of the same id, and does not notice the end of the stream.
type ssePeer struct {
	*remote
	body  io.Closer // of the GET
	out   *outbox
	post  func(message []byte) error
	end   context.CancelCauseFunc // ends the GET and the POSTs, and says why the stream broke off; the first cause counts
	cause func() error            // why it broke off, or nil
}

// openSSE opens the stream and waits for the address that messages are to be sent to. On failure nothing is left open.
func openSSE(ctx context.Context, r *remote) (*ssePeer, *wire, error) {
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { end(nil) })
	s := &ssePeer{remote: r, end: end, cause: func() error { return context.Cause(life) }}
	x := new(httpExchange)
	body, endpoint, err := s.open(life, x)
	if err == nil && !stop() {
		body.Close()
		err = ctx.Err()
	}
	if err != nil {
		end(nil)
		if ctx.Err() != nil {
			err = &unfinished{x.result().stage, err}
		}
		return nil, nil, err
	}
	s.body = body
	messages := newMessageFilter(&endNotifier{body, end}, nil, func(line []byte) {
		r.log("not a message: %s", line)
	}, end)
	s.post = func(message []byte) error { return s.send(life, endpoint, message) }
	s.out = newOutbox(s)
	return s, newPipeWire(messages, s.out, goodbyeTimeout), nil
}

// open sends the GET. The body it returns begins after the endpoint event.
func (s *ssePeer) open(ctx context.Context, x *httpExchange) (body io.ReadCloser, endpoint *url.URL, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Cache-Control", "no-store")
	resp, err := s.tripper.client(x).Do(req)
	if err != nil {
		return nil, nil, err
	}
	stream := newEventReader(resp.Body)
	name, data, err := stream.next()
	switch {
	case err != nil:
		err = &cutOff{err}
	case name != "endpoint":
		err = &breach{what: "its stream of events does not begin with the event endpoint"}
	default:
		// It is relative to the URL of the entry, or to where a redirect on the same host has led.
		if endpoint, err = resp.Request.URL.Parse(string(data)); err != nil {
			err = &breach{what: "its endpoint event holds no URL", cause: err}
		} else if !sameOrigin(endpoint, s.url) {
			err = errElsewhere
		}
	}
	if err != nil {
		resp.Body.Close()
		return nil, nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{stream, resp.Body}, endpoint, nil
}

// send sends a message.
func (s *ssePeer) send(ctx context.Context, to *url.URL, message []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(message))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.tripper.client(&httpExchange{want: successDue}).Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (s *ssePeer) alive() bool { return s.cause() == nil && s.remote.alive() }

func (s *ssePeer) close(grace time.Duration) {
	s.end(nil)
	s.body.Close()
	<-s.out.done
	s.remote.close(grace)
}

func (s *ssePeer) failure(err error, ph phase) *fault.Fault {
	cause := s.cause()
	var bad *badResponse
	var outer *url.Error
	switch {
	case cause == nil:
		return s.remote.failure(err, ph)
	case errors.As(cause, &bad), errors.As(cause, &outer), errors.Is(cause, errTooLong),
		errors.Is(cause, errTooDeep):
		return s.remote.failure(cause, ph)
	}
	return s.remote.failure(&cutOff{fmt.Errorf("the stream of events ended: %w", cause)}, ph)
}

// endNotifier passes on a stream. When the stream ends, it calls ended with the reason and closes the stream.
type endNotifier struct {
	io.ReadCloser
	ended func(error)
}

// Read implements io.Reader.
func (b *endNotifier) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended(err)
		b.Close()
	}
	return n, err
}

// Write posts a message for the outbox.
func (s *ssePeer) Write(message []byte) (int, error) {
	if err := s.post(message); err != nil {
		s.end(err)
		return 0, err
	}
	return len(message), nil
}

// Close implements io.Closer for the outbox. It ends a POST that is under way.
func (s *ssePeer) Close() error {
	s.end(nil)
	return nil
}
