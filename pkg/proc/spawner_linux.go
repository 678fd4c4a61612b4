package proc

import "syscall"

// dieWithParent has the kernel kill a process that is started with attr when the thread that starts it
// ends, also by a SIGKILL to our process (prctl(2), PR_SET_PDEATHSIG).
func dieWithParent(attr *syscall.SysProcAttr) {
	attr.Pdeathsig = syscall.SIGKILL
}
