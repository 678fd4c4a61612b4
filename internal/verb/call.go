package verb

import (
	"context"
	"encoding/json"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
)

// Call calls one tool: mcpl call SERVER TOOL [ARGS].
type Call struct {
	ArgSource
	request
	NoValidate bool
	DryRun     bool
}

// Flags implements [Verb].
func (v *Call) Flags(fs *pflag.FlagSet) {
	v.ArgSource.flags(fs)
	fs.BoolVar(&v.NoValidate, "no-validate", false, "send the arguments even if they do not fit")
	fs.BoolVar(&v.DryRun, "dry-run", false, "show what would be sent, and start nothing")
	v.request.flags(fs)
}

// Run implements [Verb].
func (v *Call) Run(ctx context.Context, s *Session, args []string) error {
	ref, rest, err := s.Engine.Resolve(args)
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
	if v.DryRun {
		return v.dryRun(ctx, s, ref, build)
	}
	plan, err := s.Engine.Plan(ctx, ref, build, !v.NoValidate)
	if err != nil {
		return err
	}
	return v.send(ctx, s, plan, render.ToolResult)
}
