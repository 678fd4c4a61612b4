package verb

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/auth/login"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
)

func doctorSpec() Spec {
	return Spec{
		Name: "doctor", Group: Setup, New: func() Verb { return new(doctorVerb) },
		Complete: completeServer,
		Use:      "doctor [SERVER...]", Short: "Try the servers and say what is wrong with each",
		Long: `Doctor starts or reaches every server, or those named. It says for each whether
it answered, what it offers, how long that took, which protocol it speaks, the
state of its login, what went wrong and what to do next. With --verbose it shows
what the servers wrote to stderr. The exit code is that of the first failure.

With --locked it also compares what they offer with mcpl.lock, which a team
commits. The exit code is 6 if anything differs or could not be compared.`,
		Example: `  mcpl doctor
  mcpl --json doctor github
  mcpl doctor --locked`,
	}
}

// doctorVerb tries every server, or those named, and says what is wrong with each: mcpl doctor.
type doctorVerb struct {
	plain
	Locked bool
}

// Flags defines the verb's flags.
func (v *doctorVerb) Flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.Locked, "locked", false, "compare with mcpl.lock too")
}

// Run makes the failure of a server an answer, not a fault; the exit code is then that of the first failure.
func (v *doctorVerb) Run(ctx context.Context, s *Session) error {
	if err := s.approveWaiting(ctx, v.words); err != nil {
		return err
	}
	locked, err := v.lock(s)
	if err != nil {
		return err
	}
	probes, err := s.Engine.Probe(ctx, v.words)
	if err != nil {
		return err
	}
	a := &doctorAnswer{Servers: []diagnosis{}}
	if s.App.Env.TrustsAll() {
		a.Trust = "all"
	}
	for _, p := range probes {
		d := s.diagnose(ctx, p)
		a.Servers = append(a.Servers, d)
		if d.Verdict == "ok" {
			a.Healthy++
		}
		if d.Error != nil && s.code == 0 {
			s.code = d.Error.Type.ExitCode()
		}
	}
	if locked != nil {
		if a.Mismatches, err = s.checkLock(locked, probes, len(v.words) > 0); err != nil {
			return err
		}
		a.Help = lockHelp(a.Mismatches)
		same := len(a.Mismatches) == 0
		if a.Locked = &same; !same && s.code == 0 {
			s.code = fault.ApprovalRequired.ExitCode()
		}
	}
	return s.Printer.Answer(a)
}

// lock reads the lock of the project, which is nil without --locked.
func (v *doctorVerb) lock(s *Session) (*pin.Lock, error) {
	if !v.Locked {
		return nil, nil
	}
	return s.readLock()
}

// diagnose returns what trying one server has shown, and what is known here of its login and its switches.
func (s *Session) diagnose(ctx context.Context, p engine.Probe) diagnosis {
	d := diagnose(p)
	d.verbose = s.Globals.Verbose
	if p.Off && !p.Server.Disabled && s.Tools.InProject(d.Name, "") {
		d.Next = "mcpl enable --project " + fault.Quote(d.Name)
	}
	if p.Server.Transport != config.Stdio && p.Server.Transport != "" && !p.Off {
		d.Login = loginOf(ctx, s, p.Server) // after the trial, which may have renewed it
	}
	return d
}

// diagnose returns what trying one server has shown.
func diagnose(p engine.Probe) diagnosis {
	d := diagnosis{Name: p.Server.Name, Transport: p.Server.Transport, File: p.Server.File, Line: p.Server.Line,
		Verdict: "ok", Error: output.InWords(p.Failure), ConnectMS: p.Listing.Connect.Milliseconds(),
		TookMS: p.Took.Milliseconds(), Stderr: p.Listing.Stderr}
	shown := p.Server.Display()
	d.Start = cmp.Or(shown.Command, shown.URL)
	switch {
	case p.Off:
		d.Verdict, d.Next = "disabled", "mcpl enable "+fault.Quote(p.Server.Name)
		if p.Server.Disabled {
			d.Next = "remove \"disabled\": true in " + p.Server.Place()
		}
	case p.Failure != nil:
		d.Verdict, d.Next = verdictOn(p.Failure), d.Error.Help
	default:
		d.Protocol, d.Identity = p.Listing.Known.Protocol, strings.TrimSpace(p.Listing.ServerName+" "+p.Listing.ServerVersion)
		d.ListMS = p.Listing.Lists.Milliseconds()
		d.Tools, d.Resources, d.Prompts = len(p.Listing.Tools), len(p.Listing.Resources), len(p.Listing.Prompts)
		d.Notes = p.Listing.Notes
		d.Transport = config.Transport(cmp.Or(p.Listing.Known.Transport, string(d.Transport)))
		d.Next = "mcpl list " + fault.Quote(p.Server.Name)
	}
	return d
}

// verdictOn returns what is wrong with a server in a few words: the reason that what it wrote tells, else the kind of
// the failure.
func verdictOn(f *fault.Fault) string {
	reasons := map[string]string{"variable": "variable missing", "argument": "wrong arguments", "setting": "wrong setting",
		"setup": "not set up", "module": "broken installation", "addon": "broken installation",
		"runtime": "old runtime", "http": "serves HTTP", "refused": "service not reached", "host": "service not reached",
		"network": "service not reached"}
	types := map[fault.Type]string{fault.Config: "cannot be used", fault.MissingVariable: "variable missing",
		fault.AuthRequired: "login needed", fault.ApprovalRequired: "not approved", fault.Timeout: "too slow",
		fault.Protocol: "breaks the protocol"}
	return cmp.Or(reasons[f.Reason], types[f.Type], "cannot be reached")
}

