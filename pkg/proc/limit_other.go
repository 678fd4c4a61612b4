//go:build !linux

package proc

// Limit does nothing, since this system enforces no bound of the memory of a process. On Linux it bounds what this
// process may take from now on.
func Limit(memory, seconds uint64) error { return nil }
