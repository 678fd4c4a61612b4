// Package cli is mcpl's command tree: for each verb of internal/verb its place, its help and its
// completion. It parses the command line, and answers what cannot be parsed with what to type
// instead.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcp-launchpad/mcpl/internal/verb"
)

// Options are what the composition root hands in.
type Options struct {
	App *verb.App
	// ExampleServer runs the embedded example server on these streams until stdin ends.
	ExampleServer func(ctx context.Context, stdin io.Reader, stdout io.Writer) error
}

// Execute runs the command line and returns the exit code. The answer or the fault has been
// written by then.
func Execute(ctx context.Context, args []string, o Options) int {
	t := &tree{opt: o}
	root := t.root()
	root.SetArgs(args)
	root.SetOut(o.App.Stdout)
	root.SetErr(o.App.Stderr)
	t.args = args
	if err := root.ExecuteContext(ctx); err != nil {
		t.globals.JSON = t.globals.JSON || asksForJSON(args)
		return o.App.Fail(o.App.NewPrinter(t.globals), err)
	}
	return t.code
}

// asksForJSON finds --json on a command line that could not be parsed as far as there.
func asksForJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "--json", "--json=true":
			return true
		}
	}
	return false
}

// tree builds the commands and keeps what a run of one leaves behind.
type tree struct {
	opt     Options
	args    []string
	globals verb.Globals
	code    int
}

func (t *tree) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpl",
		Short: "One command in front of every MCP server you have configured",
		Long: `mcpl finds, describes and calls the tools of all your MCP servers, without
loading their definitions into a model and without starting a server that is
not needed.

The three verbs an agent needs:
  mcpl --json search "open a pull request"               find a tool
  mcpl --json inspect github create_pull_request         read its schema
  mcpl --json call github create_pull_request '{...}'    call it

Searching and inspecting start nothing. A call starts its server, and the daemon
keeps that for the next one.`,
		SilenceUsage: true, SilenceErrors: true,
		Args:                       cobra.ArbitraryArgs,
		CompletionOptions:          cobra.CompletionOptions{DisableDefaultCmd: true}, // it cannot speak JSON
		SuggestionsMinimumDistance: 2,                                                // edits
	}
	version := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *version:
			return t.run(cmd, new(verb.Version), nil)
		case len(args) == 0:
			return cmd.Help()
		}
		return wrongVerb(root, args)
	}
	t.globals.Flags(root.PersistentFlags())
	root.SetFlagErrorFunc(t.flagFault)
	root.SetHelpFunc(t.help(root.HelpFunc()))
	root.AddGroup(&cobra.Group{ID: "agent", Title: "Tools:"}, &cobra.Group{ID: "others", Title: "Resources and prompts:"},
		&cobra.Group{ID: "setup", Title: "Setup:"})
	root.AddCommand(t.search(), t.inspect(), t.call(), t.list(), t.resources(), t.read(), t.prompts(), t.prompt(),
		t.config(), t.auth(), t.doctor(), t.enable(), t.disable(), t.instructions(), t.completion(), t.daemon(), t.version(), t.refresh(), t.exampleServer())
	root.SetHelpCommand(helpCommand())
	return root
}

// command hangs a verb into the tree.
func (t *tree) command(v verb.Verb, group string, cmd *cobra.Command) *cobra.Command {
	v.Flags(cmd.Flags())
	cmd.GroupID = group
	cmd.Args = cobra.ArbitraryArgs // the verbs say themselves what is wrong, better than cobra
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return t.run(cmd, v, args) }
	return cmd
}

// run runs a verb and keeps its exit code.
func (t *tree) run(cmd *cobra.Command, v verb.Verb, args []string) error {
	code, err := t.opt.App.Run(cmd.Context(), v, t.globals, args)
	t.code = code
	return err
}

// help writes help as text, or as one JSON document where that was asked for.
func (t *tree) help(text func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		if !t.globals.JSON && !asksForJSON(args) {
			text(cmd, args)
			return
		}
		var b bytes.Buffer
		out := cmd.OutOrStdout()
		cmd.SetOut(&b)
		text(cmd, args)
		cmd.SetOut(out)
		doc, err := json.Marshal(map[string]string{"help": b.String()})
		if err == nil {
			_, _ = fmt.Fprintf(out, "%s\n", doc) // nowhere to report it
		}
	}
}
