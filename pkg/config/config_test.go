package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// world is a temporary file system with a working directory, a home and variables.
type world struct {
	Env
	t    *testing.T
	vars map[string]string
}

// newWorld has the working directory repo/sub inside a repository, and a home beside it.
func newWorld(t *testing.T) *world {
	t.Helper()
	root := t.TempDir()
	w := &world{t: t, vars: map[string]string{}}
	w.Env = Env{Dir: filepath.Join(root, "repo", "sub"), Home: filepath.Join(root, "home"), GOOS: "linux",
		Lookup: func(name string) (string, bool) { value, ok := w.vars[name]; return value, ok }}
	w.Approver = approveAll{}
	for _, dir := range []string{w.Dir, w.Home, filepath.Join(root, "repo", ".git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.write("../.git/HEAD", "ref: refs/heads/main\n")
	return w
}

// approveAll approves every server, with what its entry asks for.
type approveAll struct{}

func (approveAll) Approve(s *Server) (Allowed, error) { return Allowed{WholeEnv: s.InheritEnv}, nil }
func (approveAll) Adopt(*Server) error                { return nil }
func (approveAll) Stamp() string                      { return "all" }

// path makes a path of the form ./x (working directory), ../x (repository) or ~/x absolute.
func (w *world) path(path string) string { return absolute(path, w.Dir, w.Home) }

func (w *world) write(path, content string) string {
	w.t.Helper()
	path = w.path(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) locate(sel Selection) *Sources {
	w.t.Helper()
	s, err := w.Locate(sel)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) load(sel Selection) *Config {
	w.t.Helper()
	c, err := w.Load(w.locate(sel))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// entry loads a configuration with one server "s" whose entry is given.
func (w *world) entry(entry string) *Config {
	w.t.Helper()
	w.write(".mcp.json", `{"mcpServers": {"s": `+entry+`}}`)
	return w.load(Selection{})
}

// one returns the server of [world.entry], which must be sound.
func (w *world) one(entry string) *Server {
	w.t.Helper()
	c := w.entry(entry)
	s, err := c.Server("s")
	if err != nil {
		w.t.Fatalf("%s: %v", entry, err)
	}
	return s
}

func names(c *Config) []string {
	var list []string
	for _, s := range c.Servers {
		list = append(list, s.Name)
	}
	return list
}

// problems renders the problems as "line: server: message".
func problems(c *Config) string {
	var b strings.Builder
	for _, p := range c.Problems {
		b.WriteString(string(p.Severity) + " " + filepath.Base(p.File) + " " + p.Server + ": " + p.Message + " | " + p.Fix + "\n")
	}
	return b.String()
}

// wantFault checks an error's type and that its parts hold some texts.
func wantFault(t *testing.T, err error, typ fault.Type, texts ...string) *fault.Fault {
	t.Helper()
	if !fault.Is(err, typ) {
		t.Fatalf("error %v is no %s", err, typ)
	}
	f := fault.From(err)
	all := f.Message + "\n" + f.Traceback + "\n" + helpOf(f)
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("%q is not in\n%s", text, all)
		}
	}
	if helpOf(f) == "" {
		t.Errorf("%s has no help", f.Message)
	}
	return f
}

// helpOf returns a fault's help and what can be done next, much as a terminal shows it.
func helpOf(f *fault.Fault) string {
	var b strings.Builder
	b.WriteString(f.Help)
	for _, next := range f.Next {
		b.WriteString(next.Why)
		if next.Step != nil {
			b.WriteString(": mcpl " + strings.Join(next.Step.Words(), " "))
		} else if next.Set != nil {
			b.WriteString(" " + next.Set.File + ": " + next.Set.Variable + "=...")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestServersInFileOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(".mcp.json", "\ufeff"+`// a comment
{
  "$schema": "x", "inputs": [],
  "servers": {"vs": {"command": "v"}, "zeta": {"command": "shadowed"},},
  "mcpServers": {
    "zeta": {"command": "z", "icon": {}, "disabled": true}, /* one */
    "alpha": {"url": "https://example.com/mcp"}, // two
  },
}`)
	c := w.load(Selection{})
	if got := names(c); !slices.Equal(got, []string{"zeta", "alpha", "vs"}) {
		t.Errorf("servers %v", got)
	}
	if len(c.Problems) != 1 || c.Problems[0].Severity != Notice || c.Problems[0].Line != 4 || c.Problems[0].Server != "zeta" {
		t.Errorf("problems\n%s", problems(c))
	}
	zeta, alpha := c.Servers[0], c.Servers[1]
	if zeta.Line != 6 || zeta.File != w.path(".mcp.json") || !zeta.Disabled || zeta.Transport != Stdio || zeta.Why != "in the working directory" {
		t.Errorf("zeta is %+v", zeta)
	}
	if alpha.Line != 7 || alpha.Transport != HTTP || alpha.URL != "https://example.com/mcp" || alpha.Cwd != "" || alpha.Disabled {
		t.Errorf("alpha is %+v", alpha)
	}
}

func TestMergedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.write("a.json", `{"mcpServers": {"one": {"command": "first"}}}`)
	b := w.write("b.json", "{\"mcpServers\": {\n\"one\": {\"command\": \"second\"},\n\"two\": {\"command\": \"x\"}}}")
	c := w.load(Selection{Configs: []string{"a.json", b, "./a.json"}})
	if got := names(c); !slices.Equal(got, []string{"one", "two"}) || c.Servers[0].Command != "first" || c.Servers[0].File != a {
		t.Errorf("servers %v, %+v", got, c.Servers[0])
	}
	if len(c.Sources.Configs) != 2 || len(c.Problems) != 1 || c.Problems[0].File != b || c.Problems[0].Line != 2 {
		t.Errorf("sources %v, problems\n%s", c.Sources.Configs, problems(c))
	}
}

func TestServerLookup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(".mcp.json", `{"mcpServers": {"github": {"command": "x"}, "gitlab": {"command": "x"}, "brave-search": {"command": "x"}, "bad": {"args": []}}}`)
	c := w.load(Selection{})
	if s, err := c.Server("gitlab"); err != nil || s.Name != "gitlab" {
		t.Errorf("gitlab: %v, %v", s, err)
	}
	tests := map[string][]string{
		"gihub": {"github"}, "GitHub": {"github", "gitlab"}, "brave": {"brave-search"}, "git": {"github", "gitlab"}, "zzzz": nil, "": nil,
	}
	for name, want := range tests {
		_, err := c.Server(name)
		f := wantFault(t, err, fault.ServerNotFound, "mcpl list")
		if !slices.Equal(f.Suggestions, want) || f.Server != name {
			t.Errorf("%q: suggestions %v, want %v", name, f.Suggestions, want)
		}
	}
	if names := c.Names(); len(names) != len(c.Servers)+1 || names[len(names)-1] != "bad" {
		t.Errorf("names %q", names)
	}
	if s := c.Unusable("bad"); s.Name != "bad" || s.File == "" || s.Line == 0 {
		t.Errorf("%+v", s)
	}
	_, err := c.Server("bad")
	wantFault(t, err, fault.Config, "bad", ".mcp.json:1", `"command"`)
	_, err = (&Config{}).Server("x")
	wantFault(t, err, fault.ServerNotFound, "mcpl config")
}

func TestVariables(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vars["FROM_PROCESS"] = "p"
	env := w.write(".env", "FROM_FILE=${BASE}/x\nFROM_PROCESS=hidden\nUNUSED=1\nBASE=late\n")
	w.vars["BASE"] = "b"
	w.write(".mcp.json", `{"mcpServers": {
		"a": {"command": "x", "args": ["${FROM_PROCESS}", "${FROM_FILE}", "${NOWHERE:-d}"]},
		"b": {"command": "x", "args": ["${FROM_PROCESS}", "${NOWHERE}"]}}}`)
	c := w.load(Selection{})
	want := []Variable{
		{"FROM_FILE", env, true, []string{"a"}},
		{"FROM_PROCESS", "process environment", true, []string{"a", "b"}},
		{"NOWHERE", "", false, []string{"a", "b"}},
	}
	equal := func(a, b Variable) bool {
		return a.Name == b.Name && a.From == b.From && a.Set == b.Set && slices.Equal(a.Servers, b.Servers)
	}
	if !slices.EqualFunc(c.Variables, want, equal) {
		t.Errorf("variables %+v", c.Variables)
	}
	if got := c.Servers[0].Args; !slices.Equal(got, []string{"p", "b/x", "d"}) {
		t.Errorf("args %q", got)
	}
	if got := c.EnvNames; !slices.Equal(got, []string{"BASE", "FROM_FILE", "FROM_PROCESS", "NOWHERE"}) {
		t.Errorf("names %v", got)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	if digest([]string{"a", "b"}) == digest([]string{"ab"}) || digest([]string{"", "a"}) == digest([]string{"a", ""}) {
		t.Error("two lists have one digest")
	}
}

func TestEnvDigest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := map[uint64]string{}
	check := func(what string, names ...string) {
		d := w.EnvDigest(names)
		if d != w.EnvDigest(names) {
			t.Errorf("%s: not stable", what)
		}
		if before, ok := seen[d]; ok {
			t.Errorf("%s has the digest of %s", what, before)
		}
		seen[d] = what
	}
	check("none")
	check("A unset", "A")
	check("A, B unset", "A", "B")
	w.vars["A"] = ""
	check("A empty", "A")
	w.vars["A"] = "x"
	check("A=x", "A")
	check("A=x, B unset", "A", "B")
	w.vars["A"], w.vars["B"] = "xB", ""
	check("A=xB", "A", "B")
	before := maps.Clone(w.vars)
	w.vars["OTHER"] = "1"
	if _, ok := seen[w.EnvDigest([]string{"A", "B"})]; !ok {
		t.Errorf("another variable than those of %v changes the digest", before)
	}
}

// TestLoadFails has the files that give an error rather than problems.
func TestLoadFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, content string
		texts         []string
	}{
		{"empty", "", []string{".mcp.json:1", "is empty", "mcpServers"}},
		{"blank", " \n\t\n", []string{"is empty"}},
		{"only a byte order mark", "\ufeff", []string{"is empty"}},
		{"no value", "// nothing\n", []string{".mcp.json:2", "ends in the middle"}},
		{"cut off", "{\n\"mcpServers\": {\n", []string{".mcp.json:3", "ends in the middle"}},
		{"missing comma", "{\n\"a\": 1\n\"b\": 2}", []string{".mcp.json:3", `invalid character '"'`}},
		{"bad literal", "{\n\n\"a\": hunter2hunter2}", []string{".mcp.json:3", "without quotes"}},
		{"bad escape", `{"a": "hunter2\q"}`, []string{".mcp.json:1", "unknown escape"}},
		{"two values", "{}\n{}", []string{".mcp.json:2", "invalid character"}},
		{"too deep", strings.Repeat("[", 5000), []string{".mcp.json:1", "too deep"}},
		{"too deep behind a quote in a comment", "/*\"*/\n" + strings.Repeat("[", 5000), []string{".mcp.json:2", "too deep"}},
		{"UTF-16", "\xff\xfe{\x00}\x00", []string{"UTF-16", "UTF-8"}},
		{"too large", strings.Repeat(" ", maxFile+1), []string{"16 MB"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(".mcp.json", test.content)
			_, err := w.Load(w.locate(Selection{}))
			f := wantFault(t, err, fault.Config, test.texts...)
			if strings.Contains(f.Message+f.Traceback+helpOf(f), "hunter2") {
				t.Errorf("the fault quotes the file: %+v", f)
			}
		})
	}
}

func TestLoadUnreadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.write(".mcp.json", "{}")
	s := w.locate(Selection{})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err := w.Load(s)
	wantFault(t, err, fault.Config, path, "not there")
}

func TestProcessEnv(t *testing.T) {
	t.Parallel()
	e, err := ProcessEnv()
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(e.Dir) || e.Home == "" || e.GOOS == "" {
		t.Errorf("%+v", e)
	}
	if _, ok := e.Lookup("PATH"); !ok {
		t.Error("PATH is not looked up")
	}
}
