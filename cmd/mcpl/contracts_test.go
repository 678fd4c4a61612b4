package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/internal/authtest"
)

// contract is one JSON shape: a command line and the exit code it has. Its snapshot is
// testdata/contracts/NAME.json.
type contract struct {
	name string
	code int
	args []string
}

func contracts() []contract {
	call := func(args ...string) []string { return append([]string{"call", "demo"}, args...) }
	return []contract{
		{"search", 0, []string{"search", "--limit", "2", "add numbers"}},
		{"search_empty", 0, []string{"search", "zebra"}},
		{"search_schema_explain", 0, []string{"search", "--schema", "--explain", "--limit", "1", "add"}},
		{"search_stale", 0, []string{"search", "wobble"}},
		{"inspect", 0, []string{"inspect", "demo", "add"}},
		{"types", 0, []string{"types", "demo/add"}},
		{"inspect_example", 0, []string{"inspect", "demo", "add", "--example"}},
		{"search_kinds", 0, []string{"search", "--kind", "all", "--limit", "4", "report"}},
		{"inspect_prompt", 0, []string{"inspect", "--kind", "prompt", "papers", "report"}},
		{"inspect_resource", 0, []string{"inspect", "--kind", "resource", "papers", "paper://report"}},
		{"resources", 0, []string{"resources"}},
		{"prompts", 0, []string{"prompts", "papers"}},
		{"prompts_empty", 0, []string{"prompts", "demo"}},
		{"read", 0, []string{"read", "papers", "paper://report"}},
		{"read_files", 0, []string{"read", "papers", "paper://report", "--output-dir", "out"}},
		{"prompt", 0, []string{"prompt", "papers", "report", "topic=rain"}},
		{"list", 0, []string{"list"}},
		{"list_server", 0, []string{"list", "demo"}},
		{"list_server_stale", 0, []string{"list", "shaky"}},
		{"call_text", 0, call("text")},
		{"call_object", 0, call("object")},
		{"call_structured", 0, call("structured")},
		{"call_blocks", 0, call("kinds")},
		{"call_files", 0, call("kinds", "--output-dir", "out")},
		{"call_jq", 0, call("structured", "--jq", ".a, .b")},
		{"call_spilled", 0, call("structured", "--max-bytes", "5")},
		{"result", 0, []string{"result", "b1e719168444", "--lines", "2:3"}},
		{"call_raw", 0, call("structured", "--raw")},
		{"call_elicit", 0, call("asks", "--elicit", `{"name": "Ada"}`)},
		{"call_elicit_unfit", 2, call("asks", "--elicit", `{"nam": "Ada"}`)},
		{"dry_run", 0, call("add", "a=1", "--dry-run")},
		{"dry_run_invalid", 2, call("add", "a=x", "--dry-run")},
		{"dry_run_unknown", 0, []string{"call", "web", "any", "--dry-run"}},
		{"config", 0, []string{"config"}},
		{"enable", 0, []string{"enable", "demo"}},
		{"disable", 0, []string{"disable", "demo/text", "nosuch"}},
		{"instructions", 0, []string{"instructions"}},
		{"instructions_write", 0, []string{"instructions", "--write", "AGENTS.md"}},
		{"version", 0, []string{"version"}},
		{"help", 0, []string{"version", "--help"}},
		{"daemon", 0, []string{"daemon", "status"}},
		{"doctor", 4, []string{"doctor", "demo", "down"}},
		{"auth_status", 0, []string{"auth", "status"}},
		{"auth_login", 0, []string{"auth", "login", "robot"}},
		{"auth_logout", 0, []string{"auth", "logout", "robot"}},
		{"completion", 0, []string{"completion", "bash"}},
		{"inspect_policy", 0, []string{"inspect", "shaky", "wobble"}},
		{"dry_run_policy", 0, []string{"call", "shaky", "wobble", "--dry-run"}},
		{"policy_ask", 6, []string{"call", "shaky", "wobble", "--no-validate", `{"x": 1.0, "password": "hunter2hunter2"}`}},
		{"policy_deny", 6, []string{"read", "papers", "paper://map"}},
		{"approvals", 0, []string{"approvals"}},
		{"serve_usage", 2, []string{"serve", "--expose", "some"}},

		{"ToolError", 1, call("fails")},
		{"UsageError", 2, []string{"run", "demo", "add"}},
		{"InvalidArgumentsError", 2, call("add", "b=1", "--", "a=x")},
		{"ConfigError", 2, []string{"--config", "nosuch.json", "list"}},
		{"MissingVariableError", 2, []string{"call", "lacks", "any"}},
		{"ServerNotFoundError", 3, []string{"inspect", "dmo", "add"}},
		{"ToolNotFoundError", 3, []string{"inspect", "demo", "ad"}},
		{"ResultNotFoundError", 3, []string{"result", "000000000000"}},
		{"ResultError", 1, call("object", "--jq", ".a.b")},
		{"ServerConnectionError", 4, []string{"call", "down", "any"}},
		{"ProtocolError", 4, call("refuses")},
		{"AuthRequiredError", 6, []string{"call", "guarded", "t"}},
		{"TimeoutError", 5, call("slow", "--timeout", "100ms")},
		{"ApprovalRequiredError", 6, call("asks")},
	}
}

