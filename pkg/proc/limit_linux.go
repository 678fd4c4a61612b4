package proc

import (
	"fmt"
	"os"
	"syscall"
)

// Limit bounds what this process may take from now on: memory in bytes, beside what it has, and time on processors in
// seconds. Without memory the Go runtime ends the process with an error; without time the kernel kills it. The memory
// is the private one that can be written to (getrlimit(2), RLIMIT_DATA): the Go runtime reserves far more addresses
// than it uses, which a limit of the address space would count. Only Linux enforces that; elsewhere Limit does nothing.
func Limit(memory, seconds uint64) error {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages [6]uint64 // the last one is that of data and stack (proc_pid_statm(5))
	if _, err := fmt.Sscan(string(statm), &pages[0], &pages[1], &pages[2], &pages[3], &pages[4], &pages[5]); err != nil {
		return err
	}
	memory += pages[5] * uint64(os.Getpagesize())
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: memory, Max: memory}); err != nil {
		return err
	}
	return syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds})
}
