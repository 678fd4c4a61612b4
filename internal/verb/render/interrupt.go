package render

import (
	"context"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// orGiveUp returns what a computation returns that does not look at ctx, as jq's functions of texts and patterns on
// long lines do not. When ctx ends first, it returns an Interrupted fault that names the flag at work. The computation
// then goes on in its goroutine, and ends with the process at the latest.
func orGiveUp[T any](ctx context.Context, flag string, do func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := do()
		done <- outcome{value, err}
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // also if the computation has noticed
		return o.value, fault.New(fault.Interrupted, "interrupted while "+flag+" was at work", "")
	}
	return o.value, o.err
}
