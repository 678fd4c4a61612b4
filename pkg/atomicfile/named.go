package atomicfile

import (
	"fmt"
	"io"
	"os"
	"time"
)

// The times that [ReadNamed] gives a pipe: for somebody to begin to write, and to finish.
const (
	waitForWriter = 5 * time.Second
	waitForEnd    = 30 * time.Second
)

// SilentError says that a pipe gave nothing, or no end, for as long as [ReadNamed] waits.
type SilentError struct {
	Wait time.Duration
	// Written says that some program had the pipe open for writing.
	Written bool
}

// Error says for what mcpl has waited, and how long.
func (e *SilentError) Error() string {
	if e.Written {
		return fmt.Sprintf("it is a pipe, and what writes into it has not finished within %s", e.Wait)
	}
	return fmt.Sprintf("it is a pipe, and no program has written into it within %s", e.Wait)
}

// Help says what to do.
func (e *SilentError) Help() string {
	if e.Written {
		return "See why the program that writes into the pipe does not finish, or remove the pipe."
	}
	return "Start the program that writes into the pipe, or remove the pipe."
}

// ReadNamed returns at most limit+1 bytes of a file that may be a pipe, since a person named it, or a password manager
// made it. It waits a few seconds for somebody to write into a pipe, and half a minute for the end; then the error is a
// [SilentError].
func ReadNamed(path string, limit int64) ([]byte, error) {
	file, err := openNow(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	var from io.Reader = file
	if info.Mode()&os.ModeNamedPipe != 0 {
		if from, err = newPipe(file); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(from, limit+1))
}
