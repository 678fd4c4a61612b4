package verb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/approval"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func approvalsSpec() Spec {
	return Spec{
		Name: "approvals", Group: Setup, New: func() Verb { return new(Approvals) },
		Aliases: []Alias{
			{Words: "approval pending permissions permission requests"},
			{Words: "approve permit grant", Args: "approve"},
			{Words: "deny reject refuse", Args: "deny"},
			{Words: "revoke", Args: "revoke"},
		},
		Complete: completeApprovals,
		Use:      "approvals [list|show|approve|deny|revoke] [ID|TOKEN]",
		Short:    "Approve calls that the policy asks about, or deny them",
		Long: `A rule of the policy ([[policy]] in config.toml, see docs/policy.md) may want
calls approved. Such a call ends with exit code 6 and a request: an id, and a
token unless the rule takes none. Once the request is approved, the same call,
with exactly the same arguments, passes once. Requests expire after 24 hours.

  list     show what was asked and decided (default)
  show     show one request with all its arguments
  approve  approve a request: by its id at a terminal, by its token anywhere
  deny     deny it; the call is not asked for again before it expires
  revoke   take a request or a decision back; the call is asked for anew (to
           take a denial back takes what an approval takes)

Approving twice does no more than approving once.`,
		Example: `  mcpl approvals
  mcpl approvals show k7m2q9xd
  mcpl approvals approve k7m2q9xd
  mcpl approvals deny k7m2q9xd --reason "not on a Friday"`,
	}
}

// Approvals shows requests for approvals and decides about them: mcpl approvals list|show|approve|deny|revoke.
type Approvals struct {
	Reason string

	action string
	which  string // an id or a token; "" for list
}

// approvalActions are the words behind the verb.
func approvalActions() []string { return []string{"list", "show", "approve", "deny", "revoke"} }

// completeApprovals completes an action. Ids and tokens are for those who were given them.
func completeApprovals(_ *Names, args []string) ([]string, bool) {
	if len(args) > 0 {
		return nil, false
	}
	return approvalActions(), false
}

// Flags implements [Verb].
func (v *Approvals) Flags(fs *pflag.FlagSet) {
	fs.StringVar(&v.Reason, "reason", "", "with approve and deny: keep this `TEXT` with the decision")
}

// Parse implements [Verb].
func (v *Approvals) Parse(words []string) error {
	v.action = "list"
	if len(words) > 0 {
		v.action, words = words[0], words[1:]
	}
	usage := func(message string) error {
		return fault.New(fault.Usage, message, "Type: mcpl approvals list   or: mcpl approvals show ID   "+
			"or: mcpl approvals approve ID   (or deny, or revoke; a token may stand for the id)")
	}
	switch {
	case !slices.Contains(approvalActions(), v.action):
		return usage(fmt.Sprintf("unknown approvals command %q", v.action))
	case v.Reason != "" && v.action != "approve" && v.action != "deny":
		return usage("--reason goes with approve and deny")
	case v.action == "list" && len(words) > 0:
		return usage(fmt.Sprintf("approvals list takes no arguments, %q is too much", words[0]))
	case v.action == "list":
		return nil
	case len(words) == 0:
		return fault.New(fault.Usage, fmt.Sprintf("which request do you want to %s?", v.action), "").
			Then("See them with", fault.Step{Verb: "approvals", Args: []string{"list"}})
	case len(words) > 1:
		return usage(fmt.Sprintf("approvals %s takes one id or token, %q is too much", v.action, words[1]))
	}
	v.which = words[0]
	return nil
}

// approvals returns the store of requests.
func (s *Session) approvals() approval.Store {
	return approval.Store{Dir: s.App.Env.StateDir(), Now: s.App.Now}
}

// Run implements [Verb].
func (v *Approvals) Run(ctx context.Context, s *Session) (err error) {
	store := s.approvals()
	var r approval.Request
	switch v.action {
	case "list":
		list, err := store.List()
		if err != nil {
			return err
		}
		a := &approvalsAnswer{Approvals: []approvalLine{}, now: s.App.Now()}
		for _, r := range list {
			a.Approvals = append(a.Approvals, requestLine(r))
		}
		return s.Printer.Answer(a)
	case "show":
		r, _, err = store.Find(v.which)
	case "approve", "revoke":
		r, err = v.permit(ctx, s, store)
	case "deny":
		r, err = store.Decide(ctx, v.which, approval.Decision{Note: v.Reason})
	}
	if err != nil {
		return err
	}
	return s.Printer.Answer(&approvalAnswer{approvalLine: requestLine(r), now: s.App.Now(), decided: v.action != "show"})
}

