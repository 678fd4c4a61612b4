package verb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/clients"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
)

func configImportSpec() Spec {
	return Spec{
		Name: "config import", New: func() Verb { return new(configImportVerb) },
		Aliases: []Alias{{Words: "import migrate"}},
		Values:  map[string]Completer{"from": fixed(append(clients.Names(), syntropy)...)},
		Use:     "import [NAME...]", Short: "Take servers over from other clients",
		Long: `Import finds the servers that other clients have in files of their own, shows
which it would take and why it skips others, asks, and writes them into the
configuration in force. Without one it makes .mcp.json at the root of the
repository or, outside of a repository, ~/.claude/mcp.json. The other clients'
files are only read. The clients are claude-code, claude-desktop, cursor,
vscode, windsurf, codex, gemini, opencode and zed.

A literal secret is not copied: a variable takes its place, and the answer says
which variable to set in which file. --keep-secrets copies it. Import skips a
server that is there already, under whatever name. If another server has its
name, it gets the client's name behind its own.

Which tools are on and off in Syntropy, ~/.syntropy/tool-state.json, is added to
what is on and off here. --from syntropy takes that alone.`,
		Example: `  mcpl config import --dry-run
  mcpl config import --from cursor,vscode
  mcpl --json config import github --from claude-desktop --yes`,
	}
}

// configImportVerb takes servers over from other clients: mcpl config import.
type configImportVerb struct {
	From                     []string
	To                       string
	Yes, DryRun, KeepSecrets bool
	NoTry                    bool

	plain // the names of servers, none for all
}

func (v *configImportVerb) Flags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&v.From, "from", nil, "take servers from this `CLIENT` only; repeatable")
	fs.StringVar(&v.To, "to", "", "write to `FILE` (default: the one in force)")
	fs.BoolVar(&v.Yes, "yes", false, "write without asking")
	fs.BoolVar(&v.DryRun, "dry-run", false, "show what would be taken, write nothing")
	fs.BoolVar(&v.NoTry, "no-try", false, "do not try whether the servers work")
	fs.BoolVar(&v.KeepSecrets, "keep-secrets", false, "copy literal secrets as they are")
}

func (v *configImportVerb) Run(ctx context.Context, s *Session) error {
	p, err := v.plan(s)
	if err != nil {
		return err
	}
	if len(p.of("add")) == 0 && !p.Choice.takes() || v.DryRun {
		return s.Printer.Answer(p)
	}
	if !v.Yes {
		if ok, err := s.consent(ctx, p); !ok || err != nil {
			return err
		}
	}
	if p.Choice.takes() {
		if err := p.Choice.write(ctx, s.States); err != nil {
			return err
		}
	}
	if len(p.of("add")) > 0 {
		if err := v.add(ctx, s, p); err != nil {
			return err
		}
	}
	p.Written = true
	return s.Printer.Answer(p)
}

// plan decides what to take.
func (v *configImportVerb) plan(s *Session) (*importPlan, error) {
	var found []clients.Found
	var looked []clients.Looked
	var err error
	others := slices.DeleteFunc(slices.Clone(v.From), func(name string) bool { return name == syntropy })
	if len(others) > 0 || len(v.From) == 0 {
		if found, looked, err = clients.Find(s.App.Env, others); err != nil {
			return nil, err
		}
	}
	target, err := s.App.Env.Target(s.selection(), v.To)
	if err != nil {
		return nil, err
	}
	p, err := newImportPlan(s.App.Env, target, v.KeepSecrets)
	if err != nil {
		return nil, err
	}
	p.Files = append(p.Files, looked...)
	if err := p.considerAll(found, v.words); err != nil || !v.wantsChoice() {
		return p, err
	}
	p.Choice, err = s.importChoice()
	return p, err
}

// add writes the servers of a plan, and tries them.
func (v *configImportVerb) add(ctx context.Context, s *Session, p *importPlan) (err error) {
	if p.Created, err = p.write(ctx); err != nil {
		return err
	}
	var names []string
	for _, take := range p.of("add") {
		names = append(names, take.Name)
	}
	if err := s.approveWritten(ctx, p.File, names...); err != nil || v.NoTry {
		return err
	}
	return p.try(ctx, s, v.To != "", names)
}

// try tries the servers that were written.
func (p *importPlan) try(ctx context.Context, s *Session, named bool, names []string) error {
	tried, err := s.try(ctx, p.File, named, names)
	for i := range p.Servers {
		if p.Servers[i].Action == "add" {
			p.Servers[i].Tried = tried[p.Servers[i].Name]
		}
	}
	return err
}

func importStep(flag string) fault.Step {
	return fault.Step{Verb: "config import", Args: []string{flag}}
}

