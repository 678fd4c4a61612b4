package conn

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// How long each step of the shutdown ladder waits. Most servers exit at once when stdin
// closes; about one in ten never does, and every call to it pays the first wait.
const (
	exitGrace = 500 * time.Millisecond // after stdin was closed
	termGrace = time.Second            // after SIGTERM
	killGrace = 2 * time.Second        // after SIGKILL, for the kernel to let go
	// drainGrace is how long after a server's exit its pipes may stay open behind a
	// grandchild before we stop reading them.
	drainGrace = 250 * time.Millisecond
)

// child is a server process and the pipes to it. It leads a process group of its own, so that
// what it starts (npx starts sh starts node) can be stopped with it.
type child struct {
	cmd     *exec.Cmd
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	tail    *tail
	started time.Time
	// exited is closed by the waiting goroutine once the process is reaped; after that,
	// err (of Wait) and ran are set.
	exited chan struct{}
	err    error
	ran    time.Duration
}

// startChild starts cmd with three pipes. The pipes are *os.File on purpose: with an io.Writer,
// exec.Cmd copies in goroutines and Wait hangs for as long as a grandchild holds the pipe.
func startChild(cmd *exec.Cmd, stderrLine func(string)) (*child, error) {
	var ours, theirs []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(ours, theirs...))
			return nil, err
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	// Of the first pipe (stdin) the child has the reading end.
	ours[0], theirs[0] = theirs[0], ours[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	ownGroup(cmd)
	err := cmd.Start()
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	c := &child{cmd: cmd, stdin: ours[0], stdout: ours[1], stderr: ours[2],
		started: time.Now(), exited: make(chan struct{})}
	c.tail = newTail(c.stderr, stderrLine)
	go c.wait()
	return c, nil
}

// wait reaps the process; it ends when the process does, which close sees to. The server counts
// as gone when its process is: readers get a moment for what is still in the pipes and then
// their end of file, also where a grandchild keeps the pipes open.
func (c *child) wait() {
	c.err = c.cmd.Wait()
	c.ran = time.Since(c.started)
	close(c.exited)
	select {
	case <-c.tail.done:
	case <-time.After(drainGrace):
	}
	c.stderr.Close()
	c.stdout.SetReadDeadline(time.Now().Add(drainGrace))
}

// close stops the process and all it started, and returns when that is done. It follows MCP
// 2025-11-25, lifecycle, Shutdown, stdio: "the client SHOULD initiate shutdown by: First,
// closing the input stream to the child process (the server). Waiting for the server to exit,
// or sending SIGTERM if the server does not exit within a reasonable time. Sending SIGKILL if
// the server does not exit within a reasonable time after SIGTERM".
func (c *child) close() {
	c.stdin.Close()
	if !c.within(exitGrace) {
		terminateGroup(c.cmd)
		if !c.within(termGrace) {
			killGroup(c.cmd)
			c.within(killGrace)
		}
	}
	// The leader is gone; what it left behind gets the same chance.
	if groupAlive(c.cmd) {
		terminateGroup(c.cmd)
		for deadline := time.Now().Add(exitGrace); groupAlive(c.cmd) && time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
		killGroup(c.cmd)
	}
	c.stdout.Close()
	<-c.tail.done
}

// within reports whether the process has ended before d has passed.
func (c *child) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.exited:
		return true
	case <-timer.C:
		return false
	}
}

// ending says in words how the process ended, or that it still runs.
func (c *child) ending() string {
	if !c.within(0) {
		return fmt.Sprintf("still running after %s", seconds(time.Since(c.started)))
	}
	var exit *exec.ExitError
	switch {
	case c.err == nil:
		return fmt.Sprintf("exited with code 0 after %s", seconds(c.ran))
	case errors.As(c.err, &exit) && exit.ExitCode() >= 0:
		return fmt.Sprintf("exited with code %d after %s", exit.ExitCode(), seconds(c.ran))
	default: // "signal: killed" on Unix
		return fmt.Sprintf("ended by %s after %s", c.err, seconds(c.ran))
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func closeAll[T io.Closer](closers []T) {
	for _, c := range closers {
		c.Close()
	}
}
