package web

import (
	"net/http"
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

	mu    sync.Mutex
	kept  [][]byte
	first int // number of the first of kept
	size  int
	ended bool
	wake  chan struct{} // closed when something has changed
	taker int           // number of the connection that reads it; an older one ends
}

func newStream(number string) *stream { return &stream{number: number, wake: make(chan struct{})} }

// Send implements gateway.Outlet.
func (s *stream) Send(message []byte) { s.put(message, false) }

// Tell implements gateway.Outlet. A stream keeps the last of all its messages.
func (s *stream) Tell(message []byte) { s.put(message, false) }

// Answer implements gateway.Outlet.
func (s *stream) Answer(response []byte) {
	s.put(response, true)
	if s.finished != nil {
		s.finished()
	}
}

func (s *stream) put(message []byte, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.kept = append(s.kept, message)
	s.size += len(message)
	for s.size > maxKept && len(s.kept) > 1 {
		s.size -= len(s.kept[0])
		s.kept[0] = nil
		s.kept = s.kept[1:]
		s.first++
	}
	s.ended = last
	s.changed()
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

// next returns the messages from a number on, and whether no more come. If there are none yet, wake is closed once
// there may be. mine is false if another connection reads the stream now.
func (s *stream) next(from, taker int) (messages [][]byte, begin int, ended, mine bool, wake <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	begin = max(from, s.first)
	if begin-s.first < len(s.kept) {
		messages = s.kept[begin-s.first:]
	}
	return messages, begin, s.ended, s.taker == taker, s.wake
}

// respond answers a request with the messages of the stream: with the response alone if that comes soon and nothing
// before it, else with events. It reports whether a client may come back for the stream: one that has got no event
// knows no number to resume it by.
func (s *stream) respond(w http.ResponseWriter, r *http.Request) (resumable bool) {
	taker := s.take()
	wait := time.NewTimer(patience)
	defer wait.Stop()
	for waiting := true; waiting; {
		messages, _, ended, mine, wake := s.next(0, taker)
		switch {
		case !mine:
			return true // another connection has events of it
		case ended && len(messages) == 1:
			w.Header().Set("Content-Type", "application/json")
			if s.plain != nil {
				w.WriteHeader(s.plain(messages[0]))
			}
			limitWrite(w, len(messages[0]))
			_, _ = w.Write(messages[0]) // a client that has gone reads nothing
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
		messages, begin, ended, mine, wake := s.next(from, taker)
		if !mine {
			return
		}
		for i, message := range messages {
			if !write(mcp.AppendEvent(nil, s.eventID(begin+i), message)) {
				return
			}
		}
		if from = begin + len(messages); ended && len(messages) == 0 {
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
