package config

import (
	"encoding/base64"
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
		{`{"command": "x", "env": {"PLAIN": "literal", "AUTHOR": "somebody", "MAX_TOKENS": "4096"}}`, "literal somebody 4096", "literal somebody 4096"},
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
