package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// flagFault says what is wrong with a flag. Agents often write arguments as flags, and flags behind an unknown verb.
func (t *tree) flagFault(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	root := cmd.Root()
	if words := cmd.Flags().Args(); cmd == root && len(words) > 0 {
		return wrongVerb(root, t.args[slices.Index(t.args, words[0]):])
	}
	help := fmt.Sprintf("Its flags are %s. See what they do with: %s --help",
		strings.Join(flagNames(cmd), ", "), cmd.CommandPath())
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && cmd.HasSubCommands() && len(commandsWith(root, unknown)) > 0:
		return t.misplaced(root, unknown)
	case errors.As(err, &unknown) && (cmd.Name() == "call" || cmd.Name() == "prompt"):
		what := strings.Replace(cmd.Name(), "call", "tool", 1)
		help = fmt.Sprintf("Arguments of a %s are not flags. Write them as %s=VALUE, or all of them as one JSON object. %s",
			what, unknown.GetSpecifiedName(), help)
	case errors.As(err, &unknown) && cmd.Name() == "add":
		help = "Flags of the server's command belong behind --, as in: mcpl config add NAME -- COMMAND -y. " + help
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		wanted := map[string]string{"int": "a whole number", "duration": "a time like 30s or 2m",
			"bool": "true or false", "text": "some text"}[f.Value.Type()]
		return fault.New(fault.Usage,
			fmt.Sprintf("--%s wants %s, not %q", f.Name, cmp.Or(wanted, "a value"), invalid.GetValue()),
			fmt.Sprintf("See the flags with: %s --help", cmd.CommandPath()))
	}
	return fault.New(fault.Usage, err.Error(), help)
}

// misplaced is the fault of a verb's flag that stands before the verb.
func (t *tree) misplaced(root *cobra.Command, unknown *pflag.NotExistError) error {
	owners := commandsWith(root, unknown)
	f := fault.New(fault.Usage, fmt.Sprintf("unknown flag: --%s: it belongs behind %s", unknown.GetSpecifiedName(),
		strings.Join(owners, " or ")), "")
	at := slices.IndexFunc(t.args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return name == "--"+unknown.GetSpecifiedName()
	})
	rest := slices.Delete(slices.Clone(t.args), at, at+1)
	cmd, _, err := root.Find(rest)
	if err != nil || !slices.Contains(owners, verbOf(cmd)) {
		f.Help = "Type the flag behind its verb, as in: mcpl " + owners[0] + " --" + unknown.GetSpecifiedName()
		return f
	}
	for _, word := range strings.Fields(verbOf(cmd)) { // what stands before the verb is for every verb
		rest = rest[slices.Index(rest, word)+1:]
	}
	return f.Then("Type", fault.Step{Verb: verbOf(cmd), Args: slices.Concat(t.args[at:at+1], rest)})
}

// commandsWith returns the verbs at or below cmd that have the unknown flag.
func commandsWith(cmd *cobra.Command, unknown *pflag.NotExistError) (verbs []string) {
	if cmd.LocalFlags().Lookup(unknown.GetSpecifiedName()) != nil && cmd.HasParent() && !cmd.Hidden {
		verbs = append(verbs, verbOf(cmd))
	}
	for _, sub := range cmd.Commands() {
		verbs = append(verbs, commandsWith(sub, unknown)...)
	}
	return verbs
}

// verbOf returns the words of the verb that cmd runs.
func verbOf(cmd *cobra.Command) string {
	return strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()))
}

// flagNames returns the flags that cmd does not inherit.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			names = append(names, "--"+f.Name)
		}
	})
	if cmd.HasParent() {
		names = append(names, "--json")
	}
	slices.Sort(names)
	return names
}

// wrongVerb is the fault of a verb that does not exist, the first of args. Its help names the verb that was meant.
func wrongVerb(root *cobra.Command, args []string) error {
	right := verb.Meant(args[0])
	if right == "" {
		if near := root.SuggestionsFor(args[0]); len(near) > 0 {
			right = near[0]
		}
	}
	f := fault.New(fault.Usage, fmt.Sprintf("there is no verb %q", args[0]), "")
	if right == "" {
		f.Help = `The verbs are search, inspect, call and list. To find a tool: mcpl search "what you want to do". ` +
			`See all with: mcpl --help`
		return f
	}
	rest := args[1:]
	if right == "call" || right == "prompt" {
		rest = flagsToPairs(root, right, rest)
	}
	f.Suggestions = []string{right}
	return f.Then("Type", fault.Step{Verb: right, Args: rest})
}

// flagsToPairs rewrites flags that the right verb lacks (--title x, --title=x) as pairs: they are arguments of a tool.
func flagsToPairs(root *cobra.Command, right string, args []string) []string {
	cmd, _, err := root.Find([]string{right})
	if err != nil {
		return args
	}
	var words []string
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		switch {
		case !strings.HasPrefix(args[i], "--") || name == "" || cmd.Flag(name) != nil:
			words = append(words, args[i])
		case joined:
			words = append(words, name+"="+value)
		case i+1 < len(args) && !strings.HasPrefix(args[i+1], "--"):
			i++
			words = append(words, name+"="+args[i])
		default:
			words = append(words, name+"=true")
		}
	}
	return words
}

// helpCommand is "mcpl help VERB". Unlike cobra's own it names the verb that was meant if there is no such verb.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [VERB]",
		Short:   "Show what a verb does",
		GroupID: string(verb.Setup),
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				cmd.Root().InitDefaultHelpFlag()
				return cmd.Root().Help()
			}
			right := args[0]
			if line := verb.Meant(right); line != "" {
				right, _, _ = strings.Cut(line, " ")
			}
			found, _, err := cmd.Root().Find([]string{right})
			if err != nil || found == cmd.Root() {
				return wrongVerb(cmd.Root(), args)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}
