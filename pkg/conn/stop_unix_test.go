//go:build unix

package conn

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/proc"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Whatever a server and its descendants do, all of them are dead once Close returns; see also the tests of
// pkg/proc.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	crash := map[string]mcptest.Behaviour{"initialize": {Exit: &mcptest.Exit{Code: 1}}}
	for _, tt := range []struct {
		name   string
		script mcptest.Script
		limit  time.Duration // beyond what a process needs
	}{
		{"leaves a grandchild", mcptest.Script{}, 0},
		{"crashes with a grandchild", mcptest.Script{Methods: crash}, 0},
		{"all of it", mcptest.Script{IgnoreEOF: true, IgnoreTerm: true}, proc.ExitGrace + proc.TermGrace},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tt.script.Starts = filepath.Join(dir, "starts")
			tt.script.Grandchild = &mcptest.Grandchild{PID: filepath.Join(dir, "grandchild"), IgnoreTerm: tt.script.IgnoreTerm}
			p := newPool(t, scripts{"s": tt.script})
			_, err := p.List(t.Context(), "s", tool.CallOptions{})
			if crashes := tt.script.Methods != nil; crashes == (err == nil) {
				t.Fatalf("error %v", err)
			}
			quick(t, "Close", tt.limit+10*time.Second, func() { p.Close() })
			for _, file := range []string{tt.script.Starts, tt.script.Grandchild.PID} {
				if pid := mcptest.WaitPID(t, file); mcptest.Alive(pid) {
					t.Errorf("process %d of %s runs on", pid, filepath.Base(file))
				}
			}
		})
	}
}

// A server that sends a request after its stdin was closed waits for nothing, and so does Close.
func TestServerThatAsksAtItsEnd(t *testing.T) {
	t.Parallel()
	const script = `while read -r _; do :; done; echo '{"jsonrpc":"2.0","id":1,"method":"roots/list"}'; sleep 60`
	best := time.Hour
	for range 5 { // on a busy machine a shell takes its time
		p, err := newProcess(exec.Command("/bin/sh", "-c", script), newSpawner(t), proc.Options{},
			func(string, ...any) {}, func([]byte) {})
		if err != nil {
			t.Fatal(err)
		}
		p.out.Close()
		started := time.Now()
		p.close(proc.ExitGrace)
		if best = min(best, time.Since(started)); best < proc.ExitGrace {
			return
		}
	}
	t.Errorf("Close took %v or more", best)
}

// servers.md, S3: a cold call of echo took 0.71 s although its answer was there at 0.30 s. A server that had only
// requests that change nothing gets SIGTERM 100 ms after the end of its stdin, another one after 500 ms.
func TestColdCallEndsItsServerSoon(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		readOnly []bool // of each call
		min, max time.Duration
	}{
		{"only listed", nil, idleGrace, proc.ExitGrace},
		{"read-only", []bool{true, true}, idleGrace, proc.ExitGrace},
		{"another", []bool{false}, proc.ExitGrace, time.Minute},
		{"another before", []bool{false, true}, proc.ExitGrace, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			best := time.Hour
			for range 5 { // on a busy machine signals take their time
				p := newPool(t, scripts{"s": {IgnoreEOF: true, Tools: []mcptest.Tool{{Name: "echo"}}}})
				if _, err := p.List(t.Context(), "s", tool.CallOptions{}); err != nil {
					t.Fatal(err)
				}
				for _, readOnly := range tt.readOnly {
					ref, opt := tool.Ref{Server: "s", Name: "echo"}, tool.CallOptions{ReadOnly: readOnly}
					if _, err := p.Call(t.Context(), ref, []byte("{}"), opt); err != nil {
						t.Fatal(err)
					}
				}
				started := time.Now()
				p.Close()
				if best = min(best, time.Since(started)); best < tt.min {
					t.Fatalf("Close took %v", best)
				}
				if best < tt.max {
					return
				}
			}
			t.Errorf("Close took %v or more", best)
		})
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
		opt := tool.CallOptions{Timeout: 200 * time.Millisecond}
		_, err := p.Call(t.Context(), tool.Ref{Server: "s", Name: "echo"}, []byte(large()), opt)
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
	mcptest.Eventually(t, func() (string, bool) {
		out.mu.Lock()
		defer out.mu.Unlock()
		return fmt.Sprintf("%d bytes wait to be written", out.size), out.size > 6*len(args) // all are on their way
	})
	cancel()
	quick(t, "giving up", 10*time.Second, cancelled.Wait)
	thaw()
	others.Wait()
	mustCall(t, p, "s", "echo")
}
