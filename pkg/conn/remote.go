package conn

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// remote is the peer over Streamable HTTP: a server that is reached by its URL. Both transports over HTTP use it.
type remote struct {
	server  *config.Server
	envFile string
	log     logger
	url     *url.URL
	base    *http.Transport
	tripper *roundTripper
	last    atomic.Pointer[string]      // the last response, in words
	denied  atomic.Pointer[badResponse] // the last response that asked for a login
	lost    atomic.Bool                 // the server no longer knows our session
}

// newRemote returns the peer over HTTP, and sends nothing yet. It trusts the system's certificate authorities and uses
// HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Only the requests' contexts limit time. take is as in roundTripper.
func newRemote(
	server *config.Server, opt Options, log logger, take func(request string, message []byte)) (*remote, error) {
	u, err := url.Parse(server.URL)
	if err != nil {
		return nil, err
	}
	r := &remote{server: server, envFile: opt.EnvFile, log: log, url: u}
	r.base = &http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		DialContext:       (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2: true,
		IdleConnTimeout:   90 * time.Second,
	}
	r.tripper = &roundTripper{base: r.base, origin: u, headers: server.Headers, agent: "mcpl/" + opt.Version,
		login: newLogin(server, opt.Tokens), answered: r.answered, denied: r.denied.Store, take: take,
		sessionLost: func() { r.lost.Store(true) }}
	return r, nil
}

// answered notes a response.
func (r *remote) answered(x *httpExchange, req *http.Request, resp *http.Response) {
	text := resp.Status + " over " + resp.Proto
	if resp.TLS != nil {
		text += ", " + tls.VersionName(resp.TLS.Version)
	}
	if kind := mediaType(resp); kind != "" {
		text += ", " + kind
	}
	if !x.aside {
		r.last.Store(&text)
	}
	r.log("%s was answered with %s", req.Method, text)
}

// alive implements peer. There need not be a connection.
func (r *remote) alive() bool { return !r.lost.Load() }

func (r *remote) close(time.Duration) { r.base.CloseIdleConnections() }

// attach implements peer. It adds the URL and the last response.
func (r *remote) attach(f *fault.Fault, _ phase) *fault.Fault {
	f.Trace("url: " + r.server.Display().URL)
	if last := r.last.Load(); last != nil {
		return f.Trace("last answer: " + r.server.Mask(*last))
	}
	return f.Trace("last answer: none")
}

// errLost marks faults of requests whose connection broke off before the answer. They may have been carried out.
var errLost = errors.New("the connection was lost")

// cutOff is the error of a request that was sent, or partly so, and whose connection ended before the response.
type cutOff struct{ cause error }

func (c *cutOff) Error() string { return "the connection ended: " + c.cause.Error() }
func (c *cutOff) Unwrap() error { return c.cause }

// lost returns the error of a request that was accepted and whose response does not come any more. It keeps only the
// words of the cause: that another request was refused on the way does not say that this one was.
func lost(err error) *cutOff {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // the URL in outer may hold secrets in a spelling of its own
	}
	return &cutOff{errors.New(err.Error())}
}

func (r *remote) failure(err error, ph phase) *fault.Fault {
	name := r.server.Name
	var bad *badResponse
	var cut *cutOff
	var known *fault.Fault
	switch {
	case errors.As(err, &known): // of the login
		f := *known
		return &f
	case errors.As(err, &bad):
		return r.respondedBadly(bad, ph)
	case errors.Is(err, errTooLong), errors.Is(err, errTooDeep):
		return messageRefused(r.server, err)
	case errors.Is(err, errSessionEnded):
		message := fmt.Sprintf("%s ended its session before it answered %s", name, ph.name)
		return fault.New(fault.ServerConnection, message,
			"Type the command again: that starts a new session.").On(name, "").Because(errSessionEnded)
	case errors.Is(err, errElsewhere):
		message := fmt.Sprintf("%s sends its clients to another host, which mcpl does not follow", name)
		return fault.New(fault.Protocol, message,
			r.correct("url")+" mcpl sends headers and arguments only to the host of that URL.").On(name, "")
	case errors.As(err, &cut):
		message := fmt.Sprintf("the connection to %s ended before it answered %s", name, ph.name)
		return fault.New(fault.ServerConnection, message, "The server may have done what was asked.").
			On(name, "").Because(errLost).Trace(r.server.Mask(cut.Error())).Then(seeAll(r.server))
	}
	if f := r.unreachable(err, ph); f != nil {
		return f
	}
	return failedAt(r.server, err, ph)
}

// correct returns the advice to correct a field of the entry.
func (r *remote) correct(field string) string {
	return fmt.Sprintf("Correct %q of %s in %s.", field, r.server.Name, r.server.Place())
}
