//go:build unix

package conn

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// However stubborn a server and what it leaves behind are, all of it is dead once close returns.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	crash := map[string]mcptest.Behaviour{"initialize": {Exit: &mcptest.Exit{Code: 1}}}
	for _, tt := range []struct {
		name   string
		script mcptest.Script
		limit  time.Duration // beyond what a process needs
	}{
		{"well-behaved", mcptest.Script{}, 0},
		{"ignores the end of stdin", mcptest.Script{IgnoreEOF: true}, exitGrace},
		{"ignores SIGTERM too", mcptest.Script{IgnoreEOF: true, IgnoreTerm: true}, exitGrace + termGrace},
		{"leaves a grandchild", mcptest.Script{Grandchild: &mcptest.Grandchild{}}, 0},
		{"leaves a stubborn grandchild", mcptest.Script{Grandchild: &mcptest.Grandchild{IgnoreTerm: true}}, exitGrace},
		{"crashes with a grandchild", mcptest.Script{Methods: crash, Grandchild: &mcptest.Grandchild{}}, 0},
		{"crashes with a stubborn grandchild", mcptest.Script{Methods: crash, Grandchild: &mcptest.Grandchild{IgnoreTerm: true}}, exitGrace},
		{"all of it", mcptest.Script{IgnoreEOF: true, IgnoreTerm: true, Grandchild: &mcptest.Grandchild{IgnoreTerm: true}}, exitGrace + termGrace},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tt.script.Starts = filepath.Join(dir, "starts")
			files := []string{tt.script.Starts}
			if tt.script.Grandchild != nil {
				tt.script.Grandchild.PID = filepath.Join(dir, "grandchild")
				files = append(files, tt.script.Grandchild.PID)
			}
			p := newPool(t, scripts{"s": tt.script})
			_, err := p.List(t.Context(), "s", tool.CallOptions{})
			if crashes := tt.script.Methods != nil; crashes == (err == nil) {
				t.Fatalf("error %v", err)
			}
			quick(t, "Close", tt.limit+10*time.Second, func() { p.Close() })
			for _, file := range files {
				if pid := mcptest.WaitPID(t, file); mcptest.Alive(pid) {
					t.Errorf("process %d of %s runs on", pid, filepath.Base(file))
				}
			}
		})
	}
}

// A zombie whose parent never reaps it, as in a container without an init, counts as gone.
func TestZombiesDoNotCount(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("zombies are told apart by /proc, which this system lacks: ", err)
	}
	cmd := exec.Command("sleep", "60")
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !groupAlive(cmd) {
		t.Error("a process that runs does not count")
	}
	killGroup(cmd)
	if !groupEnds(cmd, 10*time.Second) || signalGroup(cmd, 0) != nil {
		t.Error("the zombie counts, or there is none")
	}
	_ = cmd.Wait() // it was killed
	if groupAlive(cmd) {
		t.Error("nothing counts")
	}
}

// frozen starts a server, stops it with SIGSTOP so that it reads nothing, and returns how to
// let it go on.
func frozen(t *testing.T) (p *Pool, thaw func()) {
	t.Helper()
	starts := filepath.Join(t.TempDir(), "starts")
	p = newPool(t, scripts{"s": {Starts: starts, Tools: []mcptest.Tool{{Name: "echo"}}}})
	mustCall(t, p, "s", "echo")
	pid := mcptest.WaitPID(t, starts)
	send := func(sig syscall.Signal) {
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
	}
	send(syscall.SIGSTOP)
	return p, func() { send(syscall.SIGCONT) }
}

// large are arguments that fill a pipe, which holds 64 KiB.
func large() string { return `{"a":"` + strings.Repeat("x", 200<<10) + `"}` }

// A call to a server that reads nothing ends in time, and the server is stopped all the same.
func TestServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	p, _ := frozen(t)
	quick(t, "the call", 10*time.Second, func() {
		_, err := p.Call(t.Context(), tool.Ref{Server: "s", Name: "echo"}, []byte(large()), tool.CallOptions{Timeout: 200 * time.Millisecond})
		wantFault(t, err, fault.Timeout, "s did not answer tools/call within")
	})
	quick(t, "Close", 15*time.Second, func() { p.Close() })
}

// A cancelled call ends without breaking the others on the same connection, although its own
// message is half written.
func TestCancelledCallHarmsNoOther(t *testing.T) {
	t.Parallel()
	p, thaw := frozen(t)
	ctx, cancel := context.WithCancel(t.Context())
	args := large()
	var others, cancelled sync.WaitGroup
	for range 3 {
		others.Go(func() {
			if got := mustCall(t, p, "s", "echo", args); got != args {
				t.Errorf("%d bytes came back", len(got))
			}
		})
		cancelled.Go(func() {
			_, err := callTool(ctx, p, "s", "echo", args)
			wantFault(t, err, fault.Interrupted, "interrupted during tools/call of s")
		})
	}
	out := p.slots["s"].session.peer.(*process).out
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		out.mu.Lock()
		waiting := out.size
		out.mu.Unlock()
		if waiting > 6*len(args) { // all are on their way
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d bytes wait to be written", waiting)
		}
	}
	cancel()
	quick(t, "giving up", 10*time.Second, cancelled.Wait)
	thaw()
	others.Wait()
	mustCall(t, p, "s", "echo")
}
