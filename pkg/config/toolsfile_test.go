package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// TestToolsFile reads Toolman's configuration as its document shows it.
func TestToolsFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Approver = nil
	path := w.write("tools.toml", `active_toolsets = ["pjpd*", "vec_search"]
catalog = "answer"

[[servers]]
namespace = "pjpd"
command = "node /path/to/pjpd/build/index.js ${HOME} $X"

[[servers]] # the second
namespace = "a/b"
command = "node vec"

[[servers]]
namespace = ""
command = "node alone"

[[servers]]
namespace = ""
command = "node alone too"

[[servers]]
namespace = "none"
retries = 3
`)
	w.write(".mcp.json", `{"mcpServers": {"other": {"command": "x"}}}`)
	src, err := w.Locate(Selection{})
	if err != nil || src.HasTools() || len(src.Configs) != 1 {
		t.Fatalf("without Tools: %+v, %v", src, err)
	}
	src, err = w.Locate(Selection{Tools: true})
	if err != nil || !src.HasTools() || len(src.Configs) != 1 || src.Configs[0].Path != path || !src.Configs[0].Found {
		t.Fatalf("with Tools: %+v, %v", src, err)
	}
	cfg, err := w.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	if want := (&Toolsets{[]string{"pjpd*", "vec_search"}, InAnswer}); !reflect.DeepEqual(cfg.Toolsets, want) {
		t.Errorf("%+v", cfg.Toolsets)
	}
	type row struct {
		name, namespace, command string
		line                     int
	}
	var got []row
	for _, s := range cfg.Servers {
		got = append(got, row{s.Name, *s.Namespace, s.Args[1], s.Line})
		if s.Command != "sh" || s.Args[0] != "-c" || s.Project != w.Dir || s.Cwd != w.Dir {
			t.Errorf("%+v", s)
		}
		if !fault.Is(s.Usable(), fault.ApprovalRequired) {
			t.Errorf("%s needs no approval", s.Name)
		}
	}
	want := []row{{"pjpd", "pjpd", "node /path/to/pjpd/build/index.js ${HOME} $X", 4}, {"a_b", "a/b", "node vec", 8},
		{"server", "", "node alone", 12}, {"server-2", "", "node alone too", 16}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	var problems []string
	for _, p := range cfg.Problems {
		problems = append(problems, p.Message)
		if p.Line != 22 && p.Line != 20 {
			t.Errorf("%+v", p)
		}
	}
	if !slices.Equal(problems, []string{`"servers.retries" is not known here and is ignored`, "the server has no command"}) {
		t.Errorf("%q", problems)
	}
}

// TestBadToolsFile names the line of what is wrong.
func TestBadToolsFile(t *testing.T) {
	t.Parallel()
	for content, texts := range map[string][]string{
		"active_toolsets = []\n[[servers]\n": {"tools.toml:2: not a tools.toml", "[[servers]]"},
		"\nactive_toolsets = 'a'":            {"tools.toml:2: active_toolsets wants a list of texts, as in: active_toolsets = ["},
		"\ncatalog = 1":                      {"tools.toml:2: catalog wants a text"},
		"servers = 'a'":                      {"tools.toml:1: servers wants tables"},
		"[[servers]]\nnamespace = 1":         {"tools.toml:2: servers.namespace wants a text"},
		"\nbad = [":                          {"tools.toml:2: not a tools.toml: ", "array"},
		"active_toolsets = [1,":              {"tools.toml:1: not a tools.toml: "},
		"[[servers]]\ncommand = ['a']":       {"tools.toml:2", "command"},
		strings.Repeat("#", maxToolsFile+1):  {"larger than 1 MB"},
	} {
		w := newWorld(t)
		src, err := w.Locate(Selection{Configs: []string{w.write("tools.toml", content)}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Load(src)
		if err == nil {
			t.Errorf("%.50q is taken", content)
			continue
		}
		wantFault(t, err, fault.Config, texts...)
	}
	w := newWorld(t)
	src, err := w.Locate(Selection{Configs: []string{w.write("tools.toml", "catalog = 'here'\nservers = []")}})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := w.Load(src)
	if err != nil || len(cfg.Problems) != 2 || cfg.Toolsets.Catalog != "" {
		t.Errorf("%+v, %v", cfg, err)
	}
	_, err = w.Locate(Selection{Tools: true, Configs: []string{"none.toml"}})
	wantFault(t, err, fault.Config, "none.toml")
}

// TestNoToolsFile does not tell a person to put JSON into a tools.toml.
func TestNoToolsFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	src, err := w.Locate(Selection{Tools: true})
	if err != nil {
		t.Fatal(err)
	}
	wantFault(t, src.NoConfig(), fault.Config, "tools.toml: not there", "Put your servers into "+w.path(".mcp.json"))
}

// FuzzToolsFile: whatever stands in a tools.toml, the shell gets the commands as they were written.
func FuzzToolsFile(f *testing.F) {
	for _, seed := range []string{"", "active_toolsets = ['a*']\n[[servers]]\nnamespace = 'a'\ncommand = 'node ${X} $${Y} $$${Z'\n[[servers]]\ncommand='b'",
		"servers = [{namespace='a/b', command='x'}, {namespace='a/b', command='x'}]\ncatalog = 'answer'", "catalog = 'here'\nservers = 1",
		"[[servers]]\ncommand = ' '", "[[ servers ]]\nnamespace = \"\\u0001\"\ncommand = '''\nx\n'''\nenv = {A='b'}", "a = [[[", "[servers]", "x = 1\nx.y = 2"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, _, _ := decodeTools("/nowhere/tools.toml", data)
		l := loader{env: Env{Dir: "/nowhere", Home: "/home", Lookup: func(string) (string, bool) { return secret, true }},
			config: &Config{Sources: &Sources{}}}
		l.variables.lookup = l.env.Lookup
		if err := l.add(Source{Path: "/nowhere/tools.toml"}, data); err != nil {
			if report := fault.From(err); report.Type != fault.Config || helpOf(report) == "" {
				t.Fatalf("%v is no fault that helps", err)
			}
			return
		}
		for _, p := range l.config.Problems {
			if p.Line < 1 || p.Line > 1+strings.Count(string(data), "\n") || p.Message == "" || p.Fix == "" {
				t.Errorf("problem %+v", p)
			}
		}
		names := make(map[string]bool)
		for _, s := range l.config.Servers {
			written := func(e toolsEntry) bool { return e.Command == s.Args[1] && e.Namespace == *s.Namespace }
			if !slices.ContainsFunc(values.Servers, written) || names[s.Name] || invalidName(s.Name) != "" || s.Usable() != nil {
				t.Errorf("server %+v", s)
			}
			names[s.Name] = true
		}
	})
}
