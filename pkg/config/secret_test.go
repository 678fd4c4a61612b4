package config

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestMask(t *testing.T) {
	t.Parallel()
	tests := []struct{ entry, text, want string }{
		{`{"command": "x", "args": ["${T}"]}`, "token is top-secret!", "token is ***!"},
		{`{"command": "x", "args": ["--x=${T}"]}`, "--x=top-secret", "--x=***"},
		{`{"command": "x", "args": ["${FILE}"]}`, "from-file", "***"},
		{`{"command": "x"}`, "top-secret from-file", "top-secret from-file"}, // not this server's
		{`{"command": "x", "env": {"API_KEY": "literal"}}`, "a literal b", "a *** b"},
		{`{"command": "x", "env": {"githubToken": "literal"}}`, "literal", "***"},
		{`{"command": "x", "env": {"PLAIN": "literal", "AUTHOR": "somebody", "MAX_TOKENS": "4096"}}`, "literal somebody 4096", "*** *** 4096"},
		{`{"command": "x", "env": {"KEY": "abc", "AUTH": "true"}}`, "abc true", "abc true"},
		{`{"command": "x", "args": ["--api-key", "literal"]}`, "literal", "***"},
		{`{"command": "x", "args": ["--api-key", "--literal"]}`, "--literal", "--literal"},
		{`{"command": "x", "args": ["--token=literal"]}`, "--token=literal", "--token=***"},
		{`{"command": "x", "args": ["-e", "GITHUB_TOKEN=literal"]}`, "literal", "***"},
		{`{"command": "x", "args": ["--header", "Authorization: Bearer literal"]}`, "got literal", "got ***"},
		{`{"command": "x", "args": ["postgres://u:pass%40word@h/db"]}`, "pass%40word pass@word", "*** ***"},
		{`{"command": "x", "args": ["https://h/x?token=liter%20al#f"]}`, "liter%20al liter al", "*** ***"},
		{`{"command": "x", "args": ["ghp_0123456789abcdefghij"]}`, "<ghp_0123456789abcdefghij>", "<***>"},
		{`{"url": "https://mcp.example.com/fc-0123456789abcdef/mcp"}`, "fc-0123456789abcdef", "***"},
		{`{"url": "https://h", "headers": {"Authorization": "Bearer literal"}}`, "literal Bearer literal", "*** ***"},
		{`{"url": "https://h", "headers": {"Cookie": "sid=1234"}}`, "sid=1234", "***"},
		{`{"url": "https://user:literal@h"}`, base64.StdEncoding.EncodeToString([]byte("user:literal")), "***"},
		{`{"url": "https://u:ab@h/mcp"}`, "ab: https://u:ab@h/mcp, redis://:x@h:1", "ab: https://u:***@h/mcp, redis://:***@h:1"},
		{`{"command": "x", "args": ["db://u:a@b@h"]}`, `"db://u:a@b@h" not db://h/a:b@c nor db://u@h:1`, `"db://u:***@h" not db://h/a:b@c nor db://u@h:1`},
		{`{"command": "x", "env": {"SECRET": "a b&c/d"}}`, "a+b%26c%2Fd a%20b&c%2Fd a b&c/d", "*** *** ***"},
		{`{"command": "x", "env": {"SECRET": "a\"b<c\nd"}}`, `a\"b<c\nd a\"b\u003cc\nd`, "*** ***"},
		{`{"command": "x", "env": {"SECRET": "<ends\""}}`, `"\u003cends\""`, `"***"`},
		{`{"command": "x", "env": {"PRIVATE_KEY": "-----BEGIN-----\nMIIEpAIBAAKC\n-----END-----"}}`, "-----BEGIN----- MIIEpAIBAAKC", "-----BEGIN----- ***"},
		{`{"command": "x", "env": {"TOKEN": "long-literal", "KEY": "long"}}`, "long-literal long", "*** ***"},
		{`{"command": "x", "args": ["${HOME}/x"]}`, "/home/me/x", "/home/me/x"},
	}
	for _, test := range tests {
		w := newWorld(t)
		w.vars["T"], w.vars["HOME"] = "top-secret", "/home/me"
		w.write(".env", "FILE=from-file")
		if got := w.one(test.entry).Mask(test.text); got != test.want {
			t.Errorf("%s: %s becomes %s, want %s", test.entry, test.text, got, test.want)
		}
	}
	if got := (&Server{}).Mask("x"); got != "x" {
		t.Error(got)
	}
}

