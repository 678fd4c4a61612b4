package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcp-launchpad/mcpl/internal/authtest"
	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/daemon"
)

var update = flag.Bool("update", false, "rewrite golden files with what is printed now")

func TestMain(m *testing.M) {
	mcptest.Maybe()
	testscript.Main(m, map[string]func(){
		"mcpl":         func() { os.Exit(run()) },
		"mcptest":      mcptest.Run,
		"play-browser": playBrowser,
		"xdg-open":     xdgOpen,
		"hoard":        hoard,
	})
}

// TestScripts runs the end-to-end scripts: the real program against real server processes. Each
// script has a HOME and XDG folders of its own. "mcptest SCRIPT.json" is the scripted server.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds:                commands(),
	})
}

func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, ".home")
	for name, dir := range map[string]string{
		"HOME": home, "USERPROFILE": home,
		"XDG_CACHE_HOME":  filepath.Join(home, "cache"),
		"XDG_STATE_HOME":  filepath.Join(home, "state"),
		"XDG_CONFIG_HOME": filepath.Join(home, "config"),
	} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		env.Setenv(name, dir)
	}
	env.Setenv("XDG_RUNTIME_DIR", "")
	env.Defer(func() { stopDaemons(home) })
	// The repository root, so that no configuration above the script's folder is found.
	if err := os.MkdirAll(filepath.Join(env.WorkDir, ".git"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(env.WorkDir, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		return err
	}
	env.Setenv("MCPL_TRUST", "all")            // a script about approvals unsets it
	env.Setenv("DBUS_SESSION_BUS_ADDRESS", "") // the keyring of whoever runs the tests is left alone
	env.Setenv("NO_COLOR", "1")
	env.Values[authServers] = map[string]*authtest.Server{}
	env.Setenv("GORACE", "atexit_sleep_ms=0") // each process under -race would linger for a second
	env.Setenv("MCPL_DAEMON", "off")          // a script that wants it switches it on, and stops it at its end
	return nil
}

// stopDaemons stops the daemons with sockets under a home, which a script that failed has left.
func stopDaemons(home string) {
	sockets, _ := filepath.Glob(filepath.Join(home, "cache", "mcpl", "run", "*.sock")) // the pattern is sound
	for _, socket := range sockets {
		// Where it fails none runs, or the process table shows what else is wrong.
		_, _ = daemon.Stop(context.Background(), daemon.Place{Socket: socket})
	}
}
