//go:build windows

package conn

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a Ctrl-C on our console from reaching the server before we do.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// Windows has no SIGTERM: what ignores its closed stdin is killed. Its descendants see their
// own stdin close.
func terminateGroup(cmd *exec.Cmd) { cmd.Process.Kill() }
func killGroup(cmd *exec.Cmd)      { cmd.Process.Kill() }

func groupAlive(*exec.Cmd) bool { return false }
