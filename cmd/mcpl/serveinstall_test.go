//go:build linux || darwin

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// installed puts mcpl into a client's file from h, and returns the arguments of the entry.
func (h home) installed(t *testing.T, client string) []string {
	t.Helper()
	cmd, stdout, stderr := h.mcpl(t, "--json", "serve", "install", client, "--yes")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	var answer struct {
		Entry struct {
			Command string
			Args    []string
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(answer.Entry.Command); err != nil || info.Mode()&0o100 == 0 || answer.Entry.Args[0] != "serve" {
		t.Fatalf("the entry is %+v, %v", answer.Entry, err)
	}
	return answer.Entry.Args
}

// elsewhere is h as a client has it that starts servers outside of all projects.
func (h home) elsewhere() home {
	there := h
	there.dir = "/"
	there.vars = append([]string{"HOME=" + h.dir, "XDG_CACHE_HOME=" + h.dir, "XDG_STATE_HOME=" + h.dir,
		"XDG_CONFIG_HOME=" + h.dir}, h.vars...)
	return there
}

// TestServeInstalled: an entry that was made in a project serves the servers of that when it is started in another
// folder, in the gateway's process and by way of the daemon.
func TestServeInstalled(t *testing.T) {
	t.Parallel()
	for _, daemon := range []string{"off", "on"} {
		t.Run("daemon "+daemon, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "echo", Text: "here"}}})
			if daemon == "on" {
				h = newWarmHome(t, mcptest.Script{Tools: []mcptest.Tool{{Name: "echo", Text: "here"}}})
			}
			args := h.installed(t, "claude-desktop")
			f := h.elsewhere().serve(t, args[1:]...)
			f.initialize(`{}`)
			f.has(f.call("call_tool", `{"server":"s","tool":"echo","arguments":{}}`), "here")
		})
	}
}

// TestToolmanInstalled: a tools.toml is found in its folder by an entry that names that, and its commands run there.
func TestToolmanInstalled(t *testing.T) {
	t.Parallel()
	h := newToolman(t, seedTools, seedScripts())
	args := h.installed(t, "codex")
	if want := []string{"serve", "--cwd", h.dir}; strings.Join(args, " ") != strings.Join(want, " ") {
		t.Fatalf("the entry has %q, want %q", args, want)
	}
	f := h.elsewhere().serve(t, args[1:]...)
	f.initialize(`{}`)
	f.has(f.do("tools/list", `{}`), `"name":"toolman_activate"`, `"name":"pjpd_list_projects"`)
	f.has(f.call("pjpd_list_projects", `{}`), "three")

	// Where a person has to approve, they still do: the file is found, not named.
	h.vars = []string{"MCPL_TRUST="}
	f = h.elsewhere().serve(t, args[1:]...)
	f.initialize(`{}`)
	f.has(f.do("tools/list", `{}`), "no one has approved it")
}

// TestInstallAsks: a person at a terminal sees the change and is asked; a no writes nothing, a yes does.
func TestInstallAsks(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{})
	file := filepath.Join(h.dir, ".cursor", "mcp.json")
	for _, word := range []string{"n", "y"} {
		cmd, _, _ := h.mcpl(t)
		child, term, out := onTerminal(t, h.dir, cmd.Env, "serve", "install", "cursor")
		term.until(t, "Write this to "+file+"?")
		if _, err := term.WriteString(word + "\n"); err != nil {
			t.Fatal(err)
		}
		if code := exitCode(t, child); code != 0 || !bytes.Contains(out.Bytes(), []byte(`+ "mcpl": {`)) {
			t.Errorf("%s: exit code %d: %s", word, code, out)
		}
		_, err := os.Stat(file)
		if written := err == nil; written != (word == "y") || written != bytes.Contains(out.Bytes(), []byte("Wrote the entry")) {
			t.Errorf("%s: written is %t: %s", word, written, out)
		}
	}
}

// TestOwnPath: an entry has the path that the shell finds, a link of a package manager, not the file that it leads to.
func TestOwnPath(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{})
	real, err := exec.LookPath("mcpl")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(h.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(bin, "mcpl")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	h.vars = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}
	cmd, stdout, stderr := h.mcpl(t, "--json", "serve", "install", "cursor", "--yes")
	if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), `"command":"`+link+`"`) {
		t.Errorf("%v: %s%s", err, stdout, stderr)
	}
}
