package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

func TestAllows(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name         string
		state        Tools
		server, tool string
		want         bool
	}{
		{"everything is on at first", Tools{}, "a", "x", true},
		{"a disabled server", Tools{Disabled: []string{"a"}}, "a", "x", false},
		{"a disabled tool", Tools{Disabled: []string{"a/x"}}, "a", "x", false},
		{"its neighbour", Tools{Disabled: []string{"a/x"}}, "a", "y", true},
		{"only a server", Tools{Enabled: []string{"a"}}, "a", "x", true},
		{"not the others", Tools{Enabled: []string{"a"}}, "b", "x", false},
		{"only a tool", Tools{Enabled: []string{"a/x"}}, "a", "x", true},
		{"not its neighbour", Tools{Enabled: []string{"a/x"}}, "a", "y", false},
		{"disabled is stronger", Tools{Enabled: []string{"a"}, Disabled: []string{"a/x"}}, "a", "x", false},
		{"a prefix is no match", Tools{Disabled: []string{"a"}}, "ab", "x", true},
		{"a name of Syntropy is off", Tools{Disabled: []string{"mcp__syntropy__a_x"}}, "a", "x", false},
		{"not its neighbour, by such a name", Tools{Disabled: []string{"mcp__syntropy__a_x"}}, "a", "y", true},
		{"only a name of another gateway", Tools{Enabled: []string{"mcp__my__own__a_x"}}, "a", "x", true},
		{"not the others, by such a name", Tools{Enabled: []string{"mcp__my__own__a_x"}}, "b", "x", false},
	} {
		if got := tc.state.Allows(tc.server, tc.tool); got != tc.want {
			t.Errorf("%s: Allows(%s, %s) = %v", tc.name, tc.server, tc.tool, got)
		}
	}
	if (Tools{Enabled: []string{"a/x"}}).AllowsServer("a") != true || (Tools{Enabled: []string{"ab"}}).AllowsServer("a") {
		t.Error("AllowsServer misjudges a server of which only a tool is on")
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	var s Tools
	s.Disable("a", "b/x", "a")
	if want := []string{"a", "b/x"}; !slices.Equal(s.Disabled, want) {
		t.Fatalf("disabled = %v, want %v", s.Disabled, want)
	}
	s.Enable("a/y")
	if s.Allows("a", "y") != true {
		t.Error("enabling a tool of a disabled server leaves it off")
	}
	s.Only("c", "b/x")
	if !s.Allows("b", "x") || !s.Allows("c", "z") || s.Allows("b", "y") {
		t.Errorf("Only: %+v", s)
	}
	s.Enable("d")
	if !s.Allows("d", "q") {
		t.Error("Enable does not add to a filled enabled list")
	}
}

// TestSwitch: what is switched on is all that is on then, and what is switched off never brings anything else on.
func TestSwitch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name          string
		before        Tools
		on, off       []string
		enabled, none string // the lists then
	}{
		{"from nothing", Tools{}, []string{"a/x", "b/y"}, []string{"c/z"}, "a/x b/y", "c/z"},
		{"off alone", Tools{}, nil, []string{"c/z"}, "", "c/z"},
		{"again", Tools{Enabled: []string{"a/x"}, Disabled: []string{"c/z"}}, []string{"a/x"}, []string{"c/z"}, "a/x", "c/z"},
		{"back and forth", Tools{Enabled: []string{"a/x", "b/y"}, Disabled: []string{"c/z"}}, []string{"c/z"}, []string{"a/x"},
			"b/y c/z", "a/x"},
		{"the last one", Tools{Enabled: []string{"a/x"}}, nil, []string{"a/x"}, "a/x", "a/x"},
		{"both", Tools{Enabled: []string{"b"}}, []string{"a/x"}, []string{"a/x"}, "b", "a/x"},
		{"of a server that is off", Tools{Disabled: []string{"a"}}, []string{"a/x"}, nil, "a/x", ""},
		{"nothing", Tools{Disabled: []string{"a"}}, nil, nil, "", "a"},
		{"names of Syntropy", Tools{Enabled: []string{"mcp__s__a_x", "b"}, Disabled: []string{"mcp__s__c_z"}}, []string{"c/z"},
			[]string{"a/x"}, "b c/z", "a/x"},
	} {
		got := tc.before
		got.Switch(tc.on, tc.off)
		if e, d := strings.Join(got.Enabled, " "), strings.Join(got.Disabled, " "); e != tc.enabled || d != tc.none {
			t.Errorf("%s: enabled %q, disabled %q; want %q, %q", tc.name, e, d, tc.enabled, tc.none)
		}
	}
	if s := (Tools{Enabled: []string{"mcp__s__a_x"}}); !s.AllowsServer("a") || s.AllowsServer("b") || s.Whole("a") {
		t.Error("a server is misjudged of which a name of Syntropy has a tool")
	}
	if s := (Tools{Disabled: []string{"mcp__s__a_x"}}); s.Whole("a") || !s.Whole("b") {
		t.Error("Whole misjudges names of Syntropy")
	}
	if n := Nothing(); n.Allows("a", "x") || n.AllowsServer("a") {
		t.Error("something is on of nothing")
	}
}

