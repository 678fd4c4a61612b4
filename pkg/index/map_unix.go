//go:build unix

package index

import (
	"fmt"
	"os"
	"syscall"
)

// mapping is a file that is mapped for reading. The file must not become shorter meanwhile; the store only ever
// replaces whole files.
type mapping struct {
	data []byte
	fd   int
}

func mapFile(path string) (*mapping, error) {
	// Not os.Open: that starts the runtime's poller, which a regular file has no use for.
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	m := &mapping{fd: fd}
	if m.data, err = m.whole(path); err != nil {
		syscall.Close(fd)
		return nil, err
	}
	return m, nil
}

func (m *mapping) whole(path string) ([]byte, error) {
	var info syscall.Stat_t
	if err := syscall.Fstat(m.fd, &info); err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if info.Size < headerSize || info.Size > 1<<40 {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrDamaged, info.Size)
	}
	data, err := syscall.Mmap(m.fd, 0, int(info.Size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	return data, nil
}

// read reads a few bytes beside the mapping, so that they alone become resident.
func (m *mapping) read(off, n int) ([]byte, error) {
	p := make([]byte, n)
	for done := 0; done < n; {
		got, err := syscall.Pread(m.fd, p[done:], int64(off+done))
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return nil, err
		case got == 0:
			return nil, fmt.Errorf("%w: it ends early", ErrDamaged)
		}
		done += max(got, 0)
	}
	return p, nil
}

func (m *mapping) close() error {
	syscall.Close(m.fd)
	return syscall.Munmap(m.data)
}
