//go:build linux || darwin

package daemon

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
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
	c := &blocking{File: os.NewFile(uintptr(fd), path)}
	// It also bounds connect(2), which waits if the backlog is full.
	_ = c.SetWriteDeadline(time.Now().Add(greetPatience))
	err = syscall.EINTR
	for errors.Is(err, syscall.EINTR) { // the system does not repeat calls with a time limit (signal(7))
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
	}
	if err = os.NewSyscallError("connect", err); err == nil {
		err = checkPeer(c)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return newStream(c, maxFrame), nil
}

// blocking is the connection of a client. Its methods block their thread: a process that makes one request then needs
// neither the runtime's poller nor a second thread. Both take longer to start than the daemon takes to answer.
type blocking struct {
	*os.File
	over atomic.Bool // a deadline in the past was set
}

// Read implements [pipe].
func (c *blocking) Read(data []byte) (int, error) {
	n, err := c.File.Read(data)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, io.EOF) && c.over.Load() {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// SetReadDeadline implements [pipe]. A deadline in the past also ends a read that waits.
func (c *blocking) SetReadDeadline(t time.Time) error {
	if t.IsZero() || time.Until(t) > 0 {
		return c.limit(unix.SO_RCVTIMEO, t)
	}
	c.over.Store(true)
	return control(c, func(fd int) error { return syscall.Shutdown(fd, syscall.SHUT_RD) })
}

// SetWriteDeadline implements [pipe].
func (c *blocking) SetWriteDeadline(t time.Time) error { return c.limit(unix.SO_SNDTIMEO, t) }

// limit limits each read or write to what is left until t.
func (c *blocking) limit(option int, t time.Time) error {
	var tv syscall.Timeval
	if !t.IsZero() {
		tv = syscall.NsecToTimeval(max(time.Until(t), time.Microsecond).Nanoseconds())
	}
	return control(c, func(fd int) error { return syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, option, &tv) })
}
