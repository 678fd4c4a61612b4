//go:build unix

package verb

import (
	"errors"
	"syscall"
)

// detachedAttributes give a process a session of its own, without our terminal.
func detachedAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
