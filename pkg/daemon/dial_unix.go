//go:build linux || darwin

package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dial connects to the socket of a daemon of this user.
func dial(path string) (*stream, error) {
	syscall.ForkLock.RLock() // macOS cannot make it close-on-exec at once
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	c := &blocking{fd: fd}
	c.writeWithin(greetPatience) // also bounds connect(2), which waits if the backlog is full
	address := &syscall.SockaddrUnix{Name: path}
	err = os.NewSyscallError("connect", again(func() error { return syscall.Connect(fd, address) }))
	if err == nil {
		err = checkPeer(fd)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return newStream(c), nil
}

// checkPeer fails if the process at the other end of a socket is not this user's.
func checkPeer(fd int) error {
	uid, err := peerUID(fd)
	if err == nil && uid != os.Geteuid() {
		err = fmt.Errorf("the other end belongs to user %d", uid)
	}
	return err
}

// blocking is the connection of a client. Its methods block their thread: a process that makes one request then needs
// neither the runtime's poller nor a second thread. Both take longer to start than the daemon takes to answer.
type blocking struct {
	fd             int
	reading, write time.Duration // the limits as set

	mu     sync.Mutex
	over   bool // interrupt has been called
	closed bool
}

// again repeats a system call that a signal has interrupted: the system does not repeat those with a time limit
// (signal(7)).
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Read implements [pipe].
func (c *blocking) Read(data []byte) (n int, err error) {
	err = again(func() error { n, err = syscall.Read(c.fd, data); return err })
	switch {
	case errors.Is(err, syscall.EAGAIN) || n == 0 && c.interrupted():
		return 0, os.ErrDeadlineExceeded
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n == 0 && len(data) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write implements [pipe].
func (c *blocking) Write(data []byte) (written int, err error) {
	for written < len(data) {
		var n int
		err = again(func() error { n, err = syscall.Write(c.fd, data[written:]); return err })
		if errors.Is(err, syscall.EAGAIN) {
			return written, os.ErrDeadlineExceeded
		}
		if err != nil {
			return written, os.NewSyscallError("write", err)
		}
		written += n
	}
	return written, nil
}

// Close implements [pipe].
func (c *blocking) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return os.ErrClosed
	}
	c.closed = true
	return syscall.Close(c.fd)
}

func (c *blocking) readWithin(d time.Duration)  { c.set(unix.SO_RCVTIMEO, &c.reading, d) }
func (c *blocking) writeWithin(d time.Duration) { c.set(unix.SO_SNDTIMEO, &c.write, d) }

// set sets a limit. It fails only on a closed socket, and then so does the next call.
func (c *blocking) set(option int, was *time.Duration, d time.Duration) {
	if *was == d {
		return
	}
	*was = d
	tv := syscall.NsecToTimeval(d.Nanoseconds())
	_ = syscall.SetsockoptTimeval(c.fd, syscall.SOL_SOCKET, option, &tv)
}

func (c *blocking) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over = true; !c.closed {
		_ = syscall.Shutdown(c.fd, syscall.SHUT_RD) // fails only if the other end has gone
	}
}

func (c *blocking) interrupted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}
