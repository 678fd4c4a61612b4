package verb

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
)

func callSpec() Spec {
	return Spec{
		Name: "call", Group: Tools, New: func() Verb { return new(Call) },
		Early: true, Daemon: StartDaemon,
		Aliases:  []Alias{{Words: "run exec execute invoke use do tool call-tool call_tool calltool tools/call"}},
		Complete: completeTool,
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

// Call calls one tool: mcpl call SERVER TOOL [ARGS].
type Call struct {
	ArgSource
	request
	NoValidate bool
	DryRun     bool
}

// Flags implements [Verb].
func (v *Call) Flags(fs *pflag.FlagSet) {
	v.ArgSource.flags(fs)
	fs.BoolVar(&v.NoValidate, "no-validate", false, "send the arguments even if they do not fit")
	fs.BoolVar(&v.DryRun, "dry-run", false, "show what would be sent, and start nothing")
	v.request.Flags(fs)
}

// Run implements [Verb].
func (v *Call) Run(ctx context.Context, s *Session) error {
	ref, rest, err := s.Engine.Resolve(v.words)
	if err != nil {
		return err
	}
	if v.DryRun {
		return v.dryRun(ctx, s, ref, rest)
	}
	plan, err := v.plan(ctx, s, ref, rest, !v.NoValidate)
	if err != nil {
		return err
	}
	return v.send(ctx, s, plan, render.ToolResult)
}
