//go:build !linux

package index

// cold is for Linux alone.
func (m *mapping) cold(from, to int) {}
