package daemon

import (
	"cmp"
	"errors"
	"io/fs"
	"net"
	"os"
	"time"
)

// polled is a connection of the daemon, which has many.
type polled struct{ net.Conn }

func (c polled) readWithin(d time.Duration)  { _ = c.SetReadDeadline(deadline(d)) }
func (c polled) writeWithin(d time.Duration) { _ = c.SetWriteDeadline(deadline(d)) }
func (c polled) interrupt()                  { _ = c.SetReadDeadline(time.Unix(1, 0)) }

// deadline returns the end of a limit that begins now. Setting it fails only on a closed connection, and then so does
// the next read or write.
func deadline(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
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

// accept waits for the next connection of this user. It ends when the listener is closed.
func accept(l *net.UnixListener) (*stream, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if samePeer(conn) == nil {
			return newStream(polled{conn}), nil
		}
		conn.Close()
	}
}

// samePeer fails if the process at the other end is not this user's.
func samePeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = checkPeer(int(fd)) })
	return cmp.Or(err, failed)
}
