package proc

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Init does the work of an init if this is the first process of a PID namespace, as the program of a container is: it
// runs this program once more as its child, hands signals on to it, reaps the orphans that the kernel gives to the
// first process, and returns the exit code of the child, 128 and the signal's number if that ended by a signal. Else it
// returns false at once. If the child cannot be started, it also returns false: the program then works as ever, and
// orphans stay zombies.
//
// The child is needed since only the first process gets orphans, and wait4(2) for any child would take from
// [exec.Cmd.Wait] what that waits for.
func Init() (code int, ok bool) {
	if os.Getpid() != 1 {
		return 0, false
	}
	self, err := os.Executable()
	if err != nil {
		return 0, false
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals,
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(signals)
	child, err := syscall.ForkExec(self, os.Args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 0, false
	}
	ended := make(chan syscall.WaitStatus, 1)
	go func() { ended <- reap(child) }()
	for {
		select {
		case sig := <-signals:
			_ = syscall.Kill(child, sig.(syscall.Signal)) // it fails only if the child has ended, which comes next
		case status := <-ended:
			if status.Signaled() {
				return 128 + int(status.Signal()), true
			}
			return status.ExitStatus(), true
		}
	}
}

// reap waits for children, until the one that is named has ended, and returns how that did.
func reap(named int) (status syscall.WaitStatus) {
	for {
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if pid == named || err != nil && !errors.Is(err, syscall.EINTR) {
			return status
		}
	}
}
