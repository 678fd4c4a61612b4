package conn

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// envParent names the configuration for a process that starts its servers and waits to be killed.
const envParent = "MCPL_TEST_PARENT"

// beParent is that process.
func beParent() {
	path, ok := os.LookupEnv(envParent)
	if !ok {
		return
	}
	dir := filepath.Dir(path)
	env := config.Env{Dir: dir, Home: dir, Lookup: os.LookupEnv, GOOS: "linux"}
	src, err := env.Locate(config.Selection{Configs: []string{path}})
	if err != nil {
		panic(err)
	}
	cfg, err := env.Load(src)
	if err != nil {
		panic(err)
	}
	p := NewPool(cfg, Options{Environ: os.Environ(), Dir: dir})
	if _, err := p.List(context.Background(), "s", tool.CallOptions{}); err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ready"), []byte("1\n"), 0o600); err != nil {
		panic(err)
	}
	select {}
}

// A server dies with an mcpl that was killed, also one that would survive the end of its stdin. It
// lives for as long as mcpl does, though threads come and go.
func TestKilledParent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	starts := filepath.Join(dir, "starts")
	path := mcptest.Config(t, scripts{"s": {Starts: starts, IgnoreEOF: true, IgnoreTerm: true}})
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(exe, "-test.run=^$")
	parent.Env = append(os.Environ(), envParent+"="+path)
	parent.Stderr = os.Stderr
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	mcptest.WaitLines(t, filepath.Join(filepath.Dir(path), "ready"), 1)
	pid := mcptest.WaitPID(t, starts)
	if !mcptest.Alive(pid) {
		t.Error("the server has ended before its parent")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	mcptest.WaitGone(t, pid)
}
