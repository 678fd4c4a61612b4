package conn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// Limits of HTTP.
const (
	// goodbyeTimeout bounds the message that ends a session or a request.
	goodbyeTimeout = time.Second
	// maxErrorBody bounds what is read of a response that is not a message, in bytes.
	maxErrorBody = 64 << 10
	// maxRedirects is how many redirects in a row are followed.
	maxRedirects = 5
)

// roundTripper is the one way out to a server over HTTP. It gives each request the headers of the server's entry,
// sends none to another origin (scheme, host and port), and turns a response that is not an MCP message into an
// error that says all about it, since the SDK keeps little of that.
type roundTripper struct {
	base    http.RoundTripper
	origin  *url.URL
	headers []config.KeyValue
	agent   string // the User-Agent, unless the entry has one
	login   *login // may be nil
	// answered is called with every response, before it is inspected, except responses to notifications.
	answered func(x *httpExchange, req *http.Request, resp *http.Response)
	// take is called with each request and notification of the server and each response that may be an error, and the
	// id of the request in whose stream it came, as JSON. The id is empty if the message came in no request's stream.
	take func(request string, message []byte)
	// denied is called with each response that asks for a login.
	denied func(*badResponse)
	// sessionLost is called if the server no longer knows our session.
	sessionLost func()
}

// errElsewhere is the cause of a request that would have left the server's origin.
var errElsewhere = errors.New("it points to another host")

// errSessionEnded says that the server has forgotten the session: nothing was done for the request.
var errSessionEnded = errors.New("the server has ended the session")

// errForgotten marks faults of requests that were refused, most likely because the server no longer knows the session.
var errForgotten = errors.New("the server may have forgotten the session")

// client returns an HTTP client whose requests belong to x.
func (t *roundTripper) client(x *httpExchange) *http.Client {
	return &http.Client{Transport: tripperFunc(func(req *http.Request) (*http.Response, error) {
		return t.roundTrip(req, x)
	})}
}

// tripperFunc is an http.RoundTripper.
type tripperFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f tripperFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// roundTrip sends a request of x and inspects the response.
func (t *roundTripper) roundTrip(req *http.Request, x *httpExchange) (*http.Response, error) {
	if !sameOrigin(req.URL, t.origin) {
		return nil, errElsewhere
	}
	if req.Method == http.MethodDelete {
		return t.endSession(req)
	}
	due := x.due(req)
	resp, err := t.send(req, x.trace(req.Context()))
	if err != nil {
		return nil, err
	}
	if due != nothingDue {
		t.answered(x, req, resp)
		x.note(func(r *reached) { r.status, r.ended = resp.StatusCode, nil })
	}
	switch {
	case follows(req, resp):
		return resp, nil
	case resp.StatusCode/100 != 2:
		return t.refused(req, resp, x, due)
	case due == responseDue && resp.StatusCode != http.StatusOK, due != nothingDue && foreign(resp, due):
		return nil, readBadResponse(resp)
	}
	if due == nothingDue {
		resp.StatusCode = http.StatusAccepted // the SDK does not know 201
		return resp, nil
	}
	events := isEvents(resp)
	take := func(message []byte) { t.take(x.request, message) }
	resp.Body = &limitedBody{ReadCloser: resp.Body, events: events, exchange: x, take: take}
	if events {
		resp.Body = newEventFilter(resp.Body, x.request, take)
	}
	return resp, nil
}

// withHeaders returns a copy of req with the entry's headers, but those that are set, and the token unless it is empty.
func (t *roundTripper) withHeaders(ctx context.Context, req *http.Request, token string) *http.Request {
	out := req.Clone(ctx)
	own := req.Header
	for _, h := range t.headers {
		key := textproto.CanonicalMIMEHeaderKey(h.Name)
		switch {
		case key == "Host":
			out.Host = h.Value
		case len(own[key]) == 0:
			out.Header.Add(key, h.Value)
		}
	}
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", t.agent)
	}
	if token != "" {
		out.Header.Set("Authorization", token)
	}
	return out
}

