package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// world is a home folder and a project in a repository, with the working directory in its src.
func world(t *testing.T, goos string, vars map[string]string) config.Env {
	t.Helper()
	root := t.TempDir()
	env := config.Env{Home: filepath.Join(root, "home"), Dir: filepath.Join(root, "app", "src"), GOOS: goos,
		Lookup: func(name string) (string, bool) { value, ok := vars[name]; return value, ok }}
	for _, dir := range []string{env.Home, env.Dir, filepath.Join(root, "app", ".git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "app", ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return env
}

// write writes a file given by its place: ~/x in the home folder, x in the project.
func write(t *testing.T, env config.Env, place, content string) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(env.Dir), filepath.FromSlash(place))
	if rest, ok := strings.CutPrefix(place, "~/"); ok {
		path = filepath.Join(env.Home, filepath.FromSlash(rest))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// show renders what was found, with the folders of the world by name.
func show(t *testing.T, env config.Env, found []Found) string {
	t.Helper()
	var b strings.Builder
	for _, f := range found {
		d := f.Entry
		fmt.Fprintf(&b, "%s:%d", f.Name, f.Line)
		if f.Skip != "" {
			fmt.Fprintf(&b, " SKIP %s\n", f.Skip)
			continue
		}
		if d.Command != "" {
			args, err := json.Marshal(d.Args)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, " %s %s", d.Command, args)
		}
		for _, p := range d.Env {
			fmt.Fprintf(&b, " %s=%s", p.Name, p.Value)
		}
		if d.Cwd != "" {
			b.WriteString(" in " + d.Cwd)
		}
		if d.URL != "" {
			fmt.Fprintf(&b, " %s%s", d.Transport, d.URL)
		}
		for _, p := range d.Headers {
			fmt.Fprintf(&b, " [%s: %s]", p.Name, p.Value)
		}
		if o := d.OAuth; o != nil {
			fmt.Fprintf(&b, " {%s %d}", o.ClientID, o.RedirectPort)
		}
		for _, limit := range []time.Duration{d.ConnectTimeout, d.CallTimeout} {
			if limit > 0 {
				fmt.Fprintf(&b, " %s", limit)
			}
		}
		if d.Disabled {
			b.WriteString(" OFF")
		}
		for _, note := range f.Notes {
			fmt.Fprintf(&b, " (%s)", note)
		}
		b.WriteString("\n")
	}
	return strings.NewReplacer(env.Home, "HOME", env.Dir, "APP/src", filepath.Dir(env.Dir), "APP").Replace(b.String())
}

// TestFormats holds what each client's format means. The files are written by hand after the
// clients' documents, which places.go names.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ client, place, file, want string }{
		{"claude-code", "~/.claude.json", `{
  "numStartups": 12,
  "mcpServers": {
    "both": {"type": "stdio", "command": "user"},
    "docs": {"type": "http", "url": "https://${HOST:-h}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
    "old": {"type": "sse", "url": "https://h/sse"},
    "in": {"type": "http", "url": "https://h/in", "oauth": {"clientId": "me", "callbackPort": 8080}}
  },
  "projects": {
    "@APP@": {"mcpServers": {"both": {"command": "project", "args": [], "env": {}}}},
    "/elsewhere": {"mcpServers": {"not": {"command": "x"}}}
  }
}`, `both:10 project null
docs:5 httphttps://${HOST:-h}/mcp [Authorization: Bearer ${TOKEN}]
old:6 ssehttps://h/sse
in:7 httphttps://h/in {me 8080}
`},
		{"claude-desktop", "~/.config/Claude/claude_desktop_config.json", `{"globalShortcut": "x", "mcpServers": {
  "fs": {"command": "npx", "args": ["-y", "${A}", 5, true], "env": {"B": "$C", "A": "${D}", "N": null}}
}}`, `fs:2 npx ["-y","$${A}","5","true"] A=$${D} B=$C
`},
		{"cursor", ".cursor/mcp.json", `{ // comments
  "mcpServers": {
    "a": {"command": "${workspaceFolder}/run", "args": ["${userHome}", "${env:X}", "${Y}", "${strange}", "${un known}"], "envFile": ".env", "cwd": "sub"},
    "b": {"url": "https://h/${env:NAME}", "headers": {"K": "${env:KEY}"},},
  },
}`, `a:3 APP/run ["HOME","${X}","${Y}","${strange}","${un known}"] in APP/sub (${workspaceFolder} is now APP) (${un known} is unknown in mcpl and stays as it is) (its envFile is not read here: name it with --env-file .env)
b:4 https://h/${NAME} [K: ${KEY}]
`},
		{"cursor", "~/.cursor/mcp.json", `{"mcpServers": {
  "ms": {"command": "x", "timeout": 60000},
  "s": {"command": "x", "timeout": 60}
}}`, `ms:2 x null 1m0s
s:3 x null (its timeout of 60 is not imported: as milliseconds it is hardly meant. For seconds put "callTimeout": "60s" into the new entry)
`},
		{"vscode", "~/.config/Code/User/mcp.json", `{
  "inputs": [{"type": "promptString", "id": "github-token", "password": true}],
  "servers": {
    "github": {"type": "stdio", "command": "docker", "args": ["run", "-e", "T"], "env": {"T": "${input:github-token}", "N": 1}, "dev": {"watch": "x"}},
    "remote": {"type": "sse", "url": "https://h", "cwd": "sub"},
    "x": {"command": ["a"]}, "y": {"command": "a", "url": "b"}, "z": {}, "w": null, "v": {"command": "a", "env": ["A=1"]}, "u": {"command": "a", "args": "b"}
  }
}`, `github:4 docker ["run","-e","T"] N=1 T=${GITHUB_TOKEN} (vscode asks for "github-token" when it starts the server; here set the variable GITHUB_TOKEN)
remote:5 in sub ssehttps://h (its cwd sub is relative, and will start from the folder of the file that it goes to)
x:6 SKIP its "command" is not a string
y:6 SKIP it has both a command and a url
z:6 SKIP it has no command and no url
w:6 SKIP its entry is not an object
v:6 SKIP its "env" is not an object
u:6 SKIP its "args" is not an array
`},
		{"windsurf", "~/.codeium/windsurf/mcp_config.json", `{"mcpServers": {
  "a": {"serverUrl": "https://h/mcp", "headers": {"Authorization": "Bearer ${env:T}"}, "disabled": true},
  "b": {"command": "npx", "disabledTools": ["x"]}}}`, `a:2 https://h/mcp [Authorization: Bearer ${T}] OFF
b:3 npx null (its disabledTools is not imported: switch single tools off with the verb disable)
`},
		{"codex", "~/.codex/config.toml", `model = "x"
[mcp_servers.b]
url = "https://h/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { "X-A" = "${1}" }
env_http_headers = { X-B = "B_VAR" }
tool_timeout_sec = 90.5
[mcp_servers.a]
command = "npx"
args = ["-y", "p"]
env_vars = ["HOME"]
startup_timeout_ms = 1500
enabled = false
disabled_tools = ["x"]
cwd = "/d"
[mcp_servers.a.env]
K = "v"
[mcp_servers]
c.command = "c"
c.startup_timeout_sec = 20
`, `a:0 npx ["-y","p"] K=v in /d 1.5s OFF (its disabled_tools is not imported: switch single tools off with the verb disable)
b:0 https://h/mcp [X-A: $${1}] [X-B: ${B_VAR}] [Authorization: Bearer ${TOKEN}] 1m30.5s
c:0 c null 20s
`},
		{"gemini", ".gemini/settings.json", `{"theme": "x", "mcpServers": {
  "a": {"command": "python", "args": ["$A", "${B}", "$$C", "cost 5$", "$1"], "env": {"K": "$MY_TOKEN/x"}, "cwd": "./server", "timeout": 15000, "trust": true},
  "b": {"httpUrl": "https://h/mcp", "headers": {"K": "$T"}, "timeout": 60},
  "c": {"url": "https://h/sse"}, "d": {"url": "https://h", "type": "sse", "excludeTools": ["x"]}}}`,
			`a:2 python ["${A}","${B}","$$C","cost 5$","$1"] K=${MY_TOKEN}/x in APP/server 15s
b:3 httphttps://h/mcp [K: ${T}] (its timeout of 60 is not imported: as milliseconds it is hardly meant. For seconds put "callTimeout": "60s" into the new entry)
c:4 https://h/sse
d:4 ssehttps://h (its excludeTools is not imported: switch single tools off with the verb disable)
`},
		{"opencode", "opencode.jsonc", `{"$schema": "https://opencode.ai/config.json", /* c */ "mcp": {
  "a": {"type": "local", "command": ["bun", "x", "{env:P}"], "environment": {"K": "${V} {env:T}", "F": "{file:~/.secret}", "J": "{\"a\": 1}"}, "enabled": false},
  "b": {"type": "remote", "url": "https://h", "headers": {"Authorization": "Bearer {env:T}"}},
  "c": {"enabled": true},
}}`, `a:2 bun ["x","${P}"] F=${SECRET} J={"a": 1} K=$${V} ${T} OFF (opencode reads ~/.secret; here set the variable SECRET to its content)
b:3 https://h [Authorization: Bearer ${T}]
c:4 SKIP it has no command and no url
`},
		{"opencode", "~/.config/opencode/opencode.json", `{"mcp": {"servers": {"a": {"type": "local", "command": ["x"]}}, "b": {"type": "local", "command": ["y"]}}}`, "a:1 x []\nb:1 y []\n"},
		{"zed", "~/.config/zed/settings.json", `// Zed
{"theme": "x", "context_servers": {
  "a": {"source": "custom", "command": "npx", "args": ["-y", "p"], "env": {"K": "${V}"}, "enabled": false},
  "b": {"command": {"path": "old", "args": ["x"], "env": null}, "settings": {}},
  "c": {"source": "extension", "enabled": true, "settings": {"key": "x"}},
  "d": {"url": "https://h", "headers": {"K": "v"}},
}}
`, `a:3 npx ["-y","p"] K=$${V} OFF
b:4 old ["x"]
c:5 SKIP it belongs to an extension of Zed, which alone knows its command
d:6 https://h [K: v]
`},
	} {
		env := world(t, "linux", nil)
		app, err := json.Marshal(filepath.ToSlash(filepath.Dir(env.Dir)))
		if err != nil {
			t.Fatal(err)
		}
		path := write(t, env, tc.place, strings.ReplaceAll(tc.file, `"@APP@"`, string(app)))
		found, _, err := Find(env, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := show(t, env, found); got != tc.want {
			t.Errorf("%s, %s\ngot  %s\nwant %s", tc.client, tc.place, got, tc.want)
		}
		for _, f := range found {
			if f.Client != tc.client || f.File != path {
				t.Errorf("%s is from %s, %s", f.Name, f.Client, f.File)
			}
		}
	}
}

