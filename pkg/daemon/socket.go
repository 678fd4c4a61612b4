package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// pipe is the connection under a stream.
type pipe interface {
	io.ReadWriteCloser
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
}

// bind makes the daemon's socket, that only this user can connect to. Its folder is private, so that no other user
// connects before the mode is set. The one that holds the lock owns the path: a socket that is there was left by a
// daemon that was killed.
func bind(path string) (l *net.UnixListener, socket fs.FileInfo, err error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err != nil {
		return nil, nil, err
	}
	l.SetUnlinkOnClose(false) // Serve removes it, in its own order
	if err = os.Chmod(path, 0o600); err == nil {
		socket, err = os.Stat(path)
	}
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return l, socket, nil
}

// control calls f with the descriptor of a connection, which stays open meanwhile.
func control(c syscall.Conn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = f(int(fd)) })
	return cmp.Or(err, failed)
}

// checkPeer fails if the process at the other end of a connection is not this user's.
func checkPeer(c syscall.Conn) error {
	return control(c, func(fd int) error {
		uid, err := peerUID(fd)
		if err == nil && uid != os.Geteuid() {
			err = fmt.Errorf("the other end belongs to user %d", uid)
		}
		return err
	})
}
