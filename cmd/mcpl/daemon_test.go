//go:build linux || darwin

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// newWarmHome is a home whose commands use a daemon, which ends with the test.
func newWarmHome(t *testing.T, script mcptest.Script) home {
	t.Helper()
	h := newHome(t, script)
	h.vars = []string{"MCPL_DAEMON=on", "XDG_RUNTIME_DIR="}
	stopsDaemon(t, h)
	return h
}

// stopsDaemon stops the daemon of a home at the end of the test.
func stopsDaemon(t *testing.T, h home, flags ...string) {
	t.Helper()
	t.Cleanup(func() {
		cmd, _, _ := h.mcpl(t, append([]string{"daemon", "stop"}, flags...)...)
		stop := exec.Command(cmd.Path, cmd.Args[1:]...) // without t.Context, which has ended
		stop.Dir, stop.Env = cmd.Dir, cmd.Env
		if out, err := stop.CombinedOutput(); err != nil {
			t.Errorf("the daemon is left: %v\n%s", err, out)
		}
	})
}

// call calls a tool and returns the exit code and the answer.
func (h home) call(t *testing.T, name string, flags ...string) (code int, answer string) {
	t.Helper()
	cmd, stdout, stderr := h.mcpl(t, append([]string{"--json", "call", "s", name}, flags...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	code = exitCode(t, cmd)
	if code != 0 && testing.Verbose() {
		t.Logf("exit code %d, %s%s", code, stdout, stderr)
	}
	return code, stdout.String()
}

// daemon returns the process id of the daemon, 0 where none runs.
func (h home) daemon(t *testing.T) int {
	t.Helper()
	cmd, stdout, stderr := h.mcpl(t, "--json", "daemon", "status")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	var status struct{ PID int }
	if err := json.Unmarshal(stdout.Bytes(), &status); err != nil {
		t.Fatal(err)
	}
	return status.PID
}

// log returns the daemon's log.
func (h home) log(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.dir, "mcpl", "daemon", "*.log"))
	if err != nil || len(files) != 1 {
		t.Fatalf("logs %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Twenty first calls at once start one daemon, and it starts one server.
func TestTwentyFirstCalls(t *testing.T) {
	t.Parallel()
	h := newWarmHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "greet", Text: "hello"}}})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if code, answer := h.call(t, "greet"); code != 0 || !strings.Contains(answer, `"hello"`) {
				t.Errorf("exit code %d: %s", code, answer)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(h.log(t), "started, mcpl"); n != 1 {
		t.Errorf("%d daemons were started:\n%s", n, h.log(t))
	}
	if n := len(mcptest.Lines(t, h.starts)); n != 1 {
		t.Errorf("the server was started %d times:\n%s", n, h.log(t))
	}
}

// The daemon does not hold what the first call has inherited, a lock or the end of a pipe: whoever waits for that
// does not wait for the daemon.
func TestDaemonKeepsNothingOpen(t *testing.T) {
	t.Parallel()
	h := newWarmHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "greet", Text: "hello"}}})
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd, stdout, stderr := h.mcpl(t, "--json", "call", "s", "greet")
	cmd.ExtraFiles = []*os.File{nil, write, nil, write}
	err = cmd.Run()
	write.Close()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	if err := read.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, err := read.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if h.daemon(t) == 0 {
		t.Error("no daemon")
	}
}

// A daemon that is killed in the middle of a call: the client says so at once, the server ends, and
// the next call works.
func TestKilledDaemon(t *testing.T) {
	t.Parallel()
	hang := mcptest.Behaviour{Never: true}
	readOnly := mcptest.Raw(`{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`)
	script := mcptest.Script{Tools: []mcptest.Tool{{Name: "hang", Behaviour: hang}, {Def: readOnly, Behaviour: hang}}}
	again := mcptest.Script{Tools: []mcptest.Tool{{Name: "hang", Text: "done"}, {Def: readOnly, Text: "seen"}}}
	script.Later = []mcptest.Later{{From: 2, Script: again}}
	for name, want := range map[string]struct {
		code   int
		answer string
	}{
		"hang": {4, "was lost in the middle of the call to s/hang: it ended, or was killed"},
		"look": {0, `"result":"seen"`}, // read-only: made again
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newWarmHome(t, script)
			if err := os.Remove(filepath.Join(h.dir, "script.json")); err != nil {
				t.Fatal(err)
			}
			script := script
			script.Starts, script.Received = h.starts, h.received // without a grandchild, which would stay
			raw, err := json.Marshal(script)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(h.dir, "script.json"), raw, 0o600); err != nil {
				t.Fatal(err)
			}
			var code int
			var answer string
			var wg sync.WaitGroup
			wg.Go(func() { code, answer = h.call(t, name) })
			for lines := 1; !strings.Contains(strings.Join(mcptest.WaitLines(t, h.received, lines), "\n"), "tools/call"); lines++ {
			}
			if err := syscall.Kill(h.daemon(t), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			wg.Wait()
			if code != want.code || !strings.Contains(answer, want.answer) {
				t.Errorf("exit code %d: %s", code, answer)
			}
			for _, line := range mcptest.Lines(t, h.starts) {
				var pid int
				if _, err := fmt.Sscan(line, &pid); err != nil {
					t.Fatal(err)
				}
				mcptest.WaitGone(t, pid)
			}
			if code, answer := h.call(t, "hang"); code != 0 || !strings.Contains(answer, `"done"`) {
				t.Errorf("the next call: exit code %d: %s", code, answer)
			}
			if h.daemon(t) == 0 {
				t.Error("no new daemon")
			}
		})
	}
}