// TestF8ValuesAreMasked: nothing that an entry sets is shown, whatever its name.
func TestF8ValuesAreMasked(t *testing.T) {
	t.Parallel()
	tests := []struct{ entry, text, want string }{
		{`{"url": "https://h", "headers": {"X-Custom": "CANARYxcustom11"}}`, "500: CANARYxcustom11", "500: ***"},
		{`{"url": "https://h", "headers": {"X-Custom": "Scheme CANARYbare12"}}`, "CANARYbare12", "***"},
		{`{"url": "https://h", "headers": {"Accept": "application/json"}}`, "application/json", "application/json"},
		{`{"command": "x", "env": {"PLAINVAR": "CANARYplain13"}}`, "it is CANARYplain13", "it is ***"},
		{`{"command": "x", "env": {"GREETING": "hello world"}}`, "hello world, world", "***, world"},
		{`{"command": "x", "env": {"A": "true", "B": "8080", "LOG_LEVEL": "debug", "NODE_ENV": "production", "SHORT": "abcde"}}`,
			"true 8080 debug production abcde", "true 8080 debug production abcde"},
		{`{"command": "x", "env": {"HOME": "/home/somebody", "NAME": "server-x"}}`, "/home/somebody server-x", "/home/somebody ***"},
	}
	for _, test := range tests {
		if got := newWorld(t).one(test.entry).Mask(test.text); got != test.want {
			t.Errorf("%s: %s becomes %s, want %s", test.entry, test.text, got, test.want)
		}
	}
	w := newWorld(t)
	w.write(".mcp.json", `{"mcpServers": {"everything": {"command": "x", "env": {"NAME": "everything"}}}}`)
	if got := w.load(Selection{}).Servers[0].Mask("everything failed"); got != "everything failed" {
		t.Errorf("the server's own name is masked: %s", got)
	}
}

// TestF8InheritedIsMasked: what the process of a server inherits and looks secret is not shown either, from when it
// is handed over.
func TestF8InheritedIsMasked(t *testing.T) {
	t.Parallel()
	s := newWorld(t).one(`{"command": "x", "inheritEnv": true}`)
	copied := *s
	base := []string{"AWS_SECRET_ACCESS_KEY=CANARYAWSLIVE01", "DATABASE_URL=postgres://u:CANARYdb02@h/x", "SOME=ghp_CANARY0123456789",
		"PWD=/home/somebody", "SSH_AUTH_SOCK=/tmp/agent.1", "XDG_SESSION_TYPE=wayland", "EDITOR=someeditor", "AUTH=false", "odd"}
	if got := copied.Mask("CANARYAWSLIVE01"); got != "CANARYAWSLIVE01" {
		t.Error("masked before it was handed over")
	}
	s.Environ(base)
	const plain = "/home/somebody /tmp/agent.1 wayland someeditor false"
	if got := copied.Mask("CANARYAWSLIVE01 CANARYdb02 ghp_CANARY0123456789 " + plain); got != "*** *** *** "+plain {
		t.Error(got)
	}
	for i := range 2 * maxHidden {
		s.Hide(fmt.Sprint("a-token-number-", i))
	}
	if got := copied.Mask("CANARYAWSLIVE01"); got != "***" {
		t.Error("tokens that came later push out what was inherited")
	}
}

// TestServersS2PositionalTokens: tokens that stand alone among the arguments are known by their form.
func TestServersS2PositionalTokens(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ arg, secret string }{
		{"napi_0123456789abcdefghij", "napi_0123456789abcdefghij"},
		{"AC0123456789abcdef0123456789abcdef/SK0123456789abcdef0123456789abcdef:letmein", "letmein"},
		{"AC0123456789abcdef:hunter2hunter2", "hunter2hunter2"},
		{"account:Jx7Kq2mVp9Tz4Wb8", "Jx7Kq2mVp9Tz4Wb8"},
		{"a3f5c9e17b2d4860a3f5c9e17b2d4860", "a3f5c9e17b2d4860a3f5c9e17b2d4860"},
		{"550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000"},
		{"wJalrXUtnFEMI/K7MDENG/bPxRfiCYzQ8mPLt3X9", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzQ8mPLt3X9"},
		{"--plain=Zm9vYmFyYmF6cXV4cXV1eA==", "Zm9vYmFyYmF6cXV4cXV1eA=="},
		{"7KQ2MV4P9TZ3WB8XJ6RDYH5N", "7KQ2MV4P9TZ3WB8XJ6RDYH5N"},
	} {
		s := newWorld(t).one(fmt.Sprintf(`{"command": "x", "args": ["start", %q]}`, test.arg))
		if got := s.Mask("it said " + test.secret); got != "it said ***" {
			t.Errorf("%s: %s", test.arg, got)
		}
		if got := s.Display().Command; strings.Contains(got, test.secret) {
			t.Errorf("%s: %s", test.arg, got)
		}
	}
}

