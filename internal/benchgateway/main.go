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
	flag.StringVar(&b.base, "base", "", "another mcpl, to which the calls through the first are compared")
	flag.StringVar(&b.npm, "npm", "testdata/npm", "folder with the real servers; left out if they are not installed")
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
	mcpl, base, npm, self string
	rounds                int
	dir                   string // everything made on the way
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.mcpl, err = filepath.Abs(b.mcpl); err != nil {
		return err
	}
	if b.base != "" {
		if b.base, err = filepath.Abs(b.base); err != nil {
			return err
		}
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "mcpl-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	for _, s := range b.subjects() {
		if err := b.calls(ctx, s); err != nil {
			return err
		}
	}
	return b.start(ctx)
}

// subject is a tool to be called, and its server.
type subject struct {
	name   string // of the server
	argv   []string
	params string // of the call
}

// request returns the call as a message, by the name that the gateway gives the tool.
func (s subject) request() string {
	params := strings.Replace(s.params, `"name":"`, `"name":"`+s.name+"_", 1)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":%s}`, params)
}

// subjects returns a server that answers in a tenth of a millisecond, and one in Node, if it is installed.
func (b *bench) subjects() []subject {
	list := []subject{{"example", []string{b.mcpl, "example-server"},
		`{"name":"calculate","arguments":{"expression":"1+1"}}`}}
	program, err := filepath.Abs(filepath.Join(b.npm, "node_modules", "@modelcontextprotocol", "server-everything", "dist",
		"index.js"))
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		fmt.Println("The real servers are not installed (make node): the one in Node is left out.")
		return list
	}
	return append(list, subject{"everything", []string{"node", program},
		`{"name":"echo","arguments":{"message":"hello"}}`})
}

// place is a folder with a configuration, and the environment of processes that use it.
type place struct {
	dir     string
	environ []string
	starts  string // file of the starts of its servers, if they are scripted
}

// scripted returns a place with n servers of a script.
func (b *bench) scripted(name string, n int, script mcptest.Script) (place, error) {
	script.Starts = filepath.Join(b.dir, name, "starts")
	raw, err := json.Marshal(script)
	if err != nil {
		return place{}, err
	}
	file := filepath.Join(b.dir, name+".json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return place{}, err
	}
	entries := make([]string, n)
	for i := range entries {
		entries[i] = fmt.Sprintf(`"s%d": {"command": %q, "env": {"MCPTEST_SCRIPT": %q}}`, i, b.self, file)
	}
	p, err := b.configured(name, entries...)
	p.starts = script.Starts
	return p, err
}

// configured returns a place with these entries of servers.
func (b *bench) configured(name string, entries ...string) (place, error) {
	p := place{dir: filepath.Join(b.dir, name)}
	if err := os.MkdirAll(filepath.Join(p.dir, ".git"), 0o700); err != nil {
		return p, err
	}
	config := `{"mcpServers": {` + strings.Join(entries, ", ") + `}}`
	if err := os.WriteFile(filepath.Join(p.dir, ".mcp.json"), []byte(config), 0o600); err != nil {
		return p, err
	}
	p.environ = append(os.Environ(), "HOME="+p.dir, "XDG_CACHE_HOME="+p.dir, "XDG_STATE_HOME="+p.dir,
		"XDG_CONFIG_HOME="+p.dir, "XDG_RUNTIME_DIR=", "MCPL_TRUST=all", "MCPL_DAEMON=off")
	return p, nil
}
