package verb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/auth/login"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
	"github.com/mcp-launchpad/mcpl/pkg/trust"
)

func listSpec() Spec {
	return Spec{
		Name: "list", Group: Tools, New: func() Verb { return &listVerb{listing{verb: "list"}} },
		Early: true, Daemon: UseDaemon,
		Aliases: []Alias{
			{Words: "ls tools servers list-tools list_tools list-servers status ps catalog all tools/list"},
			{Words: "refresh reload update sync index", Args: "--refresh"},
		},
		Complete: completeServer,
		Use:      "list [SERVER]", Short: "List the servers, or the tools of one",
		Long: `List shows each server's state, how many tools it has, about how many tokens
their definitions would cost a model, how many resources and prompts it has,
and when it was last asked. With a server's name it lists the tools of that
server.

States: connected (its tools are known), stale (it failed when last asked; the
tools are from before), error (it failed and no tools are known), disabled,
unknown (not asked yet).`,
		Example: `  mcpl list
  mcpl list github
  mcpl list --refresh`,
	}
}

// listing is the command line of a verb that lists something of all servers or of one.
type listing struct {
	Refresh bool

	verb    string
	servers []string // at most one; none for all
}

func (v *listing) Flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.Refresh, "refresh", false, "ask the servers again")
}

func (v *listing) Parse(words []string) error {
	if v.servers = append(v.servers, words...); len(words) <= 1 {
		return nil
	}
	return fault.New(fault.Usage, fmt.Sprintf("%s takes one server, %q is too much", v.verb, words[1]), "").
		Then("Type", fault.Step{Verb: v.verb, Server: words[0]})
}

// listVerb shows all servers, or one server's tools: mcpl list [SERVER].
type listVerb struct{ listing }

func (v *listVerb) Run(ctx context.Context, s *Session) error {
	if err := s.approveWaiting(ctx, v.servers); err != nil {
		return err
	}
	if len(v.servers) == 0 {
		return v.all(ctx, s)
	}
	return v.one(ctx, s, v.servers[0])
}

// all lists the servers.
func (v *listVerb) all(ctx context.Context, s *Session) error {
	listed, err := s.Engine.List(ctx, v.Refresh)
	if err != nil {
		return err
	}
	a := &listAnswer{now: s.App.Now(), Servers: []serverLine{}, Warnings: listed.Warnings,
		Waiting: s.waiting(listed.Waiting)}
	for _, l := range listed.Servers {
		line := lineOf(l)
		a.Servers = append(a.Servers, line)
		a.Tools += l.On
		if !l.Disabled {
			a.Tokens += l.Tokens
		}
	}
	idle, err := s.idleSwitches(a.Servers)
	if err != nil {
		return err
	}
	a.Warnings = append(a.Warnings, idle...)
	return s.Printer.Answer(a)
}

// idleSwitches says which names in the lists of what is on and off switch nothing although they look as if they were
// about one of these servers. Other names may be about servers of other configurations.
func (s *Session) idleSwitches(servers []serverLine) (warnings []string, err error) {
	for _, t := range s.Tools {
		for _, name := range slices.Concat(t.Enabled, t.Disabled) {
			about := slices.IndexFunc(servers, func(l serverLine) bool { return isAbout(name, l.Name) })
			meant, known, err := s.Engine.Name(name)
			switch {
			case err != nil:
				return nil, err
			case known && (meant == name || len(tool.Unprefixed(name)) > 0):
			case known:
				warnings = append(warnings, fmt.Sprintf("%q switches nothing on or off: it is written %s", name, meant))
			case strings.Contains(name, "*"):
				warnings = append(warnings, fmt.Sprintf("%q switches nothing on or off: patterns are for [[policy]] in "+
					"config.toml", name))
			case about >= 0:
				warnings = append(warnings, fmt.Sprintf("%q switches nothing on or off: %s has nothing of that name. Names are "+
					"SERVER or SERVER/TOOL, in the letters that mcpl list shows", name, servers[about].Name))
			}
		}
	}
	return warnings, nil
}