// unapproved lists the contracts of a project whose servers no one has approved.
func unapproved() []contract {
	return []contract{
		{"search_waiting", 0, []string{"search", "issues"}},
		{"list_waiting", 0, []string{"list"}},
		{"call_waiting", 6, []string{"call", "tracker", "any"}},
		{"trust", 0, []string{"trust", "--list"}},
		{"trust_nobody", 6, []string{"trust"}},
		{"untrust", 0, []string{"untrust", "tracker"}},
	}
}

// withoutSnapshot are the fault types that no command line of today leads to at will.
var withoutSnapshot = map[string]string{
	"InternalError":    "is a defect",
	"InterruptedError": "takes a signal: TestInterrupt",
}

const contractConfig = `{"mcpServers": {
  "demo": {"command": "mcptest", "args": ["demo.json"], "env": {"TOKEN": "hunter2hunter2", "MODE": "${MODE:-plain}"}},
  "shaky": {"command": "mcptest", "args": ["shaky.json"]},
  "down": {"command": "mcptest", "args": ["down.json"]},
  "lacks": {"command": "mcptest", "env": {"T": "${GITHUB_TOKEN_OF_NOBODY}"}},
  "web": {"url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": "Bearer hunter2hunter2"}},
  "papers": {"command": "mcptest", "args": ["papers.json"]},
  "guarded": {"url": "http://AUTH/mcp"},
  "robot": {"url": "http://AUTH/mcp", "oauth": {"grant": "client_credentials", "clientId": "robot", "clientSecret": "hunter2hunter2", "scopes": ["read"]}},
  "off": {"command": "mcptest", "args": ["--token", "hunter2hunter2"], "disabled": true},
  "odd": {"args": ["x"]}
}}`

const contractServer = `{"instructions": "Adds up. And more.", "tools": [
  {"def": "{\"name\":\"add\",\"title\":\"Add\",\"description\":\"Add two numbers. <&>\",\"inputSchema\":{ \"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\",\"description\":\"The first.\"},\"b\":{\"type\":\"number\",\"default\":1.0}},\"required\":[\"a\"]},\"annotations\":{\"readOnlyHint\":true},\"outputSchema\":{\"type\":\"object\"}}"},
  {"name": "text", "description": "Give text", "text": "just <text>"},
  {"name": "object", "text": "{\"a\": 1}"},
  {"name": "structured", "structured": "{\"a\": 10000000000000001, \"b\": [true, null, 1.0]}"},
  {"name": "kinds", "kinds": ["text", "image", "audio", "resource", "blob", "resource_link"]},
  {"name": "fails", "text": "it broke", "isError": true},
  {"name": "refuses", "error": {"code": -32603, "message": "backend is down"}},
  {"name": "slow", "delay": "30s"},
  {"name": "asks", "text": "nobody answered", "asks": [{"method": "elicitation/create", "wait": true, "params": {"message": "Who are <you>?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]}}}]}
]}`

