package proc

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Maybe()
	beParent()
	goleak.VerifyTestMain(m)
}

// command returns a command that does what script says.
func command(t *testing.T, script mcptest.Script) *exec.Cmd {
	t.Helper()
	name, args, env := mcptest.Command(t, script)
	cmd := exec.Command(name, args...)
	// A process built with -race would otherwise take a second to exit.
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// started starts a process that does what script says. It is closed at the end of the test.
func started(t *testing.T, script mcptest.Script, opt Options) *Process {
	t.Helper()
	s := new(Spawner)
	t.Cleanup(s.Close)
	p, err := s.Start(command(t, script), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(CloseOptions{}) })
	return p
}

func TestState(t *testing.T) {
	t.Parallel()
	killed := "ended by signal: killed after "
	if runtime.GOOS == "windows" { // which has no signals
		killed = "exited with code 1 after "
	}
	for _, tt := range []struct {
		name string
		exit mcptest.Exit
		want string
		fail bool
	}{
		{"code 0", mcptest.Exit{}, "exited with code 0 after ", false},
		{"code 7", mcptest.Exit{Code: 7}, "exited with code 7 after ", true},
		{"signal", mcptest.Exit{Signal: "KILL"}, killed, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := started(t, mcptest.Script{Start: mcptest.Behaviour{Exit: &tt.exit}}, Options{})
			<-p.exited
			state := p.State()
			if got := state.String(); !strings.HasPrefix(got, tt.want) || !strings.HasSuffix(got, " s") {
				t.Errorf("it %s", got)
			}
			var exit *exec.ExitError
			if state.Running || state.Ran <= 0 || errors.As(state.Err, &exit) != tt.fail {
				t.Errorf("state %+v", state)
			}
		})
	}
	t.Run("running", func(t *testing.T) {
		t.Parallel()
		p := started(t, mcptest.Script{}, Options{})
		if got := p.State().String(); !strings.HasPrefix(got, "still running after ") || !p.Running() {
			t.Errorf("it is %s", got)
		}
		if p.ExitsWithin(time.Millisecond) {
			t.Error("it ends by itself")
		}
		p.Close(CloseOptions{})
		if got := p.State().String(); !strings.HasPrefix(got, "exited with code 0 after ") || p.Running() {
			t.Errorf("it %s", got)
		}
	})
}

// The owner reads all that a process writes before it exits at once, on both streams, even if it
// is still in the pipes when the process is gone.
func TestLastWords(t *testing.T) {
	t.Parallel()
	const line = "last words"
	gone := make(chan struct{})
	p := started(t, mcptest.Script{Start: mcptest.Behaviour{
		// More than is read at once, less than a pipe holds.
		StderrBytes: 800 * 64, Stderr: []string{"the reason"}, Noise: []string{line}, Exit: &mcptest.Exit{Code: 1}}},
		Options{StderrLine: func(string) { <-gone }})
	<-p.exited
	close(gone)
	<-p.tail.done
	select {
	case <-p.Ended():
		t.Error("the process has ended although its stdout was not read")
	default:
	}
	if got, err := io.ReadAll(p.Stdout); string(got) != line+"\n" || err != nil {
		t.Errorf("stdout %q, %v", got, err)
	}
	<-p.Ended()
	if text := p.Stderr(); !strings.HasSuffix(text, "\nthe reason") {
		t.Errorf("stderr ends in %q", text[max(0, len(text)-80):])
	}
}

// The end of a process comes even if its owner does not read stdout, or has closed it.
func TestUnreadOutput(t *testing.T) {
	t.Parallel()
	script := mcptest.Script{Start: mcptest.Behaviour{Noise: []string{"unread"}, Exit: &mcptest.Exit{}}}
	p := started(t, script, Options{})
	<-p.Ended()
	if _, err := p.Stdout.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("reading gives %v", err)
	}
	closed := started(t, script, Options{})
	if err := closed.Stdout.Close(); err != nil {
		t.Error(err)
	}
	<-closed.Ended()
}

// A process that writes much on its way out does not block because its owner reads no more. CloseOptions.Rest
// reads all of it.
func TestCloseOfTalkativeProcess(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]func(io.Reader){
		"discarded": nil,
		"read":      func(r io.Reader) { _, _ = io.Copy(io.Discard, r) },
		"half read": func(r io.Reader) { _, _ = io.CopyN(io.Discard, r, 1000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			for range 5 { // on a busy machine the process may be too slow for ExitGrace
				starts := filepath.Join(t.TempDir(), "starts")
				talk := mcptest.Behaviour{
					StderrBytes: 1 << 20, Noise: []string{strings.Repeat("x", 1<<20)}, Exit: &mcptest.Exit{Code: 3}}
				p := started(t, mcptest.Script{
					Starts: starts, Methods: map[string]mcptest.Behaviour{"x": talk}}, Options{})
				mcptest.WaitLines(t, starts, 1)
				if _, err := io.WriteString(p.Stdin, `{"jsonrpc":"2.0","id":1,"method":"x"}`+"\n"); err != nil {
					t.Fatal(err)
				}
				p.Close(CloseOptions{Rest: rest})
				if got = p.State().String(); strings.HasPrefix(got, "exited with code 3 after ") {
					return
				}
			}
			t.Errorf("it %s", got)
		})
	}
}

// A process is closed once, and each Close returns only when it has ended.
func TestCloseTwice(t *testing.T) {
	t.Parallel()
	p := started(t, mcptest.Script{}, Options{})
	second := make(chan struct{})
	go func() {
		defer close(second)
		p.Close(CloseOptions{})
		if p.Running() {
			t.Error("a Close returns while the process runs")
		}
	}()
	p.Close(CloseOptions{})
	<-second
	if p.Running() {
		t.Error("it runs on")
	}
}

func TestStartFailure(t *testing.T) {
	t.Parallel()
	var s Spawner
	defer s.Close()
	p, err := s.Start(exec.Command("no-such-program-here"), Options{})
	if !errors.Is(err, exec.ErrNotFound) || p != nil {
		t.Errorf("got %v, %v", p, err)
	}
	p, err = start(exec.Command("x"), Options{}, func(*exec.Cmd) error { return io.ErrNoProgress })
	if !errors.Is(err, io.ErrNoProgress) || p != nil {
		t.Errorf("got %v, %v", p, err)
	}
}

// Processes come and go without leaving a file open, whether they start or not; see also goleak in TestMain.
func TestStartsLeaveNothingOpen(t *testing.T) {
	// Not parallel: it counts the files of the whole process.
	if _, err := os.ReadDir("/proc/self/fd"); err != nil {
		t.Skip("files are counted in /proc/self/fd, which this system lacks: ", err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes what was forgotten
	before := 0
	for i := range 10 {
		var s Spawner
		p, err := s.Start(command(t, mcptest.Script{Start: mcptest.Behaviour{Exit: &mcptest.Exit{}}}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Start(exec.Command("no-such-program-here"), Options{}); err == nil {
			t.Error("no error")
		}
		p.Close(CloseOptions{})
		s.Close()
		if i == 0 {
			before = mcptest.OpenFiles(t)
		}
	}
	if after := mcptest.OpenFiles(t); after > before {
		t.Errorf("%d files are open, %d were", after, before)
	}
}

// A spawner that was closed starts processes again.
func TestSpawnerAfterClose(t *testing.T) {
	t.Parallel()
	var s Spawner
	for range 2 {
		p, err := s.Start(command(t, mcptest.Script{}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !p.Running() {
			t.Error("it has ended")
		}
		p.Close(CloseOptions{})
		s.Close()
	}
	s.Close()
}
