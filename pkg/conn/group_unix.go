//go:build unix

package conn

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the process that cmd will start the leader of a new process group.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGTERM) }
func killGroup(cmd *exec.Cmd)      { signalGroup(cmd, syscall.SIGKILL) }

// groupAlive reports whether a process of the group is left. The group's number cannot be
// taken by others while it has members, and signal 0 only asks (POSIX kill).
func groupAlive(cmd *exec.Cmd) bool { return signalGroup(cmd, 0) == nil }

func signalGroup(cmd *exec.Cmd, sig syscall.Signal) error {
	return syscall.Kill(-cmd.Process.Pid, sig)
}