// TestSecretsWithinTexts: a secret is known within a URL's path, JSON, an assignment in an argument and a connection
// string, as an argument and as a URL, and nothing around it is taken for it.
func TestSecretsWithinTexts(t *testing.T) {
	t.Parallel()
	const path = "Y2FuYXJ5LWFhYmJjYzEyMzQ1Njc4OTBhYmNkZWY"
	for _, test := range []struct{ field, text, shown string }{
		{"url", "https://mcp.zapier.com/api/mcp/s/" + path + "/mcp", "https://mcp.zapier.com/api/mcp/s/***/mcp"},
		{"arg", "https://mcp.zapier.com/api/mcp/s/" + path + "/mcp", "https://mcp.zapier.com/api/mcp/s/***/mcp"},
		{"arg", "https://h/" + path + "?q=" + path, "https://h/***?q=***"},
		{"url", "https://hooks.slack.com/services/T0AB/B0CD/abcdef", "https://hooks.slack.com/services/T0AB/B0CD/***"},
		{"arg", "git+https://h/a/b@a3f5c9e17b2d4860a3f5c9e17b2d4860", "git+https://h/a/b@a3f5c9e17b2d4860a3f5c9e17b2d4860"},
		{"arg", `{"apiKey":"abcd"}`, `{"apiKey":"***"}`},
		{"arg", `--config={"apiKey":"ab\"cd","n":[{"Authorization":"Bearer efgh"}],"m":"shown"}`,
			`--config={"apiKey":"***","n":[{"Authorization":"***"}],"m":"shown"}`},
		{"arg", `{"in":"{\"tokens\":{\"x\":\"abcd\"}}"}`, `{"in":"{\"tokens\":{\"x\":\"***\"}}"}`},
		{"arg", "--env=API_TOKEN=abcd", "--env=API_TOKEN=***"},
		{"arg", "--header=Authorization: Bearer abcd", "--header=Authorization: ***"},
		{"arg", "--set=mode=abcd", "--set=mode=abcd"},
		{"arg", "--env=X=wJalrXUtnFEMI7K7MDENGbPxRfiCY", "--env=X=***"},
		{"arg", "--secret abcd", "--secret ***"},
		{"url", "https://h/x#access_token=abcdefg&b=1", "https://h/x#access_token=***&b=1"},
		{"arg", `{"url":"https://h/x?api_key=Zk3J9sQ2mN8vB4xP2","b":[1,2]}`, `{"url":"https://h/x?api_key=***","b":[1,2]}`},
		{"arg", `postgres://u:a"b c@h`, `postgres://u:***@h`},
		{"arg", "Server=db;User=ada;Password=abcdefg;Encrypt=true", "Server=db;User=ada;Password=***;Encrypt=true"},
		{"arg", "jdbc:sqlserver://db:1433;user=ada;password=abcdefg", "jdbc:sqlserver://db:1433;user=ada;password=***"},
		{"arg", "host=db password=abcdefg dbname=x", "host=db password=*** dbname=x"},
		{"arg", "KEY=$(cat key) run", "KEY=***"},
		{"pw", "abcd", "***"},
	} {
		server := map[string]any{"command": "x", "args": []string{test.text}}
		switch test.field {
		case "url":
			server = map[string]any{"url": test.text}
		case "pw":
			server["args"] = []string{"--pw", test.text}
		}
		entry, err := json.Marshal(server)
		if err != nil {
			t.Fatal(err)
		}
		d := newWorld(t).one(string(entry)).Display()
		got := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(d.URL+d.Command, "x "), "--pw "), "'", "")
		if got != test.shown {
			t.Errorf("%s becomes %s, want %s", test.text, got, test.shown)
		}
	}
	s := newWorld(t).one(`{"command": "x", "inheritEnv": true, "env": {"API_KEY": "quo\"ted<secret"}}`)
	s.Environ([]string{"WEBHOOK=https://hooks.slack.com/services/T0AB/B0CD/abcdef", "SQL=Server=db;Password=hunter2;X=y"})
	for text, want := range map[string]string{
		`{"a":"{\"b\":\"quo\\\"ted<secret\"}"}`:             `{"a":"{\"b\":\"***\"}"}`,
		`{"a":"{\"b\":\"quo\\\"ted\\u003csecret\"}"}`:       `{"a":"{\"b\":\"***\"}"}`,
		"https://hooks.slack.com/services/T0AB/B0CD/abcdef": "***",
		"B0CD/abcdef hunter2":                               "B0CD/*** ***",
	} {
		if got := s.Mask(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

// TestPublicArguments: what people write into arguments by the thousand stays readable.
func TestPublicArguments(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-everything@2025.11.25",
		"--directory=/home/ada/projects/one2three/four5six", "/nix/store/0c8h1pzk2x9m4v7q5s6r3t1w2y8z0b4d-nodejs-22/bin/node",
		"ghcr.io/github/github-mcp-server:v0.6.2", "node_modules/server-filesystem/dist/index.js",
		"mcp/server@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "https://mcp.example.com/v2/sse?x=y",
		"server-filesystem-2024-11-05-linux-amd64.tgz", "mcp_server_package.module.main:create_application",
		"localhost:8080", "--from=git+https://github.com/ada/server-one@main", "MyVeryLongServerNameForTesting", "postgresql+asyncpg",
		"--transport=streamable-http", "start", "2026-11-22T07:30:00Z", "host.docker.internal:host-gateway",
		"type=bind,source=/home/ada/data,target=/data", "import server_module; server_module.run_forever()"} {
		s := newWorld(t).one(fmt.Sprintf(`{"command": "x", "args": [%q]}`, arg))
		if got := s.Mask(arg); got != arg {
			t.Errorf("%s becomes %s", arg, got)
		}
	}
}

func TestLooksSecret(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"GITHUB_TOKEN", "api-key", "--apiKey", "Authorization", "X-Auth", "COOKIE", "DB_PASSWORD", "passwd", "AWS_SECRET_ACCESS_KEY",
		"credentials", "GH_PAT", "DB_PASS", "SESSION_ID", "SENTRY_DSN"} {
		if !looksSecret(name) {
			t.Errorf("%s does not look secret", name)
		}
	}
	for _, name := range []string{"", "PATH", "AUTHOR", "KEYBOARD_LAYOUT", "MAX_TOKENS", "COMPASS", "PATTERN", "DEBUG", "--port"} {
		if looksSecret(name) {
			t.Errorf("%s looks secret", name)
		}
	}
}