// isAbout reports whether a name is that of a server or of a tool of it, in whatever case.
func isAbout(name, server string) bool {
	return len(name) >= len(server) && strings.EqualFold(name[:len(server)], server) &&
		(len(name) == len(server) || strings.ContainsAny(name[len(server):len(server)+1], "/.:"))
}

func lineOf(l engine.Listed) serverLine {
	line := serverLine{Name: l.Name, Status: status(l), Tools: l.On, Tokens: l.Tokens, Notes: l.Notes, asked: l.TriedAt,
		ListedAt: l.ListedAt.UTC().Truncate(time.Second)}
	if !l.Disabled {
		line.Resources, line.Prompts, line.Error = l.Resources+l.Templates, l.Prompts, output.InWords(l.Error)
		line.Changed = len(l.Changes)
	}
	return line
}

// status returns the state of a server in a word of the contract.
func status(l engine.Listed) string {
	switch {
	case l.Disabled:
		return "disabled"
	case l.State == index.Listed:
		return "connected"
	case l.Error != nil && l.Error.Type == fault.ApprovalRequired:
		return "waiting"
	case l.State == index.Failed && l.Offers() > 0:
		return "stale"
	case l.State == index.Failed:
		return "error"
	}
	return "unknown"
}

// listAnswer is the answer of list without a server.
type listAnswer struct {
	Servers  []serverLine `json:"servers"`
	Tools    int          `json:"tools"`
	Tokens   int          `json:"tokens"`
	Warnings []string     `json:"warnings,omitempty"`
	// Waiting are the servers that a person has to approve first.
	Waiting []waitingServer `json:"waiting,omitempty"`
	now     time.Time
}

// serverLine is one server of a list.
type serverLine struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Tools  int    `json:"tools"`
	Tokens int    `json:"tokens"`
	// Resources counts templates too.
	Resources int          `json:"resources,omitempty"`
	Prompts   int          `json:"prompts,omitempty"`
	ListedAt  time.Time    `json:"listed_at,omitzero"`
	Notes     []string     `json:"notes,omitempty"`
	Error     *fault.Fault `json:"error,omitempty"`
	// Changed counts what has changed since a person last saw it.
	Changed int `json:"changed,omitempty"`
	asked   time.Time
}

func (a *listAnswer) WriteText(t *output.Text) {
	a.writeServers(t)
	on, up := 0, 0
	for _, s := range a.Servers {
		if s.Status != "disabled" {
			on++
		}
		if s.Status == "connected" || s.Status == "stale" {
			up++
		}
	}
	servers := humanize.Plural(on, "server")
	if up < on {
		servers = fmt.Sprintf("%d of %s", up, servers)
	}
	failures := make(map[string][]serverLine) // the servers that failed in the same way
	for _, s := range a.Servers {
		if s.Error != nil {
			failures[s.failure()] = append(failures[s.failure()], s)
		}
	}
	for _, s := range a.Servers {
		if alike := failures[s.failure()]; s.Error != nil && alike[0].Name == s.Name {
			writeFailure(t, alike)
		}
		for _, note := range s.Notes {
			t.Line()
			t.Line(output.Yellow("note "), output.Bold(s.Name), ": ", note)
		}
	}
	for _, w := range a.Warnings {
		t.Line()
		t.Line(output.Yellow("warning: "), w)
	}
	t.Line()
	t.Wrap("", fmt.Sprintf("%s on %s. Their definitions would cost a model about %s tokens.",
		humanize.Plural(a.Tools, "tool"), servers, humanize.Count(a.Tokens)))
}

