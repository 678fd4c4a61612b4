package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// patient is a writer that knows how long a client had for each write.
type patient struct {
	*httptest.ResponseRecorder
	deadlines []time.Time // as they were set
	limits    []time.Duration
}

func (p *patient) SetWriteDeadline(at time.Time) error {
	p.deadlines = append(p.deadlines, at)
	return nil
}

func (p *patient) Write(b []byte) (int, error) {
	limit := time.Duration(0)
	if n := len(p.deadlines); n > 0 {
		limit = time.Until(p.deadlines[n-1])
	}
	p.limits = append(p.limits, limit)
	return p.ResponseRecorder.Write(b)
}

// TestWriteDeadlines: a client that does not read holds no answer for ever, and a slow one has more time for more.
func TestWriteDeadlines(t *testing.T) {
	t.Parallel()
	answer := make([]byte, 10*bytesPerSecond)
	for _, events := range []bool{false, true} {
		s := newStream("1")
		if events {
			s.Send([]byte("{}"))
		}
		s.Answer(answer)
		w := &patient{ResponseRecorder: httptest.NewRecorder()}
		s.respond(w, httptest.NewRequest(http.MethodPost, "/mcp", nil))
		last := w.limits[len(w.limits)-1]
		if last <= writeLimit || last > writeLimit+11*time.Second {
			t.Errorf("events %v: %s for %d bytes", events, last, len(answer))
		}
	}
}
