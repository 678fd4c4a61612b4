package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// WriteError is the cause of the fault of an [Edit] that could not lock or write its file.
type WriteError struct {
	Path string
	Err  error
}

// Error returns the message of Err.
func (e *WriteError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *WriteError) Unwrap() error { return e.Err }

// NewLock returns the lock at path, which is not taken yet, and makes its folder, for this user alone. The system frees
// a lock however its process ends.
func NewLock(path string) (*flock.Flock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	// For reading and writing, since opening a pipe only for reading would wait for a writer.
	return flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDWR)), nil
}

// Lock takes a [NewLock], waiting for other processes until wait is over or ctx ends; then the error is that of the
// context.
func Lock(ctx context.Context, path string, wait time.Duration) (unlock func(), err error) {
	lock, err := NewLock(path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, err
	}
	return func() { _ = lock.Unlock() }, nil // ends with the process anyway
}

// Edit replaces a file in mcpl's state folder, mode 0600, by what edit returns: all of it under a lock beside the file,
// so that concurrent edits lose nothing. If edit fails or returns nil, the file stays as it is. An error that is not
// edit's is a fault.Config with a [WriteError] as its cause.
func Edit(ctx context.Context, path string, wait time.Duration, edit func() ([]byte, error)) error {
	unlock, err := Lock(ctx, path+".lock", wait)
	if err != nil {
		return unwritable(path, err)
	}
	defer unlock()
	data, err := edit()
	if err != nil || data == nil {
		return err
	}
	if err := errors.Join(Sweep(path), Write(path, data, 0o600)); err != nil {
		return unwritable(path, err)
	}
	return nil
}

// unwritable is the fault of a file that cannot be locked or written.
func unwritable(path string, err error) *fault.Fault {
	return fault.New(fault.Config, "cannot write "+path,
		fmt.Sprintf("Make the folder %s writable for you, or point XDG_STATE_HOME to one that is.", filepath.Dir(path))).
		Because(&WriteError{path, err})
}
