package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestRealServers runs the end-to-end scripts against real servers from npm, which `make test`
// installs where Node is there. $SERVERS is the folder of their packages.
func TestRealServers(t *testing.T) {
	t.Parallel()
	servers, err := filepath.Abs(filepath.Join("..", "..", "testdata", "npm", "node_modules", "@modelcontextprotocol"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(servers); err != nil {
		if os.Getenv("MCPL_REQUIRE_REAL_SERVERS") != "" {
			t.Fatalf("the real servers are not installed: %v", err)
		}
		t.Skipf("the real servers are not installed (make node installs them where Node is): %v", err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "real"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                commands(),
		Setup: func(env *testscript.Env) error {
			env.Setenv("SERVERS", servers)
			return setup(env)
		},
	})
}
