package verb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Read reads one resource: mcpl read SERVER URI.
type Read struct{ getting }

// Prompt gets one prompt: mcpl prompt SERVER NAME [ARGS].
type Prompt struct {
	ArgSource
	getting
}

// getting is what calling a tool, reading a resource and getting a prompt have in common.
type getting struct {
	Delivery
	Asking Asking
}

func (v *getting) flags(fs *pflag.FlagSet) {
	v.Asking.flags(fs)
	v.Delivery.flags(fs)
}

// check refuses flags of no sense.
func (v *getting) check() error { return cmp.Or(v.Delivery.check(), v.Asking.check()) }

// request makes a planned request and writes its result, which parse reduces.
func (v *getting) request(ctx context.Context, s *Session, plan *engine.Plan, parse func(json.RawMessage) (result, error)) error {
	if err := v.ready(s, plan); err != nil {
		return err
	}
	res, err := v.Asking.request(ctx, s, plan, parse)
	if err != nil {
		return err
	}
	return v.answer(ctx, s, plan.Ref, res, parse)
}

// Flags implements [Verb].
func (v *Read) Flags(fs *pflag.FlagSet) { v.getting.flags(fs) }

// Run implements [Verb].
func (v *Read) Run(ctx context.Context, s *Session, args []string) error {
	ref, rest, err := s.resolve(args, tool.Resource)
	if err != nil {
		return err
	}
	switch {
	case len(rest)+2 > len(args): // a URI is full of what may part it from a server
		return fault.New(fault.Usage, "the server and the URI are two words", "Type: "+useOf(ref)).On(ref.Server, "")
	case len(rest) > 0:
		return fault.New(fault.Usage, fmt.Sprintf("read takes one URI, %q is too much", rest[0]), "Type: "+useOf(ref)).On(ref.Server, "")
	}
	if err := v.check(); err != nil {
		return err
	}
	plan, err := s.Engine.Plan(ctx, ref, nil, false)
	if err != nil {
		return err
	}
	return v.request(ctx, s, plan, contentsOf)
}

// Flags implements [Verb].
func (v *Prompt) Flags(fs *pflag.FlagSet) {
	v.ArgSource.flags(fs)
	v.getting.flags(fs)
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
	plan, err := s.Engine.Plan(ctx, ref, func(inputSchema []byte) (json.RawMessage, error) { return v.arguments(s, inputSchema, rest) }, true)
	if err != nil {
		return err
	}
	return v.request(ctx, s, plan, messagesOf)
}
