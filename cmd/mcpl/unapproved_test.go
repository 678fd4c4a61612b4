//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/internal/verb"
)

// unapprovedCommands are command lines of every verb that could reach a server, with the servers x and web.
func unapprovedCommands() [][]string {
	var lines [][]string
	for line := range strings.SplitSeq(`search echo
search echo --refresh
search echo --kind all
inspect x ask
inspect web t
inspect x p --kind prompt
call x ask {}
call x ask {} --no-daemon
call x ask {} --no-validate
call x ask {} --dry-run
call web t {}
result 0123456789
list
list --refresh
list x
list x --refresh
list web --refresh
types
types web x/ask --docs
resources
resources x --refresh
read x file:///a
read web file:///a
prompts
prompts web --refresh
prompt x p
prompt web p
trust x
trust --all
trust --list
trust --diff
trust --lock
trust x --yes 000000000000
trust x/ask
untrust x
config
config import --dry-run
config add z --no-try -- no-such-program
config remove z
auth
auth login web
auth logout web
doctor
doctor x web
doctor --locked
disable x
enable x
disable web/t
enable web/t
approvals
instructions
instructions --describe
completion bash
serve
serve --expose all --daemon off
serve --cwd .
serve install cursor --yes
daemon restart
daemon status
daemon logs
version
renew
__complete call ''
__complete call x ''
__complete inspect web ''
__complete read x ''
__complete prompt web ''
__complete doctor ''
__complete trust ''
__complete auth login ''`, "\n") {
		line := strings.Fields(line)
		for i, word := range line {
			line[i] = strings.ReplaceAll(word, "''", "")
		}
		lines = append(lines, line)
	}
	return lines
}

// TestF1NoVerbReachesWhatIsNotApproved: no verb, daemon or refresh behind an answer starts or contacts a server of a
// project before it is approved, nor one that was approved and used, and whose entry then changed.
func TestF1NoVerbReachesWhatIsNotApproved(t *testing.T) {
	t.Parallel()
	lines := unapprovedCommands()
	for _, spec := range verb.Table() {
		if !slices.ContainsFunc(lines, func(line []string) bool {
			return strings.HasPrefix(strings.Join(line, " "), spec.Name)
		}) {
			t.Errorf("mcpl %s is not tried", spec.Name)
		}
	}
	for _, daemon := range []string{"on", "off"} {
		t.Run("daemon "+daemon, func(t *testing.T) {
			t.Parallel()
			script := mcptest.Script{Tools: []mcptest.Tool{{Name: "ask", Text: "done"}}}
			h := newHome(t, script)
			if daemon == "on" {
				h = newWarmHome(t, script)
			}
			h.vars = append(h.vars, "MCPL_TRUST=", "LEAK=canary")
			var requests atomic.Int32
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				http.Error(w, "no", http.StatusUnauthorized)
			}))
			t.Cleanup(web.Close)
			configure := func(word string) {
				text := fmt.Sprintf(`{"mcpServers": {"x": {"command": "mcptest", "args": ["script.json"], "env": {"WORD": %q}},
					"web": {"url": "%s/mcp?leak=${LEAK}&%s", "headers": {"X-Leak": "${LEAK}"}, "allowHTTP": true}}}`, word, web.URL, word)
				if err := os.WriteFile(filepath.Join(h.dir, ".mcp.json"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			try := func(when string) {
				for _, line := range lines {
					cmd, stdout, stderr := h.mcpl(t, append([]string{"--json"}, line...)...)
					_ = cmd.Run() // its code is not the matter
					if _, err := os.Stat(h.starts); !errors.Is(err, os.ErrNotExist) || requests.Load() > 0 {
						t.Fatalf("%s: mcpl %q starts a server (%v) or contacts one (%d requests):\n%s%s", when, line, err, requests.Load(),
							stdout, stderr)
					}
				}
			}
			configure("first")
			try("new")

			for server, hash := range h.hashes(t) {
				if code, out := h.run(t, "trust", server, "--yes", hash); code != 0 {
					t.Fatalf("approving %s: %s", server, out)
				}
			}
			if code, out := h.run(t, "call", "x", "ask", "{}"); code != 0 {
				t.Fatalf("approved: %s", out)
			}
			h.run(t, "list", "--refresh")
			if requests.Load() == 0 {
				t.Fatal("web is not asked although it is approved")
			}
			h.run(t, "daemon", "stop")
			requests.Store(0)
			if err := os.Remove(h.starts); err != nil {
				t.Fatal(err)
			}
			configure("second")
			try("changed")
		})
	}
}

// run runs mcpl --json ARGS to its end.
func (h home) run(t *testing.T, args ...string) (code int, stdout string) {
	t.Helper()
	cmd, out, _ := h.mcpl(t, append([]string{"--json"}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return exitCode(t, cmd), out.String()
}

// hashes returns the hash of each server as mcpl trust --list shows it.
func (h home) hashes(t *testing.T) map[string]string {
	t.Helper()
	_, out := h.run(t, "trust", "--list")
	var answer struct {
		Servers []struct{ Server, Hash string }
	}
	if err := json.NewDecoder(bytes.NewBufferString(out)).Decode(&answer); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	hashes := map[string]string{}
	for _, s := range answer.Servers {
		hashes[s.Server] = s.Hash
	}
	return hashes
}
