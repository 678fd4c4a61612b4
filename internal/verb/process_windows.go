//go:build windows

package verb

import (
	"errors"
	"io"
	"syscall"
)

// detachedProcess is DETACHED_PROCESS of CreateProcess: no console.
const detachedProcess = 0x00000008

func detachedAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: detachedProcess | syscall.CREATE_NEW_PROCESS_GROUP}
}

func isClosedPipe(err error) bool { return errors.Is(err, io.ErrClosedPipe) }