// Ctrl-C cancels the call at the server, which stays warm.
func TestInterruptedWarmCall(t *testing.T) {
	t.Parallel()
	h := newWarmHome(t, mcptest.Script{Tools: []mcptest.Tool{
		{Name: "hang", Behaviour: mcptest.Behaviour{Never: true}}, {Name: "greet", Text: "hello"}}})
	cmd, stdout, stderr := h.mcpl(t, "--json", "call", "s", "hang")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := 1; !strings.Contains(strings.Join(mcptest.WaitLines(t, h.received, lines), "\n"), "tools/call"); lines++ {
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd); code != 130 || !strings.Contains(stdout.String(), `"message":"interrupted during tools/call of s"`) {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	if got := mcptest.WaitLines(t, h.cancelled, 1); !strings.Contains(got[0], `"requestId":`) {
		t.Errorf("cancelled: %s", got)
	}
	// A client that is killed can cancel nothing; the daemon sees it go.
	cmd, _, _ = h.mcpl(t, "--json", "call", "s", "hang")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := 1; strings.Count(strings.Join(mcptest.WaitLines(t, h.received, lines), "\n"), "tools/call") < 2; lines++ {
	}
	_ = cmd.Process.Kill()
	exitCode(t, cmd)
	mcptest.WaitLines(t, h.cancelled, 2)
	if code, answer := h.call(t, "greet"); code != 0 {
		t.Errorf("exit code %d: %s", code, answer)
	}
	if n := len(mcptest.Lines(t, h.starts)); n != 1 {
		t.Errorf("the server was started %d times:\n%s", n, h.log(t))
	}
}

// SIGTERM ends the daemon, its servers, and what those started.
func TestTerminatedDaemon(t *testing.T) {
	t.Parallel()
	h := newWarmHome(t, mcptest.Script{IgnoreEOF: true, Tools: []mcptest.Tool{{Name: "greet", Text: "hello"}}})
	if code, answer := h.call(t, "greet"); code != 0 {
		t.Fatalf("exit code %d: %s", code, answer)
	}
	pid := h.daemon(t)
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	mcptest.WaitGone(t, pid)
	h.gone(t)
	if log := h.log(t); !strings.Contains(log, "asked to stop") || !strings.HasSuffix(log, "daemon\tended\n") {
		t.Errorf("log %s", log)
	}
	if h.daemon(t) != 0 {
		t.Error("it runs")
	}
}

// freeze stops a process and waits until it is: one of its threads has to run to take the signal,
// and on a busy machine the others go on until it does.
func freeze(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	mcptest.Eventually(t, func() (string, bool) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatalf("process %d has gone, or there is no /proc to see it: %v", pid, err)
		}
		_, state, _ := strings.Cut(string(stat), ") ")
		return fmt.Sprintf("process %d does not stop: %s", pid, stat), strings.HasPrefix(state, "T")
	})
}

// A daemon that is stopped in its tracks (SIGSTOP, a debugger) does not hold up calls.
func TestFrozenDaemon(t *testing.T) {
	t.Parallel()
	h := newWarmHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "greet", Text: "hello"}}})
	if code, answer := h.call(t, "greet"); code != 0 {
		t.Fatalf("exit code %d: %s", code, answer)
	}
	pid := h.daemon(t)
	freeze(t, pid)
	code, answer := h.call(t, "greet")
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if code != 0 || !strings.Contains(answer, `"hello"`) {
		t.Errorf("exit code %d: %s", code, answer)
	}
	if n := strings.Count(strings.Join(mcptest.Lines(t, h.received), "\n"), "tools/call"); n != 2 {
		t.Errorf("the tool was called %d times", n)
	}
}

// After 200 mixed calls, crashes and cancellations the daemon has what it had before.
func TestDaemonLeaksNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("descriptors and children of another process are counted in /proc, which only Linux has")
	}
	h := newWarmHome(t, mcptest.Script{Tools: []mcptest.Tool{
		{Name: "greet", Text: "hello"}, {Name: "large", Bytes: 1 << 20}, {Name: "fail", IsError: true, Text: "no"},
		{Name: "hang", Behaviour: mcptest.Behaviour{Never: true}},
		{Name: "die", Behaviour: mcptest.Behaviour{Exit: &mcptest.Exit{Code: 3}}}}})
	if code, answer := h.call(t, "greet"); code != 0 {
		t.Fatalf("exit code %d: %s", code, answer)
	}
	pid := h.daemon(t)
	count := func() int { return descriptors(t, pid) }
	before := count()
	names := []string{"greet", "large", "hang", "fail", "greet"}
	var wg sync.WaitGroup
	work := make(chan int)
	for range 8 {
		wg.Go(func() {
			for i := range work {
				switch name := names[i%len(names)]; {
				case i%70 == 69:
					h.call(t, "die")
				case name == "hang":
					h.call(t, name, "--timeout", "5ms")
				default:
					h.call(t, name)
				}
			}
		})
	}
	for i := range 200 {
		work <- i
	}
	close(work)
	wg.Wait()
	if code, answer := h.call(t, "greet"); code != 0 {
		t.Errorf("exit code %d: %s", code, answer)
	}
	if got := h.daemon(t); got != pid {
		t.Fatalf("it was process %d and is %d", pid, got)
	}
	mcptest.Eventually(t, func() (string, bool) {
		now := count()
		return fmt.Sprintf("%d descriptors, %d before", now, before), now <= before
	})
	// One server is left, of all that ever started.
	mcptest.Eventually(t, func() (string, bool) {
		alive := 0
		for _, line := range mcptest.Lines(t, h.starts) {
			var server int
			if _, err := fmt.Sscan(line, &server); err != nil {
				t.Fatal(err)
			}
			if mcptest.Alive(server) {
				alive++
			}
		}
		return fmt.Sprintf("%d servers are left", alive), alive == 1
	})
}

// descriptors counts the open files of a process.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
