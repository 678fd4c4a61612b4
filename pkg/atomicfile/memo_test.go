package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// settle waits until the file at path is settled.
func settle(t *testing.T, path string) {
	t.Helper()
	mcptest.Wait(t, path+" to settle", func() bool {
		s, err := StampOf(path)
		return err == nil && s.Settled()
	})
}

// TestMemo reads a file once, until it changes in any way.
func TestMemo(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("files do not tell all that here")
	}
	longAgo := time.Now().Add(-time.Hour)
	put := func(t *testing.T, path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, longAgo, longAgo); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(t *testing.T, path string){
		"longer":                      func(t *testing.T, path string) { put(t, path, "longer") },
		"as long, with the same time": func(t *testing.T, path string) { put(t, path, "new") },
		"another, of the same time": func(t *testing.T, path string) {
			put(t, path+".new", "new")
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		},
		"a link to another": func(t *testing.T, path string) {
			put(t, path+".new", "new")
			if err := errors.Join(os.Remove(path), os.Symlink(path+".new", path)); err != nil {
				t.Fatal(err)
			}
		},
		"other permissions": func(t *testing.T, path string) {
			if err := os.Chmod(path, 0o640); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "file")
			put(t, path, "old")
			settle(t, path)
			var m Memo[string]
			reads := 0
			get := func() string {
				t.Helper()
				text, err := m.Get(path, func() (string, error) {
					reads++
					data, err := os.ReadFile(path)
					return string(data), err
				})
				if err != nil {
					t.Fatal(err)
				}
				return text
			}
			for range 3 {
				get()
			}
			if reads != 1 {
				t.Errorf("%d reads of a file that has not changed", reads)
			}
			change(t, path)
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := get(); got != string(want) || reads != 2 {
				t.Errorf("after the change %q, in read %d, want %q", got, reads, want)
			}
		})
	}
}

// TestMemoOfYoungFile changes a file again and again at once, as often as its time stays the same.
func TestMemoOfYoungFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	var m Memo[string]
	for i := range 1000 {
		want := strconv.Itoa(1000 + i) // all of one length
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := m.Get(path, func() (string, error) {
			data, err := os.ReadFile(path)
			return string(data), err
		})
		if err != nil || got != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	}
}

// TestMemoOfNothing: a file that is not there, or cannot be read, is looked for each time, and a remembered one is
// forgotten when it goes.
func TestMemoOfNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	var m Memo[int]
	reads := 0
	broken := errors.New("broken")
	read := func() (int, error) { reads++; return reads, broken }
	for range 2 {
		if _, err := m.Get(path, read); !errors.Is(err, broken) {
			t.Error(err)
		}
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	settle(t, path)
	for range 2 {
		if _, err := m.Get(path, read); !errors.Is(err, broken) {
			t.Error(err)
		}
	}
	if reads != 4 {
		t.Errorf("%d reads, want 4", reads)
	}
	broken = nil
	if n, err := m.Get(path, read); err != nil || n != 5 {
		t.Error(n, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if n, err := m.Get(path, read); err != nil || n != 6 {
		t.Error(n, err)
	}
}

// TestMemoAtOnce reads many files from many goroutines.
func TestMemoAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var m Memo[string]
	var wg sync.WaitGroup
	for i := range 8 {
		path := filepath.Join(dir, strconv.Itoa(i%4))
		wg.Go(func() {
			for range 10 {
				if err := Write(path, []byte(path), 0o600); err != nil {
					t.Error(err)
				}
				got, err := m.Get(path, func() (string, error) {
					data, err := os.ReadFile(path)
					return string(data), err
				})
				if err != nil || got != path {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}
