package verb

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/spf13/pflag"
)

// Call calls one tool: mcpl call SERVER TOOL [ARGS].
type Call struct {
	ArgSource
	Delivery
	NoValidate bool
	DryRun     bool
	Asking     Asking
}

// Flags implements [Verb].
func (v *Call) Flags(fs *pflag.FlagSet) {
	v.ArgSource.flags(fs)
	fs.BoolVar(&v.NoValidate, "no-validate", false, "send the arguments even if they do not fit")
	fs.BoolVar(&v.DryRun, "dry-run", false, "show what would be sent, and start nothing")
	v.Asking.flags(fs)
	v.Delivery.flags(fs)
}

// Run implements [Verb].
func (v *Call) Run(ctx context.Context, s *Session, args []string) error {
	ref, rest, err := s.Engine.Resolve(args)
	if err != nil {
		return err
	}
	if err := cmp.Or(v.check(), v.Asking.check()); err != nil {
		return err
	}
	if v.readsFiles(rest) {
		if err := s.live(); err != nil {
			return err // stdin and pipes can be read only once, and not by the early path
		}
	}
	build := func(inputSchema []byte) (json.RawMessage, error) { return v.arguments(s, inputSchema, rest) }
	if v.DryRun {
		return v.dryRun(ctx, s, ref, build)
	}
	plan, err := s.Engine.Plan(ctx, ref, build, !v.NoValidate)
	if err != nil {
		return err
	}
	if err := v.ready(s, plan); err != nil {
		return err
	}
	res, err := v.Asking.request(ctx, s, plan, resultOf)
	if err != nil {
		return err
	}
	return v.answer(ctx, s, ref, res, resultOf)
}
