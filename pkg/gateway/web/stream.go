package web

import (
	"container/list"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/mcp"
)

const (
	// maxKept bounds what a stream keeps for a client that comes back, in bytes, and what all streams of a session that
	// have ended keep together. The oldest messages are dropped first.
	maxKept = 1 << 20
	// writeLimit bounds the time that a client may take to read one message, and a second more for so many bytes of it:
	// a slow client gets a large answer, one that reads nothing holds it for a limited time.
	writeLimit     = 30 * time.Second
	bytesPerSecond = 100_000
	// beat is how often a comment goes over a stream on which nothing happens, so that proxies keep it open.
	beat = 25 * time.Second
)

// stream is a sequence of messages to a client that outlasts the connection that they go over. It is a gateway.Outlet.
type stream struct {
	number string // of its session; empty if it cannot be resumed
	// plain returns the status of a response that is sent alone. If nil, that is 200.
	plain func(response []byte) int
	// finished is called after the last message; nil if no session keeps the stream.
	finished func()
	place    *list.Element // in the share of its principal, which guards it; nil if it is not there

	mu    sync.Mutex
	kept  []kept
	last  int // number of the next message
	read  int // number of the first message that no connection was sent yet
	size  int // of kept, in bytes
	ended bool
	wake  chan struct{} // closed when something has changed
	taker int           // number of the connection that reads it; an older one ends
}

// kept is a message of a stream.
type kept struct {
	number  int
	message []byte
	isNews  bool // a client may miss it
}

func newStream(number string) *stream { return &stream{number: number, wake: make(chan struct{})} }

// Send implements gateway.Outlet.
func (s *stream) Send(message []byte) bool { return s.put(message, false) }

// Tell implements gateway.Outlet.
func (s *stream) Tell(message []byte) { s.put(message, true) }

// Answer implements gateway.Outlet. The response takes the place of what the client has left unread.
func (s *stream) Answer(response []byte) {
	s.mu.Lock()
	if !s.ended {
		s.append(response, false)
		s.drop(func(kept) bool { return true })
		s.ended = true
		s.changed()
	}
	s.mu.Unlock()
	if s.finished != nil {
		s.finished()
	}
}

// Cancelled implements gateway.Outlet: the response ends the request of HTTP.
func (s *stream) Cancelled(response []byte) { s.Answer(response) }

// put appends a message, and reports false if there is no room for it: what was sent already makes room, and news does.
// A message of any size fits into an empty stream.
func (s *stream) put(message []byte, isNews bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.append(message, isNews)
	s.drop(func(k kept) bool { return k.isNews || k.number < s.read })
	if n := len(s.kept) - 1; s.size > maxKept && n > 0 {
		s.size -= len(message)
		s.last--
		s.kept[n] = kept{}
		s.kept = s.kept[:n]
		return false
	}
	s.changed()
	return true
}

// append appends a message. It needs mu.
func (s *stream) append(message []byte, isNews bool) {
	s.kept = append(s.kept, kept{s.last, message, isNews})
	s.last++
	s.size += len(message)
}

// drop drops the oldest messages that may go, if the stream keeps too much, but not the last one. It makes a quarter of
// the room at once: it looks at all that is kept. It needs mu.
func (s *stream) drop(mayGo func(kept) bool) {
	if s.size <= maxKept {
		return
	}
	last := s.last - 1
	s.kept = slices.DeleteFunc(s.kept, func(k kept) bool {
		if s.size <= maxKept*3/4 || k.number == last || !mayGo(k) {
			return false
		}
		s.size -= len(k.message)
		return true
	})
}

// weight returns how many bytes the stream keeps, and whether no more come.
func (s *stream) weight() (size int, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size, s.ended
}

// close ends the stream.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.changed()
}

// changed wakes those that read the stream. It needs mu.
func (s *stream) changed() {
	close(s.wake)
	s.wake = make(chan struct{})
}

