package auth

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// callbackPath is the path of the address that a login comes back to.
const callbackPath = "/callback"

// listen opens the port that a login comes back to: the entry's, else the one that the client is registered with,
// else any free one (RFC 8252, 7.3).
func listen(s *config.Server, old *record) (net.Listener, string, error) {
	fixed := oauthOf(s).RedirectPort
	ports := []string{strconv.Itoa(fixed)}
	if fixed == 0 && old != nil {
		if u, err := url.Parse(old.Client.Redirect); err == nil && u.Port() != "" {
			ports = []string{u.Port(), "0"}
		}
	}
	var l net.Listener
	var err error
	for _, port := range ports {
		if l, err = net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			return l, "http://" + l.Addr().String() + callbackPath, nil
		}
	}
	help := "Try again."
	if fixed != 0 {
		help = fmt.Sprintf("Another program has port %d. End it, or set another \"redirectPort\" in %s (and at the "+
			"authorization server).", fixed, s.Place())
	}
	return nil, "", newFault(s, fault.Config, fmt.Sprintf("the login to %s has no port to come back to", s.Name), help).
		Because(err)
}

// expected holds what an authorization response must show.
type expected struct {
	state, issuer string
	// issuerRequired says that the server promised to name itself (RFC 9207, 3).
	issuerRequired bool
}

// response is an authorization response to this login (OAuth 2.1, 4.1.2).
type response struct {
	code        string
	errorCode   string
	description string
	wrong       string // what is wrong with it; may be empty
}

var errNoCode = errors.New("there is no code in it")

// read reads the parameters of a response. A response with another state belongs to another login.
func (e expected) read(q url.Values) (response, error) {
	if len(q["state"]) != 1 || q.Get("state") != e.state {
		return response{}, errors.New("it does not belong to this login")
	}
	if len(q["code"]) > 1 || len(q["error"]) > 1 { // "MUST NOT be included more than once" (RFC 6749, 3.1)
		return response{}, errors.New("a parameter stands in it twice")
	}
	r := response{code: q.Get("code"), errorCode: q.Get("error"), description: q.Get("error_description")}
	// "If the value does not match the expected issuer identifier, clients MUST reject the authorization response and
	// MUST NOT proceed" (RFC 9207, 2.4), also for errors. The texts are compared without any normalisation.
	switch iss, given := q["iss"]; {
	case given && (len(iss) != 1 || iss[0] != e.issuer):
		r.wrong = "the answer comes from another authorization server, " + fault.Excerpt(q.Get("iss"), maxQuoted)
	case !given && e.issuerRequired:
		r.wrong = "the answer does not say which authorization server it comes from, though that server says it would"
	case r.code == "" && r.errorCode == "":
		return response{}, errNoCode
	}
	return r, nil
}

// pasted reads the text that a person pasted: the whole address that the browser ended at, its query, or, if the
// issuer need not be checked, the code alone.
func (e expected) pasted(text string) (response, error) {
	text = strings.Trim(strings.TrimSpace(text), `"'<>`)
	query := ""
	switch {
	case text == "":
		return response{}, errNoCode
	case strings.Contains(text, "://"):
		u, err := url.Parse(text)
		if err != nil {
			return response{}, errNoCode
		}
		query = u.RawQuery
	case strings.Contains(text, "code=") || strings.Contains(text, "error="):
		query = strings.TrimPrefix(text, "?")
	case e.issuerRequired:
		return response{},
			errors.New("a code alone does not say which authorization server it comes from: paste the whole address")
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return response{}, errNoCode
	default:
		return response{code: text}, nil // the code challenge makes a wrong one harmless
	}
	q, err := url.ParseQuery(query)
	if err != nil {
		return response{}, errNoCode
	}
	return e.read(q)
}