// permit approves a request, or takes a denial back: whoever has its token may, and otherwise a person at the terminal
// is asked. To revoke what is not denied lets no call pass, so it takes nothing.
func (v *Approvals) permit(ctx context.Context, s *Session, store approval.Store) (approval.Request, error) {
	r, genuine, err := store.Find(v.which)
	if err != nil {
		return r, err
	}
	way, open := policy.Terminal, r.State == approval.Denied
	if v.action == "approve" {
		err = s.asNow(ctx, &r)
		open = r.Open()
	}
	switch {
	case err != nil:
		return r, err
	case genuine || !open:
	case slices.Contains(r.By, policy.Model):
		way = policy.Model
	case slices.Contains(r.By, policy.Terminal):
		if err := v.ask(ctx, s, r); err != nil {
			return r, err
		}
	}
	if v.action == "revoke" {
		return store.Revoke(ctx, v.which, way)
	}
	return store.Decide(ctx, v.which, approval.Decision{Approve: true, Way: way, Note: v.Reason, By: r.By})
}

// ask fails unless the person at the terminal says yes.
func (v *Approvals) ask(ctx context.Context, s *Session, r approval.Request) error {
	dialog := s.dialog()
	if dialog == nil {
		return v.atTerminalOnly(r)
	}
	about, question := approval.About{Shown: r.Arguments, Reason: r.Reason, Folder: r.Folder}, makeThisCall
	if r.State == approval.Denied {
		about.Reason, question = r.Outcome(), "Have this call asked for anew?"
	}
	yes, err := askFor(ctx, dialog, r.Ref(), about, question)
	if err != nil || yes {
		return err
	}
	f := fault.New(fault.ApprovalRequired, r.ID+" was not approved", "It stays open.").On(r.Server, r.Ref().Tool())
	if r.State == approval.Denied {
		f.Message, f.Help = r.ID+" stays denied", ""
		return f
	}
	return f.Then("To deny it for good, type", fault.Step{Verb: "approvals", Args: []string{"deny", r.ID}})
}

// asNow gives a request the ways of approving that the policy has now, as the gate will see it, and fails if that
// denies the call by now. It changes nothing if the definition is not known here.
func (s *Session) asNow(ctx context.Context, r *approval.Request) error {
	if r.State != approval.Pending && r.State != approval.Approved {
		return nil
	}
	def, known, err := s.Engine.Known(ctx, r.Ref())
	if err != nil || !known {
		return nil // the call itself will say so
	}
	switch d := s.Engine.Decide(r.Ref(), def.Hints()); {
	case d.Rule == nil:
	case d.Action == policy.Deny:
		return engine.Denied(r.Ref(), d)
	case d.Action == policy.Ask:
		r.By, r.Reason = d.By, d.Reason()
	}
	return nil
}

// atTerminalOnly is the fault of an approval by id without a terminal.
func (v *Approvals) atTerminalOnly(r approval.Request) error {
	f := fault.New(fault.ApprovalRequired, fmt.Sprintf("there is no terminal here to ask a person whether to %s %s",
		v.action, r.ID), "").On(r.Server, r.Ref().Tool())
	if slices.Contains(r.By, policy.Token) {
		f.Help = "Without a terminal, give the token of the request: the call has printed it."
	} else {
		f.Help = "The rule takes an approval only from a person at a terminal, without --json."
	}
	return f
}

// dialog returns the conversation with the person at the terminal; nil if there is none, or an answer in JSON is
// wanted.
func (s *Session) dialog() *output.Dialog {
	if !s.App.InTTY || !s.App.ErrTTY.Is || s.Globals.JSON {
		return nil
	}
	return s.Printer.NewDialog(s.App.Stdin)
}

// maxShown is how much of the arguments a person sees before a decision, in bytes, and maxRefShown of the name.
const (
	maxShown    = 16 << 10
	maxRefShown = 400
)

// makeThisCall is the question before a call.
const makeThisCall = "Make this call?"

// askFor shows a call to the person at the terminal and asks a question about it. The end of the input is a no.
func askFor(ctx context.Context, d *output.Dialog, ref tool.Ref, about approval.About, question string) (bool, error) {
	d.Open()
	defer d.Close()
	d.Show(func(t *output.Text) {
		t.Line()
		t.Line(output.Bold(render.OneLine(ref.String(), maxRefShown)), " wants your approval: ", about.Reason)
		var rows facts
		rows.add(output.Bold("arguments"), fault.Cut(string(about.Shown), maxShown))
		rows.add(output.Bold("folder"), about.Folder)
		rows.add(output.Bold("before"), about.Denied)
		t.Table("  ", rows)
		if more := len(about.Shown) - maxShown; more > 0 {
			t.Line(output.Yellow("note: "), humanize.Size(more), " more are not shown here; type all to read them")
		}
	})
	for {
		text, err := d.Line(ctx, output.Bold(question+" yes, no: "))
		switch {
		case ctx.Err() != nil:
			return false, fault.New(fault.Interrupted, "interrupted before "+ref.String()+" was approved",
				"Nothing was called.").On(ref.Server, ref.Tool())
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		case "all":
			d.Show(func(t *output.Text) { t.Line(string(about.Shown)) })
			continue
		}
		d.Show(func(t *output.Text) { t.Line(output.Yellow("again: "), "type one of the words") })
	}
}

