//go:build windows

package proc

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a Ctrl-C on our console from reaching the process before we close it.
func ownGroup(attr *syscall.SysProcAttr) {
	attr.CreationFlags |= syscall.CREATE_NEW_PROCESS_GROUP
}

// Windows has no SIGTERM: a process that ignores its closed stdin is killed. Its descendants see their own stdin close.
func terminateGroup(cmd *exec.Cmd) { cmd.Process.Kill() }
func killGroup(cmd *exec.Cmd)      { cmd.Process.Kill() }

func groupAlive(*exec.Cmd) bool { return false }
