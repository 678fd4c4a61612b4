//go:build windows

package verb

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// detachedProcess is DETACHED_PROCESS of CreateProcess: no console.
const detachedProcess = 0x00000008

// detach starts this program with other arguments, without our console and pipes. This process does not
// wait for it: it ends by itself, with its work or at its time limits.
func detach(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{Path: self, Args: append([]string{os.Args[0]}, args...),
		SysProcAttr: &syscall.SysProcAttr{CreationFlags: detachedProcess | syscall.CREATE_NEW_PROCESS_GROUP}}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

func isClosedPipe(err error) bool { return errors.Is(err, io.ErrClosedPipe) }
