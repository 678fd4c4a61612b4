package verb

import (
	"context"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/state"
)

// switchTools switches servers and tools on and off for a principal of a gateway, or everywhere if it has no name.
func (s *Session) switchTools(ctx context.Context, principal string, on, off []string) (gateway.Switched, error) {
	file := s.States
	if principal != "" {
		file = state.PrincipalFile(s.App.Env.StateDir(), principal)
	}
	done := gateway.Switched{File: file.Path}
	err := file.Update(ctx, func(t *state.Tools) {
		t.Switch(on, off)
		done.Enabled, done.Disabled = len(t.Enabled), len(t.Disabled)
	})
	return done, err
}