// send sends a request with the token of the login. If the server refuses the token, send sends the request once
// more with another token, if there is one: a request that was refused was not carried out.
func (t *roundTripper) send(req *http.Request, ctx context.Context) (*http.Response, error) {
	used, err := t.login.header(ctx)
	if err != nil {
		return nil, err
	}
	resp, err := t.base.RoundTrip(t.withHeaders(ctx, req, used))
	once := t.login == nil || req.Body != nil && req.GetBody == nil
	if err != nil || resp.StatusCode != http.StatusUnauthorized || once {
		return resp, err
	}
	other, err := t.login.tokens.Renew(ctx, t.login.server, used, resp.Header.Values("WWW-Authenticate"))
	if err == nil && other == "" {
		return resp, nil
	}
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	again := t.withHeaders(ctx, req, other)
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	return t.base.RoundTrip(again)
}

// endSession sends the DELETE that ends a session. It waits for at most goodbyeTimeout.
func (t *roundTripper) endSession(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), goodbyeTimeout)
	defer cancel()
	token, _ := t.login.header(ctx) // without one the server may refuse, which changes nothing
	resp, err := t.base.RoundTrip(t.withHeaders(ctx, req, token))
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	resp.Body = http.NoBody
	return resp, nil
}

// refused makes an error of a response that is not a success. If the response holds a JSON-RPC error that says more
// than the status, refused returns that as a response.
func (t *roundTripper) refused(
	req *http.Request, resp *http.Response, x *httpExchange, due due) (*http.Response, error) {
	bad := readBadResponse(resp)
	if t.refusedSession(req, bad) {
		return nil, errSessionEnded
	}
	switch {
	case bad.status == http.StatusUnauthorized || bad.status == http.StatusForbidden:
		t.refusedLogin(req.Context(), bad)
		return nil, bad
	case due == nothingDue && req.Method == http.MethodPost:
		// If a server minds a notification, that shows at the next request.
		accepted := &http.Response{StatusCode: http.StatusAccepted, Header: resp.Header, Body: http.NoBody, Request: req}
		return accepted, nil
	case due == responseDue:
		if body := x.errorIn(bad.body); body != nil {
			t.take(x.request, body)
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(bytes.NewReader(body)), Request: req}, nil
		}
	}
	return nil, bad
}

// refusedSession notes if the server seems not to know our session any more, and reports whether it says so: "When a
// client receives HTTP 404 in response to a request containing an MCP-Session-Id, it MUST start a new session" (MCP
// 2025-11-25, transports, session management). In response to a GET, 404 may mean that there is no such stream.
func (t *roundTripper) refusedSession(req *http.Request, bad *badResponse) bool {
	if req.Header.Get("Mcp-Session-Id") == "" || req.Method != http.MethodPost {
		return false
	}
	unknown := bad.status == http.StatusNotFound
	if unknown || bad.status == http.StatusBadRequest && codeIn(bad.body) == serverError {
		t.sessionLost()
	}
	return unknown
}

// refusedLogin adds to bad what is known of the login that it asks for.
func (t *roundTripper) refusedLogin(ctx context.Context, bad *badResponse) {
	bad.step = t.login.step(ctx, bad)
	bad.byLogin = t.login != nil && bad.loggedIn
	bad.maybe = t.login != nil && t.login.server.OAuth == nil && bad.status == http.StatusUnauthorized
	t.denied(bad)
}

// follows reports whether a response is a redirect that is followed: it stays with the server and keeps the method.
func follows(req *http.Request, resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		if req.Method != http.MethodGet {
			return false
		}
	default:
		return false
	}
	to, err := resp.Location()
	return err == nil && sameOrigin(to, req.URL) && hops(req) < maxRedirects
}

// hops returns how many redirects have led to a request.
func hops(req *http.Request) int {
	n := 0
	for ; req.Response != nil && req.Response.Request != nil; req = req.Response.Request {
		n++
	}
	return n
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

func mediaType(resp *http.Response) string {
	t, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return t
}

func isEvents(resp *http.Response) bool { return mediaType(resp) == "text/event-stream" }

// foreign reports whether a successful response is of a kind that does not hold a message.
func foreign(resp *http.Response, due due) bool {
	switch due {
	case eventsDue:
		return !isEvents(resp)
	case responseDue:
		return !isEvents(resp) && mediaType(resp) != "application/json"
	}
	return false
}
