//go:build !linux && !darwin

package daemon

import (
	"context"
	"errors"
)

// Supported says whether this system can have a daemon. On systems other than Linux and macOS every command makes its
// requests in its own process.
const Supported = false

func dial(string) (*stream, error) { return nil, errors.ErrUnsupported }

func peerUID(int) (int, error) { return -1, errors.ErrUnsupported }

func private(string) error { return errors.ErrUnsupported }

// Start fails: this system has no daemon.
func Start(context.Context, Place, []string, string) error { return errors.ErrUnsupported }

// Announce does nothing: on this system no process spawns a daemon.
func Announce(error) {}

// KeepToSelf does nothing: on this system no process that a command starts outlives it.
func KeepToSelf() {}
