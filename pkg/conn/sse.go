package conn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// ssePeer is a server of the transport before Streamable HTTP (MCP 2024-11-05, transports, HTTP with SSE): one
// long GET brings its messages, and each of ours goes out in a POST. Together they are two streams of messages as
// a child's pipes are, so the SDK's transport over streams speaks through them. The SDK's own transport for SSE
// takes a server's request for the response to ours of the same id, and does not notice the end of the stream.
type ssePeer struct {
	*remote
	body   io.Closer // of the GET
	out    *outbox
	cancel context.CancelFunc // ends the GET and the POSTs

	mu    sync.Mutex
	cause error // why the stream broke off; the first cause counts
}

// openSSE opens the stream and waits for the address that messages are to be sent to. On failure nothing is left open.
func openSSE(ctx context.Context, r *remote) (*ssePeer, *wire, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	s := &ssePeer{remote: r, cancel: cancel}
	x := new(httpExchange)
	body, endpoint, err := s.open(life, x)
	if err == nil && !stop() {
		body.Close()
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		if stage, _, _ := x.result(); ctx.Err() != nil {
			err = &unfinished{stage, err}
		}
		return nil, nil, err
	}
	s.body = body
	messages := newMessageFilter(&endNotifier{body, s.fail}, nil, func(line []byte) {
		r.log("not a message: %s", line)
	}, func() { s.fail(errTooLong) })
	post := func(message []byte) error { return s.post(life, endpoint, message) }
	s.out = newOutbox(&poster{post: post, close: cancel})
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

// post sends a message. If that fails, the stream is of no use any more.
func (s *ssePeer) post(ctx context.Context, to *url.URL, message []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(message))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.tripper.client(&httpExchange{want: successDue}).Do(req)
	if err != nil {
		s.fail(err)
		return err
	}
	return resp.Body.Close()
}

// fail records why the stream is of no use any more, and ends it.
func (s *ssePeer) fail(err error) {
	s.mu.Lock()
	if s.cause == nil {
		s.cause = err
	}
	s.mu.Unlock()
	s.cancel()
}

// failed returns why the stream is of no use any more, or nil.
func (s *ssePeer) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}

// alive implements peer.
func (s *ssePeer) alive() bool { return s.failed() == nil && s.remote.alive() }

// close implements peer.
func (s *ssePeer) close() {
	s.cancel()
	s.body.Close()
	<-s.out.done
	s.remote.close()
}

// failure implements peer.
func (s *ssePeer) failure(err error, ph phase) *fault.Fault {
	cause := s.failed()
	var bad *badResponse
	var outer *url.Error
	switch {
	case cause == nil:
		return s.remote.failure(err, ph)
	case errors.As(cause, &bad), errors.As(cause, &outer), errors.Is(cause, errTooLong):
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

// poster posts each Write as a message, as the SDK and the outbox write them.
type poster struct {
	post  func(message []byte) error
	close func()
}

// Write implements io.Writer.
func (p *poster) Write(message []byte) (int, error) {
	if len(message) == 0 {
		return 0, nil // from outbox.flush
	}
	if err := p.post(message); err != nil {
		return 0, err
	}
	return len(message), nil
}

// Close implements io.Closer. It ends a POST that is under way.
func (p *poster) Close() error {
	p.close()
	return nil
}
