package verb

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// promptsSpec registers the verb prompts.
func promptsSpec() Spec {
	return Spec{
		Name: "prompts", Group: Offers, New: func() Verb { return new(Prompts) },
		Early: true, Daemon: UseDaemon,
		Aliases:  []Alias{{Words: "list-prompts list_prompts prompts/list"}},
		Complete: completeServer,
		Help: Help{
			Use:   "prompts [SERVER]",
			Short: "List the prompts of the servers (starts no server)",
			Long: `Prompts lists the prompts of all servers or of one, with their arguments. It
answers from the index, as list does. Find one with: mcpl search --kind prompt
WORDS`,
			Example: `  mcpl prompts
  mcpl --json prompts everything`,
		},
	}
}

// Prompts lists the prompts of all servers or of one: mcpl prompts [SERVER].
type Prompts struct {
	Refresh bool

	servers []string // at most one; none for all
}

// Flags implements [Verb].
func (v *Prompts) Flags(fs *pflag.FlagSet) { refreshFlag(fs, &v.Refresh) }

// Parse implements [Verb].
func (v *Prompts) Parse(words []string) error {
	v.servers = words
	return atMostOne("prompts", words)
}

// Run implements [Verb].
func (v *Prompts) Run(ctx context.Context, s *Session) error {
	return s.listOffers(ctx, v.servers, v.Refresh, tool.Prompt)
}
