package verb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/hidden"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/trust"
)

func trustSpec() Spec {
	return Spec{
		Name: "trust", Group: Setup, New: func() Verb { return new(trustVerb) },
		Aliases:  []Alias{{Words: "allow"}},
		Complete: completeConfigured,
		Use:      "trust [SERVER|SERVER/TOOL...]", Short: "Approve servers that come with a project",
		Long: `A configuration that lies in a project can name any program. mcpl starts and
contacts its servers only after a person has approved them. Trust shows what
each one runs and gets, and asks. Without a name it asks about all that wait.

An approval covers the entry as written, and the files of the repository that
it names. If one of them changes, mcpl asks again. Servers of your own files
need no approval.

Trust also asks about tools that their server has made less safe since you saw
them. --diff shows all that has changed. --lock writes mcpl.lock, the hashes of
what the servers of the project offer, for "doctor --locked".`,
		Example: `  mcpl trust
  mcpl trust github
  mcpl trust --list
  mcpl trust github --diff
  mcpl trust github --yes 3f1c0a9b72de
  mcpl trust github/create_issue
  mcpl trust --lock`,
	}
}

// trustVerb approves servers that come with a project: mcpl trust [SERVER...].
type trustVerb struct {
	All, List, Diff, Lock bool
	Yes                   string

	names []string
}

func (v *trustVerb) Flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.All, "all", false, "ask once for all servers that wait")
	fs.BoolVar(&v.List, "list", false, "show how each server stands, and change nothing")
	fs.BoolVar(&v.Diff, "diff", false, "show what has changed since the approval, and of tools")
	fs.BoolVar(&v.Lock, "lock", false, "write mcpl.lock, the hashes of what the servers offer")
	fs.StringVar(&v.Yes, "yes", "", "approve the server whose `HASH` was shown, without a question")
}

func (v *trustVerb) Parse(words []string) error {
	v.names = words
	switch {
	case v.All && len(words) > 0:
		return fault.New(fault.Usage, "--all takes no names", "").
			Then("Type", fault.Step{Verb: "trust", Args: []string{"--all"}})
	case len(v.modes()) > 1:
		return fault.New(fault.Usage, strings.Join(v.modes(), " and ")+" do not go together", "").
			Then("Type", fault.Step{Verb: "trust", Args: append(v.modes()[:1], words...)})
	case v.Yes != "" && len(words) != 1:
		return fault.New(fault.Usage, "--yes takes the name of one server or tool", "").
			Then("Type", fault.Step{Verb: "trust", Server: "SERVER", Args: []string{"--yes", "HASH"}})
	case v.Yes != "" && (len(v.Yes) < trust.Short || strings.Trim(v.Yes, "0123456789abcdef") != ""):
		message := fmt.Sprintf("--yes takes the hash that was shown, at least %d digits", trust.Short)
		return fault.New(fault.Usage, message, "").
			Then("See it with", fault.Step{Verb: "trust", Server: words[0], Args: []string{"--list"}})
	}
	return nil
}

// modes returns the flags of the command line of which one can be used at a time.
func (v *trustVerb) modes() (flags []string) {
	for _, f := range []struct {
		name string
		set  bool
	}{{"--list", v.List}, {"--diff", v.Diff}, {"--lock", v.Lock}, {"--all", v.All}, {"--yes", v.Yes != ""}} {
		if f.set {
			flags = append(flags, f.name)
		}
	}
	return flags
}

func (v *trustVerb) Run(ctx context.Context, s *Session) error {
	if v.Lock {
		return s.lock(ctx, v.names)
	}
	servers, tools, err := s.splitNames(v.names)
	if err != nil {
		return err
	}
	var list []*trustStatus
	if tools == nil || servers != nil {
		if list, err = s.projectStatuses(servers); err != nil {
			return err
		}
	}
	if v.List || v.Diff {
		return s.trustShow(ctx, v, list, servers, tools)
	}
	list = withHash(list, v.Yes)
	switch waiting := slices.DeleteFunc(slices.Clone(list), func(l *trustStatus) bool { return !l.Waits() }); {
	case v.Yes != "" && len(list) == 1 && (len(waiting) > 0 || strings.HasPrefix(list[0].Hash, v.Yes)):
		return s.trustHash(ctx, list[0], v.Yes)
	case len(waiting) == 0:
		return s.trustDefinitions(ctx, v, servers, tools)
	default:
		return s.trustServers(ctx, waiting, v.All)
	}
}

