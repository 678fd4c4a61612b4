package verb

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Read reads one resource: mcpl read SERVER URI.
type Read struct{ request }

// Flags implements [Verb].
func (v *Read) Flags(fs *pflag.FlagSet) { v.flags(fs) }

// Run implements [Verb].
func (v *Read) Run(ctx context.Context, s *Session, args []string) error {
	ref, rest, err := s.resolve(args, tool.Resource)
	if err != nil {
		return err
	}
	switch {
	case len(rest)+2 > len(args): // a URI holds slashes and dots, so the two cannot be one word
		return fault.New(fault.Usage, "the server and the URI are two words", "Type: "+render.Use(ref)).On(ref.Server, "")
	case len(rest) > 0:
		return fault.New(fault.Usage, fmt.Sprintf("read takes one URI, %q is too much", rest[0]), "Type: "+render.Use(ref)).On(ref.Server, "")
	}
	if err := v.check(); err != nil {
		return err
	}
	plan, err := s.Engine.Plan(ctx, ref, nil, false)
	if err != nil {
		return err
	}
	return v.send(ctx, s, plan, render.ResourceContents)
}
