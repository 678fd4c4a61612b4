//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is the screen and keyboard of a program that runs on a terminal of its own.
type terminal struct {
	*os.File
	seen  chan []byte // what was written since
	shown bytes.Buffer
}

// onTerminal starts mcpl with stdin and stderr on a pseudo terminal that controls it, stdout apart.
func onTerminal(t *testing.T, dir string, env []string, args ...string) (*exec.Cmd, *terminal, *bytes.Buffer) {
	t.Helper()
	keyboard, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "mcpl", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stderr, cmd.Stdout = tty, tty, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	term := &terminal{File: keyboard, seen: make(chan []byte, 1000)}
	go func() { // ends with the last process that has the terminal, or with the test
		defer close(term.seen)
		for {
			b := make([]byte, 4096)
			n, err := keyboard.Read(b)
			term.seen <- b[:n]
			if err != nil {
				return
			}
		}
	}()
	return cmd, term, &out
}

// until waits for a text behind what was waited for before.
func (term *terminal) until(t *testing.T, text string) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		if i := bytes.Index(term.shown.Bytes(), []byte(text)); i >= 0 {
			term.shown.Next(i + len(text))
			return
		}
		select {
		case b, ok := <-term.seen:
			if !ok {
				t.Fatalf("the terminal ends without %q:\n%s", text, term.shown.String())
			}
			term.shown.Write(b)
		case <-limit:
			t.Fatalf("no %q within a minute:\n%s", text, term.shown.String())
		}
	}
}

const askingServer = `{"tools": [
  {"name": "book", "asks": [{"method": "elicitation/create", "wait": true, "params": {"message": "Which seat?\u001b[2J", "requestedSchema":
    {"type": "object", "properties": {"name": {"type": "string"}, "row": {"type": "integer", "maximum": 9}}, "required": ["name", "row"]}}}], "text": "booked"},
  {"name": "pay", "asks": [{"method": "elicitation/create", "wait": true, "params": {"message": "Sure?", "requestedSchema":
    {"type": "object", "properties": {}}}}], "text": "paid"},
  {"name": "works", "progress": 4, "every": "150ms", "text": "worked"}
]}`

// TestTerminal: a person at a real (pseudo) terminal is asked and shown progress, in this process and,
// by the early start, through a daemon.
func TestTerminal(t *testing.T) {
	t.Parallel()
	for _, daemon := range []string{"off", "on"} {
		t.Run("daemon "+daemon, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			home := filepath.Join(dir, "home")
			for name, text := range map[string]string{
				".mcp.json": `{"mcpServers": {"demo": {"command": "mcptest", "args": ["demo.json"]}}}`, "demo.json": askingServer, ".git/HEAD": "",
				"home/mcpl/config.toml": "[[policy]]\nmatch = \"demo/pay\"\naction = \"ask\"\nby = [\"terminal\"]\n",
			} {
				path := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			env := []string{"HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home,
				"XDG_RUNTIME_DIR=", "NO_COLOR=", "TERM=xterm", "GORACE=atexit_sleep_ms=0", "MCPL_TRUST=all", "MCPL_DAEMON=" + daemon}
			t.Cleanup(func() { stopDaemons(home) })
			person{t, dir, env}.answers()
			person{t, dir, env}.declines()
			person{t, dir, env}.approves()
			person{t, dir, env}.interrupts()
			person{t, dir, env}.watches()
		})
	}
}

type person struct {
	t   *testing.T
	dir string
	env []string
}

// ends waits for the end of the program.
func (p person) ends(cmd *exec.Cmd, out *bytes.Buffer, code int, stdout string) {
	p.t.Helper()
	err := cmd.Wait()
	got := cmd.ProcessState.ExitCode()
	// In its first moments a process with a warm server dies of the signal itself: see internal/early.
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		got = 128 + int(status.Signal()) // as a shell has it
	}
	if got != code || out.String() != stdout {
		p.t.Errorf("%v, want exit code %d\ngot %q, want %q", err, code, out, stdout)
	}
}

func (p person) answers() {
	cmd, term, out := onTerminal(p.t, p.dir, p.env, "call", "demo", "book")
	term.until(p.t, "demo\x1b[0m asks you something")
	term.until(p.t, "  | Which seat?␛[2J")
	term.until(p.t, "(string)\r\n> ")
	term.WriteString("Ada\n")
	term.until(p.t, "(integer, at most 9)\r\n> ")
	term.WriteString("12\n")
	term.until(p.t, "again:")
	term.until(p.t, "> ")
	term.WriteString("7\n")
	term.until(p.t, `{"name":"Ada","row":7}`)
	term.until(p.t, "yes, no, change:")
	term.WriteString("yes\n")
	p.ends(cmd, out, 0, "booked\n")
}

func (p person) declines() {
	cmd, term, out := onTerminal(p.t, p.dir, p.env, "call", "demo", "book")
	term.until(p.t, "(string)\r\n> ")
	term.WriteString("\x04") // Ctrl-D
	term.until(p.t, "Declined.")
	p.ends(cmd, out, 0, "booked\n")
}

func (p person) interrupts() {
	cmd, term, out := onTerminal(p.t, p.dir, p.env, "call", "demo", "book")
	term.until(p.t, "(string)\r\n> ")
	term.WriteString("\x03") // Ctrl-C, with which the terminal may throw away what is shown after it
	p.ends(cmd, out, 130, "")
}

// approves is asked by mcpl before a call, and by the server during it, at one terminal.
func (p person) approves() {
	const asked = "demo/pay\x1b[0m wants your approval"
	cmd, term, out := onTerminal(p.t, p.dir, p.env, "call", "demo", "pay")
	term.until(p.t, asked)
	term.until(p.t, "yes, no: ")
	term.WriteString("y\n")
	term.until(p.t, "  | Sure?")
	term.until(p.t, "yes, no: ")
	term.WriteString("yes\n")
	p.ends(cmd, out, 0, "paid\n")

	cmd, term, out = onTerminal(p.t, p.dir, p.env, "call", "demo", "pay")
	term.until(p.t, asked)
	term.until(p.t, "yes, no: ")
	term.WriteString("no\n")
	term.until(p.t, "was not approved")
	p.ends(cmd, out, 6, "")

	cmd, term, out = onTerminal(p.t, p.dir, p.env, "call", "demo", "pay")
	term.until(p.t, asked)
	term.until(p.t, "yes, no: ")
	term.WriteString("\x03")
	p.ends(cmd, out, 130, "")
}

func (p person) watches() {
	cmd, term, out := onTerminal(p.t, p.dir, p.env, "call", "demo", "works")
	term.until(p.t, "calling demo/works [####---------------]  25%  step 1")
	term.until(p.t, "] 100%  step 4")
	p.ends(cmd, out, 0, "worked\n")
	for b := range term.seen {
		term.shown.Write(b)
	}
	if left := term.shown.String(); !strings.HasSuffix(left, "\r\x1b[K") {
		p.t.Errorf("the line still stands there: %q", left)
	}
}