// TestAll: a tool is on only if every file that applies has it on.
func TestAll(t *testing.T) {
	t.Parallel()
	all := All{{Disabled: []string{"a/x"}}, {Enabled: []string{"a"}}}
	if all.Allows("a", "x") || !all.Allows("a", "y") || all.Allows("b", "y") || !all.AllowsServer("a") ||
		all.AllowsServer("b") || all.Whole("a") {
		t.Errorf("%+v misjudges", all)
	}
	if all.InProject("a", "x") || !all.InProject("b", "") || all.InProject("a", "") || !all.InProject("b", "y") {
		t.Errorf("%+v misjudges what is off in a project", all)
	}
	if !(All{}).Allows("a", "x") || !(All{{}, {}}).Whole("a") {
		t.Error("nothing is switched off, and something is off")
	}
}

// TestUpdateKeeps: an update keeps comments, other members and their order, and nothing else is lost.
func TestUpdateKeeps(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, before, after string }{
		{"a new file", "", "{\n  \"version\": 1,\n  \"enabled\": [],\n  \"disabled\": [\n    \"a<b\"\n  ]\n}\n"},
		{"another member", `{"note": {"x": 1.0}, "disabled": null}`,
			"{\n  \"note\": {\n    \"x\": 1.0\n  },\n  \"disabled\": [\n    \"a<b\"\n  ],\n  \"enabled\": []\n}\n"},
		{"a trailing comma", `{"disabled": ["gone", "b/c",], "enabled": []}`,
			"{\n  \"disabled\": [\n    \"b/c\",\n    \"a<b\"\n  ],\n  \"enabled\": []\n}\n"},
		{"its own layout", "{\n  \"disabled\": [\n    \"gone\"\n  ],\n  \"enabled\": []\n}\n\n",
			"{\n  \"disabled\": [\n    \"a<b\"\n  ],\n  \"enabled\": []\n}\n"},
		{"comments", "{\n  // mine\n  \"disabled\": [\n    \"b\", // too loud\n    \"gone\"\n  ],\n  \"enabled\": []\n}\n",
			"{\n\t// mine\n\t\"disabled\": [\n\t\t\"b\", // too loud\n\t\t\"a<b\",\n\t],\n\t\"enabled\": [],\n}\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := File{Path: filepath.Join(t.TempDir(), "deep", "tool-state.json")}
			if tc.before != "" {
				write(t, f.Path, tc.before)
			}
			if err := f.Update(t.Context(), func(s *Tools) {
				*s = Tools{Disabled: append(without(s.Disabled, "gone"), "a<b")}
			}); err != nil {
				t.Fatal(err)
			}
			if got := read(t, f.Path); got != tc.after {
				t.Errorf("the file is\n%s, want\n%s", got, tc.after)
			}
			if info, _ := os.Stat(f.Path); info.Mode().Perm()&0o077 != 0 {
				t.Errorf("mode is %v, others can read it", info.Mode())
			}
		})
	}
}

