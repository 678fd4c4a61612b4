//go:build unix

package verb

import (
	"errors"
	"syscall"
)

func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
