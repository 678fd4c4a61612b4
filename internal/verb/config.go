package verb

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/state"
)

func configSpec() Spec {
	return Spec{
		Name: "config", Group: Setup, New: func() Verb { return new(configVerb) },
		Aliases: []Alias{{Words: "cfg settings configuration env"}},
		Use:     "config", Short: "Show, check and change the configuration",
		Long: `Config shows which files are used and why, where each server comes from, which
variables are set or missing (never their values), the settings in force, and
every problem found.

Its own verbs change a configuration file. Comments, order and indentation stay.
The file is replaced as a whole or not at all, after the new text was parsed and
compared with the old one.`,
		Example: `  mcpl config
  mcpl --json config --config other.json
  mcpl config import --dry-run
  mcpl config add memory -- npx -y @modelcontextprotocol/server-memory`,
	}
}

// configVerb shows what the configuration says and where it comes from: mcpl config.
type configVerb struct{ plain }

func (v *configVerb) Parse(words []string) error {
	if len(words) > 0 {
		return fault.New(fault.Usage, fmt.Sprintf("unknown config command %q", words[0]),
			"Type: mcpl config, or one of: mcpl config import, mcpl config add, mcpl config remove")
	}
	return nil
}

func (v *configVerb) Run(_ context.Context, s *Session) error {
	cfg, err := s.catalog().Config()
	if err != nil {
		return err
	}
	cache, err := s.catalog().Folder()
	if err != nil {
		return err
	}
	a := &configAnswer{Looked: cfg.Sources.Looked, Servers: []configServer{}, Settings: s.settings, Cache: cache,
		Variables: append([]config.Variable{}, cfg.Variables...), Problems: append([]config.Problem{}, cfg.Problems...),
		State: s.States.Path, SettingsFile: s.App.Env.SettingsFile()}
	states, err := state.InForce(s.App.Env.StateDir(), s.App.Env.Dir)
	if err != nil {
		return err
	}
	for _, file := range states[1:] {
		a.ProjectState = append(a.ProjectState, file.Path)
	}
	for _, server := range cfg.Servers {
		line := configServer{Name: server.Name, File: server.File, Line: server.Line, Display: server.Display(),
			Disabled: server.Disabled || !s.Tools.AllowsServer(server.Name)}
		for _, m := range server.Missing {
			line.Missing = append(line.Missing, m.Name)
		}
		a.Servers = append(a.Servers, line)
	}
	return s.Printer.Answer(a)
}

type configAnswer struct {
	Looked       []config.Looked   `json:"files"`
	Servers      []configServer    `json:"servers"`
	Variables    []config.Variable `json:"variables"`
	Problems     []config.Problem  `json:"problems"`
	Settings     []config.Setting  `json:"settings"`
	SettingsFile string            `json:"settings_file"`
	State        string            `json:"state_file"`
	ProjectState []string          `json:"project_state_files,omitempty"`
	Cache        string            `json:"cache"`
}

type configServer struct {
	Name     string   `json:"name"`
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Disabled bool     `json:"disabled,omitempty"`
	Missing  []string `json:"missing,omitempty"`
	config.Display
}

func (a *configAnswer) WriteText(t *output.Text) {
	t.Line(output.Bold("Files"), output.Dim("  in the order they are looked for"))
	var rows [][]any
	for _, l := range a.Looked {
		mark := output.Dim("-")
		if l.Used {
			mark = output.Green("used")
		}
		rows = append(rows, []any{mark, l.Path, output.Dim(l.Note)})
	}
	t.Table("  ", rows)
	heading(t, "Servers")
	rows = nil
	for _, s := range a.Servers {
		what := cmp.Or(s.Command, s.URL)
		if s.Disabled {
			what += " (disabled)"
		}
		rows = append(rows, []any{output.Cyan(s.Name), output.Dim(place(s.File, s.Line)), what})
	}
	t.Table("  ", rows)
	a.writeVariables(t)
	a.writeProblems(t)
	heading(t, "Settings", output.Dim("  "+a.SettingsFile))
	rows = nil
	for _, s := range a.Settings {
		rows = append(rows, []any{s.Name, s.Value, output.Dim(s.From)})
	}
	t.Table("  ", rows)
	heading(t, "Kept in")
	rows = [][]any{{"index", a.Cache}, {"enabled, disabled", a.State}}
	for _, file := range a.ProjectState {
		rows = append(rows, []any{"in this project", file})
	}
	t.Table("  ", rows)
}

// place returns the file and line of something in it, without the line if that is zero.
func place(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

func (a *configAnswer) writeVariables(t *output.Text) {
	if len(a.Variables) == 0 {
		return
	}
	heading(t, "Variables")
	var rows [][]any
	for _, v := range a.Variables {
		state, from := output.Green("set"), v.From
		if !v.Set {
			state, from = output.Yellow("not set"), ""
		}
		rows = append(rows, []any{v.Name, state, from, output.Dim("for " + strings.Join(v.Servers, ", "))})
	}
	t.Table("  ", rows)
}

func (a *configAnswer) writeProblems(t *output.Text) {
	if len(a.Problems) == 0 {
		return
	}
	heading(t, "Problems")
	for _, p := range a.Problems {
		style := output.Yellow
		if p.Severity == config.Error {
			style = output.Red
		}
		t.Line("  ", style(string(p.Severity)), " ", place(p.File, p.Line))
		t.Wrap("    ", p.Message)
		if p.Fix != "" {
			t.Wrap("    ", p.Fix)
		}
	}
}
