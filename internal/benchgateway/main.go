// Command benchgateway measures what mcpl serve adds to a call, and what it costs to have it run.
//
// The yardstick of a call is pkg/host's own call of a server of the same kind, in this process. The two take turns in
// each round, so that whatever else the machine does falls on both.
//
//	go run ./internal/benchgateway -mcpl bin/mcpl
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

func main() {
	mcptest.Maybe()
	var b bench
	flag.StringVar(&b.mcpl, "mcpl", "bin/mcpl", "the mcpl to measure")
	flag.IntVar(&b.rounds, "rounds", 10, "rounds of calls")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "benchgateway:", err)
		os.Exit(1)
	}
}

// bench is one run of all measurements.
type bench struct {
	mcpl, self string
	rounds     int
	dir        string // everything made on the way
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.mcpl, err = filepath.Abs(b.mcpl); err != nil {
		return err
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "mcpl-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if err := b.calls(ctx); err != nil {
		return err
	}
	return b.start(ctx)
}

// place is a folder with a configuration, and the environment of processes that use it.
type place struct {
	dir     string
	environ []string
	starts  string // file of the starts of its servers
}

// configured returns a place with n servers of a script.
func (b *bench) configured(name string, n int, script mcptest.Script) (place, error) {
	p := place{dir: filepath.Join(b.dir, name)}
	p.starts = filepath.Join(p.dir, "starts")
	script.Starts = p.starts
	if err := os.MkdirAll(filepath.Join(p.dir, ".git"), 0o700); err != nil {
		return p, err
	}
	raw, err := json.Marshal(script)
	if err != nil {
		return p, err
	}
	file := filepath.Join(p.dir, "script.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return p, err
	}
	entries := make([]string, n)
	for i := range entries {
		entries[i] = fmt.Sprintf(`"s%d": {"command": %q, "env": {"MCPTEST_SCRIPT": %q}}`, i, b.self, file)
	}
	config := `{"mcpServers": {` + strings.Join(entries, ", ") + `}}`
	if err := os.WriteFile(filepath.Join(p.dir, ".mcp.json"), []byte(config), 0o600); err != nil {
		return p, err
	}
	p.environ = append(os.Environ(), "HOME="+p.dir, "XDG_CACHE_HOME="+p.dir, "XDG_STATE_HOME="+p.dir,
		"XDG_CONFIG_HOME="+p.dir, "XDG_RUNTIME_DIR=", "MCPL_TRUST=all", "MCPL_DAEMON=off")
	return p, nil
}
