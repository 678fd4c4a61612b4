// Package proc starts child processes and stops them together with all that they started.
//
// A [Spawner] comes first: it starts every process from one thread and so lets the kernel kill them when this process
// dies. Call [Spawner.Start] with an [exec.Cmd], talk to the [Process] through Stdin and Stdout, quote [Process.Stderr]
// if it fails, and call [Process.Close] in any case. When no process is left, call [Spawner.Close].
//
//	var spawner proc.Spawner
//	defer spawner.Close()
//	p, err := spawner.Start(exec.Command("server"), proc.Options{})
//	if err != nil {
//		return err
//	}
//	defer p.Close(proc.CloseOptions{})
//
// Each process leads a process group of its own, so that the processes it starts (npx starts sh starts
// node) end with it. The package knows nothing of the bytes that it carries.
//
// [Init] is for main alone: as the first process of a container it reaps what others leave.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// drainGrace is how long the pipes of a process are read after its end if a process that left the group
// holds them open. Without one, they end at once.
const drainGrace = time.Second

// Options say what happens to the stderr of a process.
type Options struct {
	// StderrLine is called with the first 8 KiB of each line of stderr, without its line break and as valid UTF-8, from
	// one goroutine. It must return, or the process is not reaped completely. If nil, lines go to the tail only.
	StderrLine func(line string)
}

// Process is a child process and the pipes to it. [Spawner.Start] makes one; its methods may be called concurrently.
type Process struct {
	// Stdin is the input of the process. A write blocks while the pipe is full; Close ends the write.
	Stdin io.WriteCloser
	// Stdout is the output of the process. It has to be read, up to its end or the call of [Process.Close]: the pipe stays
	// open for it for a second after the end of the process. Closing it says that it is read no further.
	Stdout io.ReadCloser

	cmd     *exec.Cmd
	stdout  *stdout // Stdout
	stderr  *os.File
	tail    *tail
	started time.Time
	exited  chan struct{} // closed when the process is reaped; err and ran are set then
	err     error         // of Wait
	ran     time.Duration
	ended   chan struct{} // closed when wait has returned
	closing chan struct{} // closed by Close: the owner reads Stdout no more
	close   sync.Once
}

// start lets run start cmd with three pipes. The pipes are *os.File on purpose: with an io.Writer,
// exec.Cmd copies in goroutines and Wait hangs for as long as a grandchild holds the pipe.
func start(cmd *exec.Cmd, opt Options, run func(*exec.Cmd) error) (*Process, error) {
	var ours, theirs []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(ours, theirs...))
			return nil, err
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	ours[0], theirs[0] = theirs[0], ours[0] // the child reads stdin
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	ownGroup(cmd.SysProcAttr)
	err := run(cmd)
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	read := make(chan struct{})
	out := &stdout{file: ours[1], ended: read, end: sync.OnceFunc(func() { close(read) })}
	p := &Process{Stdin: ours[0], Stdout: out, cmd: cmd, stdout: out, stderr: ours[2], started: time.Now(),
		exited: make(chan struct{}), ended: make(chan struct{}), closing: make(chan struct{})}
	p.tail = newTail(p.stderr, opt)
	go p.wait()
	return p, nil
}

// stdout is the pipe from a process. It notes when its reader has seen the end.
type stdout struct {
	file  *os.File
	ended chan struct{} // closed when the reader has seen the end, or closed the pipe
	end   func()        // closes ended
}

// Read implements io.Reader.
func (s *stdout) Read(b []byte) (int, error) {
	n, err := s.file.Read(b)
	if err != nil {
		s.end()
	}
	return n, err
}

// Close implements io.Closer.
func (s *stdout) Close() error {
	s.end()
	return s.file.Close()
}

// wait reaps the process, stops what is left of its group and gives the readers of its pipes time to
// come to their end. It returns after the process does, which Close sees to. It sweeps the group right
// after the end because strangers may get the group's number later.
func (p *Process) wait() {
	defer close(p.ended)
	p.err = p.cmd.Wait()
	p.ran = time.Since(p.started)
	close(p.exited)
	endGroup(p.cmd)
	drain, cancel := context.WithTimeout(context.Background(), drainGrace)
	defer cancel()
	select {
	case <-p.stdout.ended:
	case <-p.closing:
	case <-drain.Done():
	}
	select {
	case <-p.tail.done:
	case <-drain.Done():
	}
	p.closePipes()
	<-p.tail.done
}

func (p *Process) closePipes() {
	p.stdout.file.Close()
	p.stderr.Close()
}

// Ended returns a channel that is closed when nothing of the group is left and [Process.Stderr] is complete.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Kill ends the process and what it started at once, by SIGKILL. [Process.Close] is still needed.
func (p *Process) Kill() {
	if p.Running() {
		killGroup(p.cmd)
	}
}

// ExitsWithin waits for the end of the process, for at most d, and reports whether it came.
func (p *Process) ExitsWithin(d time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// Stderr returns the first 4 KiB and the last 16 KiB that the process has written to stderr, as valid UTF-8 and without
// white space around. If there was more, both parts are whole lines, with a line "…" between them.
func (p *Process) Stderr() string { return p.tail.text() }

// State describes whether and how a process ended.
type State struct {
	Running bool
	// Ran is how long the process ran, or has run until now.
	Ran time.Duration
	// Err is that of [exec.Cmd.Wait], mostly an [exec.ExitError]. It is nil if the process runs or exited with code 0.
	Err error
}

// State returns the state of the process.
func (p *Process) State() State {
	if p.Running() {
		return State{Running: true, Ran: time.Since(p.started)}
	}
	return State{Ran: p.ran, Err: p.err}
}

// String returns the state as a predicate of the process: "still running after 1.20 s", "exited with code
// 3 after 0.05 s", "ended by signal: killed after 2.00 s".
func (s State) String() string {
	var exit *exec.ExitError
	switch {
	case s.Running:
		return fmt.Sprintf("still running after %.2f s", s.Ran.Seconds())
	case s.Err == nil:
		return fmt.Sprintf("exited with code 0 after %.2f s", s.Ran.Seconds())
	case errors.As(s.Err, &exit) && exit.ExitCode() >= 0:
		return fmt.Sprintf("exited with code %d after %.2f s", exit.ExitCode(), s.Ran.Seconds())
	default: // "signal: killed" on Unix
		return fmt.Sprintf("ended by %s after %.2f s", s.Err, s.Ran.Seconds())
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
