package verb

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// resourcesSpec registers the verb resources.
func resourcesSpec() Spec {
	return Spec{
		Name: "resources", Group: Offers, New: func() Verb { return new(Resources) },
		Early: true, Daemon: UseDaemon,
		Aliases: []Alias{{Words: "list-resources list_resources resources/list templates list-resource-templates " +
			"list_resource_templates resources/templates/list"}},
		Complete: completeServer,
		Help: Help{
			Use:   "resources [SERVER]",
			Short: "List the resources of the servers (starts no server)",
			Long: `Resources lists the resources of all servers or of one, by their URIs, and the
templates of such URIs. It answers from the index, as list does. Find one with:
mcpl search --kind resource WORDS`,
			Example: `  mcpl resources
  mcpl --json resources everything`,
		},
	}
}

// Resources lists the resources of all servers or of one: mcpl resources [SERVER].
type Resources struct {
	Refresh bool

	servers []string // at most one; none for all
}

// Flags implements [Verb].
func (v *Resources) Flags(fs *pflag.FlagSet) { refreshFlag(fs, &v.Refresh) }

// Parse implements [Verb].
func (v *Resources) Parse(words []string) error {
	v.servers = words
	return atMostOne("resources", words)
}

// Run implements [Verb].
func (v *Resources) Run(ctx context.Context, s *Session) error {
	return s.listOffers(ctx, v.servers, v.Refresh, tool.Resource, tool.Template)
}
