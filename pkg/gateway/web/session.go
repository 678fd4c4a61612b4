package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/mcp"
)

// session is a client of a revision with sessions.
type session struct {
	id     string   // that tells it from others; its client has that sealed
	share  *holding // of its principal
	client *gateway.Client
	own    *stream // of messages that belong to no request: that of GET

	mu      sync.Mutex
	using   int                // requests and open streams
	used    time.Time          // when the last of them ended
	streams map[string]*stream // of requests, by number, that may be resumed
	last    int                // number of a stream
	prefix  string             // of these numbers
}

// maxStreams bounds the streams of a session that may be resumed. The oldest is forgotten first.
const maxStreams = 64

// errFull says that no session can begin or be continued.
var errFull = errors.New("there are too many sessions in use")

// begin begins a session with its first message. It is in use. sealed is the id that its client gets.
func (e *endpoint) begin(ctx context.Context, m mcp.Message) (begun *session, sealed string, err error) {
	id, sealed, err := e.opt.Gateway.BeginSession(ctx, e.who, m)
	if err != nil {
		return nil, "", err
	}
	n := e.newSession(id.ID)
	n.client = e.opt.Gateway.Connect(id.ID, e.who, n.own)
	begun, err = e.enter(n)
	return begun, sealed, err
}

// newSession returns a session that is in use.
func (e *endpoint) newSession(id string) *session {
	n := &session{id: id, share: e.share, using: 1, streams: make(map[string]*stream)}
	if replica := e.opt.Gateway.Replica(); replica != "" {
		n.prefix = replica + "."
	}
	n.own = newStream(n.number(0))
	return n
}

// number returns the number of a stream, as the client has it: where replicas continue one another's sessions it names
// this one, since the stream is nowhere else.
func (s *session) number(n int) string { return s.prefix + strconv.Itoa(n) }

// isElsewhere reports whether a stream of that number is the answer to a request that another replica has.
func (s *session) isElsewhere(number string) bool {
	replica, n, named := strings.Cut(number, ".")
	return named && replica+"." != s.prefix && n != "0"
}

// enter enters a session among the others. If it is there already, that one is in use now, and this one ends.
func (e *endpoint) enter(n *session) (entered *session, err error) {
	e.mu.Lock()
	entered = e.sessions[n.id]
	var gone *session
	switch {
	case entered != nil:
		entered.mu.Lock()
		entered.using++
		entered.mu.Unlock()
		gone = n
	case e.closed: // a request that came before Close may get here after it, when there is no map any more
		gone, err = n, errFull
	default:
		var room bool
		if gone, room = e.room(); !room {
			gone, err = n, errFull
			break
		}
		if gone != nil {
			e.remove(gone)
		}
		e.sessions[n.id], entered = n, n
		n.share.sessions++
	}
	closed := e.closed
	if gone != nil && !closed {
		e.retire(gone)
	}
	e.mu.Unlock()
	if gone != nil && closed {
		gone.end()
	}
	return entered, err
}

// remove takes a session out of those that there are. It reports false if it is not one of them. It needs mu.
func (s *Server) remove(gone *session) bool {
	if s.sessions[gone.id] != gone {
		return false
	}
	delete(s.sessions, gone.id)
	gone.share.sessions--
	return true
}

// room reports whether there is room for one more session of the principal, if gone ends, which may be nil: where a
// principal has its share, that is its session that has been idle for longest, else that of the one who has most among
// those with an idle one. It needs mu.
func (e *endpoint) room() (gone *session, room bool) {
	own := e.share.isBounded() && e.share.sessions >= ownSessions
	if !own && len(e.sessions) < maxSessions {
		return nil, true
	}
	var first time.Time
	for _, session := range e.sessions {
		since, isIdle := session.idleSince()
		if !isIdle || own && session.share != e.share {
			continue
		}
		more := 1
		if gone != nil {
			more = session.share.sessions - gone.share.sessions
		}
		if more > 0 || more == 0 && since.Before(first) {
			gone, first = session, since
		}
	}
	return gone, gone != nil
}

