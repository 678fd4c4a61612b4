//go:build unix

package verb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInstructionsKeep: --write replaces no pipe, no device and no link to nowhere, and waits for none.
func TestInstructionsKeep(t *testing.T) {
	t.Parallel()
	w := fixture(t)
	for name, mode := range map[string]fs.FileMode{"pipe": fs.ModeNamedPipe, "link": fs.ModeSymlink} {
		path := filepath.Join(w.dir, name)
		err := os.Symlink("gone", path)
		if name == "pipe" {
			err = errors.Join(err, os.Remove(path), syscall.Mkfifo(path, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		got := w.run(t.Context(), "instructions", "--write", path)
		if got.code != 2 || !strings.Contains(got.stderr, "Give --write a regular file") {
			t.Errorf("%s: exit code %d, %s", name, got.code, got.stderr)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != mode {
			t.Errorf("%s is %v now, %v", name, info, err)
		}
	}
}