// TestPlaces holds the files of each client on each system.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for goos, want := range map[string]string{
		"linux": "HOME/.claude.json HOME/.config/Claude/claude_desktop_config.json APP/src/.cursor/mcp.json APP/.cursor/mcp.json HOME/.cursor/mcp.json " +
			"APP/src/.vscode/mcp.json APP/.vscode/mcp.json HOME/.config/Code/User/mcp.json HOME/.codeium/windsurf/mcp_config.json HOME/.codeium/mcp_config.json " +
			"APP/src/.codex/config.toml APP/.codex/config.toml HOME/.codex/config.toml APP/src/.gemini/settings.json APP/.gemini/settings.json HOME/.gemini/settings.json " +
			"APP/src/.opencode/opencode.json APP/.opencode/opencode.json APP/src/.opencode/opencode.jsonc APP/.opencode/opencode.jsonc " +
			"APP/src/opencode.json APP/opencode.json APP/src/opencode.jsonc APP/opencode.jsonc " +
			"HOME/.config/opencode/opencode.json HOME/.config/opencode/opencode.jsonc HOME/.config/opencode/config.json " +
			"APP/src/.zed/settings.json APP/.zed/settings.json HOME/.config/zed/settings.json",
		"darwin":  "HOME/Library/Application Support/Claude/claude_desktop_config.json HOME/Library/Application Support/Code/User/mcp.json HOME/.config/opencode/opencode.json HOME/.config/zed/settings.json",
		"windows": "HOME/AppData/Roaming/Claude/claude_desktop_config.json HOME/AppData/Roaming/Code/User/mcp.json HOME/.config/opencode/opencode.json HOME/AppData/Roaming/Zed/settings.json",
	} {
		env := world(t, goos, nil)
		_, looked, err := Find(env, nil)
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, l := range looked {
			if l.Note != "not there" {
				t.Errorf("%s: %+v", goos, l)
			}
			paths = append(paths, filepath.ToSlash(strings.NewReplacer(env.Home, "HOME", env.Dir, "APP/src",
				filepath.Dir(env.Dir), "APP").Replace(l.Path)))
		}
		got := strings.Join(paths, " ")
		if goos == "linux" && got != want {
			t.Errorf("%s\ngot  %s\nwant %s", goos, got, want)
		}
		for _, path := range strings.Split(want, " HOME/") {
			if !strings.Contains(got, strings.TrimPrefix(path, "HOME/")) {
				t.Errorf("%s: %s is not in %s", goos, path, got)
			}
		}
	}
}

