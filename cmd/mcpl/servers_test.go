//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// home is a folder with a configuration of one server, "s", for mcpl processes that run there.
type home struct {
	dir                                    string
	starts, received, cancelled, grandkids string // files that the server writes
	vars                                   []string
}

func newHome(t *testing.T, script mcptest.Script) home {
	t.Helper()
	dir := t.TempDir()
	h := home{dir: dir, starts: filepath.Join(dir, "starts"), received: filepath.Join(dir, "received"),
		cancelled: filepath.Join(dir, "cancelled"), grandkids: filepath.Join(dir, "grandchild")}
	script.Starts, script.Received, script.Cancelled = h.starts, h.received, h.cancelled
	script.Grandchild = &mcptest.Grandchild{PID: h.grandkids}
	raw, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"script.json": string(raw),
		".mcp.json":   `{"mcpServers": {"s": {"command": "mcptest", "args": ["script.json"]}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

// mcpl returns the command mcpl ARGS, the real program (testscript put it into PATH), ready to
// start in h, and what it prints.
func (h home) mcpl(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), "mcpl", args...)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), "HOME="+h.dir, "XDG_CACHE_HOME="+h.dir, "XDG_STATE_HOME="+h.dir, "XDG_CONFIG_HOME="+h.dir, "GORACE=atexit_sleep_ms=0", "MCPL_TRUST=all", "MCPL_DAEMON=off")
	cmd.Env = append(cmd.Env, h.vars...)
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// gone checks that no server and none of what they started runs any more.
func (h home) gone(t *testing.T) {
	t.Helper()
	for _, line := range mcptest.WaitLines(t, h.starts, 1) {
		word, _, _ := strings.Cut(line, " ")
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		mcptest.WaitGone(t, pid)
	}
	mcptest.WaitGone(t, mcptest.WaitPID(t, h.grandkids))
}

// exitCode waits for the end of a process and returns its exit code; -1 is a signal.
func exitCode(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// Ctrl-C and SIGTERM during a call cancel it at the server, stop the server and exit with 130.
func TestInterruptedCall(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			h := newHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "hang", Behaviour: mcptest.Behaviour{Never: true}}}})
			cmd, stdout, stderr := h.mcpl(t, "--json", "call", "s", "hang")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for lines := 1; !strings.Contains(strings.Join(mcptest.WaitLines(t, h.received, lines), "\n"), "tools/call"); lines++ {
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(t, cmd); code != 130 {
				t.Errorf("exit code %d, stderr %s", code, stderr)
			}
			var answer struct {
				Success bool
				Error   struct{ Type, Message, Server, Tool string }
			}
			if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
				t.Fatal(err)
			}
			if e := answer.Error; answer.Success || e.Type != "InterruptedError" || e.Message != "interrupted during tools/call of s" || e.Server != "s" || e.Tool != "hang" {
				t.Errorf("answer %s", stdout)
			}
			if got := mcptest.Lines(t, h.cancelled); len(got) != 1 || !strings.Contains(got[0], `"requestId":`) {
				t.Errorf("cancelled: %s", got)
			}
			h.gone(t)
		})
	}
}

// TestF3SecondSignalEnds: a server that ignores everything takes seconds to stop, and a second signal does not wait.
func TestF3SecondSignalEnds(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{IgnoreEOF: true, IgnoreTerm: true, IgnoreCancel: true,
		Tools: []mcptest.Tool{{Name: "hang", Behaviour: mcptest.Behaviour{Never: true}}}})
	cmd, _, stderr := h.mcpl(t, "--json", "call", "s", "hang")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := 1; !strings.Contains(strings.Join(mcptest.WaitLines(t, h.received, lines), "\n"), "tools/call"); lines++ {
	}
	for range 2 {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		mcptest.WaitLines(t, h.cancelled, 1) // the first signal has been heard
	}
	ended := make(chan int)
	go func() { ended <- exitCode(t, cmd) }()
	for {
		select {
		case code := <-ended:
			if code != -1 {
				t.Errorf("exit code %d, not the signal; stderr %s", code, stderr)
			}
			_ = syscall.Kill(mcptest.WaitPID(t, h.grandkids), syscall.SIGKILL) // the price of not waiting
			return
		case <-time.After(10 * time.Millisecond):
			_ = cmd.Process.Signal(os.Interrupt) // the handler of the first one may not have returned yet
		}
	}
}

// TestSignalsAtOnceAreOne: timeout(1) signals the process and its group, and the answer is still written. The signals
// go on for half of the time in which they count as one.
func TestSignalsAtOnceAreOne(t *testing.T) {
	t.Parallel()
	for _, daemon := range []string{"off", "on"} {
		t.Run("daemon "+daemon, func(t *testing.T) {
			t.Parallel()
			h := newWarmHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "hang", Behaviour: mcptest.Behaviour{Never: true}}}})
			cmd, stdout, stderr := h.mcpl(t, "--json", "call", "s", "hang")
			cmd.Env = append(cmd.Env, "MCPL_DAEMON="+daemon)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for lines := 1; !strings.Contains(strings.Join(mcptest.WaitLines(t, h.received, lines), "\n"), "tools/call"); lines++ {
			}
			for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
				for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
					_ = cmd.Process.Signal(sig) // it may have ended
				}
			}
			if code := exitCode(t, cmd); code != 130 || !strings.Contains(stdout.String(), `"type":"InterruptedError"`) {
				t.Errorf("exit code %d, stdout %s, stderr %s", code, stdout, stderr)
			}
		})
	}
}

// TestF3SignalEndsWhatDoesNotLookAtIt: arguments that never come from stdin keep no process alive.
func TestF3SignalEndsWhatDoesNotLookAtIt(t *testing.T) {
	t.Parallel()
	for _, more := range [][]string{{}, {"--dry-run"}} {
		t.Run(strings.Join(more, ""), func(t *testing.T) {
			t.Parallel()
			h := newHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "t"}}})
			listed, _, _ := h.mcpl(t, "list", "--refresh")
			if err := listed.Run(); err != nil {
				t.Fatal(err)
			}
			cmd, stdout, stderr := h.mcpl(t, slices.Concat([]string{"--json", "--verbose", "call", "s", "t", "-"}, more)...)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// Once the pipe is empty mcpl reads it, and has been catching signals for long.
			if _, err := in.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(t, cmd); code != 130 || !strings.Contains(stdout.String(), `"type":"InterruptedError"`) {
				t.Errorf("exit code %d, stdout %s, stderr %s", code, stdout, stderr)
			}
		})
	}
}

// The same while the server starts: nothing to cancel, but to stop.
func TestInterruptedStart(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{Start: mcptest.Behaviour{Never: true}})
	cmd, _, stderr := h.mcpl(t, "list", "--refresh")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	mcptest.WaitPID(t, h.grandkids)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd); code != 130 || !strings.Contains(stderr.String(), "error: interrupted") {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
	h.gone(t)
}

// Whoever reads stdout may stop at any time: mcpl list --refresh | head -c1.
func TestClosedStdout(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"list", "--refresh"}, {"--json", "call", "s", "large"}, {"--json", "list", "nobody"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			h := newHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "large", Bytes: 1 << 20}}})
			cmd, _, stderr := h.mcpl(t, args...)
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd.Stdout = w
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if args[1] == "call" {
				if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
			}
			r.Close()
			code := exitCode(t, cmd)
			if code < 0 || strings.Contains(stderr.String(), "panic") || strings.Contains(stderr.String(), "defect") {
				t.Errorf("exit code %d, stderr %s", code, stderr)
			}
			if args[1] != "list" || args[0] == "list" {
				h.gone(t)
			}
		})
	}
}

// Twenty processes that start together on a cold cache start the server once, and all of them
// get the answer.
func TestTwentyProcessesOnColdCache(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{Start: mcptest.Behaviour{Delay: mcptest.Duration(100 * time.Millisecond)},
		Tools: []mcptest.Tool{{Name: "find_me", Description: "To be found"}}})
	var wg sync.WaitGroup
	for range 20 {
		cmd, stdout, stderr := h.mcpl(t, "--json", "search", "find me")
		wg.Go(func() {
			if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), `"tool":"find_me"`) {
				t.Errorf("%v\nstdout: %s\nstderr: %s", err, stdout, stderr)
			}
		})
	}
	wg.Wait()
	if n := len(mcptest.Lines(t, h.starts)); n != 1 {
		t.Errorf("the server was started %d times", n)
	}
	h.gone(t)
}

// Twenty processes that make the same call together pass with one approval once.
func TestTwentyCallsForOneApproval(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "pay"}}})
	settings := filepath.Join(h.dir, "mcpl", "config.toml") // in the XDG_CONFIG_HOME of h
	if err := errors.Join(os.MkdirAll(filepath.Dir(settings), 0o700),
		os.WriteFile(settings, []byte("[[policy]]\nmatch = \"s/pay\"\naction = \"ask\"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd, _, _ := h.mcpl(t, "list")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	cmd, stdout, _ := h.mcpl(t, "--json", "call", "s", "pay")
	_ = cmd.Run() // the exit code says it
	if code := cmd.ProcessState.ExitCode(); code != 6 {
		t.Fatalf("exit code %d: %s", code, stdout)
	}
	var failure struct {
		Error struct{ Approval fault.Approval }
	}
	if err := json.Unmarshal(stdout.Bytes(), &failure); err != nil {
		t.Fatal(err)
	}
	cmd, _, stderr := h.mcpl(t, "approvals", "approve", failure.Error.Approval.Token)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	var passed atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		cmd, stdout, stderr := h.mcpl(t, "--json", "call", "s", "pay")
		wg.Go(func() {
			_ = cmd.Run()
			switch code := cmd.ProcessState.ExitCode(); code {
			case 0:
				passed.Add(1)
			case 6:
			default:
				t.Errorf("exit code %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
			}
		})
	}
	wg.Wait()
	if n := passed.Load(); n != 1 {
		t.Errorf("%d calls passed", n)
	}
	if n := len(mcptest.Lines(t, h.starts)); n != 2 {
		t.Errorf("the server was started %d times, for the list and for calls", n)
	}
	h.gone(t)
}
