//go:build unix

package index

import (
	"fmt"
	"os"
	"syscall"
)

// mapFile maps a file for reading. The file must never be shortened while it is mapped, which
// holds since the store only ever replaces whole files.
func mapFile(path string) ([]byte, func() error, error) {
	// Not os.Open: that starts the runtime's poller, which a regular file has no use for.
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	var info syscall.Stat_t
	if err := syscall.Fstat(fd, &info); err != nil {
		return nil, nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if info.Size < headerSize || info.Size > 1<<40 {
		return nil, nil, fmt.Errorf("%w: it has %d bytes", ErrDamaged, info.Size)
	}
	data, err := syscall.Mmap(fd, 0, int(info.Size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}