// sweepLimit bounds the time in which other replicas are asked about sessions.
const sweepLimit = 5 * time.Second

// sweep ends the sessions that have been idle for too long, or have ended at another replica while a stream is open.
func (s *Server) sweep(ctx context.Context) {
	now := s.opt.Now()
	var used []*session
	s.mu.Lock()
	for _, session := range s.sessions {
		if since, isIdle := session.idleSince(); isIdle && now.Sub(since) > idle {
			s.remove(session)
			s.retire(session)
		} else if !isIdle {
			used = append(used, session)
		}
	}
	for id, until := range s.ended {
		if now.After(until) {
			delete(s.ended, id)
		}
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	for _, session := range used {
		if session.client.Follow(ctx) {
			s.drop(session)
		}
	}
}

// retire ends a session that is not among the sessions any more, in the background: no other client waits for it. It
// needs mu, and that the server is not closed.
func (s *Server) retire(gone *session) { s.retiring.Go(gone.end) }

// errNoSession says that a session has ended, or that there never was one.
var errNoSession = errors.New("there is no such session, or it has ended")

// find returns the session of a sealed id, which is in use until the caller leaves it. A session that this replica does
// not have, and that has not ended, is continued.
func (e *endpoint) find(ctx context.Context, sealed string) (*session, error) {
	id, ok := e.opt.Gateway.OpenSession(e.who, sealed)
	if !ok || !id.Is(e.who) {
		return nil, errNoSession
	}
	e.mu.Lock()
	known := e.sessions[id.ID]
	used := known != nil && known.use(e.opt.Now())
	if known != nil && !used {
		e.remove(known)
	}
	_, ended := e.ended[id.ID]
	e.mu.Unlock()
	switch {
	case used && !known.client.Follow(ctx):
		return known, nil
	case used:
		e.drop(known)
		return nil, errNoSession
	case known != nil: // idle for too long here, but maybe not elsewhere
		known.end()
	}
	if ended {
		return nil, errNoSession
	}
	n := e.newSession(id.ID)
	if n.client = e.opt.Gateway.ConnectAs(ctx, id, e.who, n.own); n.client == nil {
		return nil, errNoSession
	}
	return e.enter(n)
}

// drop ends a session that another replica has ended.
func (s *Server) drop(gone *session) {
	s.mu.Lock()
	s.remove(gone)
	s.mu.Unlock()
	gone.end()
}

// use has the session in use, unless it has been idle for too long: the next sweep ends it.
func (s *session) use(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.using == 0 && now.Sub(s.used) > idle && !s.client.IsBusy() {
		return false
	}
	s.using++
	return true
}

// delete ends a session.
func (e *endpoint) delete(w http.ResponseWriter, r *http.Request) {
	id, ok := e.opt.Gateway.OpenSession(e.who, r.Header.Get(sessionHeader))
	e.mu.Lock()
	s := e.sessions[id.ID]
	if s != nil {
		e.remove(s)
	}
	_, ended := e.ended[id.ID]
	e.mu.Unlock()
	if s != nil {
		s.end()
	}
	if !ok || ended || !e.opt.Gateway.EndSession(r.Context(), id, s != nil) {
		refuse(w, http.StatusNotFound, nil, mcp.InvalidRequest, errNoSession.Error())
		return
	}
	e.note(id)
	w.WriteHeader(http.StatusNoContent)
}

// note notes that a session has ended, if it could be continued here.
func (s *Server) note(id gateway.SessionID) {
	if !s.opt.Gateway.Movable(id) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.ended {
		if len(s.ended) < maxSessions {
			break
		}
		delete(s.ended, other)
	}
	s.ended[id.ID] = id.Moves()
}

// statusWithout returns the status of an answer to a request whose session cannot be found.
func statusWithout(err error) int {
	if errors.Is(err, errNoSession) {
		return http.StatusNotFound
	}
	return http.StatusServiceUnavailable
}

// get opens the stream of a session, or resumes another one.
func (e *endpoint) get(w http.ResponseWriter, r *http.Request) {
	if !accepts(r, "text/event-stream") {
		refuse(w, http.StatusNotAcceptable, nil, mcp.InvalidRequest, "Accept has to name text/event-stream")
		return
	}
	id := r.Header.Get(sessionHeader)
	if id == "" {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, nil, mcp.InvalidRequest, "only a session has a stream")
		return
	}
	s, err := e.find(r.Context(), id)
	if err != nil {
		refuse(w, statusWithout(err), nil, mcp.InvalidRequest, err.Error())
		return
	}
	defer s.leave(e.opt.Now)
	number, after, _ := strings.Cut(r.Header.Get("Last-Event-Id"), "-")
	if s.isElsewhere(number) {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, nil, mcp.InternalError,
			"another replica of this gateway has the stream: try again, until the balancer leads there")
		return
	}
	n, err := strconv.Atoi(after)
	out := s.stream(number)
	if out == nil || err != nil {
		out, n = s.own, -1
	}
	out.follow(w, r, n)
}

