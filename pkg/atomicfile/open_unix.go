//go:build unix

package atomicfile

import (
	"os"
	"syscall"
)

// openNow opens a file for reading and does not wait for the other end of a pipe. It is not os.Open, which starts the
// runtime's poller, that a regular file has no use for.
func openNow(path string) (*os.File, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err == nil {
		if err = syscall.SetNonblock(fd, false); err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		_ = syscall.Close(fd) // it was not read
	}
	return nil, &os.PathError{Op: "open", Path: path, Err: err}
}
