package conn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// streamable is the SDK's Streamable HTTP, which keeps the session and ends it with a DELETE. It adds
// what the SDK forgets about requests that fail.
type streamable struct {
	*transport.StreamableHTTP
	remote *remote
	// listened is closed when the first GET of a stream of notifications is answered, or was waited for.
	listened chan struct{}
	attended sync.Once
	version  atomic.Pointer[string] // the revision agreed on; nil until then
	greeted  atomic.Int64           // the HTTP status that initialize was answered with; 0 until then
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
	sdk, err := transport.NewStreamableHTTP(r.server.URL, transport.WithHTTPBasicClient(r.client),
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	s := &streamable{StreamableHTTP: sdk, remote: r, listened: make(chan struct{})}
	return &streamableWire{&wire{Interface: s, cancelled: s.cancelled, reply: s.reply}, s}, nil
}

// streamableWire is a wire that also tells the transport which revision was agreed on: each request
// repeats it in a header.
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
func (s *streamable) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	t := &trip{id: req.ID, want: answerDue}
	answer, err := s.StreamableHTTP.SendRequest(t.with(ctx), req)
	stage, status, ended := t.result()
	if req.Method == methodInitialize {
		s.greeted.Store(int64(status))
	}
	if err == nil {
		if answer.ID.String() != req.ID.String() {
			return nil, &breach{what: fmt.Sprintf("its answer to %s has another id", req.Method)}
		}
		return answer, nil
	}
	var outer *url.Error
	var bad *badAnswer
	switch {
	case ctx.Err() != nil:
		return nil, &unfinished{stage, err}
	case errors.Is(ended, errTooLong):
		return nil, errTooLong
	case ended != nil:
		return nil, &cutOff{ended}
	case t.accepted():
		return nil, lost(err)
	case errors.As(err, &bad) || errors.As(err, &outer) || status != http.StatusOK:
		return nil, err
	}
	return nil, &breach{what: fmt.Sprintf("its answer to %s is not an MCP message", req.Method), cause: err}
}

// own returns a request of ours beside those of the SDK, with the headers of the session.
func (s *streamable) own(ctx context.Context, method string, body []byte) (*http.Request, error) {
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

// replyLimit is how long an answer to a request of the server may take to be sent.
const replyLimit = 30 * time.Second

// reply sends an answer to a request of the server.
func (s *streamable) reply(ctx context.Context, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, replyLimit)
	defer cancel()
	req, err := s.own(ctx, http.MethodPost, message)
	if err != nil {
		return err
	}
	resp, err := s.remote.client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// waited says that nobody need wait for the stream of notifications any more.
func (s *streamable) waited() { s.attended.Do(func() { close(s.listened) }) }

// older reports whether the answer to initialize is that of a server of the transport before this
// one: "If it fails with an HTTP 4xx status code (e.g., 405 Method Not Allowed or 404 Not Found):
// Issue a GET request to the server URL" (MCP 2025-11-25, transports, backwards compatibility).
func (s *streamable) older() bool {
	switch s.greeted.Load() {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	}
	return false
}

// cancelled tells the server that a request is given up. From 2026-07-28 on the end of the request
// says so itself; before, "disconnection SHOULD NOT be interpreted as the client cancelling its
// request" (MCP 2025-11-25, transports, sending messages to the server).
func (s *streamable) cancelled(ctx context.Context, note mcp.JSONRPCNotification) {
	if v := s.version.Load(); v != nil && mcp.IsModernProtocol(*v) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	_ = s.StreamableHTTP.SendNotification(ctx, note) // nobody is left to be told of its failure
}
