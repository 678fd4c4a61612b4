package verb

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/clients"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

// claudeAI is a client that reaches servers by their address only.
const claudeAI = "claude.ai"

func serveInstallSpec() Spec {
	return Spec{
		Name: "serve install", New: func() Verb { return new(serveInstallVerb) }, Tools: true,
		Complete: completeInstall,
		Values:   map[string]Completer{"expose": fixed("search", "activate", "all")},
		Use:      "install CLIENT", Short: "Put mcpl serve into a client's configuration",
		Long: `Install puts an entry "mcpl" into the file that a client has its servers in. It
shows what would change, asks, and writes: all else in the file stays byte for
byte. The clients are claude-code, claude-desktop, cursor, vscode and codex, and
the file is that of their user; for claude.ai it says what to type there.

The entry has the whole path of mcpl. If it is typed in a project, it also has
the folder and the configuration of that, since clients start servers in folders
of their own. A server that waits for an approval is approved first.`,
		Example: `  mcpl serve install claude-desktop
  mcpl serve install cursor --expose activate
  mcpl --json serve install codex --yes
  mcpl serve install vscode --to .vscode/mcp.json`,
	}
}

// completeInstall completes the one client.
func completeInstall(_ *Names, args []string) ([]string, bool) {
	if len(args) > 0 {
		return nil, false
	}
	return append(clients.OutletNames(), claudeAI), false
}

// serveInstallVerb puts mcpl serve into a client's file: mcpl serve install CLIENT.
type serveInstallVerb struct {
	Expose, To string
	Yes        bool

	client string
}

func (v *serveInstallVerb) Flags(fs *pflag.FlagSet) {
	fs.StringVar(&v.Expose, "expose", "", "show tools by `MODE`: search, activate, all")
	fs.StringVar(&v.To, "to", "", "write to `FILE` (default: that of the client's user)")
	fs.BoolVar(&v.Yes, "yes", false, "write without asking")
}

func (v *serveInstallVerb) Parse(words []string) error {
	names := append(clients.OutletNames(), claudeAI)
	if len(words) != 1 {
		return fault.New(fault.Usage, "serve install takes the name of one client", "Name one of: "+strings.Join(names, ", "))
	}
	v.client = words[0]
	if !slices.Contains(names, v.client) {
		f := fault.New(fault.Usage, fmt.Sprintf("unknown client %q", v.client), "Name one of: "+strings.Join(names, ", "))
		f.Suggestions = nearestClient(v.client, names)
		if len(f.Suggestions) > 0 {
			f.Help = fmt.Sprintf("Did you mean %s? %s", f.Suggestions[0], f.Help)
		}
		return f
	}
	if v.Expose != "" && !slices.Contains(gateway.Exposures(), gateway.Exposure(v.Expose)) {
		return fault.New(fault.Usage, fmt.Sprintf("unknown exposure %q", v.Expose), "Use --expose search, activate or all.")
	}
	return nil
}

// nearestClient returns the clients that a word may mean: those that it begins, or that differ by few letters.
func nearestClient(word string, names []string) []string {
	word = strings.ToLower(strings.NewReplacer(" ", "-", "_", "-").Replace(word))
	return fault.Nearest(word, names, func(name string) int {
		d := fault.Edits(word, name)
		if d > max(2, len(word)/3) && (word == "" || !strings.HasPrefix(name, word)) {
			return -1
		}
		return d
	})
}

func (v *serveInstallVerb) Run(ctx context.Context, s *Session) error {
	if v.client == claudeAI {
		return s.Printer.Answer(&installAnswer{Client: claudeAI, Next: "Claude connects from the internet: serve mcpl over " +
			"HTTP behind a proxy that speaks TLS, and make a token with: mcpl serve token add claude. Then, at " +
			"https://claude.ai/customize/connectors, add a custom connector with the address " +
			"https://YOUR.HOST/api/mcp/TOKEN, and leave its OAuth fields empty."})
	}
	outlet, err := clients.OutletOf(s.App.Env, v.client, v.To)
	if err != nil {
		return err
	}
	program, err := ownPath()
	if err != nil {
		return err
	}
	way, err := s.serveHere()
	if err != nil {
		return err
	}
	if v.Expose != "" {
		way.args = append(way.args, "--expose", v.Expose)
	}
	a := &installAnswer{Client: v.client, File: outlet.Path, Notes: way.notes, Next: outlet.Next}
	plan := func(data []byte) (*clients.Edit, error) { return outlet.Plan(data, program, way.args) }
	before, err := config.ReadToEdit(outlet.Path)
	if err != nil {
		return err
	}
	edit, err := plan(before)
	if err != nil {
		return err
	}
	a.Entry, a.Diff, a.Changed = &edit.Entry, edit.Diff, len(edit.Diff) > 0
	if !a.Changed {
		return s.Printer.Answer(a)
	}
	if !v.Yes {
		if ok, err := v.consent(ctx, s, a); !ok || err != nil {
			return err
		}
	}
	a.Created, err = s.App.Env.Edit(ctx, outlet.Path, true, func(data []byte) ([]byte, error) {
		now, err := plan(data)
		switch {
		case err != nil:
			return nil, err
		case !slices.Equal(now.Diff, a.Diff):
			return nil, fault.New(fault.Config, outlet.Path+" has changed meanwhile; nothing was written",
				"Type the command again: it shows what would change now.")
		}
		return now.After, nil
	})
	if err != nil {
		return err
	}
	a.Written = true
	return s.Printer.Answer(a)
}

