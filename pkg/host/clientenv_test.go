package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

func TestInheritable(t *testing.T) {
	t.Parallel()
	got := inheritable([]string{"B=2", "TERM=x", "A=1", "MCPL_JSON=1", "TERM_PROGRAM_VERSION=9", "_=x", "PWD=/",
		"SSH_AUTH_SOCK=/s", "TERMINFO=/t"})
	if want := []string{"A=1", "B=2", "SSH_AUTH_SOCK=/s", "TERMINFO=/t"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// The key says which requests share a server.
func TestKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := func(change func(s *Surroundings, entry *config.Server, of *owner)) string {
		s := Surroundings{Dir: filepath.Join(dir, "a"), Home: dir, Environ: []string{"A=1"}}
		entry, of := config.Server{Name: "s", Entry: config.Entry{Command: "x"}}, owner{}
		if change != nil {
			change(&s, &entry, &of)
		}
		cfg := &config.Config{Sources: &config.Sources{Configs: []config.Source{{Path: filepath.Join(s.Dir, ".mcp.json")}}}}
		return newClientEnv(s).key(cfg, &entry, of)
	}
	same := key(nil)
	if len(same) != 32 {
		t.Errorf("key %q", same)
	}
	for name, tt := range map[string]struct {
		change func(s *Surroundings, entry *config.Server, of *owner)
		same   bool
	}{
		"another limit":       {func(s *Surroundings, _ *config.Server, _ *owner) { s.Limits.Call, s.Idle = 1, 1 }, true},
		"another terminal":    {func(s *Surroundings, _ *config.Server, _ *owner) { s.Environ = append(s.Environ, "TERM=x") }, true},
		"another environment": {func(s *Surroundings, _ *config.Server, _ *owner) { s.Environ = []string{"A=2"} }, false},
		"another folder":      {func(s *Surroundings, _ *config.Server, _ *owner) { s.Dir += "b" }, false},
		"another argument":    {func(_ *Surroundings, e *config.Server, _ *owner) { e.Args = []string{"x"} }, false},
		"another principal":   {func(_ *Surroundings, _ *config.Server, of *owner) { of.principal = "ada" }, false},
		"another session":     {func(_ *Surroundings, _ *config.Server, of *owner) { of.session = "1" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := key(tt.change); (got == same) != tt.same {
				t.Errorf("the same server: %v, want %v", got == same, tt.same)
			}
		})
	}
	with := func(dir, cwd string, roots []string, args ...string) string {
		return key(func(s *Surroundings, e *config.Server, _ *owner) {
			s.Dir, e.Cwd, e.Roots, e.Args = dir, cwd, roots, args
		})
	}
	if with("/a", "/c", []string{}) != with("/b", "/c", []string{}) {
		t.Error("a cwd and roots of its own: the client's folder makes a difference")
	}
	if with("/a", "/c", nil) != with("/b", "/c", nil) {
		t.Error("no roots: the client's folder makes a difference")
	}
	rooted := func(dir string, roots []string) string {
		return key(func(s *Surroundings, e *config.Server, _ *owner) {
			s.Dir, s.Roots, e.Cwd, e.Roots = dir, true, "/c", roots
		})
	}
	if rooted("/a", nil) == rooted("/b", nil) || rooted("/a", nil) == with("/a", "/c", nil) {
		t.Error("the project's folder as a root does not make a difference")
	}
	if rooted("/a", []string{"/r"}) != rooted("/b", []string{"/r"}) {
		t.Error("roots of its own: the project's folder makes a difference")
	}
	if with("/a", "", nil, "x", "y") == with("/a", "", nil, "x\x00y") {
		t.Error("one argument is two")
	}
}

// The program is looked up in the client's PATH and not in that of this process.
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
	path, _ := lookup([]string{"PATH=relative:" + dir + "/none:" + dir + "/b:" + dir + "/a", "PATH=" + dir + "/a"}, "PATH")
	for name, want := range map[string]string{
		"tool": dir + "/b/tool", "plain": "plain", "sh": "sh", "./tool": "./tool", "/x/y": "/x/y",
	} {
		if got := program(name, path); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if _, ok := lookup([]string{"A=1", "no assignment"}, "no assignment"); ok {
		t.Error("a name without a value is set")
	}
}

// TestKeysAreRemembered: the key of a changed entry is another, and that of an entry stays, whoever asks.
func TestKeysAreRemembered(t *testing.T) {
	t.Parallel()
	e := newClientEnv(Surroundings{Dir: t.TempDir(), Environ: []string{"A=1"}})
	with := func(arg string) (*config.Config, *config.Server) {
		entry := &config.Server{Name: "s", Entry: config.Entry{Command: "x", Args: []string{arg}}}
		return &config.Config{Sources: &config.Sources{}, Servers: []*config.Server{entry}}, entry
	}
	before, old := with("old")
	after, changed := with("new")
	first := e.key(before, old, owner{})
	if e.key(after, changed, owner{}) == first {
		t.Error("the key of a changed entry is the same")
	}
	if e.key(before, old, owner{}) != first {
		t.Error("the key of an entry changes")
	}
	if e.key(before, old, owner{session: "1"}) == first || e.key(before, old, owner{principal: "ada"}) == first {
		t.Error("another owner has the same key")
	}
}
