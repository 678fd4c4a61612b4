//go:build linux || darwin

package daemon

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// readyFD is the descriptor on which a spawned daemon says that it listens.
const readyFD = 3

// ready is the text that says so. Any other text says why it does not.
const ready = "ready\n"

// Start starts the daemon at place: this program with args, in dir, in a session of its own without our terminal or
// pipes. It waits until the daemon listens or says why it does not. A daemon ends by itself, and init reaps it.
func Start(ctx context.Context, place Place, args []string, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	said, say, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close()
	cmd := &exec.Cmd{Path: self, Args: append([]string{os.Args[0]}, args...), Dir: dir,
		ExtraFiles: []*os.File{say}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	// The trace of a crash goes to the daemon's log, like everything else.
	crash, err := openLog(place.Log)
	if err == nil {
		cmd.Stderr = crash
		defer crash.Close()
	}
	KeepToSelf()
	err = cmd.Start()
	say.Close()
	if err != nil {
		return err
	}
	defer cmd.Process.Release()
	defer context.AfterFunc(ctx, func() { _ = said.SetReadDeadline(time.Now()) })()
	_ = said.SetReadDeadline(time.Now().Add(startPatience))
	word, err := io.ReadAll(said)
	switch text := strings.TrimSpace(string(word)); {
	case string(word) == ready:
		return nil
	case text != "":
		return fmt.Errorf("the daemon did not start: %s", text)
	case err != nil:
		return fmt.Errorf("the daemon has not started: %w", err)
	}
	return fmt.Errorf("the daemon ended at once, see %s", place.Log)
}

// KeepToSelf keeps processes that are started from now on from inheriting the descriptors that this process has
// inherited, except for its standard streams. A process that waits for the end of a pipe, or for a lock, would
// otherwise wait for the daemon. Descriptors that Go opens are never inherited.
func KeepToSelf() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil { // macOS
		entries, _ = os.ReadDir("/dev/fd") // without either, all stays as it is
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// Announce tells the process that spawned this one that it listens (nil), or why it does not.
func Announce(err error) {
	say := os.NewFile(readyFD, "ready")
	if say == nil {
		return
	}
	defer say.Close()
	text := ready
	if err != nil {
		text = err.Error() + "\n"
	}
	// The process that waited may have gone. The daemon serves others all the same.
	_, _ = say.WriteString(text)
}