// TestPlacesByVariable holds the variables that move files.
func TestPlacesByVariable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, tc := range []struct{ goos, client, variable, want string }{
		{"linux", "claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"},
		{"linux", "codex", "CODEX_HOME", "config.toml"},
		{"linux", "zed", "XDG_CONFIG_HOME", "zed/settings.json"},
		{"linux", "vscode", "XDG_CONFIG_HOME", "Code/User/mcp.json"},
		{"windows", "claude-desktop", "APPDATA", "Claude/claude_desktop_config.json"},
		{"windows", "zed", "APPDATA", "Zed/settings.json"},
	} {
		env := world(t, tc.goos, map[string]string{tc.variable: dir})
		_, looked, err := Find(env, []string{tc.client})
		if err != nil || looked[len(looked)-1].Path != at(filepath.FromSlash(tc.want)) {
			t.Errorf("%s on %s: %+v, %v", tc.client, tc.goos, looked, err)
		}
	}
}

// TestTrouble holds that a file that cannot be read hides no other, and that nothing is quoted.
func TestTrouble(t *testing.T) {
	t.Parallel()
	env := world(t, "linux", nil)
	write(t, env, "~/.cursor/mcp.json", `{"mcpServers": {"a": {"env": {"T": "hunter2"} "b"`)
	write(t, env, "~/.codex/config.toml", "[mcp_servers.a]\ntoken = hunter2")
	write(t, env, "~/.claude.json", "")
	write(t, env, "~/.gemini/settings.json", "[]")
	write(t, env, "~/.codeium/mcp_config.json/x", "")
	write(t, env, "~/.config/zed/settings.json", `{"context_servers": {"a": {"command": "x"}}}`)
	found, looked, err := Find(env, nil)
	if err != nil || len(found) != 1 || found[0].Client != "zed" {
		t.Errorf("found %+v, %v", found, err)
	}
	notes := map[string]string{}
	for _, l := range looked {
		if l.Note != "not there" {
			notes[l.Client] = strings.ReplaceAll(l.Note, env.Home, "HOME")
		}
	}
	if got := fmt.Sprint(notes); strings.Contains(got, "hunter2") || !strings.Contains(notes["cursor"], "HOME/.cursor/mcp.json:1: not JSON") ||
		!strings.Contains(notes["codex"], "config.toml:2: not TOML") || notes["claude-code"] != "no servers" || notes["gemini"] != "no servers" ||
		!strings.Contains(notes["windsurf"], "not a regular file") {
		t.Errorf("notes %s", got)
	}
	if _, _, err := Find(env, []string{"emacs"}); !fault.Is(err, fault.Usage) || !strings.Contains(fault.From(err).Help, "claude-code, claude-desktop, cursor") {
		t.Errorf("a client that is not known: %v", err)
	}
}

