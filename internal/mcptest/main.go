package mcptest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Lifetime is how long a scripted server, or a grandchild of one, runs at most: whatever a
// broken test leaves behind is gone soon after.
const Lifetime = 5 * time.Minute

// Exit codes of the server that no script asks for.
const (
	codeScript   = 125 // the script cannot be read
	codeLifetime = 124 // Lifetime is over
)

// envScript holds a script, or the path of one, for [Maybe].
const envScript = "MCPTEST_SCRIPT"

// Maybe runs the server and exits if this process was started as one (by [Command] or
// [Config]); otherwise it returns at once. It belongs at the top of TestMain.
func Maybe() {
	if script, ok := os.LookupEnv(envScript); ok {
		os.Exit(Main([]string{script}, os.Stdin, os.Stdout, os.Stderr))
	}
}

// Run runs the server with the process's arguments and streams, and exits.
func Run() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// Main runs the server on stdin and stdout until stdin ends or the script says so, and returns
// its exit code. The one argument is the script: JSON, or the path of a file that holds it.
// After [Lifetime] it ends the process. It must be the only one in its process if the script
// uses signals. The goroutine that reads stdin ends when stdin does.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	lifetime := time.AfterFunc(Lifetime, func() { os.Exit(codeLifetime) })
	defer lifetime.Stop()
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: mcptest SCRIPT (JSON, or a file that holds it)")
		return codeScript
	}
	script, err := load(args[0])
	if err == nil {
		script, err = prepare(script, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "mcptest:", err)
		return codeScript
	}
	s := newServer(script, stdout, stderr)
	return s.run(stdin)
}

// prepare does what concerns the process, and returns the script that this start is to follow.
func prepare(script Script, stdout, stderr io.Writer) (Script, error) {
	if script.Starts != "" {
		line := fmt.Sprintf("%d %d", os.Getpid(), time.Now().UnixNano())
		if err := appendLine(script.Starts, []byte(line)); err != nil {
			return script, err
		}
		n, err := countLines(script.Starts)
		if err != nil {
			return script, err
		}
		script = script.at(n)
	}
	if script.IgnoreTerm {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	}
	if script.Grandchild != nil {
		return script, script.Grandchild.start(stdout, stderr)
	}
	return script, nil
}

// start runs this program again with a script that never reads. It does not wait for that process, which
// tests what is left behind.
func (g Grandchild) start(stdout, stderr io.Writer) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	const sit = `{"start": {"never": true}, "ignoreTerm": %t}`
	script := fmt.Sprintf(sit, g.IgnoreTerm)
	// Argument and variable both hold the script: the one is for Run, the other for Maybe.
	// argv[0] stays, since a testscript binary chooses its command by it.
	cmd := &exec.Cmd{
		Path:   exe,
		Args:   []string{os.Args[0], script},
		Env:    append(os.Environ(), envScript+"="+script),
		Stdout: fileOnly(stdout),
		Stderr: fileOnly(stderr),
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// A reader that sees the file must see the whole number in it.
	tmp := g.PID + ".tmp"
	if err := os.WriteFile(tmp, []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Clean(g.PID))
}

// fileOnly returns w if it is a file: for any other writer os/exec would start a goroutine.
func fileOnly(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok {
		return f
	}
	return nil
}

// appendLine adds a line to a file with one write, so that processes may share the file. If path is
// empty, the line is dropped.
func appendLine(path string, line []byte) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(bytes.Clone(line), '\n')); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func countLines(path string) (int, error) {
	b, err := os.ReadFile(path)
	return bytes.Count(b, []byte("\n")), err
}
