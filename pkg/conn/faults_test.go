package conn

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestVariablesNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ stderr, want string }{
		// Lines of real servers.
		{"Error: BRAVE_API_KEY environment variable is required", "BRAVE_API_KEY"},
		{"Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables", "SLACK_BOT_TOKEN SLACK_TEAM_ID"},
		{"GITLAB_PERSONAL_ACCESS_TOKEN environment variable is not set", "GITLAB_PERSONAL_ACCESS_TOKEN"},
		{"Please provide a database URL as a command-line argument", ""},
		{"  raise ValueError(\"OPENAI_API_KEY must be set\")\nKeyError: 'LINEAR_API_KEY'", "OPENAI_API_KEY LINEAR_API_KEY"},
		{"Error: Missing required env var: `NOTION_TOKEN`.", "NOTION_TOKEN"},
		{"config: \"SENTRY_AUTH_TOKEN\": Required. is required", "SENTRY_AUTH_TOKEN"},
		{"GOOGLE_MAPS_API_KEY not found in environment", "GOOGLE_MAPS_API_KEY"},
		{"process.env.FIGMA_API_KEY is undefined", "FIGMA_API_KEY"},
		{"Warning: starting\n\nAA_B is required\nAA_B is required, really\nand CC_D", "AA_B"},
		{"\x1b[31mError: ACME_TOKEN is not set\x1b[0m", "ACME_TOKEN"},
		// Words that are not variables, or not missing.
		{"", ""},
		{"Error [ERR_MODULE_NOT_FOUND]: package is missing", ""},
		{"the environment is PRODUCTION, it is required", ""},
		{"Listening on PORT_NUMBER 80", ""},
		{"is required: __init__, _X_, A_b, 1_AB, AB", ""},
		{"INFO_LEVEL logging", ""},
	} {
		if got := strings.Join(variablesNamed(tt.stderr), " "); got != tt.want {
			t.Errorf("%q names %q, want %q", tt.stderr, got, tt.want)
		}
	}
}

func FuzzVariablesNamed(f *testing.F) {
	f.Add("Error: BRAVE_API_KEY environment variable is required\n\xff_\xff is missing\nA_\u017f is required")
	f.Fuzz(func(t *testing.T, stderr string) {
		names := variablesNamed(stderr)
		for i, name := range names {
			if !strings.Contains(stderr, name) || slices.Contains(names[:i], name) ||
				strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || name[0] < 'A' || name[0] > 'Z' {
				t.Fatalf("%q of %q", name, stderr)
			}
		}
	})
}

func TestAsksForArgument(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string]bool{
		"Please provide a database URL as a command-line argument":                     true,
		"server.py: error: the following arguments are required: --db-path":            true,
		"Error: missing required argument 'path'":                                      true,
		"Usage: mcp-server-filesystem <allowed-directory> [additional-directories...]": false,
		"TypeError: argument 1 has the wrong type":                                     false,
		"Missing token\nthe argument of a function":                                    false,
		"": false,
	} {
		if got := asksForArgument(stderr); got != want {
			t.Errorf("%q: %v", stderr, got)
		}
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"a", 2, "  a"},
		{"a\r\nb\nc", 2, "  b\n  c"},
		{strings.Repeat("é", maxTraced), 1, "  " + strings.Repeat("é", maxTraced)},
		{strings.Repeat("é", maxTraced+1), 1, "  " + strings.Repeat("é", maxTraced) + "…"},
	} {
		if got := lastLines(tt.text, tt.n); got != tt.want {
			t.Errorf("%.20q: %.60q", tt.text, got)
		}
	}
}

