//go:build unix

package mcptest

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// signalNumber returns the signal of that name, or 0. Only signals that end a Go program as
// they end others are known: SIGSEGV and SIGABRT would make the runtime print its goroutines.
func signalNumber(name string) syscall.Signal {
	switch name {
	case "KILL":
		return syscall.SIGKILL
	case "TERM":
		return syscall.SIGTERM
	case "INT":
		return syscall.SIGINT
	case "HUP":
		return syscall.SIGHUP
	}
	return 0
}

// killSelf sends this process a signal and waits for its effect.
func killSelf(name string) {
	if err := syscall.Kill(syscall.Getpid(), signalNumber(name)); err == nil {
		select {}
	}
}

// Alive reports whether the process runs. Where /proc tells it, a zombie does not.
func Alive(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		// The process went between the two looks, or this system has no /proc.
		return syscall.Kill(pid, 0) != syscall.ESRCH
	}
	// The state follows the name, which may itself hold any character.
	_, state, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
