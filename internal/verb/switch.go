package verb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/state"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Enable switches servers and tools on: mcpl enable NAME...
type Enable struct {
	Only, All bool
}

// Flags implements [Verb].
func (v *Enable) Flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.Only, "only", false, "switch everything else off")
	fs.BoolVar(&v.All, "all", false, "switch everything on")
}

// Run implements [Verb].
func (v *Enable) Run(ctx context.Context, s *Session, args []string) error {
	switch {
	case v.All && (v.Only || len(args) > 0):
		return fault.New(fault.Usage, "--all stands alone", "Type: mcpl enable --all")
	case v.All:
		return s.update(ctx, nil, func(t *state.Tools, _ []string) { *t = state.Tools{} })
	case v.Only:
		return s.update(ctx, args, func(t *state.Tools, names []string) { t.Only(names...) })
	}
	return s.update(ctx, args, func(t *state.Tools, names []string) { t.Enable(names...) })
}

// Disable switches servers and tools off: mcpl disable NAME...
type Disable struct{}

// Flags implements [Verb].
func (v *Disable) Flags(*pflag.FlagSet) {}

// Run implements [Verb].
func (v *Disable) Run(ctx context.Context, s *Session, args []string) error {
	return s.update(ctx, args, func(t *state.Tools, names []string) { t.Disable(names...) })
}

// update changes the state by those of the names that exist. Names that stand for nothing are
// warned about and skipped; nil names ask for no check.
func (s *Session) update(ctx context.Context, args []string, edit func(*state.Tools, []string)) error {
	if err := s.live(); err != nil {
		return err
	}
	var names, skipped []string
	if args != nil {
		var err error
		if names, skipped, err = s.known(args); err != nil {
			return err
		}
		for _, name := range skipped {
			s.Printer.Notice("%s is no server and no tool that is known; it is skipped", name)
		}
	}
	if len(names) == 0 && (args == nil || len(args) > 0) && len(skipped) > 0 {
		return fault.New(fault.ServerNotFound, "none of these names is known: "+strings.Join(skipped, ", "),
			"Name servers, or tools as SERVER/TOOL. See them with: mcpl list, mcpl list SERVER")
	}
	if len(args) == 0 && args != nil {
		return fault.New(fault.Usage, "which server or tool?", "Name servers, or tools as SERVER/TOOL. See them with: mcpl list")
	}
	var after state.Tools
	notice, err := s.States.Update(ctx, func(t *state.Tools) {
		edit(t, names)
		after = *t
	})
	if notice != "" {
		s.Printer.Notice("%s", notice)
	}
	if err != nil {
		return err
	}
	return s.Printer.Answer(&switchAnswer{
		Enabled: orEmpty(after.Enabled), Disabled: orEmpty(after.Disabled), Skipped: skipped, file: s.States.Path})
}

// known splits names into those that a server or one of its cached tools has, written as
// SERVER or SERVER/TOOL, and the rest.
func (s *Session) known(args []string) (names, skipped []string, err error) {
	servers, err := s.Engine.ServerNames()
	if err != nil {
		return nil, nil, err
	}
	sn, err := s.Engine.Cached()
	if err != nil {
		return nil, nil, err
	}
	for _, arg := range args {
		if slices.Contains(servers, arg) {
			names = append(names, arg)
			continue
		}
		server, name, isTool := strings.Cut(arg, "/")
		ok := false
		if isTool && sn != nil {
			if _, ok, err = sn.Find(tool.Ref{Server: server, Name: name}); err != nil {
				return nil, nil, err
			}
		}
		if ok {
			names = append(names, arg)
		} else {
			skipped = append(skipped, arg)
		}
	}
	return names, skipped, nil
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

type switchAnswer struct {
	Enabled  []string `json:"enabled"`
	Disabled []string `json:"disabled"`
	Skipped  []string `json:"skipped,omitempty"`
	file     string
}

// WriteText implements [output.Document].
func (a *switchAnswer) WriteText(t *output.Text) {
	switch {
	case len(a.Enabled) == 0 && len(a.Disabled) == 0:
		t.Line("Everything is on.")
	case len(a.Enabled) == 0:
		t.Line(fmt.Sprintf("Off: %s. Everything else is on.", strings.Join(a.Disabled, ", ")))
	case len(a.Disabled) == 0:
		t.Line(fmt.Sprintf("On: %s. Everything else is off.", strings.Join(a.Enabled, ", ")))
	default:
		t.Line(fmt.Sprintf("On: %s, except what is off: %s. Everything else is off.",
			strings.Join(a.Enabled, ", "), strings.Join(a.Disabled, ", ")))
	}
	t.Line(output.Dim("Kept in " + a.file))
}
