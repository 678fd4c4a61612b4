package conn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// due is what a request over HTTP has to be answered with.
type due int

const (
	nothingDue due = iota // anything: a notification, or our answer to the server
	successDue            // a status of success
	answerDue             // a message or a stream of them
	eventsDue             // a stream of messages
)

// trip is what becomes of one request on its way over HTTP. Its context carries it to the guard.
type trip struct {
	id   mcp.RequestId
	want due // what its first POST is to be answered with
	// aside says that it belongs to no request of a caller: what is said of it is not of interest there.
	aside bool

	mu      sync.Mutex
	posted  bool
	resumed bool   // its stream was ended to be taken up again, and that was tried
	stage   string // how far it has come, as in "connecting to 192.0.2.1:443"
	status  int    // of the last answer; 0 until there is one
	ended   error  // why the stream of the last answer ended; nil while it has not
}

type tripKey struct{}

// request returns the id of the request as JSON; "" if it is of no call.
func (t *trip) request() string {
	id, err := json.Marshal(t.id)
	if err != nil || t.id.IsNil() {
		return ""
	}
	return string(id)
}

// with returns a context that carries t.
func (t *trip) with(ctx context.Context) context.Context { return context.WithValue(ctx, tripKey{}, t) }

// tripOf returns the trip that a context carries. Where it has none, nobody looks at the new one.
func tripOf(ctx context.Context) *trip {
	if t, ok := ctx.Value(tripKey{}).(*trip); ok {
		return t
	}
	return new(trip)
}

// due returns what req is to be answered with. Under the context of one request the SDK also
// resumes its stream and sends our answers to what the server asks meanwhile.
func (t *trip) due(req *http.Request) due {
	t.mu.Lock()
	defer t.mu.Unlock()
	if req.Method == http.MethodGet {
		t.resumed = true
		return eventsDue
	}
	if t.posted && req.Response == nil { // it is no redirect of the first
		return nothingDue
	}
	t.posted = true
	return t.want
}

func (t *trip) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, t.traced())
}

func (t *trip) reach(stage string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stage = stage
}

func (t *trip) setStatus(status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status, t.ended = status, nil
}

func (t *trip) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = err
}

// result returns how far the trip came, the status of its answer, and why that ended.
func (t *trip) result() (stage string, status int, ended error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stage, t.status, t.ended
}

// accepted reports whether the server has certainly taken the request on: it wanted its stream to be taken
// up again.
func (t *trip) accepted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.resumed
}

// errTooLong says that a message exceeds maxMessage.
var errTooLong = errors.New("the message is too long")

// meter passes on the body of an answer. It ends it where a message grows too long, and tells the
// trip why it ended.
type meter struct {
	io.ReadCloser
	events bool
	trip   *trip
	size   int  // of the message so far
	blank  bool // so far, the line is empty
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	if m.measure(p[:n]); m.size > maxMessage {
		err = errTooLong
		n = 0
	}
	// The end of a plain answer is no event; it may be read before the message is.
	if err != nil && (m.events || err != io.EOF) {
		m.trip.end(err)
	}
	return n, err
}

// measure counts the bytes of the current message. An empty line ends an event.
func (m *meter) measure(p []byte) {
	if !m.events {
		m.size += len(p)
		return
	}
	for len(p) > 0 {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		if m.size += len(line) + 1; len(bytes.TrimRight(line, "\r")) > 0 {
			m.blank = false
		}
		if found {
			if m.blank {
				m.size = 0
			}
			m.blank = true
		}
		p = rest
	}
}
