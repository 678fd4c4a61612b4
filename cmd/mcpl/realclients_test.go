//go:build linux || darwin

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// realClients returns the folder of the clients from npm, which `make test` installs where Node is there.
func realClients(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "testdata", "npm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@modelcontextprotocol", "inspector")); err != nil {
		if os.Getenv("MCPL_REQUIRE_REAL_SERVERS") != "" {
			t.Fatalf("the real clients are not installed: %v", err)
		}
		t.Skipf("the real clients are not installed (make node installs them where Node is): %v", err)
	}
	return dir
}

// served returns a home whose server tells of a resource as soon as it is subscribed to, and how clients reach the
// gateway in front of it, over stdio by the command or over HTTP by the URL.
func served(t *testing.T, transport string) (h home, target string) {
	t.Helper()
	script := servedScript()
	script.Tools[0].Result = `{"content":[],"structuredContent":{"sum":1e2}}` // the libraries refuse unknown kinds of content
	script.Methods = map[string]mcptest.Behaviour{"resources/subscribe": {Result: `{}`, Asks: []mcptest.Ask{
		{Method: "notifications/resources/updated", Params: `{"uri":"a:one"}`, ID: "none"}}}}
	h = newHome(t, script)
	if transport == "http" {
		return h, h.serveHTTP(t).url
	}
	cmd, _, _ := h.mcpl(t, "serve")
	var lines strings.Builder
	fmt.Fprintf(&lines, "#!/bin/sh\ncd '%s' || exit\n", h.dir)
	for _, variable := range cmd.Env {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "MCPL_") ||
			name == "HOME" || name == "PATH" || name == "GORACE" {
			fmt.Fprintf(&lines, "export %s='%s'\n", name, value)
		}
	}
	target = filepath.Join(h.dir, "serve")
	lines.WriteString("exec mcpl serve \"$@\"\n")
	if err := os.WriteFile(target, []byte(lines.String()), 0o700); err != nil {
		t.Fatal(err)
	}
	return h, target
}

// node runs a program of the clients and returns what it prints.
func (h home) node(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RECEIVED="+h.received, "CANCELLED="+h.cancelled, "HOME="+h.dir, "NO_COLOR=1")
	var out, told bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &told
	if err := cmd.Run(); err != nil {
		t.Fatalf("node %q: %v\n%s%s", args, err, out.Bytes(), told.Bytes())
	}
	return out.String()
}

// TestRealClients has the protocol's own client libraries list, search, call, answer a question, subscribe, cancel, and
// activate a tool of which they hear.
func TestRealClients(t *testing.T) {
	t.Parallel()
	dir := realClients(t)
	type steps struct {
		Revision, Question, Answer, Update, Cancel, Search string
		List                                               []string
		Call                                               map[string]any
		Changed                                            bool
		Inactive, Active                                   []any // the tools that are listed, and what a call comes to
	}
	for library, revision := range map[string]string{"sdk": "", "client": "2025-11-25", "client-auto": "2026-07-28"} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(library+" "+transport, func(t *testing.T) {
				t.Parallel()
				h, target := served(t, transport)
				var got steps
				if err := json.Unmarshal([]byte(h.node(t, dir, "clients.mjs", library, transport, target)), &got); err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(got.Search, "s/odd(a: number)") || !strings.Contains(got.Answer, "Ada") {
					t.Errorf("search %q, answer %q", got.Search, got.Answer)
				}
				got.Search, got.Answer = "", ""
				want := steps{Revision: revision, Question: "Who?", Update: "a:one", Cancel: "cancelled",
					List: []string{"search_tools", "read_tool", "call_tool", "list_servers"},
					Call: map[string]any{"sum": 100.0}, Changed: true,
					Inactive: []any{[]any{"activate"}, false}, Active: []any{[]any{"activate", "s_odd"}, 100.0}}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// TestRealInspector has the Inspector's command line list and call, in the eras that it knows.
func TestRealInspector(t *testing.T) {
	t.Parallel()
	dir := realClients(t)
	program := filepath.Join("node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	for _, era := range []string{"legacy", "modern"} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(era+" "+transport, func(t *testing.T) {
				t.Parallel()
				h, target := served(t, transport)
				inspect := func(want string, args ...string) {
					t.Helper()
					got := h.node(t, dir, append([]string{program, "--cli", target, "--transport", transport, "--protocol-era", era}, args...)...)
					if !strings.Contains(got, want) {
						t.Errorf("%q has no %s: %s", args, want, got)
					}
				}
				inspect(`"search_tools"`, "--method", "tools/list")
				inspect("s/odd(a: number)", "--method", "tools/call", "--tool-name", "search_tools", "--tool-arg", "query=add numbers")
				inspect(`"sum": 100`, "--method", "tools/call", "--tool-name", "call_tool", "--tool-arg", "server=s",
					"--tool-arg", "tool=odd", "--tool-arg", `arguments={"a":1}`)
				inspect("first", "--method", "resources/read", "--uri", "a:one")
				if transport == "http" {
					target += "/activate"
					inspect(`s_odd`, "--method", "tools/call", "--tool-name", "activate", "--tool-arg", `activate=["s_odd"]`)
				}
			})
		}
	}
}
