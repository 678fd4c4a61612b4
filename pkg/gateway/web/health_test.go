package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestReadyEnds: as soon as the end begins clients are to go elsewhere, while the process lives.
func TestReadyEnds(t *testing.T) {
	t.Parallel()
	s, _, _ := start(t)
	status := func(path string) int {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
		r.RemoteAddr = "127.0.0.1:5"
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	for status("/readyz") != http.StatusOK {
		if t.Context().Err() != nil {
			t.Fatal("it is never ready")
		}
	}
	s.endStreams()
	if ready, live := status("/readyz"), status("/livez"); ready != http.StatusServiceUnavailable || live != http.StatusOK {
		t.Errorf("ready %d, live %d", ready, live)
	}
	if got := status("/metrics"); got != http.StatusNotFound { // there are none
		t.Error(got)
	}
}

// TestIsLocal: a request is of this machine if it comes from there, is for it, and no proxy hands it on.
func TestIsLocal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, host, header string
		want               bool
	}{
		{"127.0.0.1:5", "localhost:7332", "", true}, {"[::1]:5", "[::1]:7332", "", true},
		{"192.0.2.1:5", "localhost:7332", "", false}, {"127.0.0.1:5", "gateway.example", "", false},
		{"", "localhost", "", false}, {"127.0.0.1:5", "localhost", "Forwarded", false}, {"127.0.0.1:5", "localhost", "Via", false},
		{"127.0.0.1:5", "localhost", "X-Forwarded-For", false}, {"127.0.0.1:5", "localhost", "X-Forwarded-Host", false},
		{"127.0.0.1:5", "localhost", "X-Real-IP", false},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://"+c.host+"/livez", nil)
		if r.RemoteAddr = c.from; c.header != "" {
			r.Header.Set(c.header, "x")
		}
		if got := isLocal(r); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