type doctorAnswer struct {
	Servers []diagnosis `json:"servers"`
	Healthy int         `json:"healthy"`
	// Trust is "all" if MCPL_TRUST=all is set.
	Trust string `json:"trust,omitempty"`
	// Locked says whether all is as mcpl.lock says, and Mismatches what is not. Both are nil without --locked.
	Locked     *bool          `json:"locked,omitempty"`
	Mismatches []pin.Mismatch `json:"mismatches,omitempty"`
	Help       string         `json:"help,omitempty"` // on the mismatches
}

// diagnosis is what trying one server has shown.
type diagnosis struct {
	Name      string           `json:"name"`
	Verdict   string           `json:"verdict"`
	Transport config.Transport `json:"transport"` // the one that worked, else the entry's; "" if the entry cannot be used
	File      string           `json:"file"`
	Line      int              `json:"line"`
	Start     string           `json:"start"` // the command or URL, secrets masked
	Identity  string           `json:"identity,omitempty"`
	Protocol  string           `json:"protocol,omitempty"`
	ConnectMS int64            `json:"connect_ms"`      // start and handshake
	ListMS    int64            `json:"list_ms"`         // listing what it offers
	TookMS    int64            `json:"took_ms"`         // all of it
	Login     *loginLine       `json:"login,omitempty"` // to a server over HTTP
	Tools     int              `json:"tools"`
	Resources int              `json:"resources,omitempty"` // with templates
	Prompts   int              `json:"prompts,omitempty"`
	Notes     []string         `json:"notes,omitempty"`
	Stderr    string           `json:"stderr,omitempty"` // its end; a failure has it in its traceback
	Error     *fault.Fault     `json:"error,omitempty"`
	Next      string           `json:"next"`
	verbose   bool
}

func (a *doctorAnswer) WriteText(t *output.Text) {
	off := 0
	for i, d := range a.Servers {
		if i > 0 {
			t.Line()
		}
		t.Line(output.Bold(d.Name), "  ", stateSpan(d.Verdict))
		t.Table("  ", d.facts())
		if d.Verdict == "disabled" {
			off++
		}
	}
	t.Line()
	others := ""
	if off > 0 {
		others = fmt.Sprintf(", %d disabled", off)
	}
	t.Line(fmt.Sprintf("%d of %s fine%s.", a.Healthy, humanize.Plural(len(a.Servers)-off, "server"), others))
	for _, m := range a.Mismatches {
		t.Line(output.Red("not locked "), mismatchText(m))
	}
	if a.Help != "" {
		t.Wrap("", a.Help)
	}
	if a.Locked != nil && *a.Locked {
		t.Line("All is as ", pin.LockFile, " says.")
	}
	if a.Trust != "" {
		t.Wrap("", "MCPL_TRUST=all is set: servers of every project are used without an approval, with your own logins.")
	}
}

// facts returns the rows that say which server it is and what it offers, what is odd or wrong, and what to do.
func (d *diagnosis) facts() (rows facts) {
	rows.add(output.Dim("entry"), place(d.File, d.Line))
	rows.add(output.Dim(string(d.Transport)), d.Start)
	if d.Identity != "" || d.Protocol != "" {
		rows.add(output.Dim("server"), d.Identity+", protocol "+d.Protocol)
	}
	// Most servers want no login. That there is none is worth a line only if the server wants one.
	if d.Login != nil && (d.Login.Kind != login.NotLoggedIn || d.Verdict == "login needed") {
		rows.add(output.Dim("login"), d.Login.summary())
	}
	if d.Verdict == "ok" {
		rows.add(output.Dim("offers"), d.offers())
		rows.add(output.Dim("took"), fmt.Sprintf("%s to connect, %s to list", time.Duration(d.ConnectMS)*time.Millisecond,
			time.Duration(d.ListMS)*time.Millisecond))
	}
	for _, note := range d.Notes {
		rows.add(output.Yellow("note"), note)
	}
	if d.verbose {
		rows.addLines(output.Dim, "stderr", d.Stderr)
	}
	if d.Error != nil {
		rows.add(output.Red("failed"), d.Error.Message)
		for line := range strings.Lines(d.Error.Traceback) {
			rows.add(output.Dim(""), output.Dim(strings.TrimSpace(line)))
		}
	}
	rows.addLines(output.Green, "next", d.Next)
	return rows
}

// addLines appends a row for each line of a text, the first one with a title.
func (f *facts) addLines(style func(string) output.Span, title, text string) {
	for line := range strings.Lines(text) {
		*f = append(*f, []any{style(title), strings.TrimRight(line, "\r\n")})
		title = ""
	}
}

// offers says in a line what the server offers.
func (d *diagnosis) offers() string {
	parts := []string{humanize.Plural(d.Tools, "tool")}
	if d.Resources > 0 {
		parts = append(parts, humanize.Plural(d.Resources, "resource"))
	}
	if d.Prompts > 0 {
		parts = append(parts, humanize.Plural(d.Prompts, "prompt"))
	}
	return strings.Join(parts, ", ")
}
