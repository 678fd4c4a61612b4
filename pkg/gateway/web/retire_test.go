package web

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

// TestBusySession: a session with a request in flight does not expire, though the connection of the request has gone,
// and no one but its server waits for the end of it.
func TestBusySession(t *testing.T) {
	t.Parallel()
	running, release := make(chan struct{}), make(chan struct{})
	s, url, clock := start(t, func(opt *gateway.Options) {
		opt.Switch = func(context.Context, string, []string, []string) (gateway.Switched, error) {
			close(running)
			<-release
			return gateway.Switched{}, nil
		}
	})
	_, id := post(t, url, "", initialize)
	ctx, leave := context.WithCancel(t.Context())
	call := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"enable_tools"}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(call))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"}, sessionHeader: {id}}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if resp, err := http.DefaultClient.Do(req); err == nil { // it may have got the headers
			resp.Body.Close()
		}
	}()
	<-running
	leave()
	<-gone
	s.busy.Wait() // the handler of the call ends
	clock.pass(2 * idle)
	s.sweep(t.Context())
	if status, _ := post(t, url, id, ping); status != http.StatusOK {
		t.Errorf("a session in use is gone: %d", status)
	}
	s.mu.Lock()
	began := inside(t, s, id)
	busy := s.sessions[began]
	s.remove(busy)
	s.retire(busy) // does not wait for the call
	s.mu.Unlock()
	if status, _ := post(t, url, "", initialize); status != http.StatusOK {
		t.Errorf("another client waits for it: %d", status)
	}
	close(release)
}
