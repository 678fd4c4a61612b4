package conn

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Bounds of the wait before a stream of notifications is opened again. It doubles each time the stream ends at once.
const (
	minRelisten = time.Second
	maxRelisten = time.Minute
)

// listenGrace bounds the wait of a call for the stream on which its server may ask something.
const listenGrace = 300 * time.Millisecond

// listen keeps a stream of notifications open, once, if the server sends them only in one: from 2026-07-28 on the
// response to subscriptions/listen, before that the GET of Streamable HTTP. Over other transports they come unasked.
func (s *session) listen() {
	open := s.subscribe
	if !s.modern() {
		if !s.overHTTP() {
			return
		}
		open = s.listenHTTP
	}
	s.listening.Do(func() { s.goroutines.run(func(ctx context.Context) { s.keepOpen(ctx, open) }) })
}

// awaitStream lets the server ask something in the middle of a call. Over Streamable HTTP before 2026-07-28 many
// servers ask on the GET stream and not on that of the call, and wait for ever if that is not open.
func (s *session) awaitStream(ctx context.Context) {
	if s.modern() || !s.overHTTP() {
		return
	}
	s.listen()
	select {
	case <-s.http.listened:
	case <-time.After(listenGrace):
		s.http.waited() // many answer the GET only when they have something to say: one call waits for that
	case <-ctx.Done():
	}
}

// keepOpen opens a stream again and again, until the session ends or the server does not have one.
func (s *session) keepOpen(ctx context.Context, open func(context.Context) error) {
	for wait := minRelisten; ; wait = min(2*wait, maxRelisten) {
		opened := time.Now()
		err := open(ctx)
		if ctx.Err() != nil {
			return
		}
		if final(err) {
			s.log("it sends no notifications: %v", err)
			return
		}
		s.log("its stream of notifications has ended: %v", err)
		if time.Since(opened) > maxRelisten {
			wait = minRelisten
		}
		if _, err := s.sleep(ctx, wait, nil); err != nil {
			return
		}
	}
}

// final reports whether a stream that ended with err is not to be opened again.
func final(err error) bool {
	var refused *refusal
	var bad *badResponse
	return errors.As(err, &refused) || errors.As(err, &bad) && bad.status/100 == 4 ||
		errors.Is(err, errSessionEnded) || errors.Is(err, errNothing)
}

// errNothing is the error of a server that declares no notifications.
var errNothing = errors.New("it declares none")

// subscribe holds a subscriptions/listen open (SEP-2575). Its notifications go to receive.
func (s *session) subscribe(ctx context.Context) error {
	var filter mcp.SubscriptionFilter
	filter.ToolsListChanged = s.offers.Tools != nil && s.offers.Tools.ListChanged
	filter.ResourcesListChanged = s.offers.Resources != nil && s.offers.Resources.ListChanged
	filter.PromptsListChanged = s.offers.Prompts != nil && s.offers.Prompts.ListChanged
	if filter.IsEmpty() {
		return errNothing
	}
	raw, err := json.Marshal(filter)
	if err != nil {
		return err
	}
	_, err = s.request(ctx, nil, methodListen, []tool.Field{{Key: "notifications", Value: raw}})
	return err
}

// listenHTTP reads the GET stream of Streamable HTTP (MCP 2025-11-25, transports, listening for
// messages from the server). The round tripper passes its messages to receive.
func (s *session) listenHTTP(ctx context.Context) error {
	req, err := s.http.newRequest(ctx, http.MethodGet, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := s.http.remote.tripper.client(&httpExchange{aside: true}).Do(req)
	s.http.waited()
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(io.Discard, resp.Body); err == nil {
		err = io.EOF
	}
	return err
}
