package cli

import (
	"bytes"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-launchpad/mcpl/internal/verb"
	"github.com/mcp-launchpad/mcpl/pkg/hidden"
)

// Script returns the completion script of a shell, "" if the shell is unknown.
func Script(app *verb.App, shell string) (string, error) {
	root := (&tree{app: app}).root()
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

// typeable returns the words that a shell may offer, with their descriptions made visible: some shells print both raw.
// It omits names with hidden characters, which cannot be typed.
func typeable(words []string) []string {
	var safe []string
	for _, text := range words {
		word, about, described := strings.Cut(text, "\t")
		if hidden.Count(word) > 0 || strings.ContainsAny(word, "\r\n") {
			continue
		}
		if described {
			word += "\t" + strings.NewReplacer("\n", " ", "\t", " ").Replace(hidden.Show(about))
		}
		safe = append(safe, word)
	}
	return safe
}

// complete makes cobra's completion of a verb's. It answers from the index as it is: a shell waits for no server.
func (t *tree) complete(completer verb.Completer) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		names := t.app.Names(t.globals)
		defer names.Close()
		words, files := completer(names, args)
		words = typeable(words)
		if files {
			return words, cobra.ShellCompDirectiveDefault
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}