// trustHash approves a server that has the hash, and says so if it is approved already.
func (s *Session) trustHash(ctx context.Context, l *trustStatus, hash string) error {
	switch {
	case !strings.HasPrefix(l.Hash, hash):
		return fault.New(fault.ApprovalRequired, l.Server+" is not what that hash stands for",
			"It may have changed meanwhile.").On(l.Server, "").
			Then("See what it is now with", fault.Step{Verb: "trust", Server: l.Server, Args: []string{"--list"}})
	case l.Waits():
		return s.approve(ctx, []*trustStatus{l})
	}
	s.Printer.Notice("%s was approved already", l.Server)
	return s.Printer.Answer(&trustAnswer{Servers: []*trustStatus{l}, approved: true})
}

// trustServers asks the person at the terminal about servers that wait.
func (s *Session) trustServers(ctx context.Context, waiting []*trustStatus, once bool) error {
	approved, isPerson, err := s.askServers(ctx, waiting, once)
	if err == nil && !isPerson {
		err = noPerson(waiting)
	}
	if err != nil {
		return err
	}
	s.declined(len(waiting) - len(approved))
	return s.Printer.Answer(&trustAnswer{Servers: approved, approved: true})
}

// declined makes the exit code say that the person did not approve all that was asked about.
func (s *Session) declined(n int) {
	if n > 0 {
		s.code = fault.ApprovalRequired.ExitCode()
	}
}

// approve records approvals and answers with them.
func (s *Session) approve(ctx context.Context, list []*trustStatus) error {
	if err := s.record(ctx, list); err != nil {
		return err
	}
	return s.Printer.Answer(&trustAnswer{Servers: list, approved: true})
}

// askServers asks the person at the terminal about servers, one by one or once for all, and records the answers. It
// returns those that were approved. isPerson is false if no one is at a terminal.
func (s *Session) askServers(ctx context.Context, list []*trustStatus, once bool) (
	approved []*trustStatus, isPerson bool, err error) {
	isPerson, err = askEach(ctx, s, list, once, func(l *trustStatus, yes bool) error {
		if !yes {
			return s.book().Decline(ctx, l.subject, s.App.Now().UTC())
		}
		approved = append(approved, l)
		return s.record(ctx, []*trustStatus{l})
	})
	return approved, isPerson, err
}

func (s *Session) record(ctx context.Context, list []*trustStatus) error {
	approvals := make([]trust.Approval, len(list))
	for i, l := range list {
		approvals[i] = l.subject.Approval(s.App.Now().UTC())
		l.State = trust.Approved
	}
	if len(approvals) == 0 {
		return nil
	}
	return s.book().Approve(ctx, approvals...)
}

func (s *Session) book() trust.Book { return trust.BookIn(s.App.Env.StateDir()) }

// trustStatus is how one server stands, in an answer.
type trustStatus struct {
	Server string      `json:"server"`
	State  trust.State `json:"state"`
	Hash   string      `json:"hash,omitempty"`
	File   string      `json:"file"`
	Line   int         `json:"line"`
	// Terms are what is or would be approved. Changes are how they differ from what was approved before.
	Terms   []string  `json:"terms,omitempty"`
	Hidden  int       `json:"hidden_characters,omitempty"` // in Terms
	Changes []string  `json:"changes,omitempty"`
	Since   time.Time `json:"approved,omitzero"`
	Problem string    `json:"problem,omitempty"`

	declined bool
	subject  trust.Subject
	wanted   *fault.Approval // as errors have it; nil for a server of the user's own
}

func (l *trustStatus) ref() string { return l.Server }

// Waits reports whether the server needs an approval.
func (l *trustStatus) Waits() bool { return l.State == trust.New || l.State == trust.Changed }

