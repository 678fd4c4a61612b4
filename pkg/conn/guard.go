package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Limits of HTTP.
const (
	// farewell is how long the end of a session, or of a request, may take to be told to the server.
	farewell = time.Second
	// maxErrorBody is how much of an answer that is no message is read, in bytes.
	maxErrorBody = 64 << 10
	// maxRedirects is how many redirects in a row are followed.
	maxRedirects = 5
)

// guard is the one way out to a server over HTTP. It gives each request the headers of the
// server's entry, lets none go to another origin (scheme, host and port), and turns what is no
// MCP message into an error that says all about it, since the SDK keeps little of that.
type guard struct {
	base    http.RoundTripper
	origin  *url.URL
	headers []config.KeyValue
	agent   string // the User-Agent, unless the entry has one
	login   *login // nil: there is none, or the entry brings its own
	// answered is told of each answer, before it is looked at, but those to notifications.
	answered func(req *http.Request, resp *http.Response)
	// take is called with each request and notification of the server, and the id of the request in whose stream it came,
	// as JSON; "" if it came in no request's stream.
	take func(request string, message []byte)
	// denied is told of each answer that asks for a login.
	denied func(*badAnswer)
	// sessionLost is told when the server does not know our session any more.
	sessionLost func()
}

// errElsewhere is the cause of a request that would have left the server's origin.
var errElsewhere = errors.New("it points to another host")

// errSessionEnded says that the server has forgotten the session: nothing was done for the request.
var errSessionEnded = errors.New("the server has ended the session")

// errForgotten marks faults of requests that were refused, most likely because the server does not know the session
// any more.
var errForgotten = errors.New("the server may have forgotten the session")

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if !sameOrigin(req.URL, g.origin) {
		return nil, errElsewhere
	}
	if req.Method == http.MethodDelete {
		return g.end(req)
	}
	t := tripOf(req.Context())
	due := t.due(req)
	resp, err := g.send(req, t.trace(req.Context()))
	if err != nil {
		return nil, err
	}
	if due != nothingDue {
		g.answered(req, resp)
		t.setStatus(resp.StatusCode)
	}
	switch {
	case follows(req, resp):
		return resp, nil
	case resp.StatusCode/100 != 2:
		return g.refused(req, resp, t, due)
	case due == answerDue && resp.StatusCode != http.StatusOK, due != nothingDue && foreign(resp, due):
		return nil, readBadAnswer(req, resp)
	}
	if due == nothingDue {
		resp.StatusCode = http.StatusAccepted // the SDK knows no 201
		return resp, nil
	}
	resp.Body = &meter{ReadCloser: resp.Body, events: isEvents(resp), trip: t}
	if isEvents(resp) {
		resp.Body = newEventFilter(resp.Body, t.want == answerDue, func(message []byte) { g.take(t.request(), message) })
	}
	return resp, nil
}

// dress returns a copy of req with the entry's headers. What the protocol sets stays.
func (g *guard) dress(req *http.Request, ctx context.Context) *http.Request {
	out := req.Clone(ctx)
	own := req.Header
	for _, h := range g.headers {
		key := textproto.CanonicalMIMEHeaderKey(h.Name)
		switch {
		case key == "Host":
			out.Host = h.Value
		case len(own[key]) == 0:
			out.Header.Add(key, h.Value)
		}
	}
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", g.agent)
	}
	return out
}

// send sends a request with the token of the login. Where the server refuses that, it is sent once more with
// another, if there is one: a request that was refused was not carried out.
func (g *guard) send(req *http.Request, ctx context.Context) (*http.Response, error) {
	out := g.dress(req, ctx)
	used, err := g.login.header(ctx)
	if err != nil {
		return nil, err
	}
	if used != "" {
		out.Header.Set("Authorization", used)
	}
	resp, err := g.base.RoundTrip(out)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || g.login == nil || req.Body != nil && req.GetBody == nil {
		return resp, err
	}
	other, err := g.login.renew(ctx, used, resp.Header.Values("WWW-Authenticate"))
	if err != nil || other == "" {
		if err != nil {
			resp.Body.Close()
			return nil, err
		}
		return resp, nil
	}
	resp.Body.Close()
	again := g.dress(req, ctx)
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	again.Header.Set("Authorization", other)
	return g.base.RoundTrip(again)
}

// end sends the DELETE that ends a session. Nobody waits long for a server that does not answer.
func (g *guard) end(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), farewell)
	defer cancel()
	out := g.dress(req, ctx)
	if header, err := g.login.header(ctx); err == nil && header != "" {
		out.Header.Set("Authorization", header)
	}
	resp, err := g.base.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	resp.Body = http.NoBody
	return resp, nil
}

