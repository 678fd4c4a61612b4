package verb

import (
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

func TestConfigAddOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "config add", map[string]options{
		"a command": {args: []string{"a", "--", "c", "-x"}, want: &configAddVerb{name: "a", entry: config.Entry{Command: "c", Args: []string{"-x"}}}},
		"a command with all flags": {args: []string{"a", "--force", "--to", "f", "--cwd", "d", "--env", "A=b=c", "--env", "A=", "--", "c"}, want: &configAddVerb{
			Force: true, To: "f", Cwd: "d", Env: []string{"A=b=c", "A="}, name: "a",
			entry: config.Entry{Command: "c", Args: []string{}, Cwd: "d", Env: []config.KeyValue{{Name: "A"}}}}},
		"a remote server": {args: []string{"a", "--url", "u", "--transport", "sse", "--header", "K: v=w", "--header", "L=m: n"}, want: &configAddVerb{
			URL: "u", Transport: "sse", Headers: []string{"K: v=w", "L=m: n"}, name: "a", entry: config.Entry{URL: "u", Transport: config.SSE,
				Headers: []config.KeyValue{{Name: "K", Value: "v=w"}, {Name: "L", Value: "m: n"}}}}},
		"nothing":                    {says: `the server needs a name`},
		"a name alone":               {args: []string{"a"}, says: `the server needs a command or a --url`},
		"a command and a URL":        {args: []string{"a", "--url", "u", "--", "c"}, says: `the server has either a command or a --url, not both`},
		"a command and a header":     {args: []string{"a", "--header", "A=b", "--", "c"}, says: `--transport and --header belong to a --url`},
		"a URL and a variable":       {args: []string{"a", "--url", "u", "--env", "A=b"}, says: `--env and --cwd belong to a command`},
		"an unknown transport":       {args: []string{"a", "--url", "u", "--transport", "stdio"}, says: `--transport is http or sse, not "stdio"`},
		"a variable without a value": {args: []string{"a", "--env", "A", "--", "c"}, says: `--env wants NAME=VALUE`},
		"a header without a name":    {args: []string{"a", "--url", "u", "--header", "=b"}, says: `--header wants NAME=VALUE`},
	})
}

func TestConfigAddAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"a command": {args: strings.Fields("config add new -- cmd -y"), text: `Added new: cmd -y
In DIR/.mcp.json
Ask it for its tools with: mcpl list new --refresh
`,
			json: `{"name":"new","file":"DIR/.mcp.json","created":false,"replaced":false,"transport":"stdio","command":"cmd -y","cwd":"DIR"}`},
		"a remote server": {args: strings.Fields("config add new --url https://h.example/mcp --transport sse --header X-Kind=a"), text: `Added new: https://h.example/mcp
In DIR/.mcp.json
Ask it for its tools with: mcpl list new --refresh
`,
			json: `{"name":"new","file":"DIR/.mcp.json","created":false,"replaced":false,"transport":"sse","url":"https://h.example/mcp","headers":[{"name":"X-Kind","from":"the entry"}]}`},
		"replaced": {args: strings.Fields("config add demo --force -- cmd"), text: `Replaced demo: cmd
In DIR/.mcp.json
Ask it for its tools with: mcpl list demo --refresh
`,
			json: `{"name":"demo","file":"DIR/.mcp.json","created":false,"replaced":true,"transport":"stdio","command":"cmd","cwd":"DIR"}`},
		"already there": {args: strings.Fields("config add demo -- cmd"), code: 2, says: []string{`error: DIR/.mcp.json has a server "demo" already`}},
		"a variable without a value": {args: strings.Fields("config add new --env GITHUB_TOKEN=${GITHUB_TOKEN} -- cmd"), says: []string{"Added new: cmd"},
			json: `{"name":"new","file":"DIR/.mcp.json","created":false,"replaced":false,"transport":"stdio","command":"cmd","cwd":"DIR","env":[{"name":"GITHUB_TOKEN","from":"${GITHUB_TOKEN}: not set"}],"warnings":["GITHUB_TOKEN is not set: add GITHUB_TOKEN=... to DIR/.env, get it at https://github.com/settings/tokens"]}`},
		"a literal secret": {args: strings.Fields("config add new --env API_KEY=sk-1234567890abcdef -- cmd"), says: []string{"Added new: cmd"},
			json: `{"name":"new","file":"DIR/.mcp.json","created":false,"replaced":false,"transport":"stdio","command":"cmd","cwd":"DIR","env":[{"name":"API_KEY","from":"the entry"}],"warnings":["env API_KEY is a literal secret: it is in DIR/.mcp.json now, and in your shell's history. Better put API_KEY=... into DIR/.env, write ${API_KEY} instead, in single quotes, and add the server again with --force"]}`},
		"into a new file": {args: strings.Fields("config add new --to new.json -- cmd"), text: `Added new: cmd
In the new file DIR/new.json
Ask it for its tools with: mcpl list new --refresh
`},
	})
}
