package verb

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/state"
)

// disableSpec registers the verb disable.
func disableSpec() Spec {
	return Spec{
		Name: "disable", Group: Setup, New: func() Verb { return new(Disable) },
		Aliases:  []Alias{{Words: "off deactivate"}},
		Complete: completeNames,
		Help: Help{
			Use:   "disable NAME...",
			Short: "Switch servers or tools off",
			Long: `Disable switches servers, or tools written SERVER/TOOL, off: they are found
nowhere and cannot be called.`,
			Example: `  mcpl disable playwright
  mcpl disable github/delete_repository`,
		},
	}
}

// Disable switches servers and tools off: mcpl disable NAME...
type Disable struct {
	names []string
}

// Flags implements [Verb].
func (v *Disable) Flags(*pflag.FlagSet) {}

// Parse implements [Verb].
func (v *Disable) Parse(words []string) error {
	v.names = words
	if len(words) == 0 {
		return noNames()
	}
	return nil
}

// Run implements [Verb].
func (v *Disable) Run(ctx context.Context, s *Session) error {
	names, skipped, err := s.named(v.names)
	if err != nil {
		return err
	}
	return s.change(ctx, skipped, func(t *state.Tools) { t.Disable(names...) })
}
