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

// remote is a server that is reached by its URL: what both transports over HTTP share.
type remote struct {
	server  *config.Server
	envFile string
	log     logger
	url     *url.URL
	base    *http.Transport
	client  *http.Client
	last    atomic.Pointer[string]    // the last answer, in words
	denied  atomic.Pointer[badAnswer] // the last answer that asked for a login
	lost    atomic.Bool               // the server does not know our session any more
}

// newRemote returns the way to a server over HTTP. Nothing is sent yet. The system's certificate
// authorities are trusted, and the environment's proxy is used (HTTPS_PROXY, HTTP_PROXY, NO_PROXY).
// Limits of time are those of the requests' contexts. take is as in guard.
func newRemote(server *config.Server, opt Options, log logger, take func(string, []byte)) (*remote, error) {
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
	r.client = &http.Client{Transport: &guard{base: r.base, origin: u, headers: server.Headers, agent: "mcpl/" + opt.Version,
		login: newLogin(server, opt.Tokens), answered: r.answered, denied: r.denied.Store, take: take,
		sessionLost: func() { r.lost.Store(true) }}}
	return r, nil
}

// answered notes an answer.
func (r *remote) answered(req *http.Request, resp *http.Response) {
	text := resp.Status + " over " + resp.Proto
	if resp.TLS != nil {
		text += ", " + tls.VersionName(resp.TLS.Version)
	}
	if kind := mediaType(resp); kind != "" {
		text += ", " + kind
	}
	if !tripOf(req.Context()).aside {
		r.last.Store(&text)
	}
	r.log("%s was answered with %s", req.Method, text)
}

// alive reports whether the server can be asked something. There need not be a connection.
func (r *remote) alive() bool { return !r.lost.Load() }

// close implements peer.
func (r *remote) close() { r.base.CloseIdleConnections() }

// stderr implements peer.
func (r *remote) stderr() string { return "" }

// attach implements peer. It adds the URL and the last answer.
func (r *remote) attach(f *fault.Fault, _ phase) *fault.Fault {
	f.Trace("url: " + r.server.Display().URL)
	if last := r.last.Load(); last != nil {
		return f.Trace("last answer: " + r.server.Mask(*last))
	}
	return f.Trace("last answer: none")
}

// errLost marks faults of requests whose connection broke off before they were answered. Whether
// they were carried out is not known.
var errLost = errors.New("the connection was lost")

// cutOff is the error of a request that was sent, or partly so, and whose connection ended before
// its answer.
type cutOff struct{ cause error }

func (c *cutOff) Error() string { return "the connection ended: " + c.cause.Error() }
func (c *cutOff) Unwrap() error { return c.cause }

// lost is the error of a request that was accepted and whose answer does not come any more. Of the cause
// only the words are kept: that another request was refused on the way does not say that this one was.
func lost(err error) *cutOff {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // the URL in outer may hold secrets in a spelling of its own
	}
	return &cutOff{errors.New(err.Error())}
}

// failure implements peer.
func (r *remote) failure(err error, ph phase) *fault.Fault {
	name := r.server.Name
	var bad *badAnswer
	var cut *cutOff
	var known *fault.Fault
	switch {
	case errors.As(err, &known): // of the login
		f := *known
		return &f
	case errors.As(err, &bad):
		return r.answeredBadly(bad, ph)
	case errors.Is(err, errTooLong):
		return messageTooLong(r.server)
	case errors.Is(err, errSessionEnded):
		return fault.New(fault.ServerConnection, fmt.Sprintf("%s ended its session before it answered %s", name, ph.name),
			"Type the command again: that starts a new session.").On(name, "").Because(errSessionEnded)
	case errors.Is(err, errElsewhere):
		return fault.New(fault.Protocol, fmt.Sprintf("%s sends its clients to another host, which mcpl does not follow", name),
			r.correct("url")+" Headers and arguments are sent to no host but that one.").On(name, "")
	case errors.As(err, &cut):
		f := fault.New(fault.ServerConnection, fmt.Sprintf("the connection to %s ended before it answered %s", name, ph.name),
			"What was asked may have been done. "+askVerbosely(r.server)).On(name, "").Because(errLost)
		return f.Trace(r.server.Mask(cut.Error()))
	}
	if f := r.unreachable(err, ph); f != nil {
		return f
	}
	return failedAt(r.server, err, ph)
}

// correct says which field of the entry to correct.
func (r *remote) correct(field string) string {
	return fmt.Sprintf("Correct %q of %s in %s, line %d.", field, r.server.Name, r.server.File, r.server.Line)
}

// badURL is the fault of a URL that is none. pkg/config lets none through.
func badURL(server *config.Server) *fault.Fault {
	return fault.New(fault.Config, fmt.Sprintf("the URL of %s cannot be used", server.Name),
		fmt.Sprintf("Correct \"url\" in %s, line %d.", server.File, server.Line)).On(server.Name, "")
}
