package verb

import (
	"testing"
)

func TestInstructionsOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "instructions", map[string]options{
		"printed": {want: &Instructions{}},
		"written": {args: []string{"--write", "AGENTS.md"}, want: &Instructions{Write: "AGENTS.md"}},
		"a word":  {args: []string{"AGENTS.md"}, says: `instructions does not take "AGENTS.md"`},
	})
}

func TestInstructionsAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"printed": {args: []string{"instructions"}, text: `## MCP tools through mcpl

Tools of MCP servers are reached by shell commands. Do not guess names or arguments: search, inspect, then call.

    mcpl --json search "what you want to do"
    mcpl --json inspect SERVER TOOL
    mcpl --json call SERVER TOOL '{"key": "value"}'

Resources and prompts: search --kind all, then mcpl read SERVER URI or mcpl prompt SERVER NAME key=value.
A failure is {"success":false,"error":{...}}: follow its "help". Servers:
- demo (2 tools): Adds up. And more.
- papers (1 tool): cite
- down
- web (1 tool): look
`,
			json: `{"text":"## MCP tools through mcpl\n\nTools of MCP servers are reached by shell commands. Do not guess names or arguments: search, inspect, then call.\n\n    mcpl --json search \"what you want to do\"\n    mcpl --json inspect SERVER TOOL\n    mcpl --json call SERVER TOOL '{\"key\": \"value\"}'\n\nResources and prompts: search --kind all, then mcpl read SERVER URI or mcpl prompt SERVER NAME key=value.\nA failure is {\"success\":false,\"error\":{...}}: follow its \"help\". Servers:\n- demo (2 tools): Adds up. And more.\n- papers (1 tool): cite\n- down\n- web (1 tool): look\n"}`},
	})
}