// fault returns the fault of a response without a code. It is nil if there is a code.
func (r response) fault(s *config.Server, st *site) error {
	switch {
	case r.wrong != "":
		return badMetadata(s, r.wrong, st.Issuer, nil)
	case r.errorCode == "access_denied":
		return newFault(s, fault.AuthRequired, "the login to "+s.Name+" was refused", "").
			Then("Try again with", loginStep(s, nil)).Trace(quoted(s, r.description))
	case r.errorCode == "invalid_scope":
		return newFault(s, fault.Usage, "the authorization server of "+s.Name+" does not know the scopes that were asked for",
			"").Then("Name others with", loginStep(s, []string{"SCOPES"})).Trace(quoted(s, r.description))
	case r.errorCode != "":
		return newFault(s, fault.ServerConnection,
			fmt.Sprintf("the authorization server of %s ended the login: %s", s.Name, quoted(s, r.errorCode)),
			"Try again; if it fails again, tell whoever runs "+hostOf(s)+".").Trace(quoted(s, r.description))
	}
	return nil
}

// callbackServer waits for the answer to a login, at a port of this machine and at the terminal.
type callbackServer struct {
	want   expected
	server *http.Server
	served sync.WaitGroup
	got    chan response // room for one; the first answer counts
	page   chan error    // the outcome of the login, for the page in the browser; closed at the end
}

func newCallbackServer(l net.Listener, want expected) *callbackServer {
	w := &callbackServer{want: want, got: make(chan response, 1), page: make(chan error, 1)}
	w.server = &http.Server{Handler: w, ReadHeaderTimeout: requestLimit, MaxHeaderBytes: 64 << 10}
	w.served.Go(func() { _ = w.server.Serve(l) }) // until close; the error says that it was closed
	return w
}

// ServeHTTP answers the browser. A request that does not belong to this login changes nothing.
func (w *callbackServer) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet || req.URL.Path != callbackPath {
		writePage(out, http.StatusNotFound, "Nothing is here", "This page is for one login of mcpl.")
		return
	}
	r, err := w.want.read(req.URL.Query())
	if err != nil {
		writePage(out, http.StatusBadRequest, "That did not work",
			"This answer cannot be used: "+err.Error()+". mcpl goes on waiting.")
		return
	}
	select {
	case w.got <- r:
	default:
		writePage(out, http.StatusGone, "That is over", "This login was answered before.")
		return
	}
	select {
	case outcome, reported := <-w.page:
		if err = outcome; !reported {
			err = errors.New("mcpl has ended the login")
		}
	case <-req.Context().Done():
		return
	}
	if err != nil {
		writePage(out, http.StatusBadRequest, "The login failed", err.Error()+". The terminal says more.")
		return
	}
	writePage(out, http.StatusOK, "You are logged in", "You can close this page and go back to the terminal.")
}

// writePage writes a page that loads nothing and that no cache keeps.
func writePage(out http.ResponseWriter, status int, title, text string) {
	h := out.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	out.WriteHeader(status)
	fmt.Fprintf(out, `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>mcpl: %s</title></head>`+
		"<body><h1>%s</h1><p>%s</p></body></html>\n",
		html.EscapeString(title), html.EscapeString(title), html.EscapeString(text))
}

// read reads what a person pastes, line by line, until one line fits.
func (w *callbackServer) read(in io.Reader, notice func(string)) {
	// A read of a terminal cannot be interrupted: this goroutine ends with the input, or with the program after the
	// login.
	go func() {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			if strings.TrimSpace(lines.Text()) == "" {
				continue
			}
			r, err := w.want.pasted(lines.Text())
			if err != nil {
				notice("the pasted text cannot be used: " + err.Error())
				continue
			}
			select {
			case w.got <- r:
			default:
			}
			return
		}
	}()
}

// close ends the server, once the page is written.
func (w *callbackServer) close() {
	close(w.page)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if w.server.Shutdown(ctx) != nil {
		_ = w.server.Close() // a browser that does not read its page
	}
	w.served.Wait()
}
