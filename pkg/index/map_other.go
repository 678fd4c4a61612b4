//go:build !unix

package index

import "os"

// mapFile reads a file whole: a mapped file cannot be replaced on Windows.
func mapFile(path string) ([]byte, func() error, error) {
	data, err := os.ReadFile(path)
	return data, func() error { return nil }, err
}
