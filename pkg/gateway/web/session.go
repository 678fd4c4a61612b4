package web

import (
	"context"
	"crypto/rand"
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
	id     string
	who    gateway.Identity // that it began with
	client *gateway.Client
	own    *stream // of messages that belong to no request: that of GET

	mu      sync.Mutex
	using   int                // requests and open streams
	used    time.Time          // when the last of them ended
	streams map[string]*stream // of requests, by number, that may be resumed
	last    int                // number of a stream
}

// maxStreams bounds the streams of a session that may be resumed. The oldest is forgotten first.
const maxStreams = 64

// begin begins a session, which is in use. It reports full if there is no room for it.
func (e *endpoint) begin() (begun *session, full bool) {
	n := &session{id: rand.Text(), who: e.who, using: 1,
		streams: make(map[string]*stream), own: newStream("0")}
	n.client = e.opt.Gateway.Connect(n.id, e.who, n.own)
	e.mu.Lock()
	var gone *session
	if !e.closed && len(e.sessions) >= maxSessions {
		if gone = e.longestIdle(); gone != nil {
			delete(e.sessions, gone.id)
		}
	}
	// A request that came before Close may get here after it, when there is no map any more.
	if full = e.closed || len(e.sessions) >= maxSessions; !full {
		e.sessions[n.id] = n
	}
	e.mu.Unlock()
	if gone != nil {
		gone.end()
	}
	if full {
		n.end()
	}
	return n, full
}

// longestIdle returns the session that has been idle for longest, nil if all are in use. It needs mu.
func (s *Server) longestIdle() (longest *session) {
	var first time.Time
	for _, session := range s.sessions {
		if since, isIdle := session.idleSince(); isIdle && (longest == nil || since.Before(first)) {
			longest, first = session, since
		}
	}
	return longest
}

// sweep ends the sessions that have been idle for too long.
func (s *Server) sweep() {
	now := s.opt.Now()
	var gone []*session
	s.mu.Lock()
	for id, session := range s.sessions {
		if since, isIdle := session.idleSince(); isIdle && now.Sub(since) > idle {
			gone = append(gone, session)
			delete(s.sessions, id)
		}
	}
	s.mu.Unlock()
	for _, session := range gone {
		session.end()
	}
}

// find returns a session, which is in use until the caller leaves it; nil if there is none.
func (e *endpoint) find(id string) *session {
	e.mu.Lock()
	defer e.mu.Unlock()
	found := e.sessions[id]
	if found == nil || !found.who.Equal(e.who) {
		return nil
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	if found.using == 0 && e.opt.Now().Sub(found.used) > idle {
		return nil // the next sweep ends it
	}
	found.using++
	return found
}

// delete ends a session.
func (e *endpoint) delete(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	e.mu.Lock()
	s := e.sessions[id]
	if s != nil && s.who.Principal.Name != e.who.Principal.Name {
		s = nil
	} else {
		delete(e.sessions, id)
	}
	e.mu.Unlock()
	if s == nil {
		refuse(w, http.StatusNotFound, nil, mcp.InvalidRequest, "there is no such session, or it has ended")
		return
	}
	s.end()
	w.WriteHeader(http.StatusNoContent)
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
	s := e.find(id)
	if s == nil {
		refuse(w, http.StatusNotFound, nil, mcp.InvalidRequest, "there is no such session, or it has ended")
		return
	}
	defer s.leave(e.opt.Now)
	number, after, _ := strings.Cut(r.Header.Get("Last-Event-Id"), "-")
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

// serve answers a message of the session.
func (s *session) serve(w http.ResponseWriter, r *http.Request, m mcp.Message) {
	if !m.IsRequest() {
		s.client.Receive(r.Context(), m, r.Header.Get, s.own)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.mu.Lock()
	s.last++
	out := newStream(strconv.Itoa(s.last))
	out.finished = s.trim
	s.streams[out.number] = out
	delete(s.streams, strconv.Itoa(s.last-maxStreams))
	s.mu.Unlock()
	// "Disconnection SHOULD NOT be interpreted as the client cancelling its request" (MCP 2025-11-25, transports).
	s.client.Receive(context.WithoutCancel(r.Context()), m, r.Header.Get, out)
	if !out.respond(w, r) {
		s.mu.Lock()
		delete(s.streams, out.number)
		s.mu.Unlock()
	}
}

// trim forgets streams that have ended, so that those that are left keep no more than maxKept together. What fits is
// kept from the newest on, since a client comes back for what it has just missed.
func (s *session) trim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := 0
	for n := s.last; n > s.last-maxStreams; n-- {
		number := strconv.Itoa(n)
		out := s.streams[number]
		if out == nil {
			continue
		}
		size, ended := out.weight()
		if !ended {
			continue
		}
		if kept+size > maxKept {
			delete(s.streams, number)
		} else {
			kept += size
		}
	}
}

// idleSince returns since when nothing uses the session.
func (s *session) idleSince() (since time.Time, isIdle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.using == 0
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
}