// projectStatuses says how servers of the configuration and of the tools.toml stand. If names is empty, all of them.
func (s *Session) projectStatuses(names []string) ([]*trustStatus, error) {
	list, err := s.trustStatuses(names)
	if err != nil {
		return list, err
	}
	tools, err := s.toolsConfig()
	if err != nil || tools == nil {
		return list, err
	}
	more, err := s.trustStatusesOf(slices.DeleteFunc(tools.Servers, func(server *config.Server) bool {
		return len(names) > 0 && !slices.Contains(names, server.Name)
	}))
	return append(list, more...), err
}

// withHash returns the servers whose hash begins so, or all of them if there is none: then the first one is not meant.
func withHash(list []*trustStatus, hash string) []*trustStatus {
	i := slices.IndexFunc(list, func(l *trustStatus) bool { return strings.HasPrefix(l.Hash, hash) })
	if hash == "" || i < 0 {
		return list
	}
	return list[i : i+1]
}

// trustStatuses says how servers of the configuration stand. If names is empty, all of them.
func (s *Session) trustStatuses(names []string) ([]*trustStatus, error) {
	cfg, err := s.catalog().Config()
	if err != nil {
		return nil, err
	}
	servers := cfg.Servers
	if len(names) > 0 {
		servers = nil
	}
	for _, name := range names {
		server, err := cfg.Server(name)
		if err != nil {
			return nil, err
		}
		servers = append(servers, server)
	}
	return s.trustStatusesOf(servers)
}