// consent asks the person at the terminal whether to write. Without a terminal, a fault says how to consent.
func (v *serveInstallVerb) consent(ctx context.Context, s *Session, a *installAnswer) (bool, error) {
	if !s.App.InTTY || !s.App.ErrTTY.Is || s.Globals.JSON {
		args := []string{v.client, "--yes"}
		if v.Expose != "" {
			args = append(args, "--expose", v.Expose)
		}
		if v.To != "" {
			args = append(args, "--to", v.To)
		}
		f := fault.New(fault.ApprovalRequired, fmt.Sprintf("writing to %s needs your consent", a.File), "").
			Then("Write it with", fault.Step{Verb: "serve install", Args: args})
		for _, line := range append(slices.Clone(a.Diff), a.Notes...) {
			f.Trace(line)
		}
		return false, f
	}
	if err := s.Printer.Answer(a); err != nil {
		return false, err
	}
	ok, err := s.Printer.Ask(ctx, s.App.Stdin, "Write this to "+a.File+"?")
	if err != nil {
		return false, fault.New(fault.Interrupted, "interrupted; nothing was written", "")
	}
	if !ok {
		s.Printer.Notice("nothing was written")
	}
	return ok, nil
}

// ownPath returns the absolute path of this program. If the shell finds it under a name of its own, such as the link of
// a package manager, that is the path: it stays when the program is replaced by a newer one.
func ownPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fault.New(fault.Config, "the path of mcpl is not known", "Put it into a folder of PATH.").Because(err)
	}
	if named, err := exec.LookPath("mcpl"); err == nil && filepath.IsAbs(named) && isSameFile(named, self) {
		return named, nil
	}
	if slices.ContainsFunc(strings.Split(self, string(filepath.Separator)),
		func(dir string) bool { return strings.HasPrefix(dir, "go-build") }) {
		return "", fault.New(fault.Config, self+" is a build of go run, which is removed when it ends",
			"Install mcpl first, and use that: go install ./cmd/mcpl")
	}
	return self, nil
}

func isSameFile(one, two string) bool {
	a, err := os.Stat(one)
	if err != nil {
		return false
	}
	b, err := os.Stat(two)
	return err == nil && os.SameFile(a, b)
}

// way is how mcpl serve finds, from any folder, what it finds in this one.
type way struct {
	args []string
	// notes say what will be different then.
	notes []string
}

// installAnswer is the answer of serve install.
type installAnswer struct {
	Client string `json:"client"`
	// File is empty for a client that has none.
	File    string         `json:"file,omitempty"`
	Entry   *config.Launch `json:"entry,omitempty"`
	Changed bool           `json:"changed"`
	Written bool           `json:"written"`
	Created bool           `json:"created"`
	Diff    []string       `json:"diff,omitempty"`
	Notes   []string       `json:"notes,omitempty"`
	// Next says what a person does then.
	Next string `json:"next"`
}

// WriteText implements [output.Document].
func (a *installAnswer) WriteText(t *output.Text) {
	switch {
	case a.File == "":
		t.Wrap("", a.Next)
		return
	case !a.Changed:
		t.Line("There is nothing to change in ", output.Cyan(a.File))
		return
	case a.Written:
		t.Line("Wrote the entry to ", output.Cyan(a.File))
		t.Wrap("", a.Next)
		return
	}
	t.Line(output.Cyan(a.File))
	for _, line := range a.Diff {
		style := output.Dim
		switch line[0] {
		case '+':
			style = output.Green
		case '-':
			style = output.Red
		}
		t.Line("  ", style(line))
	}
	for _, note := range a.Notes {
		t.Wrap("", note)
	}
}
