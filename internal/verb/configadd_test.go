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
		"an address": {args: []string{"a", "https://h/mcp"}, want: &configAddVerb{URL: "https://h/mcp", name: "a",
			entry: config.Entry{URL: "https://h/mcp"}}},
		"an address behind --": {args: []string{"a", "--header", "K=v", "--", "HTTP://h"}, want: &configAddVerb{URL: "HTTP://h", name: "a",
			Headers: []string{"K=v"}, entry: config.Entry{URL: "HTTP://h", Headers: []config.KeyValue{{Name: "K", Value: "v"}}}}},
		"an address and more": {args: []string{"a", "https://h/mcp", "x"}, says: `an address takes no further words`},
		"an entry": {args: []string{"a", `{"command":"npx","args":["-y"],"env":{"A":"b"}}`}, want: &configAddVerb{name: "a",
			entry: config.Entry{Transport: config.Stdio, Command: "npx", Args: []string{"-y"},
				Env: []config.KeyValue{{Name: "A", Value: "b"}}}}},
		"an entry with an address": {args: []string{"a", `{"url":"https://h","type":"sse"} // pasted`}, want: &configAddVerb{name: "a",
			entry: config.Entry{Transport: config.SSE, URL: "https://h"}}},
		"a file": {args: []string{`{"mcpServers":{"b":{"url":"https://h"}}}`}, want: &configAddVerb{name: "b",
			entry: config.Entry{Transport: config.HTTP, FallBack: true, URL: "https://h"}}},
		"a file's servers under another name": {args: []string{"a", `{"b":{"command":"x"}}`}, want: &configAddVerb{name: "a",
			entry: config.Entry{Transport: config.Stdio, Command: "x"}}},
		"one of several": {args: []string{"b", `{"a":{"command":"x"},"b":{"command":"y"}}`}, want: &configAddVerb{name: "b",
			entry: config.Entry{Transport: config.Stdio, Command: "y"}}},
		"several":                    {args: []string{`{"a":{"command":"x"},"b":{"command":"y"}}`}, says: `the JSON has a, b`},
		"none":                       {args: []string{"a", `{"servers":{}}`}, says: `the JSON has no server`},
		"an entry that is bad":       {args: []string{"a", `{"comand":"x"}`}, says: `the entry cannot be used: the entry has no "command" and no "url"`},
		"no JSON":                    {args: []string{"a", `{"command":}`}, says: `the JSON:1: not JSON: invalid character '}' at start of value`},
		"an entry and a flag":        {args: []string{"a", `{"command":"x"}`, "--env", "A=b"}, says: `the JSON is a whole entry: flags for parts of it do not go with it`},
		"an entry alone":             {args: []string{`{"command":"x"}`}, says: `the server needs a name`},
		"nothing":                    {says: `the server needs a name`},
		"a name alone":               {args: []string{"a"}, says: `the server needs a command or a URL`},
		"a command and a URL":        {args: []string{"a", "--url", "u", "--", "c"}, says: `the server has either a command or a URL, not both`},
		"a command and a header":     {args: []string{"a", "--header", "A=b", "--", "c"}, says: `--transport and --header belong to a URL`},
		"a URL and a variable":       {args: []string{"a", "--url", "u", "--env", "A=b"}, says: `--env and --cwd belong to a command`},
		"an address of another kind": {args: []string{"a", "ftp://me:secret@x/y"}, says: `a server has an address with http or https, not ftp`},
		"an address in quotes":       {args: []string{"a", `"https://x/y"`}, says: `that is JSON, but no entry: an entry is an object`},
		"a list":                     {args: []string{"a", `["npx","-y","foo"]`}, says: `that is JSON, but no entry: an entry is an object`},
		"an unknown transport":       {args: []string{"a", "--url", "u", "--transport", "stdio"}, says: `--transport is http or sse, not "stdio"`},
		"a variable without a value": {args: []string{"a", "--env", "A", "--", "c"}, says: `--env wants NAME=VALUE`},
		"a header without a name":    {args: []string{"a", "--url", "u", "--header", "=b"}, says: `--header wants NAME=VALUE`},
	})
}

