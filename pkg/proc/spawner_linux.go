package proc

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the process that cmd will start when the thread that starts it
// ends, also by a SIGKILL to our process (prctl(2), PR_SET_PDEATHSIG).
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
