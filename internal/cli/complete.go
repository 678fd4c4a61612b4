package cli

import (
	"bytes"

	"github.com/spf13/cobra"

	"github.com/mcp-launchpad/mcpl/internal/verb"
	"github.com/mcp-launchpad/mcpl/pkg/index"
)

// Completion answers from the index as it is: a shell that waits for a server is no help.

// completion prints a shell's script.
func (t *tree) completion() *cobra.Command {
	write := func(shell string) (string, error) { return script((&tree{opt: t.opt}).root(), shell) }
	return t.command(&verb.Completion{Script: write}, "setup", &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the completion script of a shell",
		Long: `Completion prints a script that lets bash, zsh, fish or powershell complete
verbs, flags, servers and tools. It answers from the index alone and starts no
server.`,
		Example: `  source <(mcpl completion bash)                             # in ~/.bashrc
  source <(mcpl completion zsh)                              # in ~/.zshrc
  mcpl completion fish > ~/.config/fish/completions/mcpl.fish
  mcpl completion powershell | Out-String | Invoke-Expression`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
	})
}

// script returns the completion script of a shell, "" for a shell that has none.
func script(root *cobra.Command, shell string) (string, error) {
	var b bytes.Buffer
	var err error
	switch shell {
	case "bash":
		err = root.GenBashCompletionV2(&b, true)
	case "zsh":
		err = root.GenZshCompletion(&b)
	case "fish":
		err = root.GenFishCompletion(&b, true)
	case "powershell", "pwsh":
		err = root.GenPowerShellCompletionWithDesc(&b)
	}
	return b.String(), err
}

// completeServer completes one server that is on.
func (t *tree) completeServer(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return t.words(func(names *verb.Names) []string { return names.Servers(true) }), cobra.ShellCompDirectiveNoFileComp
}

// completeTool completes a server that is on and then one of its tools.
func (t *tree) completeTool(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	on := func(names *verb.Names, server string) []index.Record { return names.Tools(server, true) }
	return t.completeOffer(args, on, cobra.ShellCompDirectiveDefault) // values may be files
}

// completeOffer completes a server that is on and then something that it offers; rest is for what follows.
func (t *tree) completeOffer(args []string, offers func(*verb.Names, string) []index.Record, rest cobra.ShellCompDirective) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return t.completeServer(nil, args, "")
	case 1:
		return t.words(func(names *verb.Names) []string { return described(offers(names, args[0]), "") }), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, rest
}

// completeNames completes servers and SERVER/TOOL, on or off.
func (t *tree) completeNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return t.words(func(names *verb.Names) []string {
		words := names.Servers(false)
		for _, server := range names.Servers(false) {
			words = append(words, described(names.Tools(server, false), server+"/")...)
		}
		return words
	}), cobra.ShellCompDirectiveNoFileComp
}

// words asks the index, if there is one.
func (t *tree) words(ask func(*verb.Names) []string) []string {
	names := t.opt.App.Names(t.globals)
	if names == nil {
		return nil
	}
	defer names.Close()
	return ask(names)
}

func described(tools []index.Record, prefix string) []string {
	var words []string
	for _, rec := range tools {
		words = append(words, cobra.CompletionWithDesc(prefix+rec.Name, index.FirstSentences(rec.Description, 60)))
	}
	return words
}
