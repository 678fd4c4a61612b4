package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// TestDiscovery lists files from the weakest place to the strongest: each beats those before it.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("../../.mcp.json", "{}") // above the repository: never found
	if s := w.locate(Selection{}); len(s.Configs) > 0 {
		t.Fatalf("found %v", s.Configs)
	}
	for _, test := range []struct{ path, why string }{
		{"~/.claude/mcp.json", "home"},
		{"../.claude/mcp.json", "parent"},
		{"../.mcp.json", "parent"},
		{".claude/mcp.json", "working directory"},
		{".mcp.json", "working directory"},
	} {
		path := w.write(test.path, "{}")
		s := w.locate(Selection{})
		if len(s.Configs) != 1 || s.Configs[0].Path != path || !strings.Contains(s.Configs[0].Why, test.why) {
			t.Errorf("%s: found %+v", test.path, s.Configs)
		}
		info, err := os.Stat(path)
		if err != nil || s.Configs[0].MTime != info.ModTime().UnixNano() || s.Configs[0].Size != 2 {
			t.Errorf("%s: %+v, %v", test.path, s.Configs[0], err)
		}
	}
}

func TestDiscoveryWithoutRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.RemoveAll(w.path("../.git")); err != nil {
		t.Fatal(err)
	}
	w.write("../.mcp.json", "{}")
	// The temporary folder may itself lie in a repository; the walk then goes on to it.
	if _, why := repository(w.Dir, w.TrustsFolder(nil)); why != "" {
		if s := w.locate(Selection{}); len(s.Configs) > 0 {
			t.Errorf("found %v outside of any repository", s.Configs)
		}
	}
}

func TestDiscoverySkips(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.MkdirAll(w.path(".mcp.json"), 0o700); err != nil { // a folder of that name
		t.Fatal(err)
	}
	path := w.write(".claude/mcp.json", "{}")
	s := w.locate(Selection{})
	if len(s.Configs) != 1 || s.Configs[0].Path != path {
		t.Errorf("found %v", s.Configs)
	}
	if l := s.Looked[0]; l.Used || l.Note != "a folder, not a file" {
		t.Errorf("looked %+v", l)
	}
}

func TestNamedConfigs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(".mcp.json", "{}")
	a, b := w.write("a.json", "{}"), w.write("~/b.json", "{}")
	w.vars["MCPL_CONFIG"] = "a.json::~/b.json"
	check := func(sel Selection, why string, want ...string) {
		t.Helper()
		s := w.locate(sel)
		var got []string
		for _, f := range s.Configs {
			got = append(got, f.Path)
			if f.Why != why {
				t.Errorf("%s is there for %s", f.Path, f.Why)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", sel, got, want)
		}
	}
	check(Selection{}, "MCPL_CONFIG", a, b)
	check(Selection{Configs: []string{b}}, "--config", b)
	w.GOOS, w.vars["MCPL_CONFIG"] = "windows", "a.json;"+b
	check(Selection{}, "MCPL_CONFIG", a, b)

	_, err := w.Locate(Selection{Configs: []string{"a.json", "gone.json"}})
	wantFault(t, err, fault.Config, "--config", w.path("gone.json"), "not there", "mcpl config")
	w.vars["MCPL_CONFIG"] = w.Dir
	_, err = w.Locate(Selection{})
	wantFault(t, err, fault.Config, "MCPL_CONFIG", "a folder")
}

func TestEnvFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	paths := func(sel Selection) (list []string) {
		for _, f := range w.locate(sel).EnvFiles {
			list = append(list, f.Path)
		}
		return list
	}
	if got := paths(Selection{}); got != nil {
		t.Errorf("found %v", got)
	}
	home, project, own, other := w.write("~/.claude/.env", ""), w.write("../.env", ""), w.write(".env", ""), w.write("x", "")
	if got := paths(Selection{}); !slices.Equal(got, []string{own, home}) {
		t.Errorf("without a project: %v", got)
	}
	w.write("../.mcp.json", "{}")
	if got := paths(Selection{}); !slices.Equal(got, []string{own, project, home}) {
		t.Errorf("with a project: %v", got)
	}
	if got := paths(Selection{EnvFiles: []string{"x", "~/.claude/.env"}}); !slices.Equal(got, []string{other, home}) {
		t.Errorf("named: %v", got)
	}
	_, err := w.Locate(Selection{EnvFiles: []string{"gone"}})
	wantFault(t, err, fault.Config, "--env-file", w.path("gone"), "not there")
}

// TestAtHome: the user's own files are the project's there, and are met once.
func TestAtHome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Dir = w.Home
	count := 0
	for _, l := range w.locate(Selection{}).Looked {
		if l.Path == w.path("~/.claude/mcp.json") {
			count++
		}
	}
	if count != 1 {
		t.Errorf("looked %d times for the user's configuration", count)
	}
}

func TestNoConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(".env", "")
	f := wantFault(t, w.locate(Selection{}).NoConfig(), fault.Config, `"mcpServers"`, "npx", "mcpl list --refresh", "mcpl list --config FILE")
	at := -1
	for _, path := range []string{".mcp.json", ".claude/mcp.json", "../.mcp.json", "../.claude/mcp.json", "~/.claude/mcp.json"} {
		i := strings.Index(f.Traceback, "looked for "+w.path(path)+": not there")
		if i <= at {
			t.Errorf("%s is missing or out of order in\n%s", path, f.Traceback)
		}
		at = i
	}
	if strings.Contains(f.Traceback, ".env") || !strings.Contains(f.Help, w.path(".mcp.json")) {
		t.Errorf("%+v", f)
	}
	if _, _, err := parseFile("minimal", []byte(minimal)); err != nil {
		t.Error(err)
	}
	wantFault(t, (&Sources{}).NoConfig(), fault.Config, ".mcp.json")
}

func TestKey(t *testing.T) {
	t.Parallel()
	a, b := Source{Path: "/a", MTime: 1, Why: whyEnvFile}, Source{Path: "/b", Why: whyEnvFile}
	keys := map[string]bool{}
	for _, s := range []*Sources{
		{}, {Configs: []Source{a}}, {EnvFiles: []Source{a}}, {Configs: []Source{a, b}}, {Configs: []Source{b, a}},
		{Configs: []Source{a}, EnvFiles: []Source{b}},
	} {
		key := s.Key()
		if len(key) != 16 || keys[key] {
			t.Errorf("%+v: key %q", s, key)
		}
		keys[key] = true
	}
	a.MTime = 2
	if !keys[(&Sources{Configs: []Source{a}}).Key()] {
		t.Error("the time of a file changes the key")
	}
	found := Source{Path: "/.env", Why: "in the working directory"}
	if !keys[(&Sources{Configs: []Source{a}, EnvFiles: []Source{found}}).Key()] {
		t.Error("an environment file that was found changes the key")
	}
}

func TestWhereToPut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	check := func(what, want string) {
		t.Helper()
		if got := w.WhereToPut(w.locate(Selection{})); got != w.path(want) {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("nothing there", ".env")
	w.write("~/.claude/mcp.json", "{}")
	check("the user's configuration", "~/.claude/.env")
	w.write("../.mcp.json", "{}")
	check("the project's configuration", "../.env")
	w.write("~/.claude/.env", "")
	check("an environment file", "~/.claude/.env")
}

func TestDirs(t *testing.T) {
	t.Parallel()
	vars := map[string]string{}
	e := Env{Home: "/h", Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
	check := func(cache, state, settings string) {
		t.Helper()
		for got, want := range map[string]string{e.CacheDir(): cache, e.StateDir(): state, e.SettingsFile(): settings} {
			if filepath.ToSlash(got) != want {
				t.Errorf("%s: %s, want %s", e.GOOS, got, want)
			}
		}
	}
	e.GOOS = "linux"
	check("/h/.cache/mcpl", "/h/.local/state/mcpl", "/h/.config/mcpl/config.toml")
	e.GOOS = "darwin"
	check("/h/Library/Caches/mcpl", "/h/Library/Application Support/mcpl", "/h/Library/Application Support/mcpl/config.toml")
	e.GOOS = "windows"
	check("/h/AppData/Local/cache/mcpl", "/h/AppData/Local/mcpl", "/h/AppData/Local/mcpl/config.toml")
	vars["LOCALAPPDATA"] = "/l"
	check("/l/cache/mcpl", "/l/mcpl", "/l/mcpl/config.toml")
	abs := func(path string) string { p, _ := filepath.Abs(path); return p }
	vars["XDG_CACHE_HOME"], vars["XDG_STATE_HOME"], vars["XDG_CONFIG_HOME"] = abs("/c"), abs("/s"), "relative"
	check(filepath.ToSlash(abs("/c"))+"/mcpl", filepath.ToSlash(abs("/s"))+"/mcpl", "/l/mcpl/config.toml")
}

func BenchmarkLocate(b *testing.B) {
	dir := b.TempDir()
	for _, path := range []string{".mcp.json", ".env"} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte("{}"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	e := Env{Dir: dir, Home: dir, Lookup: func(string) (string, bool) { return "", false }, GOOS: "linux"}
	for b.Loop() {
		s, err := e.Locate(Selection{})
		if err != nil || len(s.Configs) != 1 {
			b.Fatal(s, err)
		}
		s.Key()
	}
}

// The project is where its configuration was found; without one it is the working directory.
func TestRoot(t *testing.T) {
	t.Parallel()
	for file, root := range map[string]string{"../.mcp.json": "..", "./.claude/mcp.json": ".", "~/.claude/mcp.json": "."} {
		w := newWorld(t)
		w.write(file, `{"mcpServers": {}}`)
		if got := w.Root(w.locate(Selection{})); got != w.path(root) {
			t.Errorf("%s: %s", file, got)
		}
	}
}
