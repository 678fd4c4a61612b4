// Package cli runs the command line: call [Execute]. It makes a command tree of the table of verbs
// (internal/verb), with their help and completion, and parses the arguments. If they cannot be parsed,
// it answers with the command to type instead.
//
// It also has what verbs need of cobra and gojq: [Script], [Query], and [Apart] for queries of strangers.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-launchpad/mcpl/internal/verb"
)

// Execute runs the command line, writes the answer or the fault, and returns the exit code.
func Execute(ctx context.Context, args []string, app *verb.App) int {
	t := &tree{app: app, args: args}
	root := t.root()
	root.SetArgs(args)
	root.SetOut(app.Stdout)
	root.SetErr(app.Stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		t.globals.JSON = t.globals.JSON || asksForJSON(args)
		return app.Fail(app.NewPrinter(t.globals), err)
	}
	return t.code
}

// asksForJSON finds --json on a command line whose parsing failed before it.
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

// tree builds the commands and keeps the flags and the exit code of the one that runs.
type tree struct {
	app     *verb.App
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
keeps the server for the next call.`,
		SilenceUsage: true, SilenceErrors: true,
		Args:                       cobra.ArbitraryArgs,
		CompletionOptions:          cobra.CompletionOptions{DisableDefaultCmd: true}, // it cannot speak JSON
		SuggestionsMinimumDistance: 2,                                                // edits
	}
	version := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *version:
			spec, _ := verb.Find("version")
			return t.run(cmd, spec, spec.New(), nil)
		case len(args) == 0:
			return cmd.Help()
		}
		return wrongVerb(root, args)
	}
	t.globals.Flags(root.PersistentFlags())
	root.SetFlagErrorFunc(t.flagFault)
	root.SetHelpFunc(t.help(root.HelpFunc()))
	for _, group := range []verb.Group{verb.Tools, verb.Offers, verb.Setup} {
		root.AddGroup(&cobra.Group{ID: string(group), Title: string(group) + ":"})
	}
	for _, spec := range verb.Table() {
		t.hang(root, spec)
	}
	root.AddCommand(&cobra.Command{Use: "example-server", Short: "Run the embedded example server on stdin and stdout",
		Hidden: true, RunE: func(cmd *cobra.Command, _ []string) error {
			return t.app.ExampleServer(cmd.Context(), t.app.Stdin, t.app.Stdout)
		}})
	root.SetHelpCommand(helpCommand())
	return root
}

// hang puts a verb into the tree, below the verb that the first word of its name names, if it has two.
func (t *tree) hang(root *cobra.Command, spec verb.Spec) {
	v := spec.New()
	cmd := &cobra.Command{
		Use: spec.Use, Short: spec.Short, Long: spec.Long, Example: spec.Example,
		GroupID: string(spec.Group), Hidden: spec.Hidden,
		DisableFlagsInUseLine: strings.Contains(spec.Use, " -- "), // flags behind -- are not the verb's
		Args:                  cobra.ArbitraryArgs,                // Parse says what is wrong, better than cobra
		RunE:                  func(cmd *cobra.Command, args []string) error { return t.run(cmd, spec, v, args) },
	}
	v.Flags(cmd.Flags())
	if spec.Complete != nil {
		cmd.ValidArgsFunction = t.complete(spec.Complete)
	}
	for flag, completer := range spec.Values {
		_ = cmd.RegisterFlagCompletionFunc(flag, t.complete(completer)) // it fails only for a flag that does not exist
	}
	parent := root
	if first, _, ok := strings.Cut(spec.Name, " "); ok {
		parent, _, _ = root.Find([]string{first}) // it stands before in the table
	}
	parent.AddCommand(cmd)
}

// run runs a verb and keeps its exit code.
func (t *tree) run(cmd *cobra.Command, spec verb.Spec, v verb.Verb, args []string) error {
	code, err := t.app.Run(cmd.Context(), spec, v, t.globals, args)
	t.code = code
	return err
}

// help writes help as text, or with --json as one JSON document.
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
