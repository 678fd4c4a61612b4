package verb

import (
	"context"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func promptSpec() Spec {
	return Spec{
		Name: "prompt", Group: Offers, New: func() Verb { return new(promptVerb) },
		Early: true, Daemon: StartDaemon,
		Aliases:  []Alias{{Words: "get-prompt get_prompt getprompt use-prompt use_prompt prompts/get"}},
		Complete: completeOffer(tool.Prompt, true),
		Use:      "prompt SERVER NAME [ARGS]", Short: "Get one prompt (starts its server only)",
		Long: `Prompt fills in a prompt of a server and prints its messages. ARGS are as in
call: one JSON object, or pairs key=value, key:=json, key=@file. All arguments
of prompts are strings.`,
		Example: `  mcpl prompt everything simple-prompt
  mcpl --json prompt everything args-prompt city=Oslo`,
	}
}

// promptVerb gets one prompt: mcpl prompt SERVER NAME [ARGS].
type promptVerb struct{ argued }

func (v *promptVerb) Run(ctx context.Context, s *Session) error {
	ref, rest, err := s.Engine.Resolve(v.words, tool.Prompt)
	if err != nil {
		return err
	}
	return v.do(ctx, s, ref, rest, true)
}