func TestWhereToGet(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"GITHUB_TOKEN", "GITHUB_PERSONAL_ACCESS_TOKEN", "SLACK_BOT_TOKEN", "SLACK_TEAM_ID", "BRAVE_API_KEY",
		"GITLAB_PERSONAL_ACCESS_TOKEN", "NOTION_TOKEN", "SENTRY_AUTH_TOKEN", "LINEAR_API_KEY", "GOOGLE_MAPS_API_KEY", "GEMINI_API_KEY",
		"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "EXA_API_KEY", "TAVILY_API_KEY", "FIRECRAWL_API_KEY", "PERPLEXITY_API_KEY", "AIRTABLE_API_KEY",
		"STRIPE_SECRET_KEY", "FIGMA_API_KEY", "HF_TOKEN", "CLOUDFLARE_API_TOKEN", "SUPABASE_ACCESS_TOKEN", "VERCEL_TOKEN",
		"JIRA_API_TOKEN", "DISCORD_TOKEN", "REPLICATE_API_TOKEN", "ELEVENLABS_API_KEY", "DATADOG_API_KEY", "github_token"} {
		if !strings.HasPrefix(WhereToGet(name), "https://") {
			t.Errorf("nobody knows where to get %s", name)
		}
	}
	for _, name := range []string{"", "MY_TOKEN", "GITHUB_HOST", "DATABASE_URL"} {
		if got := WhereToGet(name); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if WhereToGet("GOOGLE_MAPS_API_KEY") == WhereToGet("GOOGLE_API_KEY") {
		t.Error("Google Maps has its own page")
	}
}

// Mask replaces secrets that came later, in all copies of a server, also the last of many.
func TestHide(t *testing.T) {
	t.Parallel()
	new(Server).Hide("nothing") // one that was not read from a file
	s := &Server{hidden: new(hidden)}
	copied := *s
	s.Hide("first-token", "", "other-token")
	s.Hide("first-token")
	if got := copied.Mask("first-token other-token"); got != "*** ***" {
		t.Error(got)
	}
	for i := range maxHidden {
		s.Hide(fmt.Sprint("token-number-", i))
	}
	if got := copied.Mask(fmt.Sprint("first-token token-number-", maxHidden-1, " token-number-0")); got != "first-token *** ***" {
		t.Error(got)
	}
}
