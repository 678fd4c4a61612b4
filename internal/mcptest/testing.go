package mcptest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long the helpers wait for a condition that must come true.
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

// WaitLines waits until the file has n lines, for up to a minute, and returns them all.
func WaitLines(t testing.TB, path string, n int) []string {
	t.Helper()
	var lines []string
	Eventually(t, func() (string, bool) {
		lines = Lines(t, path)
		return fmt.Sprintf("%s has %d lines, not %d", path, len(lines), n), len(lines) >= n
	})
	return lines
}

// WaitPID waits until the file holds a process id, for up to a minute, and returns it. It reads the
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

// WaitGone waits until the process runs no more, for up to a minute. A zombie counts as gone: an
// orphan is reaped by init, and in a container there may be none.
func WaitGone(t testing.TB, pid int) {
	t.Helper()
	Eventually(t, func() (string, bool) { return fmt.Sprintf("process %d runs", pid), !Alive(pid) })
}

// Eventually waits until a condition holds, for up to a minute. The condition also says how things stand, for the
// failure. It is for the state of other processes and of files, which no channel announces; what this process does
// itself is waited for by a channel, or by testing/synctest.
func Eventually(t testing.TB, condition func() (state string, holds bool)) {
	t.Helper()
	if state, held := Poll(condition); !held {
		t.Fatalf("after %v: %s", patience, state)
	}
}

// Wait waits until ok holds, for up to a minute; what names it in the failure. It is [Eventually] for conditions of
// which nothing more can be said.
func Wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	Eventually(t, func() (string, bool) { return "waited for " + what, ok() })
}

// Poll is [Eventually] for those who have no testing.TB. It returns the last state, and whether the condition held.
func Poll(condition func() (state string, holds bool)) (state string, held bool) {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if state, held = condition(); held || time.Now().After(end) {
			return state, held
		}
	}
}

// OpenFiles returns how many files this process has open. It needs /proc.
func OpenFiles(t testing.TB) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
