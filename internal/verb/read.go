package verb

import (
	"context"
	"fmt"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func readSpec() Spec {
	return Spec{
		Name: "read", Group: Offers, New: func() Verb { return new(readVerb) },
		Early: true, Daemon: StartDaemon,
		Aliases: []Alias{{Words: "read-resource read_resource readresource get-resource get_resource " +
			"resources/read cat fetch"}},
		Complete: completeOffer(tool.Resource, false),
		Use:      "read SERVER URI", Short: "Read one resource (starts its server only)",
		Long: `Read prints the text of a resource as it is. Binary contents go into a file of
the store of results, or with --output-dir of a folder, and it prints the path.
A URI need not be listed: it may come from a template whose braces you fill in,
or from the result of a tool.`,
		Example: `  mcpl read everything demo://resource/static/document/features.md
  mcpl --json read everything demo://resource/dynamic/text/1
  mcpl read everything demo://resource/dynamic/blob/1 --output-dir .`,
	}
}

// readVerb reads one resource: mcpl read SERVER URI.
type readVerb struct{ request }

func (v *readVerb) Run(ctx context.Context, s *Session) error {
	ref, rest, err := s.Engine.Resolve(v.words, tool.Resource)
	if err != nil {
		return err
	}
	use := fault.Step{Verb: "read", Server: ref.Server, Tool: ref.Name}
	switch {
	case len(rest)+2 > len(v.words): // a URI holds slashes and dots, so the two cannot be one word
		return fault.New(fault.Usage, "the server and the URI are two words", "").On(ref.Server, "").Then("Type", use)
	case len(rest) > 0:
		return fault.New(fault.Usage, fmt.Sprintf("read takes one URI, %q is too much", rest[0]), "").
			On(ref.Server, "").Then("Type", use)
	}
	to, err := s.destination(&v.Delivery)
	if err != nil {
		return err
	}
	plan, err := s.Engine.Plan(ctx, ref, nil, false)
	if err != nil {
		return err
	}
	return v.send(ctx, s, plan, to)
}