// TestF7LenientlyRead: what a configuration file may have, this one may have too.
func TestF7LenientlyRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"disabled": ["e/pay2",]}`, "\ufeff{\"disabled\": [\"e/pay2\"]}",
		"// off\n{\"version\": 1, \"disabled\": [\"e/pay2\" /* for now */], \"enabled\": null,} // end"} {
		f := FileIn(t.TempDir())
		write(t, f.Path, text)
		s, notices, err := f.Read()
		if err != nil || len(notices) > 0 || s.Allows("e", "pay2") || !s.Allows("e", "pay") {
			t.Errorf("%s: %+v, %q, %v", text, s, notices, err)
		}
	}
}

// TestF7DamagedIsRefused: a file that cannot be understood is an error with the line to mend, and stays as it is.
func TestF7DamagedIsRefused(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"{\n\"disabled\": [\"a\"\n":             ":3: ",
		"":                                      ":1: ",
		"[]":                                    ":1: it is not an object",
		"{\n\"disabled\": \"a\"}":               `:2: "disabled" is not a list of names`,
		`{"enabled": [1]}`:                      `:1: "enabled" is not a list of names`,
		`{"disabled": ["a"], "disabled": []}`:   `:1: "disabled" stands in line 1 too`,
		"{\n\n\"Disabled\": [\"e\"]}":           `:3: "Disabled" is neither "enabled" nor "disabled"`,
		`{"disable": ["e"]}`:                    `:1: "disable" is neither`,
		`{"version": 2, "disabled": []}`:        ":1: the version is not 1",
		`{"version": "1", "disabled": []}`:      ":1: the version is not 1",
		"\x00\xff":                              ":1: ",
		strings.Repeat("[", 1<<20):              ":1: ",
		"{\"disabled\": [\"a\"]}\n\n{\"x\": 1}": ":3: ",
	} {
		dir := t.TempDir()
		f := FileIn(dir)
		write(t, f.Path, text)
		for what, read := range map[string]func() error{
			"Read":   func() error { _, _, err := Read(dir, dir); return err },
			"Update": func() error { return f.Update(t.Context(), func(s *Tools) { *s = Tools{} }) },
		} {
			if err := read(); !fault.Is(err, fault.Config) || !strings.Contains(err.Error(), f.Path+says) {
				t.Errorf("%s of %.40q: %v", what, text, err)
			}
		}
		if got := read(t, f.Path); got != text {
			t.Errorf("%.40q became %.40q", text, got)
		}
		if left, _ := filepath.Glob(f.Path + ".bak"); left != nil {
			t.Errorf("left behind: %v", left)
		}
	}
}

// TestF7UnknownMembersAreNamed: each with its line, and the rest of the file holds.
func TestF7UnknownMembersAreNamed(t *testing.T) {
	t.Parallel()
	f := FileIn(t.TempDir())
	write(t, f.Path, "{\"disabled\": [\"a\"],\n\"note\": 1}")
	s, notices, err := f.Read()
	if err != nil || s.AllowsServer("a") || len(notices) != 1 || !strings.HasPrefix(notices[0], f.Path+`:2: `) ||
		!strings.Contains(notices[0], `"note"`) {
		t.Errorf("%+v, %q, %v", s, notices, err)
	}
}

// TestProjects: the file of a project holds in its folder and below, by whichever way one comes there.
func TestProjects(t *testing.T) {
	t.Parallel()
	dir, root := t.TempDir(), t.TempDir()
	project, link := filepath.Join(root, "project"), filepath.Join(root, "link")
	below := filepath.Join(project, "below")
	if err := errors.Join(os.MkdirAll(below, 0o700), os.Symlink(project, link)); err != nil {
		t.Skip("no links here: ", err)
	}
	if err := ProjectFile(dir, link).Update(t.Context(), func(s *Tools) { s.Disable("a") }); err != nil {
		t.Fatal(err)
	}
	if err := FileIn(dir).Update(t.Context(), func(s *Tools) { s.Disable("b") }); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]bool{project: false, below: false, link: false, filepath.Join(link, "below"): false,
		root: true} {
		all, notices, err := Read(dir, folder)
		if err != nil || notices != nil || all.AllowsServer("a") != want || all.AllowsServer("b") {
			t.Errorf("in %s: %+v, %q, %v", folder, all, notices, err)
		}
	}
	if text := read(t, ProjectFile(dir, project).Path); !strings.Contains(text, `"version": 1`) ||
		!strings.Contains(text, string(filepath.Base(project))) {
		t.Errorf("the file does not say what it is: %s", text)
	}
	write(t, ProjectFile(dir, below).Path, "{")
	if _, _, err := Read(dir, below); !fault.Is(err, fault.Config) {
		t.Errorf("a damaged file of a project is taken for none: %v", err)
	}
	if _, _, err := Read(dir, project); err != nil {
		t.Error(err)
	}
	if _, _, err := Read(dir, filepath.Join(root, "gone")); !fault.Is(err, fault.Config) {
		t.Errorf("a folder that is gone: %v", err)
	}
}

func TestUpdatesAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	f := FileIn(t.TempDir())
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := f.Update(t.Context(), func(s *Tools) { s.Disable(fmt.Sprint("s", i)) }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s, _, err := f.Read()
	if err != nil || len(s.Disabled) != 20 {
		t.Fatalf("%d of 20 updates are there, error %v", len(s.Disabled), err)
	}
}

// TestFormat reads a file of each version.
func TestFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() // where the files are the user's own
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tool-state.v1.json", "tool-state.unversioned.json"} {
		s, notices, err := File{Path: filepath.Join(dir, name)}.Read()
		if err != nil || notices != nil || !slices.Equal(s.Enabled, []string{"github"}) ||
			!slices.Equal(s.Disabled, []string{"github/delete_repo", "memory"}) {
			t.Errorf("%s: %+v, %q, %v", name, s, notices, err)
		}
	}
}

// TestF9KilledUpdateIsSwept: what a killed update has left beside the file goes with the next one.
func TestF9KilledUpdateIsSwept(t *testing.T) {
	t.Parallel()
	f := FileIn(t.TempDir())
	left := filepath.Join(filepath.Dir(f.Path), ".tool-state.json.1234567.mcpl-tmp")
	if err := os.WriteFile(left, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Update(t.Context(), func(s *Tools) { s.Disable("a") }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
}

func TestUnwritableSaysHowToMend(t *testing.T) {
	t.Parallel()
	// A file where the folder should be stops also root.
	blocker := filepath.Join(t.TempDir(), "blocker")
	if err := os.WriteFile(blocker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := File{Path: filepath.Join(blocker, "tool-state.json")}
	err := f.Update(t.Context(), func(*Tools) {})
	if !fault.Is(err, fault.Config) || !strings.Contains(fault.From(err).Help, "XDG_STATE_HOME") {
		t.Fatalf("error is %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"enabled": ["a"], "disabled": ["b/c"], "x": 1}`), "b/c")
	f.Add([]byte("{\"disabled\": [ // why\n\"a\", /* x */],}"), "d")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		file := File{Path: "/f"}
		before, err := file.parse(data)
		if err != nil {
			return
		}
		name = strings.ToValidUTF8(name, "?")
		for what, edit := range map[string]func(*Tools){"disable": func(s *Tools) { s.Disable(name) },
			"enable": func(s *Tools) { s.Enable(name) }, "only": func(s *Tools) { s.Only(name) }} {
			want := Tools{slices.Clone(before.tools.Enabled), slices.Clone(before.tools.Disabled)}
			edit(&want)
			text, err := before.with(want)
			if err != nil {
				t.Fatalf("%s in %q: %v", what, data, err)
			}
			after, err := file.parse(text)
			if err != nil || !sameNames(after.tools.Enabled, want.Enabled) || !sameNames(after.tools.Disabled, want.Disabled) ||
				len(after.notices) != len(before.notices) {
				t.Fatalf("%s in %q: %+v became %+v (%v)", what, data, want, after, err)
			}
		}
	})
}

// sameNames compares lists whose order and repetitions mean nothing.
func sameNames(a, b []string) bool {
	return !slices.ContainsFunc(a, func(n string) bool { return !slices.Contains(b, n) }) &&
		!slices.ContainsFunc(b, func(n string) bool { return !slices.Contains(a, n) })
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestF7UnreadableIsRefused: a file that is there and cannot be read is not taken for one that switches nothing off.
func TestF7UnreadableIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := FileIn(dir)
	if err := os.MkdirAll(filepath.Join(f.Path, "in-the-way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if all, _, err := Read(dir, dir); !fault.Is(err, fault.Config) {
		t.Errorf("%+v, %v", all, err)
	}
}
