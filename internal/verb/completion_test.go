package verb

import (
	"errors"
	"strings"
	"testing"
)

func TestCompletionOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "completion", map[string]options{
		"a shell": {args: []string{"bash"}, want: &completionVerb{plain{[]string{"bash"}}}},
		"nothing": {says: "completion for which shell?"},
		"two":     {args: []string{"bash", "zsh"}, says: "completion for which shell?"},
	})
}

func TestCompletionAnswers(t *testing.T) {
	t.Parallel()
	world := func(t *testing.T) *world {
		w := newWorld(t, "", nil)
		w.app.Script = func(shell string) (string, error) {
			if shell == "fish" {
				return "", errors.New("broken")
			}
			return map[string]string{"bash": "complete -F x mcpl\n"}[shell], nil
		}
		return w
	}
	checkAnswers(t, world, map[string]answer{
		"a script": {args: strings.Fields("completion bash"), text: "complete -F x mcpl\n",
			json: `{"shell":"bash","script":"complete -F x mcpl\n"}`},
		"an unknown shell": {args: strings.Fields("completion tcsh"), code: 2, text: `error: there is no completion script for "tcsh"
hint: There is one for bash, zsh, fish and powershell. For example: mcpl completion bash
`},
		"a defect": {args: strings.Fields("completion fish"), code: 70, says: []string{"error: broken"}},
	})
}