// trustStatusesOf says how servers stand. It fails if the approvals cannot be read.
func (s *Session) trustStatusesOf(servers []*config.Server) (list []*trustStatus, err error) {
	list = make([]*trustStatus, len(servers))
	for i, server := range servers {
		if list[i], err = s.trustStatusOf(server); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// trustStatusOf says how a server stands. It fails if the approvals cannot be read.
func (s *Session) trustStatusOf(server *config.Server) (*trustStatus, error) {
	st, err := s.judge.Status(server)
	if fault.Is(err, fault.Config) {
		return nil, err
	}
	l := &trustStatus{Server: server.Name, State: st.State, Hash: st.Subject.Hash, File: server.File, Line: server.Line,
		Terms: st.Subject.Terms, declined: st.Declined, subject: st.Subject, wanted: st.Wanted(server)}
	for _, term := range l.Terms {
		l.Hidden += hidden.Count(term)
	}
	if err != nil {
		l.Problem = err.Error()
	}
	if b := st.Before; b != nil && b.Hash != "" {
		l.Since = b.Approved
		if st.State == trust.Changed {
			l.Changes = changes(b.Terms, st.Subject.Terms)
		}
	}
	return l, nil
}

// changes lists the terms that went, with a minus, and those that came, with a plus.
func changes(before, after []string) (list []string) {
	for _, term := range before {
		if !slices.Contains(after, term) {
			list = append(list, "- "+term)
		}
	}
	for _, term := range after {
		if !slices.Contains(before, term) {
			list = append(list, "+ "+term)
		}
	}
	return list
}

// trustAnswer is the answer of trust.
type trustAnswer struct {
	Servers []*trustStatus `json:"servers"`
	// Definitions are what has changed of tools, prompts and instructions since a person saw them, or what was approved.
	Definitions []*definition `json:"definitions,omitempty"`

	approved, list, diff, none bool
}

func (a *trustAnswer) WriteText(t *output.Text) {
	for i, l := range a.Servers {
		if i > 0 && !a.approved {
			t.Line()
		}
		switch {
		case a.approved:
			t.Line("Approved ", output.Cyan(l.Server), ".")
		case a.diff:
			t.Line(output.Bold(l.Server), "  ", stateSpan(string(l.State)))
			for _, line := range l.Changes {
				t.Line("  ", line)
			}
		default:
			l.write(t)
			a.writeChanged(t, l.Server)
		}
	}
	a.writeDefinitions(t)
	switch {
	case a.none:
		t.Line("No server waits for an approval.")
	case a.approved && len(a.Servers)+len(a.Definitions) == 0:
		t.Line("Nothing was approved.")
	}
}

// write shows a server before it is approved.
func (l *trustStatus) write(t *output.Text) {
	place := fmt.Sprintf("  %s, line %d", l.File, l.Line)
	t.Line(output.Bold(l.Server), "  ", stateSpan(string(l.State)), output.Dim(place))
	for _, term := range l.Terms {
		name, text, _ := strings.Cut(term, ": ")
		span := any(text)
		if name == "inheritEnv" {
			name, span = "environment", output.Red("the whole environment of your shell, with all secrets in it")
		}
		t.Line("  ", output.Dim(name+": "), span)
	}
	for _, line := range l.Changes {
		t.Line("  ", output.Yellow(line))
	}
	if l.Hidden > 0 {
		t.Line("  ", output.Red(fmt.Sprintf("Warning: this has %s, shown as symbols. The program gets them as they are.",
			humanize.Plural(l.Hidden, "hidden character"))))
	}
	if l.Problem != "" {
		t.Line("  ", output.Red(l.Problem))
	}
	if l.Hash != "" {
		t.Line("  ", output.Dim("hash: "), l.Hash[:trust.Short])
	}
}

// noPerson is the fault of a question that no one at a terminal can answer.
func noPerson(list []*trustStatus) *fault.Fault {
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = l.Server
	}
	f := fault.New(fault.ApprovalRequired, "approving "+strings.Join(names, ", ")+" takes a person at a terminal",
		"Do not approve it yourself: show the person what it runs.").
		Then("A person types", fault.Step{Verb: "trust", Args: names}).
		Then("See what would be approved with", fault.Step{Verb: "trust", Args: append([]string{"--list"}, names...)})
	for _, l := range list {
		values := func(term string) bool { return strings.HasPrefix(term, "variable: ") } // for the person alone
		f.Trace(l.Server + ": " + strings.Join(slices.DeleteFunc(slices.Clone(l.Terms), values), "; "))
	}
	if len(list) == 1 {
		f.On(list[0].Server, "")
		f.Approval = list[0].wanted
	}
	return f
}

// approveWaiting asks the person at the terminal about servers that wait for an approval, before a verb answers: those
// that the verb names, or all if it names none. It does not ask again about one that was declined: only trust does.
// Without a person the verb goes on without them.
func (s *Session) approveWaiting(ctx context.Context, servers []string) error {
	if !s.App.ErrTTY.Is || s.Globals.JSON {
		return nil
	}
	if waits, err := s.anyWaits(servers); err != nil || !waits {
		return err
	}
	if err := s.live(); err != nil {
		return err
	}
	list, err := s.askable(servers)
	if fault.Is(err, fault.Config) {
		return nil // the verb says so, of the servers that it needs
	}
	if err != nil || len(list) == 0 {
		return err
	}
	approved, _, err := s.askServers(ctx, list, false)
	if err != nil || len(approved) == 0 {
		return err
	}
	return s.reopen()
}

// askable returns the servers to ask a person about: see approveWaiting.
func (s *Session) askable(servers []string) ([]*trustStatus, error) {
	all, err := s.trustStatuses(nil)
	return slices.DeleteFunc(all, func(l *trustStatus) bool {
		return !l.Waits() || l.declined || len(servers) > 0 && !slices.Contains(servers, l.Server)
	}), err
}

// anyWaits reports whether the index, or the configuration if there is no index, has servers that wait.
func (s *Session) anyWaits(servers []string) (bool, error) {
	view, err := s.catalog().Current()
	if err != nil {
		return false, err
	}
	if view == nil {
		return true, nil // nothing is known yet: trustStatuses tell
	}
	defer view.Release()
	for _, info := range view.Servers() {
		if info.Waits() && (len(servers) == 0 || slices.Contains(servers, info.Name)) {
			return true, nil
		}
	}
	return false, nil
}

// reopen begins anew with the configuration as it is approved now.
func (s *Session) reopen() error {
	err := s.Engine.Close()
	s.Engine = s.newEngine(s.selection())
	return err
}
