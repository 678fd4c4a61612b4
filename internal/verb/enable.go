package verb

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/state"
)

// enableSpec registers the verb enable.
func enableSpec() Spec {
	return Spec{
		Name: "enable", Group: Setup, New: func() Verb { return new(Enable) },
		Aliases:  []Alias{{Words: "on activate"}},
		Complete: completeNames,
		Help: Help{
			Use:   "enable NAME...",
			Short: "Switch servers or tools on",
			Long: `Enable switches servers, or tools written SERVER/TOOL, on. Servers and tools
that are off are not found and cannot be called.`,
			Example: `  mcpl enable github
  mcpl enable --only github filesystem/read_file
  mcpl enable --all`,
		},
	}
}

// Enable switches servers and tools on: mcpl enable NAME...
type Enable struct {
	Only, All bool

	names []string
}

// Flags implements [Verb].
func (v *Enable) Flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.Only, "only", false, "switch everything else off")
	fs.BoolVar(&v.All, "all", false, "switch everything on")
}

// Parse implements [Verb].
func (v *Enable) Parse(words []string) error {
	if v.All && (v.Only || len(words) > 0) {
		return fault.New(fault.Usage, "--all takes neither names nor --only", "").
			Then("Type", fault.Step{Verb: "enable", Args: []string{"--all"}})
	}
	v.names = words
	if !v.All && len(words) == 0 {
		return noNames()
	}
	return nil
}

// Run implements [Verb].
func (v *Enable) Run(ctx context.Context, s *Session) error {
	if v.All {
		return s.change(ctx, nil, func(t *state.Tools) { *t = state.Tools{} })
	}
	names, skipped, err := s.named(v.names)
	if err != nil {
		return err
	}
	return s.change(ctx, skipped, func(t *state.Tools) {
		if v.Only {
			t.Only(names...)
		} else {
			t.Enable(names...)
		}
	})
}