func TestConfigAddAnswers(t *testing.T) {
	t.Parallel()
	withNew := func(t *testing.T) *world {
		w := fixture(t)
		w.servers["new"] = offering(t, "", `{"name":"x","inputSchema":{"type":"object"}}`)
		return w
	}
	checkAnswers(t, withNew, map[string]answer{
		"a command": {args: strings.Fields("config add new -- cmd -y"), asked: []string{"new"}, text: `Added new: cmd -y
In DIR/.mcp.json
Tried: ok: 1 tool over stdio
See its tools with: mcpl list new
`,
			json: `{"name":"new","file":"DIR/.mcp.json","created":false,"replaced":false,"transport":"stdio","command":"cmd -y","cwd":"DIR","tried":{"verdict":"ok","transport":"stdio","identity":"fake 1.0","tools":1}}`},
		"a remote server": {args: strings.Fields("config add new --url https://h.example/mcp --transport sse --header X-Kind=a --no-try"), text: `Added new: https://h.example/mcp
In DIR/.mcp.json
See its tools with: mcpl list new
`,
			json: `{"name":"new","file":"DIR/.mcp.json","created":false,"replaced":false,"transport":"sse","url":"https://h.example/mcp","headers":[{"name":"X-Kind","from":"the entry"}]}`},
		"replaced": {args: strings.Fields("config add demo --force --no-try -- cmd"), text: `Replaced demo: cmd
In DIR/.mcp.json
See its tools with: mcpl list demo
`,
			json: `{"name":"demo","file":"DIR/.mcp.json","created":false,"replaced":true,"transport":"stdio","command":"cmd","cwd":"DIR"}`},
		"already there": {args: strings.Fields("config add demo -- cmd"), code: 2, says: []string{`error: DIR/.mcp.json has a server "demo" already`}},
		"a variable without a value": {args: strings.Fields("config add new --env GITHUB_TOKEN=${GITHUB_TOKEN} -- cmd"), says: []string{"Added new: cmd"},
			json: `{"name":"new","file":"DIR/.mcp.json","created":false,"replaced":false,"transport":"stdio","command":"cmd","cwd":"DIR","env":[{"name":"GITHUB_TOKEN","from":"${GITHUB_TOKEN}: not set"}],"warnings":["GITHUB_TOKEN is not set: add GITHUB_TOKEN=... to DIR/.env, get it at https://github.com/settings/tokens"],"tried":{"verdict":"variable missing","transport":"stdio","tools":0,"error":{"type":"MissingVariableError","message":"server new needs ${GITHUB_TOKEN} (in env.GITHUB_TOKEN), which is not set","traceback":"the entry stands in DIR/.mcp.json, line 7","help":"Add to DIR/.env:\n  GITHUB_TOKEN=...\nGet GITHUB_TOKEN at https://github.com/settings/tokens","server":"new"}}}`},
		"a literal secret": {args: strings.Fields("config add new --no-try --env API_KEY=sk-1234567890abcdef -- cmd"), says: []string{"Added new: cmd"},
			json: `{"name":"new","file":"DIR/.mcp.json","created":false,"replaced":false,"transport":"stdio","command":"cmd","cwd":"DIR","env":[{"name":"API_KEY","from":"the entry"}],"warnings":["env API_KEY is a literal secret: it is in DIR/.mcp.json now, and in your shell's history. Better put API_KEY=... into DIR/.env, write ${API_KEY} instead, in single quotes, and add the server again with --force"]}`},
		"into a new file": {args: strings.Fields("config add new --to new.json -- cmd"), asked: []string{"new"}, text: `Added new: cmd
In the new file DIR/new.json
Tried: ok: 1 tool over stdio
See its tools with: mcpl list new
`},
		"an address": {args: strings.Fields("config add new https://h.example/mcp"), asked: []string{"new"}, text: `Added new: https://h.example/mcp
In DIR/.mcp.json
Tried: ok: 1 tool over stdio
See its tools with: mcpl list new
`},
		"a time limit in seconds, probably": {args: []string{"config", "add", "new", `{"command":"cmd","timeout":60,"ttl":5000}`, "--no-try"},
			says: []string{"Added new: cmd", `"timeout": 60 is 60ms`},
			json: `{"name":"new","file":"DIR/.mcp.json","created":false,"replaced":false,"transport":"stdio","command":"cmd","cwd":"DIR","warnings":["\"timeout\": 60 is 60ms: a number counts milliseconds. For seconds write it as in: \"timeout\": \"60s\""]}`},
		"another's time limit": {args: []string{"config", "add", "new", `{"new":{"command":"cmd"},"x":{"command":"x","timeout":60}}`, "--no-try"}, text: `Added new: cmd
In DIR/.mcp.json
See its tools with: mcpl list new
`,
			json: `{"name":"new","file":"DIR/.mcp.json","created":false,"replaced":false,"transport":"stdio","command":"cmd","cwd":"DIR"}`},
		"a server that is down": {args: strings.Fields("config add down --force -- cmd"), asked: []string{"down"}, text: `Replaced down: cmd
In DIR/.mcp.json
Tried: cannot be reached: down exited with code 3
  Run it by hand. See what happened with: mcpl doctor down
Try it again with: mcpl doctor down
`},
	})
}

// TestUse35WhatIsMeant: an address and an entry in JSON are written as what they are, and in no way that cannot work.
// TestAddresses: a word that a person meant as an address is not taken for a command.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{
		"https:/h/mcp": true, "http:h": true, "HTTPS:h/x": true, "h.example/mcp": true, "mcp.h.example:8080/x": true,
		"localhost:3000/mcp": true, "h.example:80": true,
		"npx": false, "python3.12": false, "./h.example/mcp": false, "/usr/bin/x.y": false, "bin/server": false,
		"node_modules/.bin/x": false, ".venv/bin/x": false, "server.py": false, "C:/x/y.exe": false, `C:\x`: false,
		"~/x.y/z": false, "v1.2/bin/x": false,
	} {
		if got := noCommand(word) != ""; got != want {
			t.Errorf("%s: %v", word, got)
		}
	}
}

func TestUse35WhatIsMeant(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		args []string
		want string
	}{
		"an address": {[]string{"z", "https://x.example/mcp"}, `"url": "https://x.example/mcp"`},
		"JSON":       {[]string{"z", `{"command":"npx","args":["-y","x"]}`}, `"args": ["-y", "x"]`},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := fixture(t)
			got := w.run(t.Context(), append([]string{"config", "add", "--no-try"}, tc.args...)...)
			file := w.read(".mcp.json")
			if got.code != 0 || !strings.Contains(file, tc.want) || strings.Contains(file, `"type"`) {
				t.Errorf("%+v\n%s", got, file)
			}
		})
	}
}
