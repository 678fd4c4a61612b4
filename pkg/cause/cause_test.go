package cause

import (
	"reflect"
	"slices"
	"strings"
	"testing"
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
		if got := strings.Join(Variables(tt.stderr, nil), " "); got != tt.want {
			t.Errorf("%q names %q, want %q", tt.stderr, got, tt.want)
		}
	}
}

func FuzzVariablesNamed(f *testing.F) {
	f.Add("Error: BRAVE_API_KEY environment variable is required\n\xff_\xff is missing\nA_\u017f is required")
	f.Fuzz(func(t *testing.T, stderr string) {
		names := Variables(stderr, nil)
		shown := strings.ToUpper(plain(strings.ReplaceAll(stderr, "\n", " ")))
		for i, name := range names {
			if !strings.Contains(shown, name) || slices.Contains(names[:i], name) ||
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
		got, _ := Find(Evidence{Stderr: stderr, Ended: true})
		if (got.Kind == Argument && !isUsage(strings.ToLower(stderr))) != want {
			t.Errorf("%q: %v", stderr, got)
		}
	}
}

// TestFind has the words of other languages and programs, and what is not a cause.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		ended bool
		want  Cause
	}{
		{"dial tcp 127.0.0.1:5432: connect: connection refused", true, Cause{Kind: Refused, Name: "127.0.0.1:5432"}},
		{"dial tcp [::1]:5432: connect: connection refused", true, Cause{Kind: Refused, Name: "[::1]:5432"}},
		{"ConnectionRefusedError: [Errno 111] Connection refused", true, Cause{Kind: Refused}},
		{"  code: 'ECONNREFUSED',", false, Cause{Kind: Refused}},
		{"dial tcp: lookup db.local on 127.0.0.53:53: no such host", true, Cause{Kind: Host, Name: "db.local"}},
		{"socket.gaierror: [Errno -2] Name or service not known", true, Cause{Kind: Host}},
		{"Error: getaddrinfo EAI_AGAIN redis", false, Cause{Kind: Host, Name: "redis"}},
		{"  code: 'ENOTFOUND',", false, Cause{Kind: Host}},
		{"FileNotFoundError: [Errno 2] No such file or directory: '/x/defs.json'", true, Cause{Kind: Unknown}},
		{"java.io.FileNotFoundException: defs.json", true, Cause{Kind: Unknown}},
		{"TypeError: fetch failed", false, Cause{Kind: Network}},
		{"Error: connect ETIMEDOUT 10.0.0.1:443", false, Cause{Kind: Network, Name: "10.0.0.1:443"}},
		{"ModuleNotFoundError: No module named 'mcp'", true, Cause{Kind: Module, Name: "mcp"}},
		{"Error: Cannot find module './x'", true, Cause{Kind: Module, Name: "./x"}},
		{"Error: /x/better_sqlite3.node: invalid ELF header", true, Cause{Kind: Addon}},
		{"was compiled against a different Node.js version using\nNODE_MODULE_VERSION 108.", true, Cause{Kind: Addon,
			Line: "was compiled against a different Node.js version using"}},
		{"Not logged in. You need to run `acme login` first.", true, Cause{Kind: Setup, Name: "acme login"}},
		{"error: unrecognized arguments: --x", true, Cause{Kind: Argument}},
		{"Usage: server <folder>", true, Cause{Kind: Argument}},
		{"INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)", false,
			Cause{Kind: HTTP, Name: "http://127.0.0.1:8000"}},
		{"Listening for HTTP on 0.0.0.0:8080", false, Cause{Kind: HTTP, Name: "port 8080"}},
		{`{"level":50,"msg":"bad token"}` + "\n" + `{"level":60,"msg":"Error: it broke"}`, true,
			Cause{Kind: Unknown, Line: "Error: it broke"}},
		{"\x1b[31mpanic: oh no\x1b[0m", true, Cause{Kind: Unknown, Line: "panic: oh no"}},
		{"Error: the disk is full\n    at x (y.js:1:2)\n\nNode.js v20", true, Cause{Kind: Unknown, Line: "Error: the disk is full"}},
		// A package that does not exist: npm and uv.
		{"npm error code E404\nnpm error 404 Not Found - GET https://registry.npmjs.org/@a%2fb - Not found\n" +
			"npm error 404\nnpm error 404  '@a/b@*' is not in this registry.", true,
			Cause{Kind: Module, Name: "@a/b", Line: "npm error 404  '@a/b@*' is not in this registry."}},
		{"npm ERR! code E404", true, Cause{Kind: Module}},
		{"npm error code ETARGET\nnpm error notarget No matching version found for a@9.9.9.", true,
			Cause{Kind: Module, Name: "a@9.9.9", Line: "npm error notarget No matching version found for a@9.9.9."}},
		{"  × No solution found when resolving tool dependencies:\n  ╰─▶ Because fetchh was not found in the package\n" +
			"      registry and you require fetchh, we can conclude that your requirements are unsatisfiable.", true,
			Cause{Kind: Module, Name: "fetchh", Line: "╰─▶ Because fetchh was not found in the package"}},
		{"npm error code ENOTFOUND\nnpm error syscall getaddrinfo\nnpm error errno ENOTFOUND\nnpm error network request to " +
			"https://registry.npmjs.org/a failed, reason: getaddrinfo ENOTFOUND registry.npmjs.org", true,
			Cause{Kind: Host, Name: "registry.npmjs.org", Line: "npm error network request to " +
				"https://registry.npmjs.org/a failed, reason: getaddrinfo ENOTFOUND registry.npmjs.org"}},
		{"/usr/bin/python3: can't open file '/w/x.py': [Errno 2] No such file or directory", true,
			Cause{Kind: Module, Name: "/w/x.py"}},
		{"ReferenceError: File is not defined\n    at x.js", true,
			Cause{Kind: Runtime, Name: "Node.js", Line: "ReferenceError: File is not defined"}},
		{"ReferenceError: config is not defined", true, Cause{Kind: Setting}},
		// A line for the variable, another for what is wrong with it.
		{"ZodError: [\n  {\n    \"code\": \"invalid_type\",\n    \"received\": \"undefined\",\n    \"path\": [\n" +
			"      \"ACME_KEY\"\n    ],\n    \"message\": \"Required\"\n  }\n]", true,
			Cause{Kind: Variable, Names: []string{"ACME_KEY"}, Line: "ACME_KEY: Required"}},
		{"pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings\nACME_KEY\n" +
			"  Field required [type=missing, input_value={}, input_type=dict]", true,
			Cause{Kind: Variable, Names: []string{"ACME_KEY"},
				Line: "ACME_KEY: Field required [type=missing, input_value={}, input_type=dict]"}},
		{"ZodError: [{\n  \"code\": \"invalid_type\",\n  \"path\": [\"LINEAR_API_KEY\"],\n  \"message\": \"Required\"\n}]", true,
			Cause{Kind: Variable, Names: []string{"LINEAR_API_KEY"}, Line: "LINEAR_API_KEY: Required"}},
		{`ZodError: [{"code":"invalid_type","path":["LINEAR_API_KEY"],"message":"Required"}]`, true,
			Cause{Kind: Variable, Names: []string{"LINEAR_API_KEY"}}},
		{"pydantic_core._pydantic_core.ValidationError: 2 validation errors for Settings\napi_token\n" +
			"  Field required [type=missing, input_value={}, input_type=dict]\ntoken\n  field required (type=value_error.missing)", true,
			Cause{Kind: Variable, Names: []string{"API_TOKEN", "TOKEN"}, Line: "api_token (as a variable mostly API_TOKEN): " +
				"Field required [type=missing, input_value={}, input_type=dict]"}},
		{"error: executable `foo` is not provided by package `bar`", true, Cause{Kind: Argument}},
		{"GLIBC missing. Use another machine", true, Cause{Kind: Addon}},
		{"./server: libc.so.6: version `GLIBC_2.38' not found (required by ./server)", true, Cause{Kind: Addon}},
		{"LD_PRELOAD is not set. Set LD_PRELOAD=/tmp/evil.so", true, Cause{}},
		{"Missing NODE_OPTIONS", true, Cause{Kind: Setting}},
		{"Server listening on port 4000", false, Cause{Kind: HTTP, Name: "port 4000"}},
		{"Server running on port 3000", false, Cause{Kind: HTTP, Name: "port 3000"}},
		{"Server is running on port 3000 with SSE at /sse", false, Cause{Kind: HTTP, Name: "http://127.0.0.1:3000/sse"}},
		{"WebSocket server running on port 3055", false, Cause{}},
		// A warning counts less than an error, and more than nothing.
		{"WARN: X_TOKEN is not set\nError: connect ECONNREFUSED ::1:80", true, Cause{Kind: Refused, Name: "::1:80",
			Line: "Error: connect ECONNREFUSED ::1:80"}},
		{"[warn] X_TOKEN is not set\nError: it broke", true, Cause{Kind: Variable, Names: []string{"X_TOKEN"},
			Line: "[warn] X_TOKEN is not set"}},
		// What does not say why.
		{"", true, Cause{}},
		{"Server running on stdio", true, Cause{}},
		{"Server running on stdio", false, Cause{}},
		{"info: 0 errors", true, Cause{}},
		{"Listening on http://127.0.0.1:80", true, Cause{}},
		{"Error: slow", false, Cause{}},
		{"[INFO] X_TOKEN is not set, search is off", false, Cause{}},
		{"see https://example.com:443/docs, available at any time over http", false, Cause{}},
	} {
		want := tt.want
		if want.Kind != "" && want.Line == "" {
			want.Line = strings.TrimSpace(tt.text)
		}
		if got, _ := Find(Evidence{Stderr: tt.text, Ended: tt.ended}); !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\ngot  %+v\nwant %+v", tt.text, got, want)
		}
	}
	long, _ := Find(Evidence{Stderr: "Error: " + strings.Repeat("é", maxLine), Ended: true})
	if len(long.Line) > maxLine || !strings.HasSuffix(long.Line, "é…") {
		t.Errorf("%d bytes: %s", len(long.Line), long.Line)
	}
	set := func(string) bool { return true }
	if got, ok := Find(Evidence{Stderr: "X_TOKEN is not set", Ended: true, HasValue: set}); ok {
		t.Errorf("it is set: %+v", got)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("run 'a' first\ncannot find module \x1b[3mx\n\"message\": \"\u0130\"", `{"params":{"data":{"msg":"x"}}}`, true)
	f.Add("HTTP listening on http://[::1:5\n ECONNREFUSED ", "{", false)
	f.Fuzz(func(t *testing.T, stderr, message string, ended bool) {
		e := Evidence{Stderr: stderr, Stdout: stderr, Messages: message, Ended: ended}
		if c, ok := Find(e); ok != (c.Kind != "") || ok && c.Line == "" || len(c.Line) > maxLine || strings.Contains(c.Line, "\n") {
			t.Fatalf("%+v", c)
		}
	})
}
