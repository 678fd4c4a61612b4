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
	file, info, err := openFile(path)
	if err != nil {
		return nil, err
	}
	m := &mapping{file: file}
	if info.Size() < headerSize {
		err = fmt.Errorf("%w: it has %d bytes", ErrDamaged, info.Size())
	} else {
		m.data, err = syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return m, nil
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
