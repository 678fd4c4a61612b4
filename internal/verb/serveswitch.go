package verb

import (
	"context"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/state"
)

// switchTools switches servers and tools on and off everywhere, for a gateway.
func (s *Session) switchTools(ctx context.Context, on, off []string) (gateway.Switched, error) {
	done := gateway.Switched{File: s.States.Path}
	err := s.States.Update(ctx, func(t *state.Tools) {
		t.Switch(on, off)
		done.Enabled, done.Disabled = len(t.Enabled), len(t.Disabled)
	})
	return done, err
}
