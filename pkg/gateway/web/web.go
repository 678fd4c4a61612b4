// Package web serves a gateway over Streamable HTTP (MCP 2025-11-25 and 2026-07-28, basic/transports) to any number of
// clients: sessions for those of older revisions, single requests for the others, on one URL.
//
// Make one [Server] with [New], serve HTTP with it, and close it at the end. pkg/gateway answers the messages; this
// package knows headers, bodies and streams.
package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/gateway/telemetry"
	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// maxBody bounds the body of a request, in bytes.
	maxBody = 16 << 20
	// idle is how long a session lasts without a request or an open stream.
	idle = gateway.SessionIdle
	// maxSessions bounds the sessions. The one that has been idle for longest ends first.
	maxSessions = 10_000
	// patience is how long a response waits for something to be streamed before it.
	patience = 100 * time.Millisecond

	sessionHeader  = "Mcp-Session-Id"
	revisionHeader = "Mcp-Protocol-Version"
)

// Options make a [Server].
type Options struct {
	Gateway *gateway.Gateway
	// Expose is the exposure of the path /mcp.
	Expose gateway.Exposure
	// Now is the clock of sessions.
	Now func() time.Time
	// Principal returns whose a token is; nil if it is none, or none any more. If Principal is nil, requests need no
	// token. A [gateway.TokenError] goes to the client; another error says why tokens cannot be judged now.
	Principal func(ctx context.Context, token string) (*gateway.Principal, error)
	// Metrics, if not nil, count responses, sessions and streams, and are served at /metrics.
	Metrics *telemetry.Metrics
	// Resource is what clients read that look for a token, if an issuer gives out tokens; nil if none does.
	Resource *Resource
}

// Server is an http.Handler.
type Server struct {
	opt Options
	mux *http.ServeMux
	// ending is closed when the server begins to end: what lasts until the client goes ends then.
	ending chan struct{}
	// cutting is closed when requests have had their time to end: those without a session are cancelled then.
	cutting chan struct{}

	mu       sync.Mutex
	sessions map[string]*session  // by the ID in their sealed id
	ended    map[string]time.Time // those of other replicas that ended here, and when they can be continued nowhere
	requests map[*openRequest]struct{}
	shares   map[string]*holding // by principal
	closed   bool
	busy     sync.WaitGroup // requests; Add only while mu is held and closed is false
	retiring sync.WaitGroup // sessions that end; the same

	streams atomic.Int64 // that are open
}

// New returns a server.
func New(opt Options) *Server {
	s := &Server{opt: opt, mux: http.NewServeMux(), sessions: make(map[string]*session), ended: make(map[string]time.Time),
		requests: make(map[*openRequest]struct{}), shares: make(map[string]*holding),
		ending: make(chan struct{}), cutting: make(chan struct{})}
	for _, path := range []string{"/mcp", "/mcp/{expose}", "/mcp/p/{profile}", "/mcp/p/{profile}/{expose}",
		"/api/mcp/{token}"} {
		s.mux.HandleFunc(path, s.serve)
	}
	s.operate()
	if opt.Resource != nil {
		s.mux.HandleFunc("GET "+metadataPath, s.metadata)
		s.mux.HandleFunc("GET "+metadataPath+"/{resource...}", s.metadata)
	}
	return s
}

// Close ends all sessions and returns when nothing of them is left.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	sessions := s.sessions
	s.sessions = nil
	s.mu.Unlock()
	for _, session := range sessions {
		session.end()
	}
	s.busy.Wait()
	s.retiring.Wait()
	return nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		http.Error(w, "the gateway is ending", http.StatusServiceUnavailable)
		return
	}
	s.busy.Add(1)
	s.mu.Unlock()
	defer s.busy.Done()
	s.serveCounted(w, r)
}

// endpoint serves the requests of one identity.
type endpoint struct {
	*Server
	who   gateway.Identity
	share *holding
	load  *load // of the request
}

// serve answers a request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.expected(r) {
		refuse(w, http.StatusForbidden, nil, mcp.InvalidRequest, "requests of this origin, or for this host, are not taken")
		return
	}
	principal, ok := s.authorized(w, r)
	if !ok {
		return
	}
	who, wrong := s.identity(r, principal)
	if wrong != "" {
		refuse(w, http.StatusNotFound, nil, mcp.InvalidRequest, wrong)
		return
	}
	r, end := s.watched(r, principal)
	defer end()
	share, leave := s.enterHolding(principal, token(r))
	defer leave()
	e := &endpoint{s, who, share, share.newLoad()}
	defer e.load.release()
	switch r.Method {
	case http.MethodPost:
		e.post(w, r)
	case http.MethodGet:
		e.get(w, r)
	case http.MethodDelete:
		e.delete(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, nil, mcp.InvalidRequest, "use POST, GET or DELETE")
	}
}

// refuse answers with an error of the protocol.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, code int, text string) {
	refuseWith(w, status, id, &tool.UpstreamError{Code: code, Message: text})
}

func refuseWith(w http.ResponseWriter, status int, id json.RawMessage, e *tool.UpstreamError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(mcp.Answer(id, nil, e)) // a client that has gone reads nothing
}

// refuseMore answers a request of a principal that has too much in flight. It reports whether it has.
func refuseMore(w http.ResponseWriter, id json.RawMessage, err error) bool {
	if !errors.Is(err, errTooMuch) {
		return false
	}
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusTooManyRequests, id, mcp.InternalError, err.Error()+": try again when one has been answered")
	return true
}

