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
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() < headerSize || info.Size() > 1<<40 {
		return nil, nil, fmt.Errorf("%w: it has %d bytes", ErrDamaged, info.Size())
	}
	data, err := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}
