//go:build unix

package atomicfile

import (
	"errors"
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