// approvalLine is a request as answers have it, without what only mcpl needs.
type approvalLine struct {
	ID         string          `json:"id"`
	State      approval.State  `json:"state"`
	Tool       string          `json:"tool"` // "server/tool"
	Kind       tool.Kind       `json:"kind,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Why        string          `json:"why"`
	By         []policy.Way    `json:"by"`
	Folder     string          `json:"folder,omitempty"`
	Asked      time.Time       `json:"asked"`
	Expires    time.Time       `json:"expires"`
	Decided    time.Time       `json:"decided,omitzero"`
	ApprovedBy policy.Way      `json:"approved_by,omitempty"`
	Reason     string          `json:"reason,omitempty"`
}

func requestLine(r approval.Request) approvalLine {
	return approvalLine{ID: r.ID, State: r.State, Tool: r.Ref().String(), Kind: r.Kind, Arguments: r.Arguments,
		Why: r.Reason, By: r.By, Folder: r.Folder, Asked: r.Asked, Expires: r.Expires, Decided: r.Decided,
		ApprovedBy: r.Way, Reason: r.Note}
}

// state writes a state for people, in the colour of what it means.
func (l approvalLine) state() output.Span {
	switch l.State {
	case approval.Pending:
		return output.Yellow(string(l.State))
	case approval.Approved:
		return output.Green(string(l.State))
	case approval.Denied:
		return output.Red(string(l.State))
	}
	return output.Dim(string(l.State))
}

// approvalsAnswer is the answer of approvals list.
type approvalsAnswer struct {
	Approvals []approvalLine `json:"approvals"`
	now       time.Time
}

// maxArgsInList is how much of the arguments a list shows, in bytes.
const maxArgsInList = 60

func (a *approvalsAnswer) WriteText(t *output.Text) {
	if len(a.Approvals) == 0 {
		t.Line("Nothing was asked for.")
		return
	}
	var rows [][]any
	for _, l := range a.Approvals {
		rows = append(rows, []any{output.Cyan(l.ID), l.state(), output.Bold(render.OneLine(l.Tool, maxRefShown)),
			output.Dim(humanize.Ago(a.now, l.Asked)), render.OneLine(string(l.Arguments), maxArgsInList)})
	}
	t.Table("", rows)
}

// approvalAnswer is the answer about one request.
type approvalAnswer struct {
	approvalLine
	now     time.Time
	decided bool
}

func (a *approvalAnswer) WriteText(t *output.Text) {
	if a.decided {
		t.Line(output.Cyan(a.ID), " (", output.Bold(render.OneLine(a.Tool, maxRefShown)), ") is ", a.state(), a.consequence())
		return
	}
	var rows facts
	rows.add(output.Bold("id"), output.Cyan(a.ID))
	rows.add(output.Bold("state"), a.state())
	rows.add(output.Bold("call"), render.OneLine(a.Tool, maxRefShown))
	rows.add(output.Bold("arguments"), string(a.Arguments))
	rows.add(output.Bold("why"), a.Why)
	rows.add(output.Bold("approved by"), strings.Join(wordsOf(a.By), ", "))
	rows.add(output.Bold("folder"), a.Folder)
	rows.add(output.Bold("asked"), humanize.Ago(a.now, a.Asked))
	rows.add(output.Bold("expires"), a.Expires.Format(time.RFC3339))
	if !a.Decided.IsZero() {
		rows.add(output.Bold("decided"), humanize.Ago(a.now, a.Decided)+output.Prefixed(" by ", string(a.ApprovedBy)))
	}
	rows.add(output.Bold("reason"), a.Reason)
	t.Table("", rows)
}

// consequence says what the state of a request means for its call.
func (a *approvalAnswer) consequence() string {
	switch a.State {
	case approval.Approved:
		return ": the same call passes once."
	case approval.Used:
		return ": the call has been made."
	case approval.Denied:
		return ": the call does not pass before " + a.Expires.Format(time.RFC3339) + "."
	case approval.Revoked:
		return ": the call is asked for anew."
	}
	return "."
}
