package verb

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

// ConfigAdd puts a server into a configuration file: mcpl config add NAME -- COMMAND ARGS...
type ConfigAdd struct {
	To, URL, Transport, Cwd string
	Env, Headers            []string
	Force                   bool
}

// Flags implements [Verb].
func (v *ConfigAdd) Flags(fs *pflag.FlagSet) {
	fs.StringVar(&v.URL, "url", "", "the `URL` of a server elsewhere, instead of a command")
	fs.StringVar(&v.Transport, "transport", "", "how it is reached, `KIND` http or sse (default http)")
	fs.StringArrayVar(&v.Headers, "header", nil, "send this header, `NAME=VALUE`; repeatable")
	fs.StringArrayVar(&v.Env, "env", nil, "set this variable, `NAME=VALUE`; repeatable")
	fs.StringVar(&v.Cwd, "cwd", "", "start the command in `FOLDER`")
	fs.StringVar(&v.To, "to", "", "write to `FILE` (default: the one in force)")
	fs.BoolVar(&v.Force, "force", false, "replace a server of that name")
}

// addUsage is how the verb is used.
const addUsage = "Type: mcpl config add NAME -- COMMAND ARGS...   or: mcpl config add NAME --url URL"

// Run implements [Verb].
func (v *ConfigAdd) Run(ctx context.Context, s *Session, args []string) error {
	if err := s.live(); err != nil {
		return err
	}
	name, entry, err := v.entry(args)
	if err != nil {
		return err
	}
	target, err := s.App.Env.Target(s.selection(), v.To)
	if err != nil {
		return err
	}
	trial := s.App.Env.Trial(target)
	server, err := trial.Server(name, entry)
	if err != nil {
		return err
	}
	a := &addAnswer{Name: name, File: target.Path, Display: server.Display()}
	a.Created, err = s.App.Env.Edit(ctx, target.Path, entry.HoldsValues(), func(data []byte) ([]byte, error) {
		after, replaced, err := config.SetEntry(target.Path, data, name, entry, v.Force)
		a.Replaced = replaced
		return after, err
	})
	if err != nil {
		return err
	}
	put := s.App.Env.WhereToPut(target.Sources)
	_, literals := trial.Lift(name, entry)
	for _, l := range literals {
		a.Warnings = append(a.Warnings, fmt.Sprintf("%s is a literal secret: it stands in %s now, and in your shell's history. "+
			"Better put %s=... into %s, write ${%s} instead, in single quotes, and add it again with --force",
			l.Where, target.Path, l.Variable, put, l.Variable))
	}
	for _, m := range server.Missing {
		a.Warnings = append(a.Warnings, missingNote(m.Name, put))
	}
	return s.Printer.Answer(a)
}

// missingNote says where a variable without a value belongs, and where to get it.
func missingNote(variable, put string) string {
	note := fmt.Sprintf("%s is not set: add %s=... to %s", variable, variable, put)
	if page := config.WhereToGet(variable); page != "" {
		note += ", get it at " + page
	}
	return note
}

// entry makes an entry of the command line.
func (v *ConfigAdd) entry(args []string) (name string, d config.Entry, err error) {
	usage := func(message string) error { return fault.New(fault.Usage, message, addUsage) }
	if len(args) == 0 {
		return "", d, usage("what is the server to be called?")
	}
	name, words := args[0], args[1:]
	d = config.Entry{URL: v.URL, Cwd: v.Cwd, Transport: config.Transport(v.Transport)}
	switch {
	case len(words) == 0 && v.URL == "":
		return "", d, usage("there is no command and no --url")
	case len(words) > 0 && v.URL != "":
		return "", d, usage("there are both a command and a --url")
	case len(words) > 0 && (v.Transport != "" || len(v.Headers) > 0):
		return "", d, usage("--transport and --header belong to a --url")
	case v.URL != "" && (len(v.Env) > 0 || v.Cwd != ""):
		return "", d, usage("--env and --cwd belong to a command")
	case v.Transport != "" && d.Transport != config.HTTP && d.Transport != config.SSE:
		return "", d, usage(fmt.Sprintf("--transport is http or sse, not %q", v.Transport))
	}
	if len(words) > 0 {
		d.Command, d.Args = words[0], words[1:]
	}
	if d.Env, err = pairs("--env", v.Env); err != nil {
		return "", d, err
	}
	d.Headers, err = pairs("--header", v.Headers)
	return name, d, err
}

