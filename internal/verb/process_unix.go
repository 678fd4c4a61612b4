//go:build unix

package verb

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/mcp-launchpad/mcpl/pkg/daemon"
)

// detach starts this program with other arguments in a session of its own, without our terminal and pipes. This
// process does not wait for it: it ends by itself, with its work or at its time limits, and init reaps it.
func detach(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{Path: self, Args: append([]string{os.Args[0]}, args...)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	daemon.KeepToSelf()
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
