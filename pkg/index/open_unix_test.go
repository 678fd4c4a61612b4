//go:build unix

package index

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// TestF11IrregularFiles puts what is not a file of mcpl in the place of each file: nothing waits for it, nothing reads
// it, and the next index replaces it.
func TestF11IrregularFiles(t *testing.T) {
	t.Parallel()
	cat, stamp := sample(t)
	for name, place := range map[string]func(path string) error{
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"a link to a pipe": func(path string) error {
			return errors.Join(syscall.Mkfifo(path+".pipe", 0o600), os.Symlink(path+".pipe", path))
		},
		"3 GiB": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 3<<30))
		},
	} {
		for _, file := range []string{"search.idx", "tool_index.json", "index_metadata.json"} {
			t.Run(name+" as "+file, func(t *testing.T) {
				t.Parallel()
				s := save(t, cat, stamp)
				sound, err := s.Open()
				if err != nil {
					t.Fatal(err)
				}
				defer sound.Close()
				path := filepath.Join(s.Dir, file)
				if err := errors.Join(os.Remove(path), place(path)); err != nil {
					t.Fatal(err)
				}
				if sn, err := s.Open(); err == nil && file != "index_metadata.json" {
					sn.Close()
					t.Error("opened")
				}
				if s.Holds(sound) != (file != "search.idx") {
					t.Error("holds the snapshot that was replaced, or not the one that was not")
				}
				if _, notice := s.Load(); strings.Contains(notice, file) != (file != "search.idx") {
					t.Errorf("notice %q", notice)
				}
				if _, err := s.Save(t.Context(), cat, stamp); err != nil {
					t.Fatal(err)
				}
				sn, err := s.Open()
				if err != nil {
					t.Fatal(err)
				}
				check(t, sn)
				sn.Close()
			})
		}
	}
	t.Run("a pipe as the lock", func(t *testing.T) {
		t.Parallel()
		s := save(t, cat, stamp)
		path := filepath.Join(s.Dir, "lock")
		_ = os.Remove(path) // a lock is made when it is first taken
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		unlock, err := s.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	})
}

// TestF18NoMoreFiles tells the limit of open files from damage.
func TestF18NoMoreFiles(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"of the process": syscall.EMFILE, "of the system": syscall.ENFILE} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := exhausted(&os.PathError{Op: "open", Path: "x", Err: err})
			if !fault.Is(got, fault.Config) || errors.Is(new(Snapshot).unreadable(got), ErrDamaged) {
				t.Errorf("got %v", got)
			}
		})
	}
	if err := exhausted(os.ErrNotExist); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
