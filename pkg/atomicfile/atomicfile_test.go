package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.json")
	for _, content := range []string{"first", "", strings.Repeat("x", 1<<20)} {
		if err := Write(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("read %d bytes, %v, want %d", len(got), err, len(content))
		}
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestWriteFails: a file that cannot be replaced keeps its content, and nothing is left beside it.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if err := Write(filepath.Join(dir, "gone", "x"), nil, 0o600); err == nil {
		t.Error("a file was written into a folder that does not exist")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestWriteIf asks when the new content is on disk, under a name that Sweep knows, and obeys the answer.
func TestWriteIf(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for _, tc := range []struct {
		name   string
		wanted bool
		err    error
		want   string
	}{{"wanted", true, nil, "new"}, {"not wanted", false, nil, "old"}, {"an error", true, refused, "old"}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x")
			if err := Write(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			done, err := WriteIf(path, []byte("new"), 0o600, func() (bool, error) {
				entries, err := os.ReadDir(filepath.Dir(path))
				if err != nil || len(entries) != 2 || !isLeftover(entries[0].Name(), "x") {
					t.Errorf("meanwhile there are %v, %v", entries, err)
				}
				return tc.wanted, tc.err
			})
			if done != (tc.want == "new") || !errors.Is(err, tc.err) {
				t.Errorf("done %v, %v", done, err)
			}
			got, err := os.ReadFile(path)
			entries, _ := os.ReadDir(filepath.Dir(path))
			if err != nil || string(got) != tc.want || len(entries) != 1 {
				t.Errorf("it holds %s, %v; left behind: %v", got, err, entries)
			}
		})
	}
}

// TestReaders: a reader sees one whole content or another, however many write.
func TestReaders(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	content := func(i int) string { return strings.Repeat(fmt.Sprint(i%10), 10000) }
	if err := Write(path, []byte(content(0)), 0o600); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for range 10 {
				if err := Write(path, []byte(content(i)), 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 100 {
		got, err := os.ReadFile(path)
		if err != nil || len(got) != 10000 || strings.Trim(string(got), string(got[:1])) != "" {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
	}
	writers.Wait()
}

// TestSweep removes the leftovers of one file, and nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "trust.json")
	for _, name := range []string{"trust.json", ".trust.json.123.mcpl-tmp", ".trust.json.9.mcpl-tmp", ".trust.json.bak",
		".other.json.1.mcpl-tmp", "trust.json.lock", ".trust.json.x.mcpl-tmp", ".trust.json..mcpl-tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(path); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got := strings.Join(left, " "); err != nil || got != ".other.json.1.mcpl-tmp .trust.json..mcpl-tmp .trust.json.bak .trust.json.x.mcpl-tmp trust.json trust.json.lock" {
		t.Errorf("left %s, %v", got, err)
	}
	if err := Sweep(filepath.Join(dir, "none", "x")); err != nil {
		t.Errorf("a folder that does not exist: %v", err)
	}
}
