//go:build linux || darwin

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// TestReplicasRevoke: a token of a file that all replicas read, and none writes, is revoked at all of them at once, and
// stays so for replicas that start later, when Redis has lost everything, and when it has gone.
func TestReplicasRevoke(t *testing.T) {
	t.Parallel()
	url, killRedis := redisServer(t)
	h := newHome(t, servedScript())
	gone, stays := h.bearer(t, "gone"), h.bearer(t, "stays")
	provided := filepath.Join(h.dir, "provided.json")
	if err := os.Rename(h.tokens(), provided); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(provided)
	if err != nil {
		t.Fatal(err)
	}
	h.vars = append(h.vars, sessionKey, "MCPL_REDIS_URL="+url, "MCPL_TOKENS_FILE="+provided)
	one, two := h.replica(t), h.replica(t)
	session := "Mcp-Session-Id: " + one.ask("POST", hello, gone).header.Get("Mcp-Session-Id")
	for _, s := range []replica{one, two} {
		s.is(s.ask("POST", ping, gone, session), 200)
		s.is(s.ask("POST", ping, stays), 200)
	}

	if text := h.serveToken(t, "revoke", "gone"); !strings.Contains(text, `"revoked":true`) {
		t.Error(text)
	}
	refused := func(s replica) {
		t.Helper()
		mcptest.Wait(t, "the token is refused", func() bool { return s.ask("POST", ping, gone, session).status == 401 })
		s.is(s.ask("POST", ping, stays), 200)
	}
	refused(one)
	refused(two)
	list := h.serveToken(t, "list")
	if strings.Count(list, `"revoked":true`) != 1 || strings.Index(list, `"gone"`) > strings.Index(list, `"revoked"`) {
		t.Error(list)
	}
	if after, err := os.ReadFile(provided); err != nil || string(after) != string(before) {
		t.Errorf("the file was changed: %v\n%s", err, after)
	}
	flush := exec.Command("redis-cli", "-s", strings.TrimPrefix(strings.TrimSuffix(url, "?read_timeout=10s"), "unix://"), "FLUSHALL")
	if text, err := flush.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	mcptest.Wait(t, "Redis is told again", func() bool {
		one.is(one.ask("POST", ping, gone), 401)
		return strings.Contains(h.serveToken(t, "list"), `"revoked":true`)
	})
	late := h.replica(t)
	late.is(late.ask("POST", ping, gone), 401)
	cmd, _, stderr := h.mcpl(t, "serve", "token", "revoke", "nobody")
	_ = cmd.Run() // its exit code is looked at
	if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(stderr.String(), `no token "nobody"`) {
		t.Errorf("%d: %s", code, stderr)
	}

	killRedis()
	for _, s := range []replica{one, two, late} {
		s.is(s.ask("POST", ping, gone), 401)
		s.is(s.ask("POST", ping, stays), 200)
	}
	cmd, _, stderr = h.mcpl(t, "serve", "token", "revoke", "stays")
	_ = cmd.Run() // its exit code is looked at
	if code := cmd.ProcessState.ExitCode(); code != 4 || !strings.Contains(stderr.String(), "the token is not revoked") {
		t.Errorf("%d: %s", code, stderr)
	}
}
