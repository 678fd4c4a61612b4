package web

import (
	"container/list"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

// The most that one principal may have of what all have in common. The person who runs the gateway, who has no name,
// has no bounds but those of all.
const (
	// ownSessions bounds its sessions. Its own one that has been idle for longest ends first.
	ownSessions = maxSessions / 10
	// ownRequests bounds its requests in flight, and ownListening those of them that last until the client goes.
	ownRequests  = 200
	ownListening = 1000
	// ownBodies bounds the bodies of its requests in flight, in bytes. One of at most smallBody bytes is taken whatever
	// the others have, so that a client can answer a question, or cancel a request.
	ownBodies = 64 << 20
	smallBody = 64 << 10
	// ownKept bounds the answers that its sessions keep for clients that come back, in bytes. The oldest go first.
	ownKept = 64 << 20
)

// holding is what a principal has of a server.
type holding struct {
	principal gateway.Principal

	// These need the mu of the server.
	token    string    // the latest one that came for it
	expired  time.Time // when that was seen to have expired; zero if it has not
	open     int       // requests of HTTP
	sessions int

	mu        sync.Mutex
	requests  int // in flight, without those that listen
	listening int
	bodies    int       // bytes of these requests
	kept      list.List // of the streams that sessions keep, the oldest first
	size      int       // of these, in bytes
}

// enterHolding returns what a principal has, with one more open request. leave has to be called after that.
func (s *Server) enterHolding(principal gateway.Principal, token string) (own *holding, leave func()) {
	key := keyOf(principal)
	s.mu.Lock()
	defer s.mu.Unlock()
	if own = s.shares[key]; own == nil {
		own = &holding{principal: principal}
		s.shares[key] = own
	}
	own.open++
	own.token, own.expired = token, time.Time{}
	return own, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		own.open-- // the next check of tokens forgets a share without anything in it
	}
}

// keyOf tells apart principals that may do different things.
func keyOf(principal gateway.Principal) string {
	key, _ := json.Marshal(principal) // texts and numbers always encode
	return string(key)
}

// isBounded reports whether it has bounds of its own.
func (s *holding) isBounded() bool { return s.principal.Name != "" }

// load is what a request in flight holds of its share, until all have released it that hold it.
type load struct {
	share *holding

	mu      sync.Mutex
	holders int
	bytes   int
	counter *int // of the share, in which it counts; nil if it does in none
}

// errTooMuch says that a principal has too much in flight.
var errTooMuch = errors.New("too much of this client is in flight")

// newLoad returns a load that its maker holds.
func (s *holding) newLoad() *load { return &load{share: s, holders: 1} }

// reader returns a reader of a body whose bytes count. It fails with errTooMuch.
func (l *load) reader(body io.Reader) io.Reader { return &countedReader{body, l} }

type countedReader struct {
	io.Reader
	load *load
}

// Read implements [io.Reader].
func (r *countedReader) Read(p []byte) (n int, err error) {
	n, err = r.Reader.Read(p)
	r.load.bytes += n
	s := r.load.share
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies += n
	if s.isBounded() && s.bodies > ownBodies && r.load.bytes > smallBody {
		return n, fmt.Errorf("%w: at most %d bytes of its requests may be", errTooMuch, ownBodies)
	}
	return n, err
}

// begin counts a request, or says why it may not begin.
func (l *load) begin(method string) error {
	s := l.share
	s.mu.Lock()
	defer s.mu.Unlock()
	counter, most := &s.requests, ownRequests
	if method == "subscriptions/listen" {
		counter, most = &s.listening, ownListening
	}
	if s.isBounded() && *counter >= most {
		return fmt.Errorf("%w: at most %d of its requests may be", errTooMuch, most)
	}
	*counter++
	l.counter = counter
	return nil
}

// hold has the load be released once more.
func (l *load) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holders++
}

// release releases the load for one holder.
func (l *load) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holders--; l.holders > 0 {
		return
	}
	l.share.mu.Lock()
	defer l.share.mu.Unlock()
	l.share.bodies -= l.bytes
	if l.counter != nil {
		*l.counter--
	}
}

// keptStream is a stream that a session keeps.
type keptStream struct {
	session *session
	stream  *stream
	size    int
}

// keep notes that a session keeps a stream that has ended, and returns those that are not to be kept any more, which
// may be of other sessions.
func (s *holding) keep(of *session, out *stream, size int) (gone []keptStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if out.place != nil {
		return nil
	}
	out.place = s.kept.PushBack(keptStream{of, out, size})
	s.size += size
	for s.isBounded() && s.size > ownKept {
		oldest, _ := s.kept.Front().Value.(keptStream) // nothing else is in it
		s.remove(oldest.stream)
		gone = append(gone, oldest)
	}
	return gone
}

// forget notes that a session does not keep a stream any more, if it was kept.
func (s *holding) forget(out *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(out)
}

// remove is forget while mu is held.
func (s *holding) remove(out *stream) {
	if out.place == nil {
		return
	}
	k, _ := s.kept.Remove(out.place).(keptStream) // nothing else is in it
	s.size -= k.size
	out.place = nil
}
