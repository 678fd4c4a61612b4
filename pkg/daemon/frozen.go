package daemon

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// frozenFor is how long clients do without a daemon that has accepted a connection and sent no greeting. It is stopped,
// or the machine is too busy for it, and each further client would wait for greetPatience.
const frozenFor = time.Minute

// errFrozen says that the daemon does not answer.
var errFrozen = errors.New("it does not answer")

// mark returns the file that remembers a frozen daemon, and its content: which daemon that is, by its socket, and which
// process found out.
func (p Place) mark(pid int) (path, content string) {
	info, err := os.Stat(p.Socket)
	if err != nil {
		return p.Socket + ".frozen", ""
	}
	return p.Socket + ".frozen", fmt.Sprintf("%d %d\n", info.ModTime().UnixNano(), pid)
}

// remember notes that the daemon is frozen. If that fails, the next client finds out by itself.
func (p Place) remember() {
	if path, content := p.mark(os.Getpid()); content != "" {
		_ = os.WriteFile(path, []byte(content), 0o600)
	}
}

// frozen reports whether a client has found the daemon frozen within the last minute, and whether that was in this
// process. It removes a note that does not hold any more.
func (p Place) frozen() (is, mine bool) {
	info, err := os.Stat(p.Socket + ".frozen")
	if err != nil {
		return false, false // as almost always: a warm call waits for no more than this look
	}
	path, content := p.mark(os.Getpid())
	noted, err := os.ReadFile(path)
	var daemon, finder, now int64
	_, _ = fmt.Sscan(string(noted), &daemon, &finder) // other text names no daemon
	_, _ = fmt.Sscan(content, &now)
	age := time.Since(info.ModTime())
	if err != nil || daemon == 0 || daemon != now || age < 0 || age > frozenFor {
		_ = os.Remove(path)
		return false, false
	}
	return true, finder == int64(os.Getpid())
}
