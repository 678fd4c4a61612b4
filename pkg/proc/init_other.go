//go:build !linux

package proc

// Init returns false: the programs of containers are first processes on Linux alone.
func Init() (code int, ok bool) { return 0, false }
