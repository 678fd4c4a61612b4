//go:build !linux && !darwin

package daemon

import (
	"context"
	"errors"
	"syscall"
)

// Supported says whether this system can have a daemon. Elsewhere than on Linux and macOS every
// command does its work in its own process.
const Supported = false

const (
	errRefused = syscall.ECONNREFUSED
	errReset   = syscall.ECONNRESET
	errPipe    = syscall.EPIPE
)

func dial(string) (*stream, error) { return nil, errors.ErrUnsupported }

func checkPeer(int) error { return errors.ErrUnsupported }

func private(string) error { return errors.ErrUnsupported }

func spawn(context.Context, []string, string, string) error { return errors.ErrUnsupported }

// Announce tells the process that spawned this one whether it listens: nobody, here.
func Announce(error) {}

// KeepToSelf does nothing here: no process is started that outlives a command.
func KeepToSelf() {}
