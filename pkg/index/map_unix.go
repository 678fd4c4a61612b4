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
	file *os.File
}

func mapFile(path string) (*mapping, error) {
	// Not os.Open: that starts the runtime's poller, which a regular file has no use for.
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	m := &mapping{file: os.NewFile(uintptr(fd), path)}
	info, err := m.file.Stat()
	switch {
	case err != nil:
	case info.Size() < headerSize || info.Size() > 1<<40:
		err = fmt.Errorf("%w: it has %d bytes", ErrDamaged, info.Size())
	default:
		m.data, err = syscall.Mmap(fd, 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	}
	if err != nil {
		m.file.Close()
	}
	return m, err
}

// read reads a few bytes beside the mapping, so that they alone become resident.
func (m *mapping) read(off, n int) ([]byte, error) {
	p := make([]byte, n)
	_, err := m.file.ReadAt(p, int64(off))
	return p, err
}

func (m *mapping) close() error {
	m.file.Close()
	return syscall.Munmap(m.data)
}
