package verb

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

func configRemoveSpec() Spec {
	return Spec{
		Name: "config remove", New: func() Verb { return new(configRemoveVerb) },
		Aliases:  []Alias{{Words: "remove rm uninstall delete"}},
		Complete: completeServer,
		Use:      "remove NAME", Short: "Take a server out of the configuration",
		Long: `Remove takes a server's entry out of the file that defines it. Comments beside
it stay. To switch a server off and keep its entry, use mcpl disable.`,
		Example: `  mcpl config remove memory
  mcpl config remove memory --to ~/.claude/mcp.json`,
	}
}

// configRemoveVerb takes a server out of the configuration: mcpl config remove NAME.
type configRemoveVerb struct {
	To string

	name string
}

func (v *configRemoveVerb) Flags(fs *pflag.FlagSet) {
	fs.StringVar(&v.To, "to", "", "take it out of `FILE` (default: the one that has it)")
}

func (v *configRemoveVerb) Parse(words []string) error {
	if len(words) != 1 {
		return fault.New(fault.Usage, "config remove takes the name of one server", "Type: mcpl config remove NAME.").
			Then("See the names with", fault.Step{Verb: "config"})
	}
	v.name = words[0]
	return nil
}

func (v *configRemoveVerb) Run(ctx context.Context, s *Session) error {
	target, err := s.App.Env.Target(s.selection(), v.To)
	if err != nil {
		return err
	}
	if !target.Exists {
		if v.To == "" {
			return target.Sources.NoConfig()
		}
		return fault.New(fault.Config, target.Path+" is not there", "Correct the path, or omit --to.")
	}
	cfg, err := s.App.Env.Load(target.Sources)
	if err != nil {
		return err
	}
	file, err := definedIn(cfg, v.name)
	if err != nil {
		return err
	}
	_, err = s.App.Env.Edit(ctx, file, false, func(data []byte) ([]byte, error) {
		return config.RemoveEntry(file, data, v.name)
	})
	if err != nil {
		return err
	}
	a := &removeAnswer{Name: v.name, File: file, Removed: true}
	if cfg, err = s.App.Env.Load(target.Sources); err == nil {
		if other, err := cfg.Server(v.name); err == nil {
			a.Still = other.File
		}
	}
	return s.Printer.Answer(a)
}

// definedIn returns the file that has a server's entry, also if the entry cannot be used.
func definedIn(cfg *config.Config, name string) (string, error) {
	server, err := cfg.Server(name)
	if err == nil {
		return server.File, nil
	}
	for _, p := range cfg.Problems {
		if p.Server == name {
			return p.File, nil
		}
	}
	return "", err
}

type removeAnswer struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	Removed bool   `json:"removed"`
	// Still is another file that defines the server. Its definition is used from now on.
	Still string `json:"still_defined_in,omitempty"`
}

func (a *removeAnswer) WriteText(t *output.Text) {
	t.Line("Removed ", output.Cyan(a.Name), " from ", a.File)
	if a.Still != "" {
		t.Line(output.Yellow("warning: "), a.Still, " defines it too, and that definition is used now")
	}
}
