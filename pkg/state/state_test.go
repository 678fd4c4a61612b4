package state

import (
	"context"
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

func TestFileKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	f := File{Path: filepath.Join(t.TempDir(), "deep", "tool-state.json")}
	if _, err := f.Update(context.Background(), func(s *Tools) { s.Disable("a<b") }); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"enabled\": [],\n  \"disabled\": [\n    \"a<b\"\n  ]\n}\n"
	if got := read(t, f.Path); got != want {
		t.Errorf("file is\n%s, want\n%s", got, want)
	}
	if err := os.WriteFile(f.Path, []byte(`{"note": "mine", "disabled": null}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Update(context.Background(), func(s *Tools) { *s = Tools{Disabled: []string{"b"}} }); err != nil {
		t.Fatal(err)
	}
	if got := read(t, f.Path); !strings.Contains(got, `"note": "mine"`) || !strings.Contains(got, `"b"`) {
		t.Errorf("update lost something: %s", got)
	}
	if info, _ := os.Stat(f.Path); info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode is %v, others can read it", info.Mode())
	}
}

func TestDamagedFileIsSetAside(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{"{", "", "[]", `{"disabled": "a"}`, `{"enabled": [1]}`, "\x00\xff"} {
		f := File{Path: filepath.Join(t.TempDir(), "tool-state.json")}
		if err := os.WriteFile(f.Path, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		s, notice, err := f.Read()
		if err != nil || !s.Allows("a", "x") || !strings.Contains(notice, f.Path+".bak") {
			t.Errorf("%q: state %+v, notice %q, error %v", damage, s, notice, err)
		}
		if got := read(t, f.Path+".bak"); got != damage {
			t.Errorf("%q: backup holds %q", damage, got)
		}
	}
}

func TestUpdatesAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	f := File{Path: filepath.Join(t.TempDir(), "tool-state.json")}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := f.Update(context.Background(), func(s *Tools) { s.Disable(fmt.Sprint("s", i)) }); err != nil {
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

// TestF9KilledUpdateIsSwept: what a killed update has left beside the file goes with the next one.
func TestF9KilledUpdateIsSwept(t *testing.T) {
	t.Parallel()
	f := FileIn(t.TempDir())
	left := filepath.Join(filepath.Dir(f.Path), ".tool-state.json.1234567.mcpl-tmp")
	if err := os.WriteFile(left, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Update(t.Context(), func(s *Tools) { s.Disable("a") }); err != nil {
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
	_, err := f.Update(context.Background(), func(*Tools) {})
	if !fault.Is(err, fault.Config) || !strings.Contains(fault.From(err).Help, "XDG_STATE_HOME") {
		t.Fatalf("error is %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"enabled": ["a"], "disabled": ["b/c"], "x": 1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parse(data)
		if err != nil {
			return
		}
		again, err := parse(s.render())
		if err != nil || !slices.Equal(again.Enabled, s.Enabled) || !slices.Equal(again.Disabled, s.Disabled) {
			t.Fatalf("%q: %+v became %+v (%v)", data, s, again, err)
		}
	})
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
