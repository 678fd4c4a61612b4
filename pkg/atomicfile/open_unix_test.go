//go:build unix

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestPipes: neither a pipe in place of a file nor one in place of its lock makes anyone wait for the other end.
func TestPipes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	if err := errors.Join(syscall.Mkfifo(path, 0o600), syscall.Mkfifo(path+".lock", 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, 1<<20); !errors.Is(err, ErrUnfit) {
		t.Errorf("read a pipe: %v, want %v", err, ErrUnfit)
	}
	if unlock, err := Lock(t.Context(), path+".lock", time.Minute); err == nil {
		unlock()
	}
}

// TestWriteKeeps: what is not a regular file stays, as a device would.
func TestWriteKeeps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink(pipe, filepath.Join(dir, "link to a pipe")),
		os.Symlink("gone", filepath.Join(dir, "link to nowhere"))); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{
		"pipe": fs.ModeNamedPipe, "link to a pipe": fs.ModeSymlink, "link to nowhere": fs.ModeSymlink,
	} {
		if err := Write(filepath.Join(dir, name), []byte("x"), 0o600); !errors.Is(err, ErrUnfit) {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode().Type() != mode {
			t.Errorf("%s is %v now, %v", name, info, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
