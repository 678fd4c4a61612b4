package conn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// streamable is the SDK's Streamable HTTP, which keeps and ends the session, with errors that say what the SDK forgets.
type streamable struct {
	*transport.StreamableHTTP
	remote    *remote
	exchanges *exchanges
	// listened is closed when the first GET of a stream of notifications is answered, or no longer waited for.
	listened   chan struct{}
	waited     func()                 // ends that wait, for this call and later ones
	version    atomic.Pointer[string] // the revision agreed on; nil until then
	initStatus atomic.Int64           // the HTTP status of the response to initialize; 0 until then
}

// unfinished is the error of a request whose context ended.
type unfinished struct {
	stage string
	cause error
}

func (u *unfinished) Error() string { return u.cause.Error() }
func (u *unfinished) Unwrap() error { return u.cause }

// dialStreamable returns a wire over Streamable HTTP. Nothing is sent yet.
func dialStreamable(r *remote) (*streamableWire, error) {
	open := &exchanges{tripper: r.tripper, open: make(map[string]*httpExchange)}
	sdk, err := transport.NewStreamableHTTP(r.server.URL, transport.WithHTTPBasicClient(&http.Client{Transport: open}),
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	listened := make(chan struct{})
	s := &streamable{StreamableHTTP: sdk, remote: r, exchanges: open, listened: listened,
		waited: sync.OnceFunc(func() { close(listened) })}
	return &streamableWire{&wire{Interface: s, cancelled: s.cancelled, reply: s.reply}, s}, nil
}

// streamableWire is a wire that also passes the revision on to the transport, which repeats it in a header.
type streamableWire struct {
	*wire
	http *streamable
}

// SetProtocolVersion implements transport.HTTPConnection.
func (w *streamableWire) SetProtocolVersion(version string) {
	w.http.version.Store(&version)
	w.http.SetProtocolVersion(version)
}

// SendRequest implements transport.Interface.
func (s *streamable) SendRequest(
	ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	x, headers, end := s.exchanges.begin(req.ID, req.Header)
	defer end()
	req.Header = headers
	response, err := s.StreamableHTTP.SendRequest(ctx, req)
	came := x.result()
	if req.Method == methodInitialize {
		s.initStatus.Store(int64(came.status))
	}
	if err == nil {
		if response.ID.String() != req.ID.String() {
			return nil, &breach{what: fmt.Sprintf("its answer to %s has another id", req.Method)}
		}
		return response, nil
	}
	var outer *url.Error
	var bad *badResponse
	switch {
	case ctx.Err() != nil:
		return nil, &unfinished{came.stage, err}
	case errors.Is(came.ended, errTooLong):
		return nil, errTooLong
	case came.ended != nil:
		return nil, &cutOff{came.ended}
	case came.resumed:
		return nil, lost(err)
	case errors.As(err, &bad) || errors.As(err, &outer) || came.status != http.StatusOK:
		return nil, err
	}
	return nil, &breach{what: fmt.Sprintf("its answer to %s is not an MCP message", req.Method), cause: err}
}

// newRequest returns an HTTP request of our own, beside those of the SDK, with the headers of the session.
func (s *streamable) newRequest(ctx context.Context, method string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.remote.server.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if id := s.GetSessionId(); id != "" {
		req.Header.Set(transport.HeaderKeySessionID, id)
	}
	if v := s.version.Load(); v != nil {
		req.Header.Set(transport.HeaderKeyProtocolVersion, *v)
	}
	return req, nil
}

// replyLimit bounds the sending of a response to a request of the server.
const replyLimit = 30 * time.Second

// reply sends a response to a request of the server.
func (s *streamable) reply(ctx context.Context, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, replyLimit)
	defer cancel()
	req, err := s.newRequest(ctx, http.MethodPost, message)
	if err != nil {
		return err
	}
	resp, err := s.remote.tripper.client(new(httpExchange)).Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// older reports whether the response to initialize is that of a server of the transport before this one: "If it fails
// with an HTTP 4xx status code (e.g., 405 Method Not Allowed or 404 Not Found): Issue a GET request to the server URL"
// (MCP 2025-11-25, transports, backwards compatibility).
func (s *streamable) older() bool {
	return slices.Contains([]int64{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed},
		s.initStatus.Load())
}

// cancelled notifies the server that a request is given up. From 2026-07-28 on the end of the request says so
// itself; before, "disconnection SHOULD NOT be interpreted as the client cancelling its
// request" (MCP 2025-11-25, transports, sending messages to the server).
func (s *streamable) cancelled(ctx context.Context, note mcp.JSONRPCNotification) {
	if v := s.version.Load(); v != nil && mcp.IsModernProtocol(*v) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, goodbyeTimeout)
	defer cancel()
	_ = s.StreamableHTTP.SendNotification(ctx, note) // the request has failed already
}
