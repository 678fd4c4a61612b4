package conn

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// startScripted starts a scripted server as a child; line, which may be nil, hears its stderr.
func startScripted(t *testing.T, script mcptest.Script, line func(string)) *child {
	t.Helper()
	command, args, env := mcptest.Command(t, script)
	cmd := exec.Command(command, args...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	c, err := startChild(cmd, newSpawner(t), listener{line: line, foreign: func([]byte) {}, tooLong: func() {}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEnding(t *testing.T) {
	t.Parallel()
	killed := "ended by signal: killed after "
	if runtime.GOOS == "windows" { // which has no signals
		killed = "exited with code 1 after "
	}
	for _, tt := range []struct {
		name   string
		script mcptest.Script
		want   string
	}{
		{"well", mcptest.Script{Start: mcptest.Behaviour{Exit: &mcptest.Exit{}}}, "exited with code 0 after "},
		{"badly", mcptest.Script{Start: mcptest.Behaviour{Exit: &mcptest.Exit{Code: 7}}}, "exited with code 7 after "},
		{"by a signal", mcptest.Script{Start: mcptest.Behaviour{Exit: &mcptest.Exit{Signal: "KILL"}}}, killed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := startScripted(t, tt.script, nil)
			<-c.exited
			if got := c.ending(); !strings.HasPrefix(got, tt.want) || !strings.HasSuffix(got, " s") {
				t.Errorf("it %s", got)
			}
			c.close()
		})
	}
	c := startScripted(t, mcptest.Script{}, nil)
	if got := c.ending(); !strings.HasPrefix(got, "still running after ") || !c.running() {
		t.Errorf("it is %s", got)
	}
	c.close()
	if got := c.ending(); !strings.HasPrefix(got, "exited with code 0 after ") || c.running() {
		t.Errorf("it %s", got)
	}
}

// What a server says before it exits at once is heard, on both streams, also where it is still
// in the pipes when the process is gone.
func TestLastWords(t *testing.T) {
	t.Parallel()
	const line = `{"jsonrpc":"2.0","method":"bye"}`
	for i := range 5 {
		gone := make(chan struct{})
		c := startScripted(t, mcptest.Script{Start: mcptest.Behaviour{
			// More than is read at once, less than a pipe holds.
			StderrBytes: 800 * 64, Stderr: []string{"the reason"}, Noise: []string{line}, Exit: &mcptest.Exit{Code: 1}}},
			func(string) { <-gone })
		<-c.exited
		close(gone)
		if i == 0 {
			time.Sleep(20 * time.Millisecond) // were stdout closed too early, it would be now
			<-c.tail.done
		}
		if got, err := io.ReadAll(c.messages); string(got) != line+"\n" || err != nil {
			t.Errorf("stdout %q, %v", got, err)
		}
		<-c.ended
		if text := c.tail.text(); !strings.HasSuffix(text, "\nthe reason") {
			t.Errorf("stderr ends in %q", text[max(0, len(text)-80):])
		}
		c.close()
	}
}

// A server that says much on its way out is not blocked by our not listening any more.
func TestCloseOfTalkativeChild(t *testing.T) {
	t.Parallel()
	got := ""
	for range 5 { // on a busy machine it may be too slow for exitGrace
		starts := filepath.Join(t.TempDir(), "starts")
		c := startScripted(t, mcptest.Script{Starts: starts, Methods: map[string]mcptest.Behaviour{
			"x": {StderrBytes: 1 << 20, Noise: []string{strings.Repeat("x", 1<<20)}, Exit: &mcptest.Exit{Code: 3}}}}, nil)
		mcptest.WaitLines(t, starts, 1)
		if _, err := io.WriteString(c.stdin, `{"jsonrpc":"2.0","id":1,"method":"x"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		c.close()
		if got = c.ending(); strings.HasPrefix(got, "exited with code 3 after ") {
			return
		}
	}
	t.Errorf("it %s", got)
}

// A server that asks something after its stdin was closed is noticed, and all it says is read.
func TestDrain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{ // tokens
		"": 0,
		`tail of a message"}` + "\nbanner\n" + `{"jsonrpc":"2.0","method":"notifications/message","params":{"id":1}}` + "\n": 0,
		`{"jsonrpc":"2.0","id":7,"result":{}}` + "\n":                                                          0,
		`{"id":0,"jsonrpc":"2.0","method":"roots/list"}` + "\n" + `{"jsonrpc":"2.0","id":"b","method":"ping"}`: 1,
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c := &child{stdout: r, unheard: make(chan struct{}), asked: make(chan struct{}, 1)}
		c.heed([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)) // while it is heard
		close(c.unheard)
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.drain()
		}()
		if _, err := io.WriteString(w, text); err != nil {
			t.Error(err)
		}
		w.Close()
		<-done
		r.Close()
		if got := len(c.asked); got != want {
			t.Errorf("%q gives %d tokens", text, got)
		}
	}
}

func TestStartFailure(t *testing.T) {
	t.Parallel()
	if c, err := startChild(exec.Command("no-such-program-here"), newSpawner(t), listener{}); err == nil {
		c.close()
		t.Error("no error")
	}
}

// Fifty servers come and go; see also goleak in TestMain.
func TestStartsLeaveNothingOpen(t *testing.T) {
	// Not parallel: it counts the files of the whole process.
	if _, err := os.ReadDir("/proc/self/fd"); err != nil {
		t.Skip("files are counted in /proc/self/fd, which this system lacks: ", err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes what was forgotten
	p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{{Name: "echo"}}}, "bad": {Start: mcptest.Behaviour{Exit: &mcptest.Exit{}}}})
	cfg, opt := p.cfg, p.opt
	before := 0
	for i := range 50 {
		p := NewPool(cfg, opt)
		mustCall(t, p, "s", "echo")
		if _, err := p.List(t.Context(), "bad", tool.CallOptions{}); err == nil {
			t.Error("a server that exits at once gives tools")
		}
		if _, err := startChild(exec.Command("no-such-program-here"), newSpawner(t), listener{}); err == nil {
			t.Error("no error")
		}
		p.Close()
		if i == 0 {
			before = openFiles(t)
		}
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, %d were", after, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
