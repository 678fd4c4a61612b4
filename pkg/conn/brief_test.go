package conn

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// listBriefly lists the server "s", and returns the names of its tools.
func listBriefly(t *testing.T, p *Pool) string {
	t.Helper()
	l, err := p.List(t.Context(), "s", tool.CallOptions{Brief: true})
	if err != nil {
		t.Error(err)
	}
	return names(l.Tools)
}

// servers.md, S2 and S3: a server that was only listed stayed until the end of its pool, in the daemon for 15 minutes.
func TestBriefListing(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	p := newPool(t, scripts{"s": {Starts: starts, Tools: []mcptest.Tool{{Name: "echo"}}}})
	running := func(want bool, n int) {
		t.Helper()
		if got := len(mcptest.WaitLines(t, starts, n)); got != n {
			t.Errorf("%d starts, want %d", got, n)
		}
		if pid := mcptest.WaitPID(t, starts); mcptest.Alive(pid) != want {
			t.Errorf("process %d runs: %t", pid, !want)
		}
	}
	for n := range 2 {
		if got := listBriefly(t, p); got != "tool echo" {
			t.Errorf("listed %s", got)
		}
		running(false, n+1)
	}
	// Listings that overlap share a process, which ends with the last of them.
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { listBriefly(t, p) })
	}
	both.Wait()
	n := len(mcptest.Lines(t, starts))
	running(false, n)
	// A server that is called stays.
	mustCall(t, p, "s", "echo")
	listBriefly(t, p)
	running(true, n+1)
	mustCall(t, p, "s", "echo")
	running(true, n+1)
	if p.Close(); mcptest.Alive(mcptest.WaitPID(t, starts)) {
		t.Error("it runs after Close")
	}
	if _, err := p.List(t.Context(), "s", tool.CallOptions{Brief: true}); err == nil {
		t.Error("a closed pool lists")
	}
}

// A call that comes during a brief listing keeps the server.
func TestCallDuringBriefListing(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	p := newPool(t, scripts{"s": {Starts: starts, Tools: []mcptest.Tool{{Name: "echo"}}}})
	s, err := p.session(t.Context(), "s", tool.CallOptions{Brief: true})
	if err != nil {
		t.Fatal(err)
	}
	mustCall(t, p, "s", "echo")
	p.leave(s, true)
	mustCall(t, p, "s", "echo")
	if got := len(mcptest.Lines(t, starts)); got != 1 {
		t.Errorf("%d starts", got)
	}
}

// A server that says during a brief listing that its lists have changed is listed once more: it cannot be asked later.
func TestChangeDuringBriefListing(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"notifications/tools/list_changed": 2, "notifications/message": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			received := filepath.Join(t.TempDir(), "received")
			p := newPool(t, scripts{"s": {Received: received, Tools: []mcptest.Tool{{Name: "echo"}},
				Methods: map[string]mcptest.Behaviour{"tools/list": {Asks: []mcptest.Ask{{Method: name, ID: "none"}}}}}})
			listBriefly(t, p)
			got := strings.Count(strings.Join(mcptest.Lines(t, received), "\n"), "tools/list")
			if got != want {
				t.Errorf("listed %d times, want %d", got, want)
			}
		})
	}
}
