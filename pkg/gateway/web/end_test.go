package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

// ask serves a request to begin a session, without a network.
func ask(s *Server) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(initialize))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "*/*")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// TestBeginAfterClose: a request that is still being looked at when the server closes begins no session.
func TestBeginAfterClose(t *testing.T) {
	t.Parallel()
	s, _, _ := start(t)
	closed := make(chan error, 1)
	s.opt.Principal = func(context.Context, string) (*gateway.Principal, error) {
		go func() { closed <- s.Close() }()
		for {
			s.mu.Lock()
			isClosed := s.closed
			s.mu.Unlock()
			if isClosed {
				return &gateway.Principal{Name: "someone"}, nil
			}
		}
	}
	if w := ask(s); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