// stream returns the stream of that number, nil if it is not known any more.
func (s *session) stream(number string) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number == s.own.number {
		return s.own
	}
	return s.streams[number]
}

// serve answers a message of the session. The load lasts until a request has been answered, however long that outlasts
// its connection.
func (s *session) serve(w http.ResponseWriter, r *http.Request, m mcp.Message, load *load) {
	if m.IsResponse() {
		if wrong := s.client.TakeAnswer(r.Context(), m); wrong != nil {
			refuseWith(w, http.StatusBadRequest, nil, wrong)
			return
		}
	} else if !m.IsRequest() {
		s.client.Receive(r.Context(), m, r.Header.Get, s.own)
	}
	if !m.IsRequest() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.mu.Lock()
	s.last++
	out := newStream(s.number(s.last))
	load.hold()
	released := sync.OnceFunc(load.release)
	out.finished = func() {
		s.trim()
		released()
	}
	s.streams[out.number] = out
	s.forget(s.streams[s.number(s.last-maxStreams)])
	s.mu.Unlock()
	// "Disconnection SHOULD NOT be interpreted as the client cancelling its request" (MCP 2025-11-25, transports).
	s.client.Receive(context.WithoutCancel(r.Context()), m, r.Header.Get, out)
	if !out.respond(w, r) {
		s.mu.Lock()
		s.forget(out)
		s.mu.Unlock()
	}
}

// forget forgets a stream, which may be nil. It needs mu.
func (s *session) forget(out *stream) {
	if out != nil && s.streams[out.number] == out {
		delete(s.streams, out.number)
		s.share.forget(out)
	}
}

// trim forgets streams that have ended, so that those that are left keep no more than maxKept together. What fits is
// kept from the newest on, since a client comes back for what it has just missed.
func (s *session) trim() {
	for _, gone := range s.trimmed() {
		gone.session.mu.Lock()
		gone.session.forget(gone.stream)
		gone.session.mu.Unlock()
	}
}

// trimmed is trim for one session, and returns what is to be forgotten so that the principal keeps no more than its
// share.
func (s *session) trimmed() (gone []keptStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := 0
	for n := s.last; n > s.last-maxStreams; n-- {
		number := s.number(n)
		out := s.streams[number]
		if out == nil {
			continue
		}
		size, ended := out.weight()
		if !ended {
			continue
		}
		if kept+size > maxKept {
			s.forget(out)
		} else {
			kept += size
			gone = append(gone, s.share.keep(s, out, size)...)
		}
	}
	return gone
}

// idleSince returns since when nothing uses the session. A request may be in flight though its connection has gone.
func (s *session) idleSince() (since time.Time, isIdle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.using == 0 && !s.client.IsBusy()
}

// leave ends a use of the session.
func (s *session) leave(now func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.using--
	s.used = now()
}

// end cancels the requests of the session and closes its streams.
func (s *session) end() {
	s.client.Close()
	s.own.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, out := range s.streams {
		s.forget(out)
	}
}
