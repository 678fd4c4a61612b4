package verb

import (
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestInspectOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "inspect", map[string]options{
		"a tool":          {args: []string{"demo", "add"}, want: &inspectVerb{Kind: "tool", kind: tool.Tool, words: []string{"demo", "add"}}},
		"with an example": {args: []string{"demo/add", "--example"}, want: &inspectVerb{Kind: "tool", Example: true, kind: tool.Tool, words: []string{"demo/add"}}},
		"a template":      {args: []string{"-k", "template", "s", "u"}, want: &inspectVerb{Kind: "template", kind: tool.Resource, words: []string{"s", "u"}}},
		"an unknown kind": {args: []string{"-k", "all", "s", "t"}, says: `unknown kind "all"`},
	})
}

func TestInspectAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"a tool": {args: strings.Fields("inspect demo add"), text: `demo/add  Add

  Add two numbers. And more.

Signature
  add(a: number, b?: number)

Parameters
  a  number  required  The first.
  b  number  optional  Default: 1.0.

Hints from the server
  read-only: it changes nothing
  closed world: it stays within its own system

Gives
  sum?: number

Call it
  mcpl call demo add '{"a":1}'
`,
			json: `{"server":"demo","tool":"add","title":"Add","description":"Add two numbers. And more.","inputSchema":{"type":"object","properties":{"a":{"type":"number","description":"The first."},"b":{"type":"number","default":1.0}},"required":["a"]},"annotations":{"readOnlyHint":true,"openWorldHint":false},"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}}}}`},
		"in one word": {args: strings.Fields("inspect demo/drop --example"), text: `demo/drop

  Deprecated: drop a table

Signature
  drop(table?: users|orders)

Parameters
  table  users|orders  optional

Hints from the server
  destructive: it may delete or overwrite
  idempotent: calling it twice does no more than calling it once

Example
  mcpl call demo drop '{}'
`,
			json: `{"server":"demo","tool":"drop","description":"Deprecated: drop a table","inputSchema":{"type":"object","properties":{"table":{"type":"string","enum":["users","orders"]}}},"annotations":{"destructiveHint":true,"idempotentHint":true},"example":{"arguments":{},"command":"mcpl call demo drop '{}'"}}`},
		"a prompt": {args: strings.Fields("inspect -k prompt papers review"), text: `papers review  prompt

  Review a paper

Signature
  review(topic: string)

Parameters
  topic  string  required  Of what

Get it
  mcpl prompt papers review '{"topic":"<topic>"}'
`,
			json: `{"server":"papers","kind":"prompt","prompt":"review","description":"Review a paper","arguments":[{"name":"topic","description":"Of what","required":true}]}`},
		"a resource": {args: strings.Fields("inspect -k resource papers paper://report"), text: `papers paper://report  resource  The report

  What was found.

  name      report
  mimeType  text/plain

Read it: mcpl read papers paper://report
`,
			json: `{"server":"papers","kind":"resource","uri":"paper://report","name":"report","title":"The report","description":"What was found.","mimeType":"text/plain"}`},
		"a template": {args: strings.Fields("inspect -k resource papers paper://{year}"), text: `papers paper://{year}  template  by year

  name  by year

Read one, with the braces filled in: mcpl read papers 'paper://{year}'
`},
		"more than one": {args: strings.Fields("inspect demo add drop"), code: 2, text: `error: inspect takes one tool, "drop" is too much
hint: Type: mcpl inspect demo add
`,
			json: `{"success":false,"error":{"type":"UsageError","message":"inspect takes one tool, \"drop\" is too much","traceback":"","help":"Type: mcpl inspect demo add"}}`},
		"without a tool":  {args: strings.Fields("inspect demo"), code: 2, says: []string{"error: which tool of demo?"}},
		"an unknown tool": {args: strings.Fields("inspect demo ad"), code: 3, says: []string{`error: demo has no tool "ad"`}},
		"without a resource": {args: strings.Fields("inspect -k resource papers"), code: 2, text: `error: which resource of papers?
hint: See its resources with: mcpl resources papers
`,
			json: `{"success":false,"error":{"type":"UsageError","message":"which resource of papers?","traceback":"","help":"See its resources with: mcpl resources papers","server":"papers"}}`},
		"nothing at all": {args: strings.Fields("inspect -k prompt"), code: 2, text: `error: which prompt?
hint: Name it as SERVER NAME. See what there is with: mcpl prompts
`,
			json: `{"success":false,"error":{"type":"UsageError","message":"which prompt?","traceback":"","help":"Name it as SERVER NAME. See what there is with: mcpl prompts"}}`},
	})
}