// unapprovedConfig is that of a project whose servers no one has approved.
const unapprovedConfig = `{"mcpServers": {
  "tracker": {"command": "./tracker.sh", "args": ["--db", "${DB:-main}"], "env": {"TOKEN": "${TRACKER_TOKEN:-none}"}},
  "web": {"url": "https://web.example/mcp", "headers": {"X-Team": "blue"}}
}}`

const papersServer = `{"capabilities": {"resources": {}, "prompts": {}}, "methods": {
  "resources/list": {"result": {"resources": [{"uri": "paper://report", "name": "report", "title": "The report", "description": "What was found.", "mimeType": "text/plain", "size": 20}]}},
  "resources/templates/list": {"result": {"resourceTemplates": [{"uriTemplate": "paper://{year}/report", "name": "report", "description": "Of a year."}]}},
  "resources/read": {"result": {"contents": [{"uri": "paper://report", "mimeType": "text/plain", "text": "rain & wind"}, {"uri": "paper://map", "mimeType": "image/png", "blob": "AQID"}]}},
  "prompts/list": {"result": {"prompts": [{"name": "report", "description": "Write a report", "arguments": [{"name": "topic", "required": true}]}]}},
  "prompts/get": {"result": {"description": "A report", "messages": [{"role": "user", "content": {"type": "text", "text": "Report on rain."}}]}}}}`

const contractPolicy = `
[[policy]]
match = "shaky/*"
action = "ask"

[[policy]]
match = "papers/*map"
action = "deny"
`

