package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// TestEditLosesNothing counts in one file from many goroutines. The folder is made by the first.
func TestEditLosesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "count")
	const edits = 40
	var wg sync.WaitGroup
	for range edits {
		wg.Go(func() {
			err := Edit(t.Context(), path, time.Minute, func() ([]byte, error) {
				data, err := Read(path, 1<<20)
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					return nil, err
				}
				n, _ := strconv.Atoi(string(data))
				return []byte(strconv.Itoa(n + 1)), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, err := os.ReadFile(path); err != nil || string(got) != strconv.Itoa(edits) {
		t.Errorf("counted to %q, %v, want %d", got, err, edits)
	}
	for name, mode := range map[string]os.FileMode{path: 0o600, path + ".lock": 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, mode)
		}
	}
}

// TestEditKeeps: the file stays as it is if the edit fails or has nothing to write.
func TestEditKeeps(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, want := range map[string]error{"nothing to write": nil, "an error": refused} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			err := Edit(t.Context(), path, time.Minute, func() ([]byte, error) { return nil, want })
			if !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
				t.Errorf("the file has %q, %v", got, err)
			}
		})
	}
}

// TestEditFails: a folder that cannot be made, a lock that is held and a file that cannot be replaced are faults that
// name the file. Without the lock, nothing is edited.
func TestEditFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arrange func(t *testing.T, path string)
		edited  bool
		want    fault.Type
		message string
	}{
		"a file in place of the folder": {func(t *testing.T, path string) {
			write(t, filepath.Dir(path))
		}, false, fault.Config, "cannot write PATH"},
		"a held lock": {func(t *testing.T, path string) {
			unlock, err := Lock(t.Context(), path+".lock", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(unlock)
		}, false, fault.Timeout, "PATH was not changed: another mcpl has held the lock PATH.lock for 20ms"},
		"a folder in place of the file": {func(t *testing.T, path string) {
			if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, true, fault.Config, "cannot write PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state", "x")
			tc.arrange(t, path)
			edited := false
			err := Edit(t.Context(), path, 20*time.Millisecond, func() ([]byte, error) {
				edited = true
				return []byte("new"), nil
			})
			f, ok := errors.AsType[*fault.Fault](err)
			if want := strings.ReplaceAll(tc.message, "PATH", path); !ok || f.Type != tc.want || f.Message != want {
				t.Errorf("%v, want %s", err, want)
			}
			if cause, ok := errors.AsType[*WriteError](err); !ok || cause.Path != path {
				t.Errorf("caused by %v", cause)
			}
			if edited != tc.edited {
				t.Errorf("edited: %v, want %v", edited, tc.edited)
			}
		})
	}
}

// TestEditWithoutRoom: a full disk is not a folder that cannot be written, nor is a pipe in place of the file.
func TestEditWithoutRoom(t *testing.T) {
	t.Parallel()
	full := &fs.PathError{Op: "write", Path: "/s/x", Err: syscall.ENOSPC}
	if f := unwritable("/s/x", errors.Join(full)); !strings.Contains(f.Help, "no room left") || strings.Contains(f.Help, "writable") {
		t.Error(f.Help)
	}
	if f := unwritable("/s/x", fmt.Errorf("%w, but a pipe", ErrUnfit)); !strings.HasPrefix(f.Help, "Remove /s/x") {
		t.Error(f.Help)
	}
	if f := unwritable("/s/x", fs.ErrPermission); !strings.Contains(f.Help, "writable") {
		t.Error(f.Help)
	}
}

// TestEditSweeps: also an edit that changes nothing removes what a killed one has left.
func TestEditSweeps(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	left := filepath.Join(filepath.Dir(path), ".x.17"+suffix)
	write(t, left)
	if err := Edit(t.Context(), path, time.Second, func() ([]byte, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the leftover is still there: %v", err)
	}
}

// TestEditInterrupted: an edit that is interrupted while it waits for the lock changes nothing.
func TestEditInterrupted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	unlock, err := Lock(t.Context(), path+".lock", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = Edit(ctx, path, time.Minute, func() ([]byte, error) { return nil, errors.New("edited") })
	if !fault.Is(err, fault.Interrupted) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestReadLimit reads up to the limit, and nothing that is larger.
func TestReadLimit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	write(t, path)
	if got, err := Read(path, 7); err != nil || string(got) != "content" {
		t.Errorf("read %q, %v", got, err)
	}
	if got, err := Read(path, 6); !errors.Is(err, ErrUnfit) || got != nil {
		t.Errorf("read %q, %v, want %v", got, err, ErrUnfit)
	}
	if _, err := Read(filepath.Dir(path), 1<<20); !errors.Is(err, ErrUnfit) && runtime.GOOS != "windows" {
		t.Errorf("a folder: %v, want %v", err, ErrUnfit)
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
}
