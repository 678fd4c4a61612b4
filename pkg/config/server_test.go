package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

func TestUsable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.one(`{"command": "x"}`).Usable(); err != nil {
		t.Error(err)
	}
	s := w.one(`{"command": "x", "args": ["${OTHER}"], "env": {"T": "${GITHUB_TOKEN}", "U": "${GITHUB_TOKEN}"}}`)
	f := wantFault(t, s.Usable(), fault.MissingVariable, "server s needs ${OTHER} (in args[0]), ${GITHUB_TOKEN} (in env.T), which are not set",
		"Add to "+w.path(".env")+": OTHER=...\nAdd to "+w.path(".env")+": GITHUB_TOKEN=...\n", "Get GITHUB_TOKEN at https://github.com/settings/tokens", w.path(".mcp.json")+", line 1")
	if f.Server != "s" || strings.Count(helpOf(f), "Get ") != 1 {
		t.Errorf("%+v", f)
	}
	// A URL or command with missing variables is not judged before they are there.
	if s := w.one(`{"url": "${BASE_URL}/mcp"}`); s.Usable() == nil || s.URL != "${BASE_URL}/mcp" {
		t.Errorf("%+v", s)
	}
}

func TestOtherServersUnaffected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(".mcp.json", `{"mcpServers": {"a": {"command": "x", "args": ["${NO}"]}, "b": {"command": "x"}}}`)
	c := w.load(Selection{})
	if len(c.Servers) != 2 || len(c.Problems) != 0 || c.Servers[0].Usable() == nil || c.Servers[1].Usable() != nil {
		t.Errorf("%+v", c)
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vars["T"] = "one"
	seen := map[string]string{}
	for _, entry := range []string{
		`{"command": "x"}`,
		`{"command": "y"}`,
		`{"command": "x", "args": ["a", "b"]}`,
		`{"command": "x", "args": ["b", "a"]}`,
		`{"command": "x", "args": ["ab"]}`,
		`{"command": "x", "env": {"A": "b"}}`,
		`{"command": "x", "env": {"A": "b", "C": "d"}}`,
		`{"command": "x", "env": {"A": "${T}"}}`,
		`{"command": "x", "env": {"A": "${MISSING}"}}`,
		`{"command": "x", "cwd": "sub"}`,
		`{"command": "x", "args": ["1", "1", "q"]}`,
		`{"command": "x", "args": ["1"], "env": {"q": "0"}}`,
		`{"url": "https://x"}`,
		`{"url": "https://x", "type": "sse"}`,
		`{"url": "https://x", "headers": {"A": "b"}}`,
		`{"command": "x", "protocol": "2025-06-18"}`,
		`{"command": "x", "protocol": "2025-11-25"}`,
		`{"command": "x", "roots": []}`,
		`{"command": "x", "roots": ["/a"]}`,
		`{"command": "x", "roots": ["/a", "/b"]}`,
	} {
		f := w.one(entry).Fingerprint()
		if len(f) != 64 || seen[f] != "" {
			t.Errorf("%s has the fingerprint of %s", entry, seen[f])
		}
		seen[f] = entry
	}
	same := func(what, a, b string) {
		t.Helper()
		if w.one(a).Fingerprint() != w.one(b).Fingerprint() {
			t.Errorf("%s changes the fingerprint", what)
		}
	}
	same("the order of env", `{"command": "x", "env": {"A": "b", "C": "d"}}`, `{"command": "x", "env": {"C": "d", "A": "b"}}`)
	same("a time limit", `{"command": "x"}`, `{"command": "x", "timeout": 5000, "ttl": "1h", "connectTimeout": "2s"}`)
	same("being off", `{"command": "x"}`, `{"command": "x", "disabled": true}`)
	same("where a value comes from", `{"command": "one"}`, `{"command": "${T}"}`)
	before := w.one(`{"command": "x", "env": {"A": "${T}"}}`).Fingerprint()
	w.vars["T"] = "two"
	if w.one(`{"command": "x", "env": {"A": "${T}"}}`).Fingerprint() == before {
		t.Error("a changed value leaves the fingerprint as it was")
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(".env", "NOT_NAMED=1")
	s := w.one(`{"command": "x", "env": {"A": "own", "N": ""}}`)
	base := []string{"A=base", "B=base", "AA=x", "odd"}
	if got := s.Environ(base); !slices.Equal(got, []string{"A=own", "N="}) {
		t.Errorf("of a project: %q", got)
	}
	s = w.one(`{"command": "x", "inheritEnv": true, "env": {"A": "own", "N": ""}}`)
	if got := s.Environ(base); !slices.Equal(got, []string{"B=base", "AA=x", "odd", "A=own", "N="}) {
		t.Errorf("%q", got)
	}
	if base[0] != "A=base" || !slices.Equal((&Server{}).Environ(base), base) {
		t.Error("the base is changed")
	}
}

func TestDisplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vars["TOKEN"] = "hunter22"
	w.write(".env", "FILE_TOKEN=hunter22")
	d := w.one(`{"command": "run", "args": ["two words", "--token", "${TOKEN}", "--api-key=hunter22x", "${TOKEN:-hunter22}", "it's"], "cwd": "${TOKEN}",
		"env": {"A": "${TOKEN}", "B": "hunter22", "C": "${FILE_TOKEN}:${GONE}", "D": "${GONE:-d}"}}`).Display()
	if want := `run 'two words' --token "${TOKEN}" '--api-key=***'`; !strings.HasPrefix(d.Command, want) {
		t.Errorf("command %s, want %s", d.Command, want)
	}
	want := []Setter{{"A", "${TOKEN}: process environment"}, {"B", "the entry"},
		{"C", "${FILE_TOKEN}: " + w.path(".env") + ", ${GONE}: not set"}, {"D", "${GONE}: not set, its default"}}
	if !slices.Equal(d.Env, want) || d.Cwd != "${TOKEN}" || d.Transport != Stdio {
		t.Errorf("%+v", d)
	}
	d = w.one(`{"url": "https://u:hunter22@h.example/${TOKEN}?apiKey=hunter22&x=y", "headers": {"Authorization": "Bearer hunter22"}}`).Display()
	if d.URL != "https://u:***@h.example/${TOKEN}?apiKey=***&x=y" || len(d.Headers) != 1 || d.Headers[0] != (Setter{"Authorization", "the entry"}) || d.Cwd != "" {
		t.Errorf("%+v", d)
	}
}

