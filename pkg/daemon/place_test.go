//go:build linux || darwin

package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
