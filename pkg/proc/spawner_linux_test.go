package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// envParent names a folder for a process that starts the command in envChild, and waits to be killed.
const (
	envParent = "MCPL_TEST_PARENT"
	envChild  = "MCPL_TEST_CHILD"
)

// beParent is that process, which other processes of the test binary skip.
func beParent() {
	dir, ok := os.LookupEnv(envParent)
	if !ok {
		return
	}
	var s Spawner
	if _, err := s.Start(exec.Command("/bin/sh", "-c", os.Getenv(envChild)), Options{}); err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ready"), []byte("1\n"), 0o600); err != nil {
		panic(err)
	}
	select {}
}

// A child dies when its parent is killed, even if it would survive the end of its stdin. It lives for as
// long as the parent does, though threads come and go.
func TestKilledParent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(exe, "-test.run=^$")
	child := filepath.Join(dir, "child")
	script := `trap "" TERM HUP; echo $$ >` + child + `; while :; do sleep 1; done`
	parent.Env = append(os.Environ(), envParent+"="+dir, envChild+"="+script)
	parent.Stderr = os.Stderr
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	mcptest.WaitLines(t, filepath.Join(dir, "ready"), 1)
	pid := mcptest.WaitPID(t, child)
	if !mcptest.Alive(pid) {
		t.Error("the child has ended before its parent")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	mcptest.WaitGone(t, pid)
}
