package proc

import (
	"cmp"
	"io"
	"os/exec"
	"time"
)

// The waits of [Process.Close]. Most processes exit at once when stdin closes; one MCP server in ten never does.
const (
	ExitGrace = 500 * time.Millisecond // after stdin was closed; for the rest of a group, after SIGTERM
	TermGrace = time.Second            // after SIGTERM
	KillGrace = 2 * time.Second        // after SIGKILL, for the kernel to let go
)

// CloseOptions change how a process is closed.
type CloseOptions struct {
	// Rest reads what the process still writes to stdout, up to the end, in a goroutine that Close waits for.
	// Close discards the bytes that Rest leaves. If nil, Close discards all of them.
	Rest func(stdout io.Reader)
	// Grace is the wait for the exit after stdin was closed. Zero means ExitGrace.
	Grace time.Duration
	// Hurry shortens that wait: a duration that it gives replaces the rest of it. It is for a process that is known to
	// wait for what it will not get. If nil, the wait is Grace.
	Hurry <-chan time.Duration
}

// Close stops the process and all it started, and returns when that is done: it closes Stdin, waits Grace, sends
// SIGTERM to the group, waits TermGrace, sends SIGKILL, waits KillGrace. Only a process that the kernel does not let go
// outlives it. Processes that are left of the group when the first one has ended get SIGTERM, and SIGKILL after
// ExitGrace. Windows has no SIGTERM: Close kills instead. A second call waits for the first.
//
// The ladder is that of MCP 2025-11-25, lifecycle, Shutdown, stdio: "the client SHOULD initiate shutdown by:
// First, closing the input stream to the child process (the server). Waiting for the server to exit, or
// sending SIGTERM if the server does not exit within a reasonable time. Sending SIGKILL if the server does
// not exit within a reasonable time after SIGTERM".
func (p *Process) Close(opt CloseOptions) {
	p.close.Do(func() { p.shutDown(opt) })
}

func (p *Process) shutDown(opt CloseOptions) {
	p.Stdin.Close()
	close(p.closing)
	// The owner reads no more, and a full pipe must not block what the process still writes.
	drained := make(chan struct{})
	go func() { // ends when stdout is closed, by wait or below
		defer close(drained)
		if opt.Rest != nil {
			opt.Rest(p.stdout)
		}
		_, _ = io.Copy(io.Discard, p.stdout)
	}()
	if p.descend(opt) {
		<-p.ended
	} else {
		p.closePipes()
	}
	<-drained
}

// descend goes down the ladder and reports whether the process has ended.
func (p *Process) descend(opt CloseOptions) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(cmp.Or(opt.Grace, ExitGrace)):
	case d := <-opt.Hurry:
		if p.ExitsWithin(d) {
			return true
		}
	}
	terminateGroup(p.cmd)
	if p.ExitsWithin(TermGrace) {
		return true
	}
	killGroup(p.cmd)
	return p.ExitsWithin(KillGrace)
}

// endGroup stops what is left of the group of a process that has ended.
func endGroup(cmd *exec.Cmd) {
	if !groupAlive(cmd) {
		return
	}
	terminateGroup(cmd)
	if !groupEnds(cmd, ExitGrace) {
		killGroup(cmd)
		groupEnds(cmd, KillGrace)
	}
}

// groupEnds reports whether the group ends within d. It polls: the system announces only the end of our own children.
func groupEnds(cmd *exec.Cmd, d time.Duration) bool {
	for deadline := time.Now().Add(d); groupAlive(cmd); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}
