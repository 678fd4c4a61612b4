package verb

import (
	"context"
	"fmt"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

func completionSpec() Spec {
	return Spec{
		Name: "completion", Group: Setup, New: func() Verb { return new(completionVerb) },
		Complete: completeShell,
		Use:      "completion SHELL", Short: "Print the completion script of a shell",
		Long: `Completion prints a script that lets bash, zsh, fish or powershell complete
verbs, flags, servers and tools. It answers from the index alone and starts no
server.`,
		Example: `  source <(mcpl completion bash)                             # in ~/.bashrc
  source <(mcpl completion zsh)                              # in ~/.zshrc
  mcpl completion fish > ~/.config/fish/completions/mcpl.fish
  mcpl completion powershell | Out-String | Invoke-Expression`,
	}
}

func completeShell(_ *Names, args []string) ([]string, bool) {
	if len(args) > 0 {
		return nil, true
	}
	return []string{"bash", "zsh", "fish", "powershell"}, false
}

// completionVerb prints the script that makes a shell complete mcpl: mcpl completion SHELL.
type completionVerb struct{ plain }

// noScript is the fault of a command line that names no shell with a script.
func noScript(message string) error {
	return fault.New(fault.Usage, message, "There is one for bash, zsh, fish and powershell.").
		Then("For example", fault.Step{Verb: "completion", Args: []string{"bash"}})
}

func (v *completionVerb) Parse(words []string) error {
	if len(words) != 1 {
		return noScript("completion for which shell?")
	}
	return v.plain.Parse(words)
}

func (v *completionVerb) Run(_ context.Context, s *Session) error {
	shell := v.words[0]
	script, err := s.App.Script(shell)
	switch {
	case err != nil:
		return err
	case script == "":
		return noScript(fmt.Sprintf("there is no completion script for %q", shell))
	}
	return s.Printer.Answer(&scriptAnswer{Shell: shell, Script: script})
}

type scriptAnswer struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

func (a *scriptAnswer) WriteText(t *output.Text) { t.Print(a.Script) }