// TestContracts compares what is printed with --json to snapshots: changing one is a breaking
// change, to be made with -update and told in CHANGELOG.md.
func TestContracts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	as := authtest.New(authtest.Options{Clients: map[string]string{"robot": "hunter2hunter2"}, Expires: 3600})
	t.Cleanup(as.Close)
	host := strings.TrimSuffix(strings.TrimPrefix(as.URL(), "http://"), "/mcp")
	for name, text := range map[string]string{
		".mcp.json":        strings.ReplaceAll(contractConfig, "AUTH", host),
		"demo.json":        strings.Replace(contractServer, "{", `{"starts": "starts",`, 1),
		"shaky.json":       `{"starts": "starts.shaky", "tools": [{"name": "wobble"}], "later": [{"from": 2, "script": {"start": {"exit": {"code": 3}}}}]}`,
		"papers.json":      papersServer,
		"mcpl/config.toml": contractPolicy,
		"down.json":        `{"start": {"stderr": ["cannot go on"], "exit": {"code": 3}}}`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	clone := filepath.Join(dir, "clone")
	for _, repository := range []string{dir, clone} {
		if err := os.MkdirAll(filepath.Join(repository, ".git"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(repository, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(clone, ".mcp.json"), []byte(unapprovedConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	trust := "all"
	run := func(in string, args []string) ([]byte, int) {
		cmd := exec.CommandContext(t.Context(), "mcpl", args...)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "HOME="+dir, "USERPROFILE="+dir, "LOCALAPPDATA="+dir, "XDG_CACHE_HOME="+dir,
			"XDG_STATE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "GORACE=atexit_sleep_ms=0", "MCPL_TRUST="+trust, "MCPL_DAEMON=off", "DBUS_SESSION_BUS_ADDRESS=", "XDG_RUNTIME_DIR=")
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return out, cmd.ProcessState.ExitCode()
	}
	run(dir, []string{"list"})
	run(dir, []string{"list", "--refresh"}) // from now on shaky is stale
	for i, c := range slices.Concat(contracts(), unapproved()) {
		in := dir
		if i >= len(contracts()) {
			in, trust = clone, ""
		}
		out, code := run(in, append([]string{"--json"}, c.args...))
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.name, code, c.code)
		}
		var one json.RawMessage
		dec := json.NewDecoder(bytes.NewReader(out))
		if dec.Decode(&one) != nil || dec.More() || !bytes.HasSuffix(out, []byte("\n")) {
			t.Errorf("%s: not exactly one JSON document and a newline:\n%s", c.name, out)
			continue
		}
		if bytes.Contains(out, []byte("hunter2")) {
			t.Errorf("%s tells a secret:\n%s", c.name, out)
		}
		compare(t, filepath.Join("testdata", "contracts", c.name+".json"), normalised(t, one, dir))
	}
}

// compare holds text to a golden file, or with -update makes it one.
func compare(t *testing.T, path string, text []byte) {
	t.Helper()
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("%v; make it with: go test ./cmd/mcpl -run Contracts -update", err)
		return
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s: -want +got\n%s", path, diff)
	}
}

// normalised indents a document, keeps the order of its members and the spelling of its numbers,
// and replaces what differs from run to run: paths, times, durations, digests, versions, scores.
func normalised(t *testing.T, raw []byte, dir string) []byte {
	t.Helper()
	for _, r := range []struct{ pattern, by string }{
		{regexp.QuoteMeta(dir), "DIR"},
		{`127\.0\.0\.1:\d{4,}`, "127.0.0.1:PORT"},
		{`auth/[0-9a-f]{24}`, "auth/KEY"},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`, "TIME"},
		{`\d+\.\d\d s`, "N s"},
		{`mcpl/[0-9a-f]{16}`, "mcpl/KEY"},
		{`-[0-9a-f]{12}\.`, "-DIGEST."},
		{`("id":)"[0-9a-f]{12}"`, `${1}"ID"`},
		{`("score":)[0-9.]+`, `${1}0.5`},
		{`("(?:version|go|platform)":)"[^"]*"`, `${1}"V"`},
		{`("script":)"(?:[^"\\]|\\.)*"`, `${1}"S"`},
		{`("(?:tokens|mtime)":)\d+`, `${1}1`},
		{`("data":|"blob":)"[^"]*"`, `${1}"B64"`},
		{`("hash":)"[0-9a-f]{64}"`, `${1}"HASH"`},
		{`("[a-z]+_ms":)[0-9]+`, `${1}0`},
		{`[0-9a-f]{16}\.(sock|log)`, `KEY.$1`},
		{`(approve |"id":")[a-z2-9]{8}\b`, `${1}ID`},
		{`mcpl-approval-1\.[\w-]{70}`, `TOKEN`},
	} {
		raw = regexp.MustCompile(r.pattern).ReplaceAll(raw, []byte(r.by))
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// TestContractsComplete: every type of fault and every snapshot on disk belongs to a contract.
func TestContractsComplete(t *testing.T) {
	t.Parallel()
	var names []string
	all := slices.Concat(contracts(), unapproved())
	for _, c := range all {
		names = append(names, c.name)
	}
	for _, typ := range faultTypes(t) {
		reason, excused := withoutSnapshot[typ]
		switch has := slices.Contains(names, typ); {
		case !has && !excused:
			t.Errorf("%s has no contract", typ)
		case !has:
			t.Logf("%s has no snapshot: it %s", typ, reason)
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "contracts", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !slices.Contains(names, strings.TrimSuffix(filepath.Base(file), ".json")) {
			t.Errorf("%s belongs to no contract", file)
		}
	}
	for _, verb := range verbs(t) {
		if !slices.ContainsFunc(all, func(c contract) bool { return slices.Contains(c.args, verb) }) {
			t.Errorf("the verb %s has no contract", verb)
		}
	}
}

// faultTypes reads the types from the source of pkg/fault, so that a new one is not forgotten.
func faultTypes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "pkg", "fault", "fault.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || fmt.Sprint(spec.Type) != "Type" {
			return true
		}
		for _, v := range spec.Values {
			text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			types = append(types, text)
		}
		return true
	})
	if len(types) < 10 {
		t.Fatalf("only %d types found", len(types))
	}
	return types
}

// verbs asks the program for its verbs.
func verbs(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "mcpl", "__complete", "").Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if name, _, ok := strings.Cut(line, "\t"); ok && name != "help" {
			names = append(names, name)
		}
	}
	if len(names) < 8 {
		t.Fatalf("only %d verbs found:\n%s", len(names), out)
	}
	return names
}