// post takes a message of a client.
func (e *endpoint) post(w http.ResponseWriter, r *http.Request) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, nil, mcp.InvalidRequest, "the body has to be application/json")
		return
	}
	if !accepts(r, "application/json") || !accepts(r, "text/event-stream") {
		refuse(w, http.StatusNotAcceptable, nil, mcp.InvalidRequest,
			"Accept has to name both application/json and text/event-stream")
		return
	}
	body, err := io.ReadAll(e.load.reader(http.MaxBytesReader(w, r.Body, maxBody)))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, nil, mcp.InvalidRequest,
			fmt.Sprintf("the body exceeds %d bytes", maxBody))
		return
	}
	if refuseLate(w, r) || refuseMore(w, nil, err) {
		return
	}
	if err != nil { // the client may have gone, and may still read
		refuse(w, http.StatusRequestTimeout, nil, mcp.InvalidRequest, "the body ended early, or took too long")
		return
	}
	m, wrong := mcp.Parse(body)
	if wrong != nil {
		refuseWith(w, http.StatusBadRequest, m.ID, wrong)
		return
	}
	if m.IsRequest() && refuseMore(w, m.ID, e.load.begin(m.Method)) {
		return
	}
	e.message(w, r, gateway.Traced(m, r.Header.Get("Traceparent"), r.Header.Get("Tracestate")))
}

// message takes a message: of a session, of a client without one, or of a revision that has none.
func (e *endpoint) message(w http.ResponseWriter, r *http.Request, m mcp.Message) {
	id, revision := r.Header.Get(sessionHeader), r.Header.Get(revisionHeader)
	said := gateway.RevisionOf(m)
	switch {
	case mcp.IsModern(revision) || said != "":
		e.modern(w, r, m, said)
	case m.Method == "initialize" && m.IsRequest():
		s, sealed, err := e.begin(r.Context(), m)
		if err != nil {
			refuse(w, http.StatusServiceUnavailable, m.ID, mcp.InternalError, err.Error())
			return
		}
		defer s.leave(e.opt.Now)
		w.Header().Set(sessionHeader, sealed)
		s.serve(w, r, m, e.load)
	case revision != "" && !mcp.Knows(revision):
		refuseWith(w, http.StatusBadRequest, m.ID, gateway.Unsupported(revision))
	case id == "":
		e.single(w, r, m, nil)
	default:
		s, err := e.find(r.Context(), id)
		if err != nil {
			refuse(w, statusWithout(err), m.ID, mcp.InvalidRequest, err.Error())
			return
		}
		defer s.leave(e.opt.Now)
		s.serve(w, r, m, e.load)
	}
}

// modern takes a message of a revision without sessions. said is the revision in its _meta. Headers are compared with
// the body before anything else.
func (e *endpoint) modern(w http.ResponseWriter, r *http.Request, m mcp.Message, said string) {
	header := func(name string) (string, bool) {
		values := r.Header.Values(name)
		return strings.TrimSpace(strings.Join(values, ",")), len(values) > 0
	}
	wrong := ""
	if revision, _ := header(revisionHeader); said != "" && revision != said {
		wrong = revisionHeader + " is not the revision of the body"
	} else if m.IsRequest() {
		wrong = mcp.CheckHeaders(m, nil, header)
	}
	if wrong != "" {
		refuse(w, http.StatusBadRequest, m.ID, mcp.HeaderMismatch, wrong)
		return
	}
	e.single(w, r, m, header)
}

// single answers a message without a session. header has its headers if it is of a revision that has no sessions.
func (e *endpoint) single(w http.ResponseWriter, r *http.Request, m mcp.Message, header func(string) (string, bool)) {
	if !m.IsRequest() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	c := e.opt.Gateway.Connect(rand.Text(), e.who, nil)
	defer c.Close()
	ctx, cancel := context.WithCancel(r.Context())
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	stop := e.cutting
	if m.Method == "subscriptions/listen" { // it lasts until the client goes, which the end cannot wait for
		stop = e.ending
	}
	watch.Go(func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	})
	if header != nil {
		wrong := c.Introduce(m)
		if wrong == nil {
			wrong = c.CheckHeaders(ctx, m, header)
		}
		if wrong != nil {
			refuseWith(w, http.StatusBadRequest, m.ID, wrong)
			return
		}
	}
	out := newStream("")
	if out.plain = statusOf; header == nil {
		out.plain = nil
	}
	c.Receive(ctx, m, r.Header.Get, out)
	out.respond(w, r)
}

// statusOf returns the status of a response alone, since MCP 2026-07-28.
func statusOf(response []byte) int {
	m, wrong := mcp.Parse(response)
	if wrong != nil || m.Error == nil {
		return http.StatusOK
	}
	switch m.Error.Code {
	case mcp.MethodNotFound:
		return http.StatusNotFound
	case mcp.MissingCapability, mcp.HeaderMismatch, mcp.UnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// accepts reports whether a client takes a media type.
func accepts(r *http.Request, media string) bool {
	family, _, _ := strings.Cut(media, "/")
	for _, value := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(value, ",") {
			name, _, _ := strings.Cut(part, ";")
			if name = strings.ToLower(strings.TrimSpace(name)); name == media || name == "*/*" || name == family+"/*" {
				return true
			}
		}
	}
	return false
}
