package daemon

import (
	"fmt"
	"net"
	"os"
)

// dial connects to the socket of a daemon of this user's.
func dial(path string) (*stream, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := samePeer(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return newStream(conn), nil
}

// listen makes a socket that only this user can connect to. Its folder is private, so that nobody
// comes before the mode is set.
func listen(path string) (*net.UnixListener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // Serve removes it, in its own order
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// accept waits for the next connection of this user. It ends when the listener is closed.
func accept(l *net.UnixListener) (*stream, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if samePeer(conn) == nil {
			return newStream(conn), nil
		}
		conn.Close()
	}
}

// samePeer fails where the process at the other end is not this user's.
func samePeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	uid, failed := -1, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, failed = peerUID(int(fd)) }); err != nil {
		return err
	}
	if failed == nil && uid != os.Geteuid() {
		failed = fmt.Errorf("the other end belongs to user %d", uid)
	}
	return failed
}
