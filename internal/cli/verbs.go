package cli

import (
	"github.com/spf13/cobra"

	"github.com/mcp-launchpad/mcpl/internal/verb"
)

func (t *tree) search() *cobra.Command {
	cmd := t.command(new(verb.Search), "agent", &cobra.Command{
		Use:   "search QUERY...",
		Short: "Find tools by what they do (starts no server)",
		Long: `Search finds tools by words, best first. The score, from 0 to 1, says how much
of the query the tool covers. Nothing found is an answer, not an error.

With --method regex the query is an RE2 pattern over "server/name", title,
description and parameter names; case counts only where the pattern has flags of
its own. With --method exact it is a piece of text.

With --kind resource, prompt or all it finds resources (and templates of them)
and prompts, each ranked among its own kind.`,
		Example: `  mcpl search open a pull request
  mcpl --json search "read a file" --server filesystem --limit 3
  mcpl search --method regex '^github/(create|update)_'
  mcpl search --kind all code review`,
	})
	// Registering fails only for a flag that does not exist or twice for one.
	_ = cmd.RegisterFlagCompletionFunc("server", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return t.completeServer(nil, nil, "")
	})
	_ = cmd.RegisterFlagCompletionFunc("method", cobra.FixedCompletions([]string{"bm25", "regex", "exact"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"tool", "resource", "prompt", "all"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (t *tree) inspect() *cobra.Command {
	cmd := t.command(new(verb.Inspect), "agent", &cobra.Command{
		Use:   "inspect SERVER TOOL",
		Short: "Read one tool's definition (starts no server)",
		Long: `Inspect shows a tool's signature, parameters and annotations, and how to call
it. With --json it prints the definition, its schemas byte for byte as the
server sent them.

The tool may also be written SERVER/TOOL or SERVER.TOOL. With --kind prompt or
--kind resource it shows the definition of one of those.`,
		Example: `  mcpl inspect github create_pull_request
  mcpl --json inspect github/create_pull_request --example
  mcpl inspect everything simple-prompt --kind prompt`,
	})
	cmd.ValidArgsFunction = t.completeTool
	// Registering fails only for a flag that does not exist or twice for one.
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"tool", "resource", "prompt"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (t *tree) call() *cobra.Command {
	cmd := t.command(new(verb.Call), "agent", &cobra.Command{
		Use:   "call SERVER TOOL [ARGS]",
		Short: "Call one tool (starts its server only, if it does not run)",
		Long: `Call checks the arguments against the tool's schema, starts its server where it
does not run, and calls the tool. The daemon keeps the server for the next call,
until it was idle for 15 minutes; with --no-daemon it is stopped after this one.
The tool may also be written SERVER/TOOL or SERVER.TOOL.

ARGS is one JSON object, or pairs, or an object and pairs that override it:
  key=value   typed by the schema: n=5 is a number only where the schema says so
  key:=json   any JSON value
  key=@file   the content of a file
  - (or --stdin), --args-file F   the object from stdin or from a file

What the server asks meanwhile is asked at the terminal, or answered by
--elicit: a JSON object, accept, decline or cancel, the nth question by the
nth. With neither it is declined, the exit code is 6, and the error shows what
to type.

A tool that reports an error makes the exit code 1; docs/contracts.md lists the
others.`,
		Example: `  mcpl call github create_issue owner=me repo=app title="It broke"
  mcpl --json call github create_issue '{"owner":"me","repo":"app","title":"x"}'
  mcpl call everything echo message=hello --dry-run
  mcpl call github list_issues owner=me repo=app --jq '.[].title'`,
	})
	cmd.ValidArgsFunction = t.completeTool
	return cmd
}

func (t *tree) list() *cobra.Command {
	cmd := t.command(new(verb.List), "agent", &cobra.Command{
		Use:   "list [SERVER]",
		Short: "List the servers, or the tools of one",
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
	})
	cmd.ValidArgsFunction = t.completeServer
	return cmd
}

func (t *tree) doctor() *cobra.Command {
	cmd := t.command(new(verb.Doctor), "setup", &cobra.Command{
		Use:   "doctor [SERVER...]",
		Short: "Try the servers and say what is wrong with each",
		Long: `Doctor starts or reaches every server, or those named, all at once, and says
for each whether it answered, what it offers, how long that took, which
protocol it speaks, how it is logged in to, what went wrong and what to do
next. With --verbose it shows what servers wrote to stderr. The exit code is
that of the first failure.`,
		Example: `  mcpl doctor
  mcpl --json doctor github`,
	})
	cmd.ValidArgsFunction = t.completeServer
	return cmd
}

func (t *tree) enable() *cobra.Command {
	cmd := t.command(new(verb.Enable), "setup", &cobra.Command{
		Use:   "enable NAME...",
		Short: "Switch servers or tools on",
		Long: `Enable switches servers, or tools written SERVER/TOOL, on. What is off is found
nowhere and cannot be called.`,
		Example: `  mcpl enable github
  mcpl enable --only github filesystem/read_file
  mcpl enable --all`,
	})
	cmd.ValidArgsFunction = t.completeNames
	return cmd
}

func (t *tree) disable() *cobra.Command {
	cmd := t.command(new(verb.Disable), "setup", &cobra.Command{
		Use:   "disable NAME...",
		Short: "Switch servers or tools off",
		Long: `Disable switches servers, or tools written SERVER/TOOL, off: they are found
nowhere and cannot be called.`,
		Example: `  mcpl disable playwright
  mcpl disable github/delete_repository`,
	})
	cmd.ValidArgsFunction = t.completeNames
	return cmd
}

func (t *tree) instructions() *cobra.Command {
	return t.command(new(verb.Instructions), "setup", &cobra.Command{
		Use:   "instructions",
		Short: "Print the snippet that teaches an agent to use mcpl",
		Long: `Instructions prints a short text for CLAUDE.md, AGENTS.md or a system prompt:
the three verbs, the rule, and the servers that are on.`,
		Example: `  mcpl instructions
  mcpl instructions --write AGENTS.md`,
	})
}

func (t *tree) daemon() *cobra.Command {
	cmd := t.command(new(verb.Daemon), "setup", &cobra.Command{
		Use:   "daemon [status|stop|restart|logs [SERVER]|run]",
		Short: "Look at or stop the daemon that keeps servers warm",
		Long: `The daemon keeps servers running between calls, each until it was idle for 15
minutes. The first call starts it, and it ends when nothing was asked for an
hour. There is one for each set of configuration files.

  status   whether it runs, and its servers (default)
  stop     end it and its servers; calls that run may go on for 10 seconds
  restart  end it where it runs, and start it
  logs     what happened, to all servers or to one; -f goes on as it happens
  run      run it here, in the foreground, until Ctrl-C

MCPL_DAEMON=off or daemon = false in config.toml switch it off, --no-daemon for
one command.`,
		Example: `  mcpl daemon status
  mcpl daemon logs github -f
  mcpl daemon stop`,
	})
	cmd.ValidArgsFunction = cobra.FixedCompletions([]string{"status", "stop", "restart", "logs", "run"}, cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

func (t *tree) version() *cobra.Command {
	return t.command(new(verb.Version), "setup", &cobra.Command{
		Use:   "version",
		Short: "Print the version",
	})
}

func (t *tree) refresh() *cobra.Command {
	cmd := t.command(new(verb.Refresh), "setup", &cobra.Command{
		Use:   verb.RefreshName,
		Short: "Renew the index behind an answer",
	})
	cmd.Hidden = true
	return cmd
}

func (t *tree) exampleServer() *cobra.Command {
	return &cobra.Command{
		Use:    "example-server",
		Short:  "Run the embedded example server on stdin and stdout",
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return t.opt.ExampleServer(cmd.Context(), t.opt.App.Stdin, t.opt.App.Stdout)
		},
	}
}
