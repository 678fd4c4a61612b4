// Package cli is mcpl's command tree: for each verb of internal/verb its place, its help and its
// completion. It parses the command line, and answers what cannot be parsed with what to type
// instead.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
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
	globals verb.Globals
	code    int
}

func (t *tree) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpl",
		Short: "One command in front of every MCP server you have configured",
		Long: `mcpl finds, describes and calls the tools of all your MCP servers, without loading
their definitions into a model and without starting a server that is not needed.

The three verbs an agent needs:
  mcpl --json search "open a pull request"             find a tool (starts nothing)
  mcpl --json inspect github create_pull_request       read its schema (starts nothing)
  mcpl --json call github create_pull_request '{...}'  call it (starts this one server)`,
		SilenceUsage: true, SilenceErrors: true,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return wrongVerb(args)
		},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	t.globals.Flags(root.PersistentFlags())
	root.SetFlagErrorFunc(flagFault)
	root.SetHelpFunc(t.help(root.HelpFunc()))
	root.AddGroup(&cobra.Group{ID: "agent", Title: "Tools:"}, &cobra.Group{ID: "setup", Title: "Setup:"})
	root.AddCommand(t.search(), t.inspect(), t.call(), t.list(),
		t.config(), t.enable(), t.disable(), t.instructions(), t.version(), t.exampleServer())
	root.SetHelpCommandGroupID("setup")
	root.SetCompletionCommandGroupID("setup")
	return root
}

// command hangs a verb into the tree.
func (t *tree) command(v verb.Verb, group string, cmd *cobra.Command) *cobra.Command {
	v.Flags(cmd.Flags())
	cmd.GroupID = group
	cmd.Args = cobra.ArbitraryArgs // the verbs say themselves what is wrong, better than cobra
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		code, err := t.opt.App.Run(cmd.Context(), v, t.globals, args)
		t.code = code
		return err
	}
	return cmd
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

// flagFault says what is wrong with a flag. Agents often write a tool's arguments as flags.
func flagFault(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	help := fmt.Sprintf("See the flags with: %s --help", cmd.CommandPath())
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && cmd.Name() == "call" {
		name := unknown.GetSpecifiedName()
		help = fmt.Sprintf("Arguments of a tool are no flags. Write them as %s=VALUE, or all of them as one JSON object. %s", name, help)
	}
	return fault.New(fault.Usage, err.Error(), help)
}

// wrongVerb answers a verb that does not exist with the one that was meant.
func wrongVerb(args []string) error {
	right := meant(args[0])
	f := fault.New(fault.Usage, fmt.Sprintf("there is no verb %q", args[0]), "")
	if right == "" {
		f.Help = `The verbs are search, inspect, call and list. To find a tool: mcpl search "what you want to do". See all with: mcpl --help`
		return f
	}
	words := []string{"mcpl", right}
	for _, arg := range args[1:] {
		words = append(words, fault.Quote(arg))
	}
	f.Suggestions = []string{right}
	f.Help = "Type: " + strings.Join(words, " ")
	return f
}

// meant returns the verb that people and agents mean by another word.
func meant(word string) string {
	switch strings.ToLower(word) {
	case "find", "query", "lookup", "grep", "discover", "search-tools", "search_tools", "tool-search":
		return "search"
	case "describe", "info", "show", "schema", "get", "help-tool", "man", "view", "doc", "docs", "read", "explain":
		return "inspect"
	case "run", "exec", "execute", "invoke", "use", "do", "tool", "call-tool", "call_tool", "calltool":
		return "call"
	case "ls", "tools", "servers", "list-tools", "list_tools", "list-servers", "status", "ps", "catalog", "all":
		return "list"
	case "refresh", "reload", "update", "sync", "index":
		return "list --refresh"
	case "on", "activate":
		return "enable"
	case "off", "deactivate":
		return "disable"
	case "prompt", "snippet", "agents", "claude", "usage":
		return "instructions"
	case "cfg", "settings", "configuration", "env":
		return "config"
	}
	return ""
}
