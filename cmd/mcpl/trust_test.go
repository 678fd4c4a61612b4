//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrustAtTerminal: a person at a real (pseudo) terminal is shown what a server of a project runs, and is asked. The
// verbs do not ask again about a server that was declined.
func TestTrustAtTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	for name, text := range map[string]string{
		".mcp.json": `{"mcpServers": {"demo": {"command": "mcptest", "args": ["demo.json"], "env": {"API_TOKEN": "hunter22"}},
			"evil": {"command": "mcptest", "args": ["evil.json", "\u001b[2J"], "inheritEnv": true}}}`,
		"demo.json": `{"tools": [{"name": "greet", "text": "hello"}, {"name": "leave"}]}`, "evil.json": `{"starts": "started"}`, ".git/HEAD": "x",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	p := person{t, dir, []string{"HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "XDG_STATE_HOME=" + home,
		"XDG_CONFIG_HOME=" + home, "XDG_RUNTIME_DIR=", "NO_COLOR=1", "TERM=xterm", "GORACE=atexit_sleep_ms=0", "MCPL_TRUST=",
		"MCPL_DAEMON=off"}}

	cmd, term, out := onTerminal(t, dir, p.env, "doctor")
	term.until(t, "Approve demo? [y/N] ")
	term.WriteString("\x03")
	p.ends(cmd, out, 130, "")
	cmd, term, out = onTerminal(t, dir, p.env, "list")
	term.until(t, "Approve demo? [y/N] ")
	term.WriteString("\x03")
	p.ends(cmd, out, 130, "")
	for b := range term.seen {
		term.shown.Write(b)
	}
	if text := term.shown.String(); !strings.Contains(text, "interrupted") || strings.Contains(text, "context canceled") {
		t.Errorf("the end says: %q", text)
	}
	cmd, term, out = onTerminal(t, dir, p.env, "search", "greet")
	term.until(t, "command: mcptest demo.json")
	term.until(t, "env: API_TOKEN=***")
	term.until(t, "Approve demo? [y/N] ")
	term.WriteString("y\n")
	term.until(t, `command: mcptest evil.json '␛[2J'`)
	term.until(t, "environment: the whole environment of your shell")
	term.until(t, "Warning: this has 1 hidden character")
	term.until(t, "Approve evil? [y/N] ")
	term.WriteString("\n")
	if err := cmd.Wait(); err != nil || !strings.HasPrefix(out.String(), "demo/greet") {
		t.Errorf("%v\n%s", err, out)
	}
	cmd, _, out = onTerminal(t, dir, p.env, "call", "demo", "greet")
	p.ends(cmd, out, 0, "hello\n")
	for _, args := range [][]string{{"call", "evil", "any"}, {"list", "evil"}, {"search", "greet"}, {"doctor", "evil"}} {
		cmd, _, out = onTerminal(t, dir, p.env, args...) // none of them asks again
		if err := cmd.Wait(); err == nil != (args[0] == "search") || args[0] == "call" && cmd.ProcessState.ExitCode() != 6 {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	cmd, term, out = onTerminal(t, dir, p.env, "trust", "evil")
	term.until(t, "Approve evil? [y/N] ")
	term.WriteString("yes\x03")
	p.ends(cmd, out, 130, "")
	cmd, term, out = onTerminal(t, dir, p.env, "trust")
	term.until(t, "Approve evil? [y/N] ")
	term.WriteString("n\n")
	p.ends(cmd, out, 6, "Nothing was approved.\n")
	p.keepsEarlierAnswers()
	if _, err := os.Stat(filepath.Join(dir, "started")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a server that was declined was started: %v", err)
	}
}

// keepsEarlierAnswers: what was approved before an interruption stays approved, of servers as of tools.
func (p person) keepsEarlierAnswers() {
	cmd, _, _ := onTerminal(p.t, p.dir, p.env, "untrust", "--all")
	if err := cmd.Wait(); err != nil {
		p.t.Fatal(err)
	}
	cmd, term, out := onTerminal(p.t, p.dir, p.env, "trust", "--all")
	term.until(p.t, "Approve all 2? [y/N] ")
	term.WriteString("n\n")
	p.ends(cmd, out, 6, "Nothing was approved.\n")
	cmd, term, out = onTerminal(p.t, p.dir, p.env, "trust")
	term.until(p.t, "Approve demo? [y/N] ")
	term.WriteString("y\n")
	term.until(p.t, "Approve evil? [y/N] ")
	term.WriteString("\x03")
	p.ends(cmd, out, 130, "")
	cmd, _, out = onTerminal(p.t, p.dir, p.env, "trust", "demo")
	p.ends(cmd, out, 0, "No server waits for an approval.\n")

	const worse = `{"def": {"name": "NAME", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": true}}}`
	script := `{"tools": [` + strings.Replace(worse, "NAME", "greet", 1) + `,` + strings.Replace(worse, "NAME", "leave", 1) + `]}`
	if err := os.WriteFile(filepath.Join(p.dir, "demo.json"), []byte(script), 0o600); err != nil {
		p.t.Fatal(err)
	}
	cmd, term, out = onTerminal(p.t, p.dir, p.env, "trust", "demo")
	term.until(p.t, "Approve demo? [y/N] ")
	term.WriteString("y\n")
	p.ends(cmd, out, 0, "Approved demo.\n")
	cmd, _, out = onTerminal(p.t, p.dir, p.env, "list", "demo", "--refresh")
	if err := cmd.Wait(); err != nil {
		p.t.Fatal(err, out)
	}
	cmd, term, out = onTerminal(p.t, p.dir, p.env, "trust", "demo")
	term.until(p.t, "Approve demo/greet? [y/N] ")
	term.WriteString("y\n")
	term.until(p.t, "Approve demo/leave? [y/N] ")
	term.WriteString("\x03")
	p.ends(cmd, out, 130, "")
	cmd, term, out = onTerminal(p.t, p.dir, p.env, "trust", "demo")
	term.until(p.t, "Approve demo/leave? [y/N] ")
	term.WriteString("n\n")
	p.ends(cmd, out, 6, "Nothing was approved.\n")
	cmd, term, out = onTerminal(p.t, p.dir, p.env, "trust", "demo")
	term.until(p.t, "Approve demo/leave? [y/N] ")
	term.WriteString("y\n")
	p.ends(cmd, out, 0, "Approved demo/leave.\n")
}
