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
)

func enableSpec() Spec {
	return Spec{
		Name: "enable", Group: Setup, New: func() Verb { return new(switchVerb) },
		Aliases:  []Alias{{Words: "on activate"}},
		Complete: completeNames,
		Use:      "enable NAME...", Short: "Switch servers or tools on",
		Long: `Enable switches servers, or tools written SERVER/TOOL, on. Servers and tools
that are off are not found and cannot be called. With --project the choice is
kept for this project alone. A name that is off everywhere stays off here too.`,
		Example: `  mcpl enable github
  mcpl enable --only github filesystem/read_file
  mcpl enable --all`,
	}
}

func disableSpec() Spec {
	return Spec{
		Name: "disable", Group: Setup, New: func() Verb { return &switchVerb{off: true} },
		Aliases:  []Alias{{Words: "off deactivate"}},
		Complete: completeNames,
		Use:      "disable NAME...", Short: "Switch servers or tools off",
		Long: `Disable switches servers, or tools written SERVER/TOOL, off: they are found
nowhere and cannot be called. With --project they are off in this project alone.`,
		Example: `  mcpl disable playwright
  mcpl disable --project github
  mcpl disable github/delete_repository`,
	}
}

// switchVerb switches servers and tools on or off: mcpl enable|disable NAME...
type switchVerb struct {
	Only, All bool // of enable
	Project   bool

	off   bool
	names []string
}

func (v *switchVerb) Flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.Project, "project", false, "keep the choice for this project alone")
	if v.off {
		return
	}
	fs.BoolVar(&v.Only, "only", false, "switch everything else off")
	fs.BoolVar(&v.All, "all", false, "switch everything on")
}

func (v *switchVerb) Parse(words []string) error {
	v.names = words
	switch {
	case v.All && (v.Only || len(words) > 0):
		return fault.New(fault.Usage, "--all takes neither names nor --only", "").
			Then("Type", fault.Step{Verb: "enable", Args: []string{"--all"}})
	case !v.All && len(words) == 0:
		return fault.New(fault.Usage, "which server or tool?", "Name servers, or tools as SERVER/TOOL.").
			Then("See them with", fault.Step{Verb: "list"})
	}
	return nil
}

// Run edits what is on and off, and answers with the new state.
func (v *switchVerb) Run(ctx context.Context, s *Session) error {
	file := s.States
	if v.Project {
		file = state.ProjectFile(s.App.Env.StateDir(), s.App.Env.Project())
	}
	before, _, err := file.Read()
	if err != nil {
		return err
	}
	names, skipped, err := s.named(v.names, before)
	if err != nil {
		return err
	}
	var after state.Tools
	err = file.Update(ctx, func(t *state.Tools) {
		switch {
		case v.All:
			*t = state.Tools{}
		case v.off:
			t.Disable(names...)
		case v.Only:
			t.Only(names...)
		default:
			t.Enable(names...)
		}
		after = *t
	})
	if err != nil {
		return err
	}
	if !v.off {
		if err := v.sayOff(s, file, names); err != nil {
			return err
		}
	}
	return s.Printer.Answer(&switchAnswer{Enabled: append([]string{}, after.Enabled...), // not null in JSON
		Disabled: append([]string{}, after.Disabled...), Skipped: skipped, Project: file.Project, file: file.Path})
}

// sayOff says what stays off after names were switched on in one file, since another one has it off.
func (v *switchVerb) sayOff(s *Session, changed state.File, names []string) error {
	files, err := state.InForce(s.App.Env.StateDir(), s.App.Env.Dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		if file.Path == changed.Path {
			continue
		}
		t, _, err := file.Read()
		if err != nil {
			return err
		}
		where, flag := "everywhere", ""
		if file.Project != "" {
			where, flag = "in "+file.Project, " --project"
		}
		if v.All && len(t.Enabled)+len(t.Disabled) > 0 {
			s.Printer.Notice("not everything is on %s. Switch it on there with: mcpl enable%s --all", where, flag)
		}
		off := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			server, tool, isTool := strings.Cut(name, "/")
			return isTool && t.Allows(server, tool) || !isTool && t.AllowsServer(server)
		})
		if len(off) > 0 {
			s.Printer.Notice("%s: still off %s. Switch it on there with: mcpl enable%s %s",
				strings.Join(off, ", "), where, flag, strings.Join(off, " "))
		}
	}
	return nil
}

// named splits words into names of servers and tools, written as SERVER or SERVER/TOOL, and unknown
// words. It warns about those; if all words are unknown, it fails. before is what the file has of names.
func (s *Session) named(args []string, before state.Tools) (names, skipped []string, err error) {
	for _, arg := range args {
		name, ok, err := s.Engine.Name(arg)
		switch {
		case err != nil:
			return nil, nil, err
		case ok:
			names = append(names, name)
		case slices.Contains(before.Enabled, arg) || slices.Contains(before.Disabled, arg):
			names = append(names, arg) // of a server that is no longer configured
		default:
			skipped = append(skipped, arg)
		}
	}
	if len(names) == 0 && len(args) > 0 {
		return nil, nil, fault.New(fault.ServerNotFound,
			"no server or tool has one of these names: "+strings.Join(skipped, ", "),
			"Name servers, or tools as SERVER/TOOL. See them with: mcpl list, mcpl list SERVER")
	}
	for _, name := range skipped {
		s.Printer.Notice("%s is not a known server or tool; it is skipped", name)
	}
	return names, skipped, nil
}

// switchAnswer is the answer of enable and disable.
type switchAnswer struct {
	Enabled  []string `json:"enabled"`
	Disabled []string `json:"disabled"`
	Skipped  []string `json:"skipped,omitempty"`
	Project  string   `json:"project,omitempty"`
	file     string
}

func (a *switchAnswer) WriteText(t *output.Text) {
	if a.Project != "" {
		t.Line("In ", output.Cyan(a.Project), ":")
	}
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
