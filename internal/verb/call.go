package verb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func callSpec() Spec {
	return Spec{
		Name: "call", Group: Tools, New: func() Verb { return new(callVerb) },
		Early: true, Daemon: StartDaemon,
		Aliases:  []Alias{{Words: "run exec execute invoke use do tool call-tool call_tool calltool tools/call"}},
		Complete: completeOffer(tool.Tool, true),
		Use:      "call SERVER TOOL [ARGS]", Short: "Call one tool (starts its server only, if it does not run)",
		Long: `Call checks the arguments against the tool's schema, starts its server if it
does not run, and calls the tool. The daemon keeps the server for the next call,
until it was idle for 15 minutes; with --no-daemon it is stopped after this one.
The tool may also be written SERVER/TOOL or SERVER.TOOL.

ARGS is one JSON object, or pairs, or an object and pairs that override it:
  key=value   typed by the schema: n=5 is a number only if the schema says so
  key:=json   any JSON value
  key=@file   the content of a file
  - (or --stdin), --args-file F   the object from stdin or from a file

If the server asks something meanwhile, you answer at the terminal, or with
--elicit: a JSON object, accept, decline or cancel, the nth --elicit for the nth
question. Without an answer mcpl declines, the exit code is 6, and the error
shows what to type.

A tool that reports an error makes the exit code 1; docs/contracts.md lists the
others.`,
		Example: `  mcpl call github create_issue owner=me repo=app title="It broke"
  mcpl --json call github create_issue '{"owner":"me","repo":"app","title":"x"}'
  mcpl call everything echo message=hello --dry-run
  mcpl call github list_issues owner=me repo=app --jq '.[].title'`,
	}
}

// callVerb calls one tool: mcpl call SERVER TOOL [ARGS].
type callVerb struct {
	argued
	NoValidate bool
	DryRun     bool
}

func (v *callVerb) Flags(fs *pflag.FlagSet) {
	v.argued.Flags(fs)
	fs.BoolVar(&v.NoValidate, "no-validate", false, "send the arguments even if they do not fit")
	fs.BoolVar(&v.DryRun, "dry-run", false, "show what would be sent, and start nothing")
}

func (v *callVerb) Run(ctx context.Context, s *Session) error {
	ref, rest, err := s.Engine.Resolve(v.words, tool.Tool)
	if err != nil {
		return err
	}
	if v.DryRun {
		return v.dryRun(ctx, s, ref, rest)
	}
	if err := s.approveWaiting(ctx, []string{ref.Server}); err != nil {
		return err
	}
	return v.do(ctx, s, ref, rest, !v.NoValidate)
}

// dryRun shows what a call would do, and starts nothing. The arguments of a tool that the index does not
// know yet stay unchecked. The exit code is 2 if the arguments do not fit.
func (v *callVerb) dryRun(ctx context.Context, s *Session, ref tool.Ref, rest []string) error {
	if err := s.live(); err != nil { // the configuration has to be read
		return err
	}
	server, err := s.server(ref.Server)
	if err != nil {
		return err
	}
	def, known, err := s.Engine.Known(ctx, ref)
	if err != nil {
		return err
	}
	a := &dryAnswer{ref: ref, server: server.Display(), trust: trustVerdict(server)}
	var failed error
	err = engine.Interruptible(ctx, func() { failed = v.judge(a, s, def, known, rest) })
	if err = cmp.Or(err, failed); err != nil {
		return fault.From(err).On(ref.Server, ref.Name)
	}
	verdict, err := s.Engine.Verdict(&engine.Plan{Ref: ref, Args: a.args, Hints: def.Hints()}, "")
	if err != nil {
		return err
	}
	a.masked = server.MaskArguments(a.args)
	a.policy, a.change = policyVerdict(verdict), changedOf(verdict.Change)
	if a.faults != nil {
		s.code = a.faults.Type.ExitCode()
	}
	return s.Printer.Answer(a)
}

