package mcptest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long the helpers wait for what must happen.
const patience = time.Minute

// Command returns what starts a server with that script: this test binary itself, whose
// TestMain has to call [Maybe].
func Command(t testing.TB, script Script) (command string, args []string, env map[string]string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := script.check(); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	// Without Maybe the child would run the tests, and those would start children.
	return exe, []string{"-test.run=^$"}, map[string]string{envScript: path}
}

// Config writes an .mcp.json with a server for each script and returns its path.
func Config(t testing.TB, scripts map[string]Script) string {
	t.Helper()
	type server struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
	}
	servers := make(map[string]server, len(scripts))
	for name, script := range scripts {
		command, args, env := Command(t, script)
		servers[name] = server{command, args, env}
	}
	raw, err := json.MarshalIndent(map[string]any{"mcpServers": servers}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), ".mcp.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Lines returns the lines of one of the files that a [Script] names; a file that is not there
// has none. The number of lines of [Script].Starts is the number of starts.
func Lines(t testing.TB, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	// A last line without its break is still being written.
	lines := strings.Split(string(b), "\n")
	return lines[:len(lines)-1]
}

// WaitLines waits until the file has n lines, for up to 10 s, and returns them all.
func WaitLines(t testing.TB, path string, n int) []string {
	t.Helper()
	var lines []string
	Wait(t, strconv.Itoa(n)+" lines in "+path, func() bool {
		lines = Lines(t, path)
		return len(lines) >= n
	})
	return lines
}

// WaitPID waits until the file holds a process id, for up to 10 s, and returns it. It reads the
// file of a [Grandchild], and the last line of [Script].Starts.
func WaitPID(t testing.TB, path string) int {
	t.Helper()
	lines := WaitLines(t, path, 1)
	field, _, _ := strings.Cut(lines[len(lines)-1], " ")
	pid, err := strconv.Atoi(field)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// WaitGone waits until the process runs no more, for up to 10 s. A zombie counts as gone: an
// orphan is reaped by init, and in a container there may be none.
func WaitGone(t testing.TB, pid int) {
	t.Helper()
	Wait(t, "the end of process "+strconv.Itoa(pid), func() bool { return !Alive(pid) })
}

// Wait waits until ok holds, for up to a minute (see patience), looking every few milliseconds.
func Wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}