// consent asks the person at the terminal whether to write. Without a terminal, a fault says how to consent.
func (s *Session) consent(ctx context.Context, p *importPlan) (bool, error) {
	takes := p.of("add")
	var parts []string
	if len(takes) > 0 {
		parts = append(parts, fmt.Sprintf("%s to %s", humanize.Plural(len(takes), "server"), p.File))
	}
	if p.Choice.takes() {
		parts = append(parts, "what is on and off in Syntropy to "+p.Choice.File)
	}
	what := strings.Join(parts, ", and ")
	if !s.App.InTTY || !s.App.ErrTTY.Is || s.Globals.JSON {
		f := fault.New(fault.ApprovalRequired, "writing "+what+" needs your consent", "").
			Then("See what would be written with", importStep("--dry-run")).Then("Write it with", importStep("--yes"))
		for _, take := range takes {
			f.Trace(fmt.Sprintf("%s from %s", take.Name, take.Client))
		}
		return false, f
	}
	if err := s.Printer.Answer(p); err != nil {
		return false, err
	}
	ok, err := s.Printer.Ask(ctx, s.App.Stdin, "Write "+what+"?")
	if err != nil {
		return false, fault.New(fault.Interrupted, "interrupted; nothing was written", "")
	}
	if !ok {
		s.Printer.Notice("nothing was written")
	}
	return ok, nil
}

// importPlan decides which of the servers found are taken, and as what. It is the answer of config import.
type importPlan struct {
	File    string `json:"file"`
	Why     string `json:"why"`
	Created bool   `json:"created"`
	Written bool   `json:"written"`
	// Choice is what is taken of which tools are on and off; nil if there is nothing.
	Choice *importedChoice `json:"syntropy,omitempty"`
	// Files are the places where other clients may have servers.
	Files   []clients.Looked `json:"files"`
	Servers []importItem     `json:"servers"`
	// Variables take the place of literal secrets.
	Variables []importVariable `json:"variables"`

	env   config.Env
	trial *config.Trial
	keep  bool // literal secrets
	// names are in use in the target. prints are the names of its servers by their fingerprints.
	names  map[string]bool
	prints map[string]string
	put    string // the environment file for variables
}

// newImportPlan returns a plan that takes nothing yet.
func newImportPlan(env config.Env, target *config.Target, keep bool) (*importPlan, error) {
	p := &importPlan{File: target.Path, Why: target.Why, Servers: []importItem{}, Variables: []importVariable{},
		Files: []clients.Looked{},
		env:   env, trial: env.Trial(target), keep: keep, names: map[string]bool{}, prints: map[string]string{},
		put: env.WhereToPut(target.Sources)}
	src := *target.Sources
	empty := func(f config.Source) bool { return f.Size == 0 } // a file that the plan fills
	src.Configs = slices.DeleteFunc(slices.Clone(src.Configs), empty)
	cfg, err := env.Load(&src)
	if err != nil {
		return nil, err
	}
	for _, server := range cfg.Servers {
		p.names[server.Name] = true
		p.prints[server.Fingerprint()] = server.Name
	}
	for _, problem := range cfg.Problems {
		p.names[problem.Server] = true // of an entry that cannot be used
	}
	return p, nil
}