// FuzzClients: any bytes in the file of any client are a fault that quotes nothing, or servers
// that each say what they are or why they are not taken.
func FuzzClients(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"mcpServers": {"a": {"command": "x", "args": [1, null, {}], "env": {"A": []}, "cwd": "y", "timeout": 1e999}}}`,
		`{"mcp": {"servers": {"a": {"command": ["x"], "environment": {"A": "{env:B} {file:}"}}}}}`, `{"servers": {"a": {"url": "${input:}${env:", "headers": {"": 1}}}}`,
		`{"context_servers": {"a": {"command": {"path": "x"}}, "b": {"source": "extension"}}}`, `{"projects": {"/d": {"mcpServers": {"a": {}}}}}`,
		"[mcp_servers.a]\ncommand = 'x'\nenv = {A = 1}\nstartup_timeout_sec = nan\n", "mcp_servers = 1", "[mcp_servers]\na = [[[]]]"} {
		f.Add([]byte(seed))
	}
	env := config.Env{Dir: "/d", Home: "/h", GOOS: "linux", Lookup: func(string) (string, bool) { return "", false }}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, c := range all() {
			for _, p := range c.places(finder{env}) {
				found, err := c.parse(env, p, data)
				if err != nil {
					if report := fault.From(err); report.Type != fault.Config || report.Help == "" {
						t.Fatalf("%s: %v is no fault that helps", c.name, err)
					}
				}
				for _, s := range found {
					if s.Skip == "" && s.Entry.Command == "" && s.Entry.URL == "" || s.Line > 1+strings.Count(string(data), "\n") {
						t.Errorf("%s: %+v", c.name, s)
					}
				}
			}
		}
	})
}

// TestDeep holds that nesting without end is refused, and does not exhaust the stack.
func TestDeep(t *testing.T) {
	t.Parallel()
	env := config.Env{Dir: "/d", Home: "/h", GOOS: "linux", Lookup: func(string) (string, bool) { return "", false }}
	for path, data := range map[string]string{"f.json": strings.Repeat(`{"a":`, 100_000),
		"f.toml": "a = " + strings.Repeat("[", maxTOML-10), "g.toml": strings.Repeat(" ", maxTOML+1) + "a"} {
		if _, err := all()[0].parse(env, place{path: path, keys: mcpServers()}, []byte(data)); !fault.Is(err, fault.Config) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