// take makes this connection the one that reads the stream.
func (s *stream) take() (taker int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taker++
	s.changed()
	return s.taker
}

// next returns the messages from a number on, and whether no more come; the client has got those before it. If there
// are none yet, wake is closed once there may be. mine is false if another connection reads the stream now.
func (s *stream) next(from, taker int) (messages []kept, ended, mine bool, wake <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = max(s.read, min(from, s.last))
	first, _ := slices.BinarySearchFunc(s.kept, from, func(k kept, n int) int { return k.number - n })
	return slices.Clone(s.kept[first:]), s.ended, s.taker == taker, s.wake
}

// respond answers a request with the messages of the stream: with the response alone if that comes soon and nothing
// before it, else with events. It reports whether a client may come back for the stream: one that has got no event
// knows no number to resume it by.
func (s *stream) respond(w http.ResponseWriter, r *http.Request) (resumable bool) {
	taker := s.take()
	wait := time.NewTimer(patience)
	defer wait.Stop()
	for waiting := true; waiting; {
		messages, ended, mine, wake := s.next(0, taker)
		switch {
		case !mine:
			return true // another connection has events of it
		case ended && len(messages) == 1:
			w.Header().Set("Content-Type", "application/json")
			if s.plain != nil {
				w.WriteHeader(s.plain(messages[0].message))
			}
			limitWrite(w, len(messages[0].message))
			_, _ = w.Write(messages[0].message) // a client that has gone reads nothing
			return false
		case len(messages) > 0:
			waiting = false
			continue
		}
		select {
		case <-wake:
		case <-wait.C:
			waiting = false
		case <-r.Context().Done():
			refuseLate(w, r)
			return false
		}
	}
	s.events(w, r, 0, taker)
	return true
}

// follow sends the messages after number n as events.
func (s *stream) follow(w http.ResponseWriter, r *http.Request, n int) {
	s.events(w, r, n+1, s.take())
}

// events sends messages as events until the last one, or until the client goes.
func (s *stream) events(w http.ResponseWriter, r *http.Request, from, taker int) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	write := func(b []byte) bool {
		limitWrite(w, len(b))
		if _, err := w.Write(b); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	alive := time.NewTicker(beat)
	defer alive.Stop()
	if !write(s.prime(r, from)) {
		return
	}
	for {
		messages, ended, mine, wake := s.next(from, taker)
		if !mine {
			return
		}
		for _, k := range messages {
			if !write(mcp.AppendEvent(nil, s.eventID(k.number), k.message)) {
				return
			}
			from = k.number + 1
		}
		if ended && len(messages) == 0 {
			return
		} else if len(messages) > 0 {
			continue
		}
		select {
		case <-wake:
		case <-alive.C:
			if !write([]byte(":\n\n")) {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// limitWrite bounds the time that writing so many bytes may take.
func limitWrite(w http.ResponseWriter, size int) {
	limit := writeLimit + time.Duration(size)*time.Second/bytesPerSecond
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit)) // a writer without deadlines has its own
}

// prime returns what a stream begins with: nothing to read, or for clients that know of it an event without a message,
// from which they resume a stream that breaks before the first: "the server SHOULD immediately send an SSE event
// consisting of an event ID and an empty data field" (MCP 2025-11-25, transports).
func (s *stream) prime(r *http.Request, from int) []byte {
	id := s.eventID(from - 1)
	if id == "" || r.Header.Get(revisionHeader) < primedSince {
		return []byte(": mcpl\n\n")
	}
	return []byte("id: " + id + "\nretry: 1000\ndata:\n\n")
}

// primedSince is the first revision whose clients expect an event without a message.
const primedSince = "2025-11-25"

// eventID returns the id of a message, by which a client resumes the stream.
func (s *stream) eventID(n int) string {
	if s.number == "" {
		return ""
	}
	return s.number + "-" + strconv.Itoa(n)
}
