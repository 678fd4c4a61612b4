package mcptest

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// peer is a client of a server process.
type peer struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

func start(t *testing.T, script Script) *peer {
	t.Helper()
	command, args, env := Command(t, script)
	cmd := exec.Command(command, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = os.Environ()
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() // nothing happens where it has ended
		cmd.Wait()
	})
	return &peer{t, cmd, stdin, bufio.NewReader(stdout)}
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, strings.Join(lines, "\n")+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

// exit waits for the end and returns the exit code, or -1 for a signal.
func (p *peer) exit() int {
	p.t.Helper()
	io.Copy(io.Discard, p.out)
	err := p.cmd.Wait()
	var e *exec.ExitError
	if err != nil && !errors.As(err, &e) {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

func needSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals")
	}
}

func TestExits(t *testing.T) {
	t.Parallel()
	needSignals(t)
	tests := []struct {
		name   string
		script Script
		in     []string
		code   int
	}{
		{"at once with 0", Script{Start: Behaviour{Exit: &Exit{}}}, nil, 0},
		{"at once with 3", Script{Start: Behaviour{Exit: &Exit{Code: 3}}}, nil, 3},
		{"at once by a signal", Script{Start: Behaviour{Exit: &Exit{Signal: "KILL"}}}, nil, -1},
		{"in a call", Script{Tools: []Tool{{Name: "die", Behaviour: Behaviour{Exit: &Exit{Code: 9}}}}},
			[]string{initLine, call(2, "die", "{}")}, 9},
		{"in a call, later, by a signal",
			Script{Tools: []Tool{{Name: "die", Behaviour: Behaviour{Delay: Duration(time.Millisecond), Exit: &Exit{Signal: "TERM"}}}}},
			[]string{initLine, call(2, "die", "{}")}, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, tt.script)
			if tt.in != nil {
				p.send(tt.in...)
			}
			if code := p.exit(); code != tt.code {
				t.Errorf("code %d, want %d", code, tt.code)
			}
		})
	}
}

// TestCancel leaves two calls unanswered, one of them slow, and answers a third meanwhile.
func TestCancel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cancelled, received := filepath.Join(dir, "cancelled"), filepath.Join(dir, "received")
	p := start(t, Script{Cancelled: cancelled, Received: received, Tools: []Tool{
		{Name: "never", Behaviour: Behaviour{Never: true}},
		{Name: "slow", Behaviour: Behaviour{Delay: Duration(time.Hour)}},
		{Name: "cwd", Cwd: true, Env: envScript},
	}})
	notice := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`
	p.send(initLine, call(2, "never", "{}"), call(3, "slow", "{}"), notice, call(4, "cwd", "{}"))
	p.line()
	dir = filepath.Base(p.cmd.Dir)
	if got := p.line(); !strings.Contains(got, `"id":4`) || !strings.Contains(got, envScript+"=") || !strings.Contains(got, dir) {
		t.Errorf("got %s", got)
	}
	if got := WaitLines(t, cancelled, 1); got[0] != notice {
		t.Errorf("got %q", got)
	}
	p.stdin.Close()
	if code := p.exit(); code != 0 {
		t.Errorf("code %d", code)
	}
	if got := Lines(t, received); len(got) != 5 {
		t.Errorf("%d lines received: %q", len(got), got)
	}
}

func TestAskAndWait(t *testing.T) {
	t.Parallel()
	answers := filepath.Join(t.TempDir(), "answers")
	p := start(t, Script{Answers: answers, Tools: []Tool{
		{Name: "ask", Text: "thanks", Behaviour: Behaviour{Asks: []Ask{{Method: "roots/list", Wait: true}}}},
	}})
	p.send(initLine, call(2, "ask", "{}"))
	p.line()
	if got, want := p.line(), `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`; got != want {
		t.Fatalf("got %s", got)
	}
	answer := `{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`
	p.send(answer)
	if got := p.line(); !strings.Contains(got, "thanks") {
		t.Errorf("got %s", got)
	}
	if got := Lines(t, answers); len(got) != 1 || got[0] != answer {
		t.Errorf("got %q", got)
	}
}

// TestLater starts a server three times; the second start fails to list.
func TestLater(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	script := Script{Starts: starts, Later: []Later{
		{From: 2, Script: Script{Methods: map[string]Behaviour{"tools/list": {Error: &Error{Code: -32603, Message: "down"}}}}},
		{From: 3, Script: Script{Start: Behaviour{Exit: &Exit{Code: 4}}}},
	}}
	for i, want := range []string{`"result"`, `"down"`} {
		p := start(t, script)
		p.send(initLine, listLine)
		p.line()
		if got := p.line(); !strings.Contains(got, want) {
			t.Errorf("start %d: %s", i+1, got)
		}
		p.stdin.Close()
		p.exit()
	}
	if code := start(t, script).exit(); code != 4 {
		t.Errorf("code %d", code)
	}
	if got := Lines(t, starts); len(got) != 3 {
		t.Errorf("%d starts", len(got))
	}
}

func TestStubborn(t *testing.T) {
	t.Parallel()
	needSignals(t)
	pidFile := filepath.Join(t.TempDir(), "pid")
	p := start(t, Script{IgnoreEOF: true, IgnoreTerm: true, Grandchild: &Grandchild{PID: pidFile, IgnoreTerm: true},
		Tools: []Tool{{Name: "late", Behaviour: Behaviour{Delay: Duration(20 * time.Millisecond)}}}})
	p.send(initLine)
	p.line()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.send(call(2, "late", `{}`))
	p.stdin.Close()
	if got := p.line(); !strings.Contains(got, `"id":2`) { // after SIGTERM and the end of stdin
		t.Errorf("got %s", got)
	}
	p.cmd.Process.Kill()
	p.cmd.Wait()
	grandchild := WaitPID(t, pidFile)
	if !Alive(grandchild) || grandchild == p.cmd.Process.Pid {
		t.Error("no grandchild is left")
	}
	process, err := os.FindProcess(grandchild)
	if err != nil {
		t.Fatal(err)
	}
	process.Kill()
	WaitGone(t, grandchild)
}

func TestStderrAndHang(t *testing.T) {
	t.Parallel()
	command, args, env := Command(t, Script{Start: Behaviour{StderrBytes: 1 << 20, Stderr: []string{"last words"}, Never: true}})
	cmd := exec.Command(command, args...)
	cmd.Env = append(os.Environ(), envScript+"="+env[envScript])
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1<<20+len("last words\n"))
	if _, err := io.ReadFull(stderr, buf); err != nil || !strings.HasSuffix(string(buf), "x\nlast words\n") {
		t.Errorf("%v: %q", err, buf[len(buf)-20:])
	}
	// Its stdin is at its end; it does not look.
	if !Alive(cmd.Process.Pid) {
		t.Error("it has ended")
	}
	cmd.Process.Kill()
	cmd.Wait()
}

func TestConfig(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(Config(t, map[string]Script{"a": {}, "b": {Modern: "only"}}))
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	b := c.MCPServers["b"]
	if s, err := load(b.Env[envScript]); err != nil || s.Modern != "only" || b.Command == "" || len(c.MCPServers) != 2 {
		t.Errorf("%v: %s", err, raw)
	}
}