// TestEveryURLPasswordIsMasked: however short, but not where a text of a shell could hide from whoever approves it.
func TestEveryURLPasswordIsMasked(t *testing.T) {
	t.Parallel()
	s := newWorld(t).one(`{"url": "https://u:ab@h.example/mcp"}`)
	if got := s.Display().URL + " " + s.Shown().URL; got != "https://u:***@h.example/mcp https://u:***@h.example/mcp" {
		t.Error(got)
	}
	for _, term := range s.ShownTerms() {
		if strings.Contains(term.Text, "ab@") {
			t.Errorf("%+v", term)
		}
	}
	s = newWorld(t).one(`{"command": "sh", "args": ["-c", "curl db://u:ab@h; x://:rm;@"]}`)
	if got := s.Display().Command; got != "sh -c 'curl db://u:***@h; x://:***@'" {
		t.Error(got)
	}
	if got := s.Shown().Command; got != "sh -c 'curl db://u:ab@h; x://:rm;@'" {
		t.Error(got)
	}
	s = newWorld(t).one(`{"url": "https://u:${PASSWORD}@h.example"}`)
	if got := s.Display().URL; got != "https://u:${PASSWORD}@h.example" {
		t.Error(got)
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"a": "a", "a b": "'a b'", "${A}": `"${A}"`, "a ${A} b": `"a ${A} b"`, "${A}$x": "'${A}$x'", "`${A}`": "'`${A}`'"} {
		if got := quote(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}
