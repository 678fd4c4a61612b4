package verb

import (
	"strings"
	"testing"
)

func TestPromptOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "prompt", map[string]options{
		"a prompt":                  {args: []string{"s", "p", "a=b"}, want: &promptVerb{argued{request: request{words: []string{"s", "p", "a=b"}}}}},
		"with arguments from stdin": {args: []string{"s", "p", "--stdin"}, want: &promptVerb{argued{Stdin: true, request: request{words: []string{"s", "p"}}}}},
		"an answer that is none":    {args: []string{"s", "p", "--elicit", "["}, says: "--elicit '[' is not an answer to a question"},
	})
}

func TestPromptAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"filled in": {args: strings.Fields("prompt papers review topic=rain"), asked: []string{"papers"}, text: `user:
Review rain.
`,
			json: `{"success":true,"result":{"messages":[{"role":"user","content":{"type":"text","text":"Review rain."}}]}}`},
		"raw": {args: strings.Fields("prompt papers review topic=rain --raw"), asked: []string{"papers"}, text: `{"messages":[{"role":"user","content":{"type":"text","text":"Review rain."}}]}
`},
		"an argument is missing": {args: strings.Fields("prompt papers review"), code: 2, text: `error: 1 argument does not fit papers/review
  /topic: is missing; expected string
hint: Parameters: topic: string
      Try: mcpl prompt papers review '{"topic":"<topic>"}'
`,
			json: `{"success":false,"error":{"type":"InvalidArgumentsError","message":"1 argument does not fit papers/review","traceback":"","help":"Parameters: topic: string\nTry: mcpl prompt papers review '{\"topic\":\"<topic>\"}'","server":"papers","arguments":[{"pointer":"/topic","problem":"is missing","expected":"string"}]}}`},
		"without a name": {args: strings.Fields("prompt papers"), code: 2, text: `error: which prompt of papers?
hint: See its prompts with: mcpl prompts papers
`,
			json: `{"success":false,"error":{"type":"UsageError","message":"which prompt of papers?","traceback":"","help":"See its prompts with: mcpl prompts papers","server":"papers"}}`},
		"an unknown prompt": {args: strings.Fields("prompt papers revue"), code: 3, says: []string{`error: papers has no prompt "revue"`}},
	})
}
