//go:build unix

package atomicfile

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// lookAgain is how often a pipe that had nothing is asked again.
const lookAgain = 5 * time.Millisecond

// pipe reads a pipe that was opened without waiting for somebody to write into it.
type pipe struct {
	file   *os.File
	opened time.Time
	// begun says that a program writes into the pipe or has done so: its end is the end then.
	begun bool
}

// newPipe returns a reader of a pipe. A pipe of a shell, as in <(command), has no name beside that of its descriptor,
// and had its program when it was made.
func newPipe(file *os.File) (io.Reader, error) {
	unnamed := strings.HasPrefix(file.Name(), "/dev/") || strings.HasPrefix(file.Name(), "/proc/")
	return &pipe{file, time.Now(), unnamed}, syscall.SetNonblock(int(file.Fd()), true)
}

// Read implements [io.Reader]. The system answers zero bytes while no program has the pipe open for writing, and EAGAIN
// while one has and writes nothing.
func (p *pipe) Read(b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(p.file.Fd()), b)
		switch {
		case n > 0:
			p.begun = true
			return n, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			p.begun = true
		case err != nil:
			return 0, &os.PathError{Op: "read", Path: p.file.Name(), Err: err}
		case p.begun:
			return 0, io.EOF
		}
		wait := waitForWriter
		if p.begun {
			wait = waitForEnd
		}
		if time.Since(p.opened) >= wait {
			return 0, &SilentError{wait, p.begun}
		}
		time.Sleep(lookAgain)
	}
}
