package verb

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/trust"
)

func untrustSpec() Spec {
	return Spec{
		Name: "untrust", Group: Setup, New: func() Verb { return new(untrustVerb) },
		Aliases:  []Alias{{Words: "distrust"}},
		Complete: completeConfigured,
		Use:      "untrust SERVER...", Short: "Take back the approval of servers of a project",
		Long: `Untrust takes the approval of servers of this project back. They are neither
started nor contacted then, and what they offer is not found.`,
		Example: `  mcpl untrust github
  mcpl untrust --all`,
	}
}

// untrustVerb takes approvals back: mcpl untrust SERVER...
type untrustVerb struct {
	All bool

	names []string
}

func (v *untrustVerb) Flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.All, "all", false, "all servers of this project")
}

func (v *untrustVerb) Parse(words []string) error {
	if v.names = words; v.All == (len(words) > 0) {
		return fault.New(fault.Usage, "untrust takes names of servers, or --all", "").
			Then("See how they stand with", fault.Step{Verb: "trust", Args: []string{"--list"}})
	}
	return nil
}

func (v *untrustVerb) Run(ctx context.Context, s *Session) error {
	if err := s.chooseTools(v.names); err != nil {
		return err
	}
	root, err := s.root()
	if err != nil {
		return err
	}
	projects := []string{trust.Project(root), trust.ToolsProject(s.App.Env.Dir)}
	gone, err := s.book().Revoke(ctx, func(a trust.Approval) bool {
		return slices.Contains(projects, a.Project) && (v.All || slices.Contains(v.names, a.Server))
	})
	if err != nil {
		return err
	}
	if err := v.decline(ctx, s); err != nil && len(gone) == 0 {
		return err
	}
	a := &untrustAnswer{Revoked: []string{}}
	for _, approval := range gone {
		if approval.Hash != "" && !slices.Contains(a.Revoked, approval.Server) {
			a.Revoked = append(a.Revoked, approval.Server)
		}
	}
	for _, name := range v.names {
		if !slices.Contains(a.Revoked, name) {
			s.Printer.Notice("%s was not approved in this project", name)
		}
	}
	return s.Printer.Answer(a)
}

// decline notes that the entries, as they are now, are not wanted. No old index can adopt them then. It reads the
// configuration without the catalog, which would adopt them for that.
func (v *untrustVerb) decline(ctx context.Context, s *Session) error {
	sources, err := s.catalog().Sources()
	if err != nil {
		return err
	}
	cfg, err := s.App.Env.Load(sources)
	if err != nil {
		return err
	}
	for _, server := range cfg.Servers {
		if server.Project == "" || !v.All && !slices.Contains(v.names, server.Name) {
			continue
		}
		subject, err := trust.Of(server)
		if err == nil {
			err = s.book().Decline(ctx, subject, s.App.Now().UTC())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type untrustAnswer struct {
	Revoked []string `json:"revoked"`
}

func (a *untrustAnswer) WriteText(t *output.Text) {
	if len(a.Revoked) == 0 {
		t.Line("Nothing was approved.")
		return
	}
	t.Line("No longer approved: ", strings.Join(a.Revoked, ", "))
}
