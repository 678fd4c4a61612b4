package conn

import (
	"context"
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
	exitGrace = 500 * time.Millisecond // after stdin was closed; for what a server leaves behind, after SIGTERM
	// askedGrace is what is left of exitGrace for a server that asks us something after its stdin was
	// closed: it waits for an answer that it cannot get.
	askedGrace = 50 * time.Millisecond
	termGrace  = time.Second     // after SIGTERM
	killGrace  = 2 * time.Second // after SIGKILL, for the kernel to let go
	// drainGrace is how long after the end of a server its pipes are read on, where a process
	// that left its group holds them open. Otherwise their end comes at once.
	drainGrace = time.Second
)

// child is a server process and the pipes to it. It leads a process group of its own, so that
// what it starts (npx starts sh starts node) can be stopped with it.
type child struct {
	cmd      *exec.Cmd
	stdin    *os.File
	stdout   *os.File // read through messages
	stderr   *os.File // read by tail
	messages *messageFilter
	tail     *tail
	started  time.Time
	// exited is closed once the process is reaped; after that, err (of Wait) and ran are set.
	exited chan struct{}
	err    error
	ran    time.Duration
	// ended is closed when nothing of the group is left and all of its output has been read.
	ended chan struct{}
	// unheard is closed when nobody wants to read stdout any more.
	unheard chan struct{}
	// asked gets a token, as far as there is room, for each request of the server after that.
	asked chan struct{}
}

// listener is told of a child's output that is no answer. Its functions may be called from
// several goroutines; line may be nil.
type listener struct {
	message func([]byte) // a request or a notification
	line    func(string) // of stderr
	foreign func([]byte) // on stdout
	tooLong func()       // a message exceeds maxMessage; stdout is read no further
}

// startChild lets run start cmd with three pipes. The pipes are *os.File on purpose: with an io.Writer,
// exec.Cmd copies in goroutines and Wait hangs for as long as a grandchild holds the pipe.
func startChild(cmd *exec.Cmd, run *spawner, l listener) (*child, error) {
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
	err := run.start(cmd)
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	c := &child{cmd: cmd, stdin: ours[0], stdout: ours[1], stderr: ours[2], started: time.Now(),
		exited: make(chan struct{}), ended: make(chan struct{}), unheard: make(chan struct{}), asked: make(chan struct{}, 1)}
	message := l.message
	if message != nil {
		message = func(line []byte) {
			c.heed(line) // the one who reads the messages may still wait for the next when it comes
			l.message(line)
		}
	}
	c.messages = newMessageFilter(c.stdout, message, l.foreign, l.tooLong)
	c.tail = newTail(c.stderr, l.line)
	go c.wait()
	return c, nil
}

// wait reaps the process, stops what it left behind and lets the readers of its pipes come to
// their end. It ends when the process does, which close sees to. The group is swept right here
// because later its number may belong to strangers.
func (c *child) wait() {
	defer close(c.ended)
	c.err = c.cmd.Wait()
	c.ran = time.Since(c.started)
	close(c.exited)
	endGroup(c.cmd)
	drain, cancel := context.WithTimeout(context.Background(), drainGrace)
	defer cancel()
	select {
	case <-c.messages.ended:
	case <-c.unheard:
	case <-drain.Done():
	}
	select {
	case <-c.tail.done:
	case <-drain.Done():
	}
	closeAll([]*os.File{c.stdout, c.stderr})
	<-c.tail.done
}

// endGroup stops what is left of the group of a process that has ended.
func endGroup(cmd *exec.Cmd) {
	if !groupAlive(cmd) {
		return
	}
	terminateGroup(cmd)
	if !groupEnds(cmd, exitGrace) {
		killGroup(cmd)
		groupEnds(cmd, killGrace)
	}
}

// groupEnds reports whether the group ends before d has passed. Nobody tells of the end of a
// process that is not a child of ours, so it has to be looked for.
func groupEnds(cmd *exec.Cmd, d time.Duration) bool {
	for deadline := time.Now().Add(d); groupAlive(cmd); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// close stops the process and all it started, and returns when that is done. It follows MCP
// 2025-11-25, lifecycle, Shutdown, stdio: "the client SHOULD initiate shutdown by: First,
// closing the input stream to the child process (the server). Waiting for the server to exit,
// or sending SIGTERM if the server does not exit within a reasonable time. Sending SIGKILL if
// the server does not exit within a reasonable time after SIGTERM".
//
// It is called once. Only a process that the kernel does not let go outlives it.
func (c *child) close() {
	c.stdin.Close()
	close(c.unheard)
	// What the server still says must not block it: the messages' reader has stopped.
	drained := make(chan struct{})
	go func() { // ends when stdout is closed, by wait or below
		defer close(drained)
		c.drain()
	}()
	stuck := false
	if !c.exits() {
		terminateGroup(c.cmd)
		if !c.within(termGrace) {
			killGroup(c.cmd)
			stuck = !c.within(killGrace)
		}
	}
	if stuck {
		closeAll([]*os.File{c.stdout, c.stderr})
	} else {
		<-c.ended
	}
	<-drained
}

// drain reads stdout to its end.
func (c *child) drain() {
	rest := newMessageFilter(c.stdout, c.heed, func([]byte) {}, func() {})
	_, _ = io.Copy(io.Discard, rest)
	_, _ = io.Copy(io.Discard, c.stdout) // what follows a line that is too long
}

// heed notes that the server asks something although nobody hears it.
func (c *child) heed(call []byte) {
	select {
	case <-c.unheard:
	default:
		return
	}
	if isRequest(call) {
		select {
		case c.asked <- struct{}{}:
		default:
		}
	}
}

// exits reports whether the process, whose stdin is closed, ends by itself before exitGrace has passed,
// or askedGrace since it asked something.
func (c *child) exits() bool {
	timer := time.NewTimer(exitGrace)
	defer timer.Stop()
	select {
	case <-c.exited:
		return true
	case <-timer.C:
		return false
	case <-c.asked:
		return c.within(askedGrace)
	}
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

// running reports whether the process has not been seen to end.
func (c *child) running() bool {
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// ending says in words how the process ended, or that it still runs.
func (c *child) ending() string {
	if c.running() {
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
