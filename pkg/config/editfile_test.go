package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// adding returns a change that adds a server.
func adding(name string) func([]byte) ([]byte, error) {
	return func(data []byte) ([]byte, error) {
		after, _, err := SetEntry("/f", data, name, npx(), false)
		return after, err
	}
}

func TestEditModes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	w := newWorld(t)
	for path, private := range map[string]bool{"./public.json": false, "./deep/er/private.json": true} {
		created, err := w.Edit(t.Context(), w.path(path), private, adding("a"))
		info, statErr := os.Stat(w.path(path))
		want := map[bool]os.FileMode{false: 0o644, true: 0o600}[private]
		if err != nil || statErr != nil || !created || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, %v, %v", path, created, err, statErr, info.Mode())
		}
	}
	// The mode of a file that is there stays, and a link stays one.
	path := w.write("./real.json", "{}")
	if err := errors.Join(os.Chmod(path, 0o640), os.Symlink("real.json", w.path("./link.json"))); err != nil {
		t.Fatal(err)
	}
	created, err := w.Edit(t.Context(), w.path("./link.json"), true, adding("a"))
	info, statErr := os.Lstat(path)
	link, linkErr := os.Readlink(w.path("./link.json"))
	if err != nil || created || statErr != nil || info.Mode().Perm() != 0o640 || linkErr != nil || link != "real.json" {
		t.Errorf("%v, %v, %v, %q, %v", err, created, info.Mode(), link, linkErr)
	}
	w.onlyFiles("deep", "link.json", "public.json", "real.json")
}

// TestF9KilledEditIsSwept: the copy of a configuration that a killed edit has left beside it goes with the next edit.
func TestF9KilledEditIsSwept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.write("./.mcp.json", "{}")
	w.write("./..mcp.json.1234567.mcpl-tmp", `{"mcpServers": {"x": {"env": {"API_KEY": "literal"}}}}`)
	w.write("./.other.json.1234567.mcpl-tmp", "{}")
	if _, err := w.Edit(t.Context(), path, true, func(data []byte) ([]byte, error) { return data, nil }); err != nil {
		t.Fatal(err)
	}
	w.onlyFiles(".mcp.json", ".other.json.1234567.mcpl-tmp")
}

// onlyFiles fails where the working directory holds anything else.
func (w *world) onlyFiles(names ...string) {
	w.t.Helper()
	entries, err := os.ReadDir(w.Dir)
	if err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(names) {
		w.t.Errorf("left behind: %v, want %v", got, names)
	}
}

// TestEditAtOnce holds that of edits at once none is lost.
func TestEditAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var wait sync.WaitGroup
	for i := range 10 {
		wait.Go(func() {
			if _, err := w.Edit(t.Context(), w.path("./f.json"), false, adding(fmt.Sprint("server", i))); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if n := len(w.load(Selection{Configs: []string{"f.json"}}).Servers); n != 10 {
		t.Errorf("%d servers are there", n)
	}
	w.onlyFiles("f.json")
}

// TestEditMeanwhile holds that what a program writes that knows no lock is not lost either.
func TestEditMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.write("./f.json", "{}")
	times := 0
	change := func(data []byte) ([]byte, error) {
		if times++; times == 1 {
			w.write("./f.json", `{"theirs": 1}`)
		}
		return adding("ours")(data)
	}
	if _, err := w.Edit(t.Context(), path, false, change); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || times != 2 || !strings.Contains(string(data), "theirs") || !strings.Contains(string(data), "ours") {
		t.Errorf("%d times, %v: %s", times, err, data)
	}
	_, err = w.Edit(t.Context(), path, false, func(data []byte) ([]byte, error) {
		w.write("./f.json", string(data)+" ")
		return append(data, '\n'), nil
	})
	if !fault.Is(err, fault.Config) || !strings.Contains(err.Error(), "keeps writing") {
		t.Errorf("a program that never rests: %v", err)
	}
	w.onlyFiles("f.json")
}

func TestEditFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.write("./f.json", "{}")
	if _, err := w.Edit(t.Context(), path, false,
		func([]byte) ([]byte, error) { return nil, os.ErrInvalid }); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("a change that fails: %v", err)
	}
	if _, err := w.Edit(t.Context(), w.Dir, false, adding("a")); !fault.Is(err, fault.Config) ||
		!strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := w.Edit(t.Context(), filepath.Join(path, "x.json"), false, adding("a")); !fault.Is(err, fault.Config) {
		t.Errorf("a file in a file: %v", err)
	}
	w.write("./utf16.json", "\xff\xfe{\x00}\x00")
	if _, err := w.Edit(t.Context(), w.path("./utf16.json"), false, adding("a")); err == nil || !strings.Contains(err.Error(), "UTF-16") {
		t.Errorf("UTF-16: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Edit(ended, path, false, adding("a")); !fault.Is(err, fault.Interrupted) {
		t.Errorf("interrupted: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "{}" {
		t.Errorf("the file is %q, %v", data, err)
	}
	w.onlyFiles("f.json", "utf16.json")
}

func TestTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	check := func(name, to, wantPath, wantWhy, wantPut string, exists bool) {
		t.Helper()
		target, err := w.Target(Selection{}, to)
		if err != nil || target.Path != w.path(wantPath) || target.Why != wantWhy || target.Exists != exists ||
			w.WhereToPut(target.Sources) != w.path(wantPut) {
			t.Errorf("%s: %+v, %v", name, target, err)
		}
	}
	check("nothing there", "", "../.mcp.json", "at the root of the repository", "../.env", false)
	check("a new file", "new.json", "./new.json", "--to", "./.env", false)
	w.write("~/.claude/mcp.json", "{}")
	check("the user's file", "", "~/.claude/mcp.json", "in your home folder", "~/.claude/.env", true)
	w.write("./.mcp.json", "{}")
	check("the project's file", "", "./.mcp.json", "in the working directory", "./.env", true)
	check("another file", "~/.claude/mcp.json", "~/.claude/mcp.json", "--to", "~/.claude/.env", true)
	if _, err := w.Target(Selection{}, "."); !fault.Is(err, fault.Usage) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := w.Target(Selection{Configs: []string{"gone.json"}}, ""); !fault.Is(err, fault.Config) {
		t.Errorf("a file that is named and not there: %v", err)
	}
	if got := fmt.Sprint(slices.Collect(w.Upwards())); got != fmt.Sprint([]string{w.Dir, filepath.Dir(w.Dir)}) {
		t.Errorf("upwards %s", got)
	}
}

func TestTrial(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("./.env", "TOKEN=abcdef")
	target, err := w.Target(Selection{}, "")
	if err != nil {
		t.Fatal(err)
	}
	server, err := w.Trial(target).Server("a", Entry{Command: "c", Env: []KeyValue{{"A", "${TOKEN}"}, {"B", "${NONE}"}}})
	if err != nil || server.Env[0].Value != "abcdef" || len(server.Missing) != 1 || server.Cwd != filepath.Dir(w.Dir) {
		t.Errorf("%+v, %v", server, err)
	}
	if _, err := w.Trial(target).Server("a", Entry{URL: "ftp://x"}); !fault.Is(err, fault.Config) ||
		!strings.Contains(err.Error(), "http") {
		t.Errorf("no URL: %v", err)
	}
}