// pairs reads NAME=VALUE flags. The last of a name counts. A header may be written as curl has
// it, NAME: VALUE.
func pairs(flag string, texts []string) ([]config.KeyValue, error) {
	var list []config.KeyValue
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if before, after, isHeader := strings.Cut(text, ": "); flag == "--header" && isHeader && !strings.Contains(before, "=") {
			name, value, ok = before, after, true
		}
		if !ok || name == "" {
			// The text may be a secret.
			return nil, fault.New(fault.Usage, flag+" wants NAME=VALUE", fmt.Sprintf("Write it as in: %s 'TOKEN=${TOKEN}'", flag))
		}
		i := 0
		for i < len(list) && list[i].Name != name {
			i++
		}
		if i == len(list) {
			list = append(list, config.KeyValue{Name: name})
		}
		list[i].Value = value
	}
	return list, nil
}

type addAnswer struct {
	Name     string `json:"name"`
	File     string `json:"file"`
	Created  bool   `json:"created"`
	Replaced bool   `json:"replaced"`
	config.Display
	Warnings []string `json:"warnings,omitempty"`
}

// WriteText implements [output.Document].
func (a *addAnswer) WriteText(t *output.Text) {
	done := "Added "
	if a.Replaced {
		done = "Replaced "
	}
	t.Line(done, output.Cyan(a.Name), ": ", a.Command+a.URL)
	where := "In "
	if a.Created {
		where = "In the new file "
	}
	t.Line(output.Dim(where + a.File))
	for _, w := range a.Warnings {
		t.Line(output.Yellow("warning"))
		t.Wrap("  ", w)
	}
	t.Line("Ask it for its tools with: mcpl list ", fault.Quote(a.Name), " --refresh")
}

// ConfigRemove takes a server out of the configuration: mcpl config remove NAME.
type ConfigRemove struct{ To string }

// Flags implements [Verb].
func (v *ConfigRemove) Flags(fs *pflag.FlagSet) {
	fs.StringVar(&v.To, "to", "", "take it out of `FILE` (default: the one that has it)")
}

// Run implements [Verb].
func (v *ConfigRemove) Run(ctx context.Context, s *Session, args []string) error {
	if err := s.live(); err != nil {
		return err
	}
	if len(args) != 1 {
		return fault.New(fault.Usage, "which server is to go? It takes one name", "Type: mcpl config remove NAME. See the names with: mcpl config")
	}
	target, err := s.App.Env.Target(s.selection(), v.To)
	if err != nil {
		return err
	}
	if !target.Exists {
		if v.To == "" {
			return target.Sources.NoConfig()
		}
		return fault.New(fault.Config, target.Path+" is not there", "Correct the path, or leave --to away.")
	}
	cfg, err := s.App.Env.Load(target.Sources)
	if err != nil {
		return err
	}
	file, err := definedIn(cfg, args[0])
	if err != nil {
		return err
	}
	_, err = s.App.Env.Edit(ctx, file, false, func(data []byte) ([]byte, error) {
		return config.RemoveEntry(file, data, args[0])
	})
	if err != nil {
		return err
	}
	a := &removeAnswer{Name: args[0], File: file, Removed: true}
	if cfg, err = s.App.Env.Load(target.Sources); err == nil {
		if other, err := cfg.Server(args[0]); err == nil {
			a.Still = other.File
		}
	}
	return s.Printer.Answer(a)
}

// definedIn returns the file in which a server's entry stands, also one that cannot be used.
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
	// Still is another file whose definition is used now.
	Still string `json:"still_defined_in,omitempty"`
}

// WriteText implements [output.Document].
func (a *removeAnswer) WriteText(t *output.Text) {
	t.Line("Removed ", output.Cyan(a.Name), " from ", a.File)
	if a.Still != "" {
		t.Line(output.Yellow("warning: "), a.Still, " defines it too, and that definition is used now")
	}
}
