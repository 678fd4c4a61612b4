package mcptest

import (
	"os"
	"syscall"
)

// signalNumber returns non-zero for the names that the script may use.
func signalNumber(name string) syscall.Signal {
	switch name {
	case "KILL", "TERM", "INT", "HUP":
		return syscall.SIGKILL
	}
	return 0
}

// killSelf ends this process as TerminateProcess would.
func killSelf(string) { os.Exit(1) }

// Alive reports whether the process runs.
func Alive(pid int) bool {
	const queryLimited, stillActive = 0x1000, 259
	h, err := syscall.OpenProcess(queryLimited, false, uint32(pid))
	if err != nil {
		return false
	}
	defer syscall.CloseHandle(h)
	var code uint32
	return syscall.GetExitCodeProcess(h, &code) == nil && code == stillActive
}