// considerAll considers the servers of other clients, all or only those of some names, which must exist.
func (p *importPlan) considerAll(found []clients.Found, names []string) error {
	for _, f := range found {
		if f.File != p.File && (len(names) == 0 || slices.Contains(names, f.Name)) {
			p.Servers = append(p.Servers, p.consider(f))
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(found, func(f clients.Found) bool { return f.Name == name }) {
			return fault.New(fault.ServerNotFound, fmt.Sprintf("no client has a server %q", name), "").
				Then("See what there is with", importStep("--dry-run"))
		}
	}
	return nil
}

// consider decides whether and how to take one server, and why not.
func (p *importPlan) consider(f clients.Found) importItem {
	item := importItem{Name: f.Name, Client: f.Client, File: f.File, Line: f.Line, Action: "skip", Reason: f.Skip,
		Notes: f.Notes}
	if f.Skip != "" {
		return item
	}
	wanted := allowedName(f.Name)
	plain, err := p.trial.Server(wanted, f.Entry)
	if err != nil {
		item.Reason = fault.From(err).Message
		return item
	}
	item.show(plain)
	if p.there(&item, plain) {
		return item
	}
	for n := 1; ; n++ {
		name := candidate(wanted, f.Client, n)
		lifted, literals := p.trial.Lift(name, f.Entry)
		if p.keep {
			lifted = f.Entry
		}
		server, err := p.trial.Server(name, lifted)
		if err != nil {
			item.Reason = fault.From(err).Message
			return item
		}
		if p.there(&item, server) {
			p.trial.Keep(literals) // of an earlier import: other servers must not get its variables
			return item
		}
		if p.names[name] {
			continue
		}
		item.Action, item.Name, item.Literals, item.Kept, item.entry = "add", name, literals, p.keep, lifted
		item.show(server)
		item.Notes = append(item.Notes, unset(server, literals)...)
		if name != f.Name {
			item.Was = f.Name
		}
		p.names[name] = true
		p.prints[plain.Fingerprint()], p.prints[server.Fingerprint()] = name, name
		p.trial.Keep(literals)
		p.addVariables(item)
		return item
	}
}

// there reports whether the target has a server already, and makes that the reason to skip it.
func (p *importPlan) there(item *importItem, server *config.Server) bool {
	name, ok := p.prints[server.Fingerprint()]
	if ok {
		item.Reason = "already there as " + name
	}
	return ok
}

// show keeps the parts of a server that a person may see.
func (i *importItem) show(server *config.Server) {
	display := server.Display()
	i.Display, i.Disabled = &display, server.Disabled
}

// unset returns a note for each variable without a value that the entry of the other client refers to.
func unset(server *config.Server, lifted []config.Literal) []string {
	var notes []string
	for _, m := range server.Missing {
		if !slices.ContainsFunc(lifted, func(l config.Literal) bool { return l.Variable == m.Name }) {
			notes = append(notes, fmt.Sprintf("needs the variable %s (in %s), which is not set", m.Name, m.Where))
		}
	}
	return notes
}

// candidate returns the n-th name for a server, from 1: its own, its own with the client's, then that with a number.
func candidate(name, client string, n int) string {
	switch n {
	case 1:
		return name
	case 2:
		return name + "-" + client
	}
	return fmt.Sprintf("%s-%s-%d", name, client, n-1)
}

// allowedName removes from a name what a server's name may not have here.
func allowedName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '/':
			return '-'
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.TrimLeft(name, "@"))
	if name == "" {
		return "unnamed"
	}
	return name
}

// write puts the servers that are taken into the file, all or none.
func (p *importPlan) write(ctx context.Context) (created bool, err error) {
	takes := p.of("add")
	private := slices.ContainsFunc(takes, func(i importItem) bool { return i.entry.HoldsValues() })
	return p.env.Edit(ctx, p.File, private, func(data []byte) ([]byte, error) {
		for _, take := range takes {
			if data, _, err = config.SetEntry(p.File, data, take.Name, take.entry, false); err != nil {
				return nil, err
			}
		}
		return data, nil
	})
}

// addVariables adds the variables that take the place of a server's literal secrets.
func (p *importPlan) addVariables(i importItem) {
	for _, l := range i.Literals {
		known := func(v importVariable) bool { return v.Name == l.Variable }
		if p.keep || slices.ContainsFunc(p.Variables, known) {
			continue
		}
		v := importVariable{Name: l.Variable, Set: l.Set, Server: i.Name, Where: l.Where, ValueIn: i.File, Put: p.put}
		if "env "+l.Variable == l.Where { // the name was given by whoever knows the service
			v.Get = config.WhereToGet(l.Variable)
		}
		p.Variables = append(p.Variables, v)
	}
}

// importItem is the decision about one server of another client.
type importItem struct {
	Name string `json:"name"`
	// Was is its name there, if that is another one.
	Was    string `json:"was,omitempty"`
	Client string `json:"client"`
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	// Action is "add" or "skip"; Reason is why it is skipped.
	Action string `json:"action"`
	Reason string `json:"reason,omitempty"`
	*config.Display
	Disabled bool             `json:"disabled,omitempty"`
	Literals []config.Literal `json:"literal_secrets,omitempty"`
	// Kept says that the literal secrets are copied as they are.
	Kept  bool     `json:"secrets_kept,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// Tried is what came of trying it, once it is written.
	Tried *trial `json:"tried,omitempty"`
	entry config.Entry
}

// importVariable is a variable that an imported server needs.
type importVariable struct {
	Name   string `json:"name"`
	Set    bool   `json:"set"` // to that value, already
	Server string `json:"server"`
	Where  string `json:"where"`
	// ValueIn is the other client's file that holds the value, Put the environment file to put it into,
	// and Get a page that gives a new one.
	ValueIn string `json:"value_in"`
	Put     string `json:"put"`
	Get     string `json:"get,omitempty"`
}

// of returns the servers with an action.
func (a *importPlan) of(action string) []importItem {
	return slices.DeleteFunc(slices.Clone(a.Servers), func(s importItem) bool { return s.Action != action })
}
