package verb

import (
	"strings"
	"testing"
)

func TestConfigOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "config", map[string]options{
		"shown":              {want: &configVerb{}},
		"an unknown command": {args: []string{"what"}, says: `unknown config command "what"`},
	})
}

func TestConfigAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, fixture, map[string]answer{
		"shown": {args: []string{"config"}, text: `Files  in the order they are looked for
  used  DIR/.mcp.json      in the working directory
  -     DIR/.env           not there
  -     HOME/.claude/.env  not there

Servers
  demo    DIR/.mcp.json:2  demo --token '***'
  papers  DIR/.mcp.json:3  papers
  down    DIR/.mcp.json:4  down
  off     DIR/.mcp.json:5  off (disabled)
  web     DIR/.mcp.json:6  https://web.example/mcp

Variables
  TOKEN  not set    for demo

Settings  HOME/.config/mcpl/config.toml
  connect_timeout  30s          default
  call_timeout     30s          default
  max_time         10m          default
  ttl              24h          default
  grace            168h         default
  limit            5            default
  max_bytes        24000        default
  daemon           true         default
  idle             15m          default
  roots            false        default
  credentials      auto         default
  pins             warn         default
  catalog          description  default
  audit            off          default

Kept in
  index              HOME/.cache/mcpl/KEY
  enabled, disabled  HOME/.local/state/mcpl/tool-state.json
`,
			json: `{"files":[{"path":"DIR/.mcp.json","note":"in the working directory","used":true},{"path":"DIR/.env","note":"not there","used":false},{"path":"HOME/.claude/.env","note":"not there","used":false}],"servers":[{"name":"demo","file":"DIR/.mcp.json","line":2,"transport":"stdio","command":"demo --token '***'","cwd":"DIR"},{"name":"papers","file":"DIR/.mcp.json","line":3,"transport":"stdio","command":"papers","cwd":"DIR"},{"name":"down","file":"DIR/.mcp.json","line":4,"transport":"stdio","command":"down","cwd":"DIR"},{"name":"off","file":"DIR/.mcp.json","line":5,"disabled":true,"transport":"stdio","command":"off","cwd":"DIR"},{"name":"web","file":"DIR/.mcp.json","line":6,"transport":"http","url":"https://web.example/mcp"}],"variables":[{"name":"TOKEN","set":false,"servers":["demo"]}],"problems":[],"settings":[{"name":"connect_timeout","value":"30s","from":"default"},{"name":"call_timeout","value":"30s","from":"default"},{"name":"max_time","value":"10m","from":"default"},{"name":"ttl","value":"24h","from":"default"},{"name":"grace","value":"168h","from":"default"},{"name":"limit","value":"5","from":"default"},{"name":"max_bytes","value":"24000","from":"default"},{"name":"daemon","value":"true","from":"default"},{"name":"idle","value":"15m","from":"default"},{"name":"roots","value":"false","from":"default"},{"name":"credentials","value":"auto","from":"default"},{"name":"pins","value":"warn","from":"default"},{"name":"catalog","value":"description","from":"default"},{"name":"audit","value":"off","from":"default"}],"settings_file":"HOME/.config/mcpl/config.toml","state_file":"HOME/.local/state/mcpl/tool-state.json","cache":"HOME/.cache/mcpl/KEY"}`},
	})
}

// TestConfigProblems: what is wrong with the files is shown with the place and the way out.
func TestConfigProblems(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{"mcpServers": {
  "demo": {"command": "demo", "env": {"TOKEN": "${TOKEN}"}},
  "odd": {"args": ["x"]}
}}`, nil)
	w.write(".env", "TOKEN=secret-value\n")
	got := w.run(t.Context(), "config")
	for _, part := range []string{"Problems\n  error DIR/.mcp.json:3\n", "TOKEN  set", "used  DIR/.env"} {
		if !strings.Contains(got.stdout, part) {
			t.Errorf("no %q in\n%s", part, got.stdout)
		}
	}
	if strings.Contains(got.stdout, "secret-value") {
		t.Errorf("it tells a secret:\n%s", got.stdout)
	}
	w.write(".env", "")
	if got = w.run(t.Context(), "--json", "config"); !strings.Contains(got.stdout, `"missing":["TOKEN"]`) {
		t.Errorf("%s", got.stdout)
	}
}
