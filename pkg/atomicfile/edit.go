package atomicfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
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

// HeldError says that another process held a lock for as long as was waited.
type HeldError struct {
	Path string
	Wait time.Duration
}

// Error names the lock and the time.
func (e *HeldError) Error() string {
	return fmt.Sprintf("another mcpl has held the lock %s for %s", e.Path, e.Wait)
}

// Lock takes a [NewLock], waiting for other processes. If wait is over, the error is a [HeldError]; if ctx ends, that
// of ctx.
func Lock(ctx context.Context, path string, wait time.Duration) (unlock func(), err error) {
	lock, err := NewLock(path)
	if err != nil {
		return nil, err
	}
	patience, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	switch _, err := lock.TryLockContext(patience, 5*time.Millisecond); {
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &HeldError{path, wait}
	case err != nil:
		return nil, err
	}
	return func() { _ = lock.Unlock() }, nil // ends with the process anyway
}

// Edit replaces a file in mcpl's state folder, mode 0600, by what edit returns: all of it under a lock beside the file,
// so that concurrent edits lose nothing. If edit fails or returns nil, the file stays as it is. An error that is not
// edit's is a fault.Interrupted, if ctx ends while another process holds the lock, or a fault with a [WriteError] as
// its cause.
func Edit(ctx context.Context, path string, wait time.Duration, edit func() ([]byte, error)) error {
	unlock, err := Lock(ctx, path+".lock", wait)
	switch _, held := errors.AsType[*HeldError](err); {
	case held:
		return fault.New(fault.Timeout, fmt.Sprintf("%s was not changed: %v", path, err),
			"Wait for the other mcpl or end it, and try again.").Because(&WriteError{path, err})
	case ctx.Err() != nil && err != nil:
		return fault.New(fault.Interrupted, "interrupted before "+path+" was changed", "").Because(err)
	case err != nil:
		return unwritable(path, err)
	}
	defer unlock()
	_ = Sweep(path) // before an edit that may change nothing; a leftover costs only its room
	data, err := edit()
	if err != nil || data == nil {
		return err
	}
	if err := Write(path, data, 0o600); err != nil {
		return unwritable(path, err)
	}
	return nil
}

// unwritable is the fault of a file that cannot be locked or written.
func unwritable(path string, err error) *fault.Fault {
	help := fmt.Sprintf("Make the folder %s writable for you, or point XDG_STATE_HOME to one that is.", filepath.Dir(path))
	return fault.New(fault.Config, "cannot write "+path, cmp.Or(Remedy(path, err), help)).Because(&WriteError{path, err})
}

// Remedy returns what to do if a file could not be written for a reason that is not its folder's permissions: its disk
// or a quota is full, or something else is in its place. It is "" for other errors.
func Remedy(path string, err error) string {
	switch {
	case errors.Is(err, ErrUnfit):
		return fmt.Sprintf("Remove %s, or move it away: it is not the regular file that belongs there.", path)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Sprintf("There is no room left: make some on the disk of %s, or in your quota there.", filepath.Dir(path))
	}
	return ""
}