// TestFaultsSayAll looks at a whole fault of each kind: what the scripts in cmd/mcpl see of it.
func TestFaultsSayAll(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2"
	dir := t.TempDir()
	path := filepath.Join(dir, ".mcp.json")
	command, args, env := mcptest.Command(t, mcptest.Script{
		Start: mcptest.Behaviour{Stderr: []string{"using " + secret, "WARN_KEY is not set, and MY_TOKEN environment variable is"}},
		Tools: []mcptest.Tool{
			{Name: "refuse", Behaviour: mcptest.Behaviour{Error: &mcptest.Error{Code: -32602, Message: "bad " + secret}}},
			{Name: "die", Behaviour: mcptest.Behaviour{
				Noise: []string{"log " + secret}, Stderr: []string{"dying of " + secret}, Exit: &mcptest.Exit{Code: 9}}},
			{Name: "break", Behaviour: mcptest.Behaviour{Result: `"` + secret + `"`}},
		}})
	env["MY_TOKEN"] = secret
	entry := func(rest string) string {
		return `{"mcpServers": {"s": {"command": ` + quote(command) + `, "args": [` + quote(args[0]) + `, "--api-key", "` + secret + `"],
			"env": {"MCPTEST_SCRIPT": ` + quote(env["MCPTEST_SCRIPT"]) + `, "MY_TOKEN": "` + secret + `"` + rest + `}}}}`
	}
	write(t, path, entry(""))
	var log strings.Builder
	p := poolOver(t, path, func(o *Options) { o.Log = logTo(&log) })

	for _, tt := range []struct {
		tool          string
		typ           fault.Type
		message, help string
		trace         []string
	}{
		{"refuse", fault.Protocol, "s refused tools/call: bad ***",
			"The server does not know this tool or does not take these arguments. " + warnKey(path) +
				" See what it offers now with: mcpl list s --refresh",
			[]string{"tools/call was answered with error -32602: bad ***", "process: still running after "}},
		{"break", fault.Protocol, "s broke the protocol: its answer to tools/call is not what the protocol says",
			"Update the server, or report this to its authors. " + warnKey(path), []string{"cannot unmarshal"}},
		{"die", fault.ServerConnection, "s exited with code 9 after ",
			"It is started again when it is next called. " + warnKey(path) +
				" See all it says with: mcpl list s --refresh --verbose",
			[]string{"process: exited with code 9 after ", "stdout: 1 lines that are not MCP messages", "  dying of ***"}},
	} {
		_, err := callTool(t.Context(), p, "s", tt.tool)
		f := wantFault(t, err, tt.typ, tt.message)
		if f.Server != "s" || f.Tool != tt.tool || helpOf(f) != tt.help {
			t.Errorf("%s: server %q, tool %q, help %q\nwant %q", tt.tool, f.Server, f.Tool, helpOf(f), tt.help)
		}
		for _, part := range append(tt.trace, "command: "+command, "stderr:\n  using ***\n") {
			if !strings.Contains(f.Traceback, part) {
				t.Errorf("%s: the traceback lacks %q:\n%s", tt.tool, part, f.Traceback)
			}
		}
		if all := f.Message + f.Traceback + f.Help; strings.Contains(all, secret) {
			t.Errorf("%s: the secret is told: %s", tt.tool, all)
		}
	}
	p.Close()
	if text := log.String(); strings.Contains(text, secret) || !strings.Contains(text, "s: stderr: using ***\n") ||
		!strings.Contains(text, "s: not a message on stdout: log ***\n") || !strings.Contains(text, "s: connected in ") {
		t.Errorf("log:\n%s", text)
	}
}

// warnKey is the help for WARN_KEY of server s.
func warnKey(path string) string {
	return `WARN_KEY is not set for s. Put WARN_KEY=... into /etc/mcpl.env and "env": {"WARN_KEY": "${WARN_KEY}"} into the entry of s in ` + path + "."
}

func TestVariableHelp(t *testing.T) {
	t.Parallel()
	line := "Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables"
	path := mcptest.Config(t, scripts{"s": {Start: mcptest.Behaviour{Stderr: []string{line}, Exit: &mcptest.Exit{}}}})
	start := func(environ ...string) string {
		p := poolOver(t, path, func(o *Options) { o.Environ = append(o.Environ, environ...) })
		_, err := p.List(t.Context(), "s", tool.CallOptions{})
		return wantFault(t, err, fault.ServerConnection, "s exited with code 0 after").Help
	}
	got := start()
	if want := "SLACK_BOT_TOKEN, SLACK_TEAM_ID are not set for s. Put SLACK_BOT_TOKEN=... and SLACK_TEAM_ID=... into /etc/mcpl.env and " +
		`"env": {"SLACK_BOT_TOKEN": "${SLACK_BOT_TOKEN}", "SLACK_TEAM_ID": "${SLACK_TEAM_ID}"} into the entry of s in ` + path + "."; !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !strings.Contains(got, " Get SLACK_BOT_TOKEN at https://") {
		t.Errorf("help does not say where to get it: %s", got)
	}
	if got := start("SLACK_BOT_TOKEN=x"); !strings.HasPrefix(got, "SLACK_TEAM_ID is not set") {
		t.Errorf("one is set: %s", got)
	}
	if got := start("SLACK_BOT_TOKEN=", "SLACK_TEAM_ID=x"); !strings.HasPrefix(got, "SLACK_BOT_TOKEN is not set") {
		t.Errorf("one is empty: %s", got)
	}
	if got := start("SLACK_BOT_TOKEN=x", "SLACK_TEAM_ID=x"); !strings.HasPrefix(got, "Run its command by hand to see what it needs: "+os.Args[0]) {
		t.Errorf("both are set: %s", got)
	}
}
