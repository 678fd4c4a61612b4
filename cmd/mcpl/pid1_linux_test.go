package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// asPID1 makes a command the first process of a PID namespace with a /proc of its own, as in a container.
func asPID1(cmd *exec.Cmd) *exec.Cmd {
	own := exec.Command("/bin/sh", append([]string{"-c", `mount -t proc proc /proc && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)...)
	own.Dir, own.Env = cmd.Dir, cmd.Env
	own.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	return own
}

// needsNamespaces skips a test where a process cannot have namespaces of its own.
func needsNamespaces(t *testing.T) {
	t.Helper()
	if said, err := asPID1(exec.Command("/bin/true")).CombinedOutput(); err != nil {
		t.Skipf("this machine does not let a user make a PID namespace: %v %s", err, said)
	}
}

// childrenOf returns the children of a process, zombies too.
func childrenOf(t *testing.T, parent int) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		// "pid (name) state ppid ..."; the name may hold anything (proc_pid_stat(5)).
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if string(fields[1]) == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestPID1: as the first process of a container mcpl reaps the orphans that servers leave, hands signals on, and ends
// with the exit code of its work.
func TestPID1(t *testing.T) {
	t.Parallel()
	needsNamespaces(t)
	h := newHome(t, servedScript())
	orphan := filepath.Join(h.dir, "orphan")
	config := fmt.Sprintf(`{"mcpServers": {"s": {"command": "sh", "args": ["-c",
		"( (echo 1 >%s) & ); exec mcptest script.json"]}}}`, orphan)
	if err := os.WriteFile(filepath.Join(h.dir, ".mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, _, _ := h.mcpl(t, "serve", "--http", "127.0.0.1:0", "--no-auth", "--expose", "all")
	first := asPID1(cmd)
	said := filepath.Join(h.dir, "said")
	stderr, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	first.Stderr = stderr
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	s := site{t: t}
	mcptest.Wait(t, "mcpl to listen", func() bool {
		s.url = regexp.MustCompile(`http://\S+/mcp`).FindString(strings.Join(mcptest.Lines(t, said), "\n"))
		return s.url != ""
	})
	s.is(s.ask("POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s_steps"}}`), 200, "done")
	mcptest.WaitLines(t, orphan, 1)
	mcptest.Eventually(t, func() (string, bool) {
		pids := childrenOf(t, first.Process.Pid)
		return fmt.Sprintf("the children of the first process are %v, and not its program alone", pids), len(pids) == 1
	})
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, first); code != 0 {
		t.Errorf("it ended with %d: %q", code, mcptest.Lines(t, said))
	}
}

// TestPID1Exit: the exit code of the program is that of the first process.
func TestPID1Exit(t *testing.T) {
	t.Parallel()
	needsNamespaces(t)
	h := newHome(t, servedScript())
	cmd, _, stderr := h.mcpl(t, "serve", "--expose", "none")
	first := asPID1(cmd)
	first.Stderr = stderr
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, first); code != 2 {
		t.Errorf("it ended with %d: %s", code, stderr)
	}
}
