package engine

import (
	"context"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Interruptible does a computation that does not look at ctx: the arguments of a call come from stdin, and a schema may
// take a second. When ctx ends first, Interruptible returns an Interrupted fault. The computation then goes on in its
// goroutine, and ends with the process at the latest: the caller must not read its results.
func Interruptible(ctx context.Context, do func()) error {
	if ctx.Done() == nil {
		do()
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fault.New(fault.Interrupted, "interrupted before anything was sent",
			"Type the command again to retry.").Because(context.Cause(ctx))
	}
}