// judge builds and checks the arguments of a dry run. known says that the definition is the server's.
func (v *callVerb) judge(a *dryAnswer, s *Session, def tool.Def, known bool, rest []string) (err error) {
	if a.args, err = v.arguments(s, def.InputSchema, rest); err != nil {
		return err
	}
	faults, err := schema.Validate(def.InputSchema, a.args)
	switch {
	case !known && a.trust != nil:
		a.unchecked = "what " + a.ref.Server + " offers is not known before it is approved"
	case !known:
		a.unchecked = fmt.Sprintf("the tools of %s are not known yet; list them with: mcpl list %s --refresh",
			a.ref.Server, fault.Quote(a.ref.Server))
	case err != nil:
		a.unchecked = err.Error()
	case len(faults) > 0:
		a.faults = schema.Fault(a.ref, def.InputSchema, a.args, faults)
	}
	return nil
}

// dryAnswer is the answer of a dry run.
type dryAnswer struct {
	ref       tool.Ref
	server    config.Display
	args      json.RawMessage
	masked    json.RawMessage // args as a request for an approval shows them
	faults    *fault.Fault    // nil: the arguments fit
	unchecked string          // why they could not be checked
	trust     *refusal        // nil if the server may be used
	policy    *verdict        // nil if no rule fits
	change    *changed        // of the definition since a person last saw it; nil if there is none
}

func (a *dryAnswer) RawJSON() []byte {
	var o output.Object
	o.Add("dry_run", true)
	o.Add("server", a.server)
	o.Add("tool", a.ref.Name)
	o = append(o, tool.Field{Key: "arguments", Value: a.masked})
	if a.trust != nil {
		o.Add("trust", a.trust)
	}
	if a.policy != nil {
		o.Add("policy", a.policy)
	}
	if a.change != nil {
		o.Add("changed", a.change)
	}
	if a.unchecked != "" {
		o.Add("unchecked", a.unchecked)
		return o.Bytes()
	}
	o.Add("valid", a.faults == nil)
	if a.faults != nil {
		o.Add("error", output.InWords(a.faults))
	}
	return o.Bytes()
}

// pin says in a line what the pin of the tool makes of the call. It is empty if the tool has not changed.
func (a *dryAnswer) pin() string {
	switch {
	case a.change == nil:
		return ""
	case a.change.Held:
		return "deny: " + a.change.String()
	}
	return "allow: " + a.change.String()
}

func (a *dryAnswer) WriteText(t *output.Text) {
	var rows facts
	rows.add(output.Bold("server"), fmt.Sprintf("%s (%s)", a.ref.Server, a.server.Transport))
	rows.add(output.Bold("command"), a.server.Command)
	rows.add(output.Bold("url"), a.server.URL)
	rows.add(output.Bold("cwd"), a.server.Cwd)
	var set []string
	for _, kv := range slices.Concat(a.server.Env, a.server.Headers) {
		set = append(set, fmt.Sprintf("%s (%s)", kv.Name, kv.From))
	}
	rows.add(output.Bold("sets"), strings.Join(set, ", "))
	rows.add(output.Bold("tool"), a.ref.Name)
	rows.add(output.Bold("arguments"), string(a.args))
	rows.add(output.Bold("trust"), a.trust.text())
	rows.add(output.Bold("policy"), a.policy.text())
	rows.add(output.Bold("pin"), a.pin())
	verdict := any(output.Green("the arguments fit; nothing was started"))
	switch {
	case a.unchecked != "":
		verdict = "not checked: " + a.unchecked
	case a.faults != nil:
		verdict = output.Red(a.faults.Message)
	}
	rows.add(output.Bold("verdict"), verdict)
	t.Table("", rows)
	if a.faults != nil {
		for _, f := range a.faults.Arguments {
			t.Line("  ", output.Bold(f.Pointer), " ", f.Problem, output.Prefixed("; expected ", f.Expected),
				output.Prefixed("; did you mean ", f.Nearest))
		}
		t.Wrap("", output.InWords(a.faults).Help)
	}
}
