//go:build !unix

package index

// mapping is a file that was read whole, since a mapped file cannot be replaced on Windows.
type mapping struct{ data []byte }

func mapFile(path string) (*mapping, error) {
	data, err := readFile(path)
	return &mapping{data}, err
}

func (m *mapping) read(off, n int) ([]byte, error) { return m.data[off : off+n], nil }

func (m *mapping) close() error { return nil }
