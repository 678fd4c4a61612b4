//go:build linux || darwin

package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

func TestPlace(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	at := func(vars map[string]string) string {
		t.Helper()
		env := h.env
		env.Lookup = func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
		p, err := PlaceOf(env, "0123456789abcdef")
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Socket) > maxSocket {
			t.Errorf("%s has %d bytes", p.Socket, len(p.Socket))
		}
		return p.Socket
	}
	runtimeDir, cache := filepath.Join(h.env.Dir, "r"), filepath.Join(h.env.Dir, "c")
	vars := map[string]string{"XDG_RUNTIME_DIR": runtimeDir, "XDG_CACHE_HOME": cache}
	inCache := cache + "/mcpl/run/0123456789abcdef.sock"
	if got := at(vars); got != inCache {
		t.Errorf("a runtime folder that is not there: %s", got)
	}
	if err := os.Mkdir(runtimeDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, want := at(vars), runtimeDir+"/mcpl/0123456789abcdef.sock"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// A folder that others can enter is not used.
	if err := os.Chmod(filepath.Join(runtimeDir, "mcpl"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := at(vars); got != inCache {
		t.Errorf("an open folder: %s", got)
	}
	// Nor one that is a link to somewhere.
	if err := os.RemoveAll(filepath.Join(runtimeDir, "mcpl")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(h.env.Dir, filepath.Join(runtimeDir, "mcpl")); err != nil {
		t.Fatal(err)
	}
	if got := at(vars); got != inCache {
		t.Errorf("a link: %s", got)
	}
	// Too long for a socket, wherever: a short folder, in which two homes do not meet.
	long := filepath.Join(h.env.Dir, strings.Repeat("l", 120))
	one, other := at(map[string]string{"XDG_CACHE_HOME": long}), at(map[string]string{"XDG_CACHE_HOME": long + "2"})
	if prefix := fmt.Sprintf("/tmp/mcpl-%d/", os.Geteuid()); !strings.HasPrefix(one, prefix) || one == other {
		t.Errorf("%s and %s", one, other)
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	if got := Identity("v1.2.3"); got != "v1.2.3" {
		t.Errorf("a release: %s", got)
	}
	for _, version := range []string{"(devel)", "v0.0.0-20260101000000-abcdef+dirty"} {
		if got := Identity(version); !strings.HasPrefix(got, version+" ") || got != Identity(version) {
			t.Errorf("%s: %s", version, got)
		}
	}
}

func TestInheritable(t *testing.T) {
	t.Parallel()
	got := inheritable([]string{"B=2", "TERM=x", "A=1", "MCPL_JSON=1", "TERM_PROGRAM_VERSION=9", "_=x", "PWD=/", "SSH_AUTH_SOCK=/s", "TERMINFO=/t"})
	if want := []string{"A=1", "B=2", "SSH_AUTH_SOCK=/s", "TERMINFO=/t"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Who shares a server with whom.
func TestKey(t *testing.T) {
	t.Parallel()
	rooted := func(root string, roots []string) string {
		return new(origin).key(&config.Server{Name: "s", Command: "x", Roots: roots}, root)
	}
	key := func(dir, cwd string, args ...string) string {
		o := origin{surroundings: surroundings{dir: dir}}
		return o.key(&config.Server{Name: "s", Command: "x", Args: args, Cwd: cwd}, "/p")
	}
	for name, same := range map[string]bool{
		"a digest":                      len(key("/a", "", "x")) == 32,
		"a cwd of its own":              key("/a", "/c") == key("/b", "/c"),
		"another folder without a cwd":  key("/a", "") != key("/b", ""),
		"another project":               rooted("/p", nil) != rooted("/q", nil),
		"roots of its own":              rooted("/p", []string{}) == rooted("/q", []string{}),
		"other arguments":               key("/a", "", "x") != key("/a", "", "y"),
		"arguments that are only split": key("/a", "", "x", "y") != key("/a", "", "x\x00y"),
	} {
		if !same {
			t.Error(name)
		}
	}
}

// The program is looked up in the client's PATH and not in the daemon's.
func TestProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a/tool", "b/tool", "b/plain"} {
		path := filepath.Join(dir, name)
		mode := os.FileMode(0o755)
		if strings.HasSuffix(name, "plain") {
			mode = 0o644
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	s := surroundings{environ: []string{"PATH=relative:" + dir + "/none:" + dir + "/b:" + dir + "/a", "PATH=" + dir + "/a"}}
	for name, want := range map[string]string{"tool": dir + "/b/tool", "plain": "plain", "sh": "sh", "./tool": "./tool", "/x/y": "/x/y"} {
		if got := s.program(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
