package conn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestEndsOf(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprint(i))
	}
	for _, tt := range []struct{ text, want string }{
		{"a", "  a"},
		{"a\r\nb\nc", "  a\n  b\n  c"},
		{strings.Join(many[:24], "\n"), "  " + strings.Join(many[:24], "\n  ")},
		{strings.Join(many, "\n"), "  " + strings.Join(many[:4], "\n  ") + "\n  …\n  " + strings.Join(many[10:], "\n  ")},
		{strings.Repeat("é", maxTraced/2), "  " + strings.Repeat("é", maxTraced/2)},
		{strings.Repeat("é", maxTraced), "  " + strings.Repeat("é", maxTraced/2) + "…"},
	} {
		if got := endsOf(tt.text); got != tt.want {
			t.Errorf("%.20q: %.60q", tt.text, got)
		}
	}
	var e ends
	for _, line := range many {
		e.add([]byte(line))
	}
	kept, n := e.text()
	if n != 30 || endsOf(kept) != endsOf(strings.Join(many, "\n")) {
		t.Errorf("of %d: %q", n, kept)
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
			[]string{"process: exited with code 9 after ", "stdout: 1 line that is not an MCP message", "  dying of ***"}},
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