// refused makes an error of an answer that is no success: the JSON-RPC error in it, as an answer,
// where there is one and it says more than the status.
func (g *guard) refused(req *http.Request, resp *http.Response, t *trip, due due) (*http.Response, error) {
	// To a GET, 404 may mean that there is no such stream.
	session := req.Header.Get("Mcp-Session-Id") != "" && req.Method == http.MethodPost
	bad := readBadAnswer(req, resp)
	if session && (bad.status == http.StatusNotFound || bad.status == http.StatusBadRequest && codeIn(bad.body) == serverError) {
		g.sessionLost()
	}
	switch {
	// "When a client receives HTTP 404 in response to a request containing an MCP-Session-Id, it
	// MUST start a new session" (MCP 2025-11-25, transports, session management).
	case session && bad.status == http.StatusNotFound:
		return nil, errSessionEnded
	case bad.status == http.StatusUnauthorized || bad.status == http.StatusForbidden:
		bad.step = g.login.step(req.Context(), bad)
		bad.byLogin = g.login != nil && bad.loggedIn
		bad.maybe = g.login != nil && g.login.server.OAuth == nil && bad.status == http.StatusUnauthorized
		g.denied(bad)
		return nil, bad
	case due == nothingDue && req.Method == http.MethodPost:
		// What a server thinks of a notification shows at the next request, if it matters.
		return &http.Response{StatusCode: http.StatusAccepted, Header: resp.Header, Body: http.NoBody, Request: req}, nil
	case due == answerDue:
		if body := t.errorIn(bad.body); body != nil {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(bytes.NewReader(body)), Request: req}, nil
		}
	}
	return nil, bad
}

// follows reports whether an answer is a redirect that is followed: one that stays with the
// server and keeps the method.
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

// hops counts the redirects that have led to a request.
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

// foreign reports whether a success is of a kind that holds no message.
func foreign(resp *http.Response, due due) bool {
	switch due {
	case eventsDue:
		return !isEvents(resp)
	case answerDue:
		return !isEvents(resp) && mediaType(resp) != "application/json"
	}
	return false
}

// badAnswer is an HTTP answer that holds no message where one was due.
type badAnswer struct {
	status     int
	mediaType  string
	challenges []string // WWW-Authenticate
	location   string   // where a redirect points
	retryAfter string
	loggedIn   bool        // the request had an Authorization header
	byLogin    bool        // it was that of a login, not of the entry
	step       *fault.Step // by which a person logs in; nil: the server does not offer it
	maybe      bool        // a person may be able to log in all the same
	body       []byte
}

// readBadAnswer reads and closes an answer.
func readBadAnswer(req *http.Request, resp *http.Response) *badAnswer {
	defer resp.Body.Close()
	b := &badAnswer{status: resp.StatusCode, mediaType: mediaType(resp), challenges: resp.Header.Values("WWW-Authenticate"),
		retryAfter: resp.Header.Get("Retry-After"), loggedIn: resp.Request != nil && resp.Request.Header.Get("Authorization") != ""}
	if to, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
		b.location = to.String()
	}
	if !isEvents(resp) { // those need not end
		b.body, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // what came of it is all there is
	}
	return b
}

// Error says the status, as in "HTTP 404 Not Found".
func (b *badAnswer) Error() string {
	return strings.TrimSpace("HTTP " + strconv.Itoa(b.status) + " " + http.StatusText(b.status))
}

// serverError is the code with which servers made after the example of the TypeScript SDK refuse, as
// HTTP 400, a session that they do not know. It may mean other things too.
const serverError = -32000

// codeIn returns the code of the JSON-RPC error in a body; 0 where there is none.
func codeIn(body []byte) int {
	var m struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &m) != nil {
		return 0
	}
	return m.Error.Code
}

// errorIn returns the JSON-RPC error in the body of an answer as an answer to the trip's request; nil
// where there is none. The id in it may be null, where the server did not read as far.
func (t *trip) errorIn(body []byte) []byte {
	var m struct {
		JSONRPC string          `json:"jsonrpc"`
		Error   json.RawMessage `json:"error"`
	}
	var details *mcp.JSONRPCErrorDetails
	if json.Unmarshal(body, &m) != nil || m.JSONRPC != mcp.JSONRPC_VERSION || json.Unmarshal(m.Error, &details) != nil || details == nil {
		return nil
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": t.id, "error": m.Error})
	if err != nil {
		return nil
	}
	return answer
}

// traced returns the hooks that note how far a request has come.
func (t *trip) traced() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart:             func(i httptrace.DNSStartInfo) { t.reach("looking up " + i.Host) },
		ConnectStart:         func(_, addr string) { t.reach("connecting to " + addr) },
		TLSHandshakeStart:    func() { t.reach("agreeing on TLS") },
		WroteRequest:         func(httptrace.WroteRequestInfo) { t.reach("waiting for its answer") },
		GotFirstResponseByte: func() { t.reach("reading its answer") },
	}
}
