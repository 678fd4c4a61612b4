package verb

import (
	"context"
	"encoding/json"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Prompt gets one prompt: mcpl prompt SERVER NAME [ARGS].
type Prompt struct {
	ArgSource
	request
}

// Flags implements [Verb].
func (v *Prompt) Flags(fs *pflag.FlagSet) {
	v.ArgSource.flags(fs)
	v.request.flags(fs)
}

// Run implements [Verb].
func (v *Prompt) Run(ctx context.Context, s *Session, args []string) error {
	ref, rest, err := s.resolve(args, tool.Prompt)
	if err != nil {
		return err
	}
	if err := v.check(); err != nil {
		return err
	}
	if err := v.readable(s, rest); err != nil {
		return err
	}
	build := func(inputSchema []byte) (json.RawMessage, error) { return v.arguments(s, inputSchema, rest) }
	plan, err := s.Engine.Plan(ctx, ref, build, true)
	if err != nil {
		return err
	}
	return v.send(ctx, s, plan, render.PromptMessages)
}
