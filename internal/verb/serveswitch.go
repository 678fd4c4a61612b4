package verb

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/state"
)

// choiceFile returns the file of what a principal has switched on and off.
func (s *Session) choiceFile(principal string) state.File {
	return state.PrincipalFile(s.App.Env.StateDir(), principal)
}

// choice identifies what a principal has switched on and off.
func (s *Session) choice(principal string) string {
	stamp, err := atomicfile.StampOf(s.choiceFile(principal).Path)
	if err != nil { // there is none, or reading it says why not
		return ""
	}
	return fmt.Sprint(stamp)
}

// switchTools switches servers and tools on and off for a principal of a gateway, or everywhere if it has no name. The
// name * switches everything on first.
func (s *Session) switchTools(ctx context.Context, principal string, on, off []string) (gateway.Switched, error) {
	file := s.States
	if principal != "" {
		file = s.choiceFile(principal)
	}
	done := gateway.Switched{File: file.Path}
	err := file.Update(ctx, func(t *state.Tools) {
		if named := slices.DeleteFunc(slices.Clone(on), func(name string) bool { return name == "*" }); len(named) < len(on) {
			t.Enabled, t.Disabled, on = nil, nil, named
		}
		t.Switch(on, off)
		done.Enabled, done.Disabled = len(t.Enabled), len(t.Disabled)
	})
	return done, err
}