// failure returns what went wrong with the server, without its name.
func (s *serverLine) failure() string {
	switch {
	case s.Error == nil:
		return ""
	case s.Status == "waiting":
		return s.Status + " " + s.Name // its help shows what it alone would run
	}
	words := strings.Split(s.Error.Message, " ")
	for i, word := range words {
		if strings.TrimRight(word, ":,.") == s.Name {
			words[i] = strings.Replace(word, s.Name, "SERVER", 1)
		}
	}
	return s.Status + " " + string(s.Error.Type) + " " + strings.Join(words, " ")
}

// writeFailure writes what went wrong with servers that failed in the same way.
func writeFailure(t *output.Text, alike []serverLine) {
	first := alike[0]
	name, message, help, names := first.Name+": ", first.Error.Message, first.Error.Help, []string{}
	if strings.Contains(message, first.Name) {
		name = ""
	}
	for _, s := range alike {
		names = append(names, s.Name)
		help = sharedStart(help, s.Error.Help)
	}
	if help == "" && first.Error.Help != "" {
		help = "For " + first.Name + ": " + first.Error.Help
	}
	t.Line()
	if len(alike) == 1 {
		t.Line(stateSpan(first.Status), " ", output.Bold(name), message)
		t.Wrap("  ", help)
		return
	}
	servers := humanize.Plural(len(alike), "server")
	if rest, ok := strings.CutPrefix(message, first.Name+" "); ok && first.Error.Type == fault.Timeout {
		message = servers + " " + rest
	} else {
		message = servers + " have the same error: " + message
	}
	t.Line(stateSpan(first.Status), " ", message)
	t.Wrap("  ", strings.Join(names, ", "))
	t.Wrap("  ", help)
}

// sharedStart returns the clauses that two texts have in common from their start: an entry's file, without the line.
func sharedStart(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	if n == len(a) && n == len(b) {
		return a
	}
	end := max(strings.LastIndex(a[:n], ", "), strings.LastIndex(a[:n], ". "))
	if end < 0 {
		return ""
	}
	return a[:end] + "."
}

// writeServers writes a line for each server. Resources and prompts have columns if there are any.
func (a *listAnswer) writeServers(t *output.Text) {
	row := dim("SERVER", "STATUS", "TOOLS", "TOKENS")
	more := slices.ContainsFunc(a.Servers, func(s serverLine) bool { return s.Resources+s.Prompts > 0 })
	if more {
		row = append(row, dim("RESOURCES", "PROMPTS")...)
	}
	changed := slices.ContainsFunc(a.Servers, func(s serverLine) bool { return s.Changed > 0 })
	if changed {
		row = append(row, dim("CHANGED")...)
	}
	rows := [][]any{append(row, output.Dim("ASKED"))}
	for _, s := range a.Servers {
		row := []any{output.Bold(s.Name), stateSpan(s.Status), fmt.Sprintf("%5d", s.Tools),
			fmt.Sprintf("%6s", humanize.Count(s.Tokens))}
		if more {
			row = append(row, fmt.Sprintf("%9d", s.Resources), fmt.Sprintf("%7d", s.Prompts))
		}
		if changed {
			row = append(row, output.Yellow(fmt.Sprintf("%7d", s.Changed)))
		}
		rows = append(rows, append(row, humanize.Ago(a.now, s.asked)))
	}
	t.Table("", rows)
}

// heading writes the heading of a part of an answer, behind an empty line.
func heading(t *output.Text, title string, more ...any) {
	t.Line()
	t.Line(append([]any{output.Bold(title)}, more...)...)
}

// facts are the rows of a table of titles and values.
type facts [][]any

// add appends a row, unless the value is empty.
func (f *facts) add(title output.Span, value any) {
	if value != "" {
		*f = append(*f, []any{title, value})
	}
}

// dim returns the heading of a table.
func dim(texts ...string) []any {
	var row []any
	for _, text := range texts {
		row = append(row, output.Dim(text))
	}
	return row
}

