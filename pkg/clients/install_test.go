package clients

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// outlet returns a client's outlet with its file at /f.
func outlet(t *testing.T, name string) Outlet {
	t.Helper()
	o, err := OutletOf(config.Env{Dir: "/d", Home: "/h", GOOS: "linux",
		Lookup: func(string) (string, bool) { return "", false }}, name, "/f")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestPlan holds that nothing but the command line of the entry changes in a file.
func TestPlan(t *testing.T) {
	t.Parallel()
	const fresh = "\"mcpl\": {\n      \"type\": \"stdio\",\n      \"command\": \"/bin/mcpl\",\n      \"args\": [\"serve\", \"--cwd\", \"/p\"]\n    }"
	const flat = `"mcpl": {"type": "stdio", "command": "/bin/mcpl", "args": ["serve", "--cwd", "/p"]}`
	const table = "[mcp_servers.mcpl]\ncommand = \"/bin/mcpl\"\nargs = [\"serve\", \"--cwd\", \"/p\"]\n"
	for name, tc := range map[string]struct{ client, file, want string }{
		"no file":       {"cursor", "", "{\n  \"mcpServers\": {\n    " + fresh + "\n  }\n}\n"},
		"VS Code":       {"vscode", "{\n  \"inputs\": []\n}", "{\n  \"inputs\": [],\n  \"servers\": {\n    " + fresh + "\n  }\n}"},
		"without types": {"claude-desktop", "{}", "{\n  \"mcpServers\": {\n    " + strings.Replace(fresh, "\n      \"type\": \"stdio\",", "", 1) + "\n  }\n}"},
		"others": {"cursor", "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"url\": \"https://h\"} // last\n  },\n  \"x\": 1e400\n}",
			"{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"url\": \"https://h\"}, // last\n    " + fresh + "\n  },\n  \"x\": 1e400\n}"},
		"one line of state": {"claude-code", `{"numStartups":7,"mcpServers":{"a":{}},"projects":{"/p":{"mcpServers":{"mcpl":{"command":"x"}}}}}`,
			`{"numStartups":7,"mcpServers":{"a":{}, ` + flat + `},"projects":{"/p":{"mcpServers":{"mcpl":{"command":"x"}}}}}`},
		"an entry of before": {"cursor", "{\"mcpServers\": {\"mcpl\": {\n  \"command\": \"/old/mcpl\", // where it was\n  \"args\": [ \"serve\" ],\n  \"env\": {\"PATH\": \"/x\"}\n}}}",
			"{\"mcpServers\": {\"mcpl\": {\n  \"command\": \"/bin/mcpl\", // where it was\n  \"args\": [\"serve\", \"--cwd\", \"/p\"],\n  \"env\": {\"PATH\": \"/x\"},\n  \"type\": \"stdio\"\n}}}"},
		"the same in another layout": {"claude-desktop", "{\"mcpServers\": {\"mcpl\": {\"args\": [\"serve\",\n\"--cwd\", \"\\u002fp\"], \"command\": \"/bin/mcpl\", \"disabled\": true}}}",
			"{\"mcpServers\": {\"mcpl\": {\"args\": [\"serve\",\n\"--cwd\", \"\\u002fp\"], \"command\": \"/bin/mcpl\", \"disabled\": true}}}"},
		"lines of Windows": {"claude-desktop", "\xef\xbb\xbf{\r\n\t\"mcpServers\": {}\r\n}", "\xef\xbb\xbf{\r\n\t\"mcpServers\": {\r\n\t\t\"mcpl\": {\r\n\t\t\t\"command\": \"/bin/mcpl\",\r\n\t\t\t\"args\": [\"serve\", \"--cwd\", \"/p\"]\r\n\t\t}\r\n\t}\r\n}"},
		"no TOML":          {"codex", "", table},
		"TOML of others":   {"codex", "model = \"o\" # mine\n[mcp_servers.a]\ncommand = 'x'", "model = \"o\" # mine\n[mcp_servers.a]\ncommand = 'x'\n\n" + table},
		"a TOML entry": {"codex", "[mcp_servers.mcpl] # m\n# c1\nargs = [ # c2\n  \"serve\", # c3\n]\t# c4\ncommand = '/bin/mcpl' # c5\nstartup_timeout_sec = 20\n[mcp_servers.mcpl.env]\nA = \"1\"\n",
			"[mcp_servers.mcpl] # m\n# c1\nargs = [\"serve\", \"--cwd\", \"/p\"]\t# c4\ncommand = '/bin/mcpl' # c5\nstartup_timeout_sec = 20\n[mcp_servers.mcpl.env]\nA = \"1\"\n"},
		"a TOML entry without args": {"codex", "[mcp_servers.\"mcpl\"]\r\ncommand = \"mcpl\" # c\r\n[x]\r\n", "[mcp_servers.\"mcpl\"]\r\ncommand = \"/bin/mcpl\" # c\r\nargs = [\"serve\", \"--cwd\", \"/p\"]\r\n[x]\r\n"},
		"TOML at its end":           {"codex", "[mcp_servers.mcpl]\ncommand = \"/bin/mcpl\"", "[mcp_servers.mcpl]\ncommand = \"/bin/mcpl\"\nargs = [\"serve\", \"--cwd\", \"/p\"]"},
		"TOML inside a table":       {"codex", "[mcp_servers]\nmcpl.command = \"x\"\n", ""},
		"TOML on one line":          {"codex", "mcp_servers = {a = {command = \"x\"}}\n", ""},
		"TOML with a list":          {"codex", "[[mcp_servers]]\nname = \"x\"\n", ""},
		"another kind of server":    {"cursor", `{"mcpServers": {"mcpl": {"url": "https://h", "headers": {"Authorization": "Bearer hunter2hunter2"}}}}`, ""},
		"another kind in TOML":      {"codex", "[mcp_servers.mcpl]\nurl = \"https://h\"\n", ""},
		"no object":                 {"cursor", `{"mcpServers": []}`, ""},
		"no entry":                  {"cursor", `{"mcpServers": {"mcpl": "hunter2hunter2"}}`, ""},
		"damaged":                   {"cursor", `{"mcpServers": {"a": "hunter2hunter2}`, ""},
		"damaged TOML":              {"codex", "a = hunter2hunter2\n", ""},
		"a list":                    {"cursor", "[]", ""},
	} {
		o := outlet(t, tc.client)
		edit, err := o.Plan([]byte(tc.file), "/bin/mcpl", []string{"serve", "--cwd", "/p"})
		if tc.want == "" {
			f := fault.From(err)
			if err == nil || f.Type != fault.Config || !strings.Contains(f.Message, "/f") || f.Help == "" ||
				strings.Contains(f.Message+f.Help, "hunter2") {
				t.Errorf("%s: %+v, %v", name, edit, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, string(edit.After)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if (tc.want == tc.file) != (len(edit.Diff) == 0) {
			t.Errorf("%s: diff %q", name, edit.Diff)
		}
		again, err := o.Plan(edit.After, "/bin/mcpl", []string{"serve", "--cwd", "/p"})
		if err != nil || len(again.Diff) > 0 || !bytes.Equal(again.After, edit.After) {
			t.Errorf("%s: a second time: %+v, %v", name, again, err)
		}
	}
}

// TestPlanDiff holds that the diff shows the entry alone, and no secret of an earlier one.
func TestPlanDiff(t *testing.T) {
	t.Parallel()
	for client, file := range map[string]string{
		"claude-desktop": `{"token": "hunter2hunter2", "mcpServers": {"mcpl": {"command": "/bin/mcpl", "args": ["--token", "hunter2hunter2", "https://me:hunter2hunter2@h/"], "env": {"A_TOKEN": "hunter2hunter2"}}}}`,
		"codex":          "a = \"hunter2hunter2\"\n[mcp_servers.mcpl]\ncommand = \"/bin/mcpl\"\nargs = [\"--token\", \"hunter2hunter2\", \"https://me:hunter2hunter2@h/\"]\nenv = {A_TOKEN = \"hunter2hunter2\"}\n",
	} {
		edit, err := outlet(t, client).Plan([]byte(file), "/bin/mcpl", []string{"serve"})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"  [mcp_servers.mcpl]", `  command = "/bin/mcpl"`, `- args = ["--token", "***", "https://me:***@h/"]`, `+ args = ["serve"]`}
		if client != "codex" {
			want = []string{`  "mcpl": {`, `    "command": "/bin/mcpl"`, `-   "args": ["--token", "***", "https://me:***@h/"]`, `+   "args": ["serve"]`, "  }"}
		}
		if diff := cmp.Diff(want, edit.Diff); diff != "" {
			t.Errorf("%s: -want +got\n%s", client, diff)
		}
	}
	edit, err := outlet(t, "cursor").Plan(nil, "/bin/mcpl", []string{"serve"})
	if want := []string{`+ "mcpl": {`, `+   "type": "stdio"`, `+   "command": "/bin/mcpl"`, `+   "args": ["serve"]`, "+ }"}; err != nil || !slices.Equal(edit.Diff, want) {
		t.Errorf("%v, %v", edit, err)
	}
	for _, word := range []string{"/a/${B}", "/a/\xff"} {
		if _, err := outlet(t, "cursor").Plan(nil, "/bin/mcpl", []string{"serve", word}); !fault.Is(err, fault.Config) {
			t.Errorf("%q: %v", word, err)
		}
	}
}

// TestOutletOf holds the documented places of the clients' files.
func TestOutletOf(t *testing.T) {
	t.Parallel()
	for goos, want := range map[string][]string{
		"linux": {"/h/.claude.json", "/h/.config/Claude/claude_desktop_config.json", "/h/.cursor/mcp.json",
			"/h/.config/Code/User/mcp.json", "/h/.codex/config.toml"},
		"darwin": {"/h/.claude.json", "/h/Library/Application Support/Claude/claude_desktop_config.json", "/h/.cursor/mcp.json",
			"/h/Library/Application Support/Code/User/mcp.json", "/h/.codex/config.toml"},
	} {
		env := config.Env{Dir: "/d", Home: "/h", GOOS: goos, Lookup: func(string) (string, bool) { return "", false }}
		var got []string
		for _, name := range OutletNames() {
			o, err := OutletOf(env, name, "")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, o.Path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", goos, got)
		}
	}
	env := config.Env{Dir: "/d", Home: "/h", GOOS: "linux", Lookup: func(name string) (string, bool) {
		return "/set/" + name, name == "CODEX_HOME" || name == "CLAUDE_CONFIG_DIR"
	}}
	for name, want := range map[string]string{"codex": "/set/CODEX_HOME/config.toml", "claude-code": "/set/CLAUDE_CONFIG_DIR/.claude.json"} {
		if o, err := OutletOf(env, name, ""); err != nil || o.Path != want {
			t.Errorf("%s: %q, %v", name, o.Path, err)
		}
	}
	if o, err := OutletOf(env, "vscode", filepath.Join(".vscode", "mcp.json")); err != nil || o.Path != "/d/.vscode/mcp.json" {
		t.Errorf("%q, %v", o.Path, err)
	}
	if _, err := OutletOf(env, "zed", ""); !fault.Is(err, fault.Usage) {
		t.Errorf("a client that has no outlet: %v", err)
	}
}

// TestSetUp holds that the blocks of the documentation are what the clients read: the first one of each what
// serve install writes, the second one an address with a token.
func TestSetUp(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "gateway.md"))
	if err != nil {
		t.Fatal(err)
	}
	env := config.Env{Dir: "/d", Home: "/h", GOOS: "linux", Lookup: func(string) (string, bool) { return "", false }}
	for name, title := range map[string]string{"claude-code": "Claude Code", "claude-desktop": "Claude Desktop",
		"cursor": "Cursor", "vscode": "VS Code", "codex": "Codex"} {
		_, section, _ := strings.Cut(string(doc), "\n### "+title+"\n")
		section, _, _ = strings.Cut(section, "\n### ")
		blocks := regexp.MustCompile("(?s)```(?:json|toml)\n(.*?)```").FindAllStringSubmatch(section, -1)
		if len(blocks) != 2 && (name != "claude-desktop" || len(blocks) != 1) {
			t.Errorf("%s has %d blocks", title, len(blocks))
			continue
		}
		o := outlet(t, name)
		edit, err := o.Plan([]byte(blocks[0][1]), "/usr/local/bin/mcpl", []string{"serve"})
		if err != nil || len(edit.Diff) > 0 {
			t.Errorf("%s: %+v, %v", title, edit, err)
		}
		if len(blocks) == 1 {
			continue
		}
		c := all()[slices.IndexFunc(all(), func(c client) bool { return c.name == name })]
		places := c.places(finder{env})
		found, err := c.parse(env, places[len(places)-1], []byte(blocks[1][1]))
		if err != nil || len(found) != 1 || found[0].Name != "mcpl" || found[0].Skip != "" && name != "vscode" ||
			found[0].Entry.URL != "http://127.0.0.1:7332/mcp" || len(found[0].Entry.Headers) != 1 ||
			!strings.HasPrefix(found[0].Entry.Headers[0].Value, "Bearer ") {
			t.Errorf("%s over HTTP: %+v, %v", title, found, err)
		}
	}
}

// FuzzPlan: of any file of a client, an edit is a fault or leaves every other byte where it was, and a second one
// changes nothing.
func FuzzPlan(f *testing.F) {
	for _, seed := range []string{"", "\r", "{}", "{\"mcpServers\": {\"mcpl\": {\"command\": \"x\"},\n // c\n}}", `{"servers":{"mcpl":{"args":[1],"command":"x","command":"y"}}}`,
		"/**/{//\n\"mcpServers\"/*:*/:/**/{/**/\"mcpl\"/**/:/**/{/**/\"command\":\"\"/**/,/**/}/**/,/**/}/**/,/**/}//",
		"[mcp_servers.mcpl]\ncommand = 'x'\nargs = [\n# c\n'a',] # d\n", "mcp_servers.mcpl.command = 'x'\n", "[mcp_servers]\n[mcp_servers.'mcpl']#]\n", "a = 1 #", "[[mcp_servers.mcpl]]",
		"[mcp_servers.mcpl]\nargs = \"\"\"\n]\"\"\"\r\n'command' = \"x\"\r\n[a]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range OutletNames() {
			o := outlet(t, name)
			edit, err := o.Plan(data, "/bin/mcpl", []string{"serve"})
			if err != nil {
				var report *fault.Fault
				if !errors.As(err, &report) || report.Type != fault.Config || report.Help == "" {
					t.Errorf("%s: %v is no fault that was foreseen", name, err)
				}
				continue
			}
			old, err := o.entry(edit.After)
			if err != nil || old == nil || old.Command != "/bin/mcpl" || !slices.Equal(old.Args, []string{"serve"}) {
				t.Errorf("%s: the entry is %+v, %v in\n%q", name, old, err, edit.After)
			}
			if again, err := o.Plan(edit.After, "/bin/mcpl", []string{"serve"}); err != nil || !bytes.Equal(again.After, edit.After) {
				t.Errorf("%s: a second time, %v: from\n%q to\n%q", name, err, edit.After, again)
			}
		}
	})
}