// stateSpan returns the state of a server or a login, or the verdict on it, in its colour.
func stateSpan(state string) output.Span {
	switch state {
	case "connected", "ok", string(trust.Approved), string(trust.Trusted),
		string(login.LoggedIn), string(login.Machine), string(login.Static):
		return output.Green(state)
	case "stale", "unknown", "waiting", string(trust.New), string(trust.Changed),
		string(login.CanRenew):
		return output.Yellow(state)
	case "disabled", string(trust.Own), string(login.NotLoggedIn):
		return output.Dim(state)
	}
	return output.Red(state)
}

// others says what a server offers besides tools and how to see it, "" for nothing.
func others(server string, resources, prompts int) string {
	var parts []string
	server = fault.Quote(server)
	if resources > 0 {
		parts = append(parts, humanize.Plural(resources, "resource")+" (mcpl resources "+server+")")
	}
	if prompts > 0 {
		parts = append(parts, humanize.Plural(prompts, "prompt")+" (mcpl prompts "+server+")")
	}
	return strings.Join(parts, " and ")
}

// one lists the tools of a server.
func (v *listVerb) one(ctx context.Context, s *Session, server string) error {
	st, err := s.Engine.ListServer(ctx, server, v.Refresh)
	if err != nil {
		return err
	}
	a := &toolsAnswer{Server: server, Tools: []toolLine{}, Stale: st.Server.State == index.Failed, info: st.Server,
		Resources: st.Server.Resources + st.Server.Templates, Prompts: st.Server.Prompts}
	for _, rec := range st.Tools {
		a.Tools = append(a.Tools, toolLine{Name: rec.Name, Description: rec.Description, Hidden: hiddenIn(rec)})
	}
	a.mark(st.Changes)
	return s.Printer.Answer(a)
}

// toolsAnswer is the answer of list for one server.
type toolsAnswer struct {
	Server    string     `json:"server"`
	Tools     []toolLine `json:"tools"`
	Resources int        `json:"resources,omitempty"`
	Prompts   int        `json:"prompts,omitempty"`
	Stale     bool       `json:"stale,omitempty"`
	// Changed is what has changed beside those tools.
	Changed []otherChange `json:"changed,omitempty"`
	info    index.ServerInfo
}

type toolLine struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Hidden      int      `json:"hidden_characters,omitempty"`
	Changed     *changed `json:"changed,omitempty"`
}

// mark notes what has changed of the tools, and of what is not among them.
func (a *toolsAnswer) mark(changes []pin.Change) {
	for _, c := range changes {
		i := slices.IndexFunc(a.Tools, func(l toolLine) bool { return c.Of == tool.Tool && l.Name == c.Name })
		if i >= 0 {
			a.Tools[i].Changed = changedOf(&c)
			continue
		}
		a.Changed = append(a.Changed, otherChange{string(c.Of), c.Name, *changedOf(&c)})
	}
}

// otherChange is a change of something that is not among the tools of a list: a prompt, the instructions, or a tool
// that is held because it is new.
type otherChange struct {
	Kind string `json:"of,omitempty"` // "" for a tool
	Name string `json:"name,omitempty"`
	changed
}

func (a *toolsAnswer) WriteText(t *output.Text) {
	for i, line := range a.Tools {
		if i > 0 {
			t.Line()
		}
		t.Line(output.Cyan(line.Name), output.Yellow(hiddenMark(line.Hidden)), line.Changed.span())
		if line.Description != "" {
			t.Wrap("  ", line.Description)
		}
	}
	if len(a.Tools) > 0 {
		t.Line()
	}
	t.Line(a.Server, " has ", humanize.Plural(len(a.Tools), "tool"), ", about ", humanize.Count(a.info.Tokens), " tokens.")
	if more := others(a.Server, a.Resources, a.Prompts); more != "" {
		t.Line("It also has ", more)
	}
	for _, c := range a.Changed {
		t.Line(output.Yellow(strings.TrimSpace(c.Kind+" "+c.Name)+": "), c.String())
	}
	if a.Stale {
		t.Line(output.Yellow("They may be out of date: "), a.info.Error.Message)
	}
}
