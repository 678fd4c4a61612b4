package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTrialsIn(t *testing.T) {
	t.Parallel()
	got := trialsIn("Client scenarios (test against a client):\n  - newer [2026-07-28]\n  - both [2025-06-18,2026-07-28]\n  - auth/extra [extension]\n")
	want := []trial{
		{scenario: "both", revision: "2025-06-18"},
		{scenario: "auth/extra", revision: "2025-11-25", extension: true},
		{scenario: "newer", revision: "2026-07-28"},
		{scenario: "both", revision: "2026-07-28"},
		{scenario: "auth/extra", revision: "2026-07-28", extension: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	good, bad, warned := check{ID: "a", Status: "SUCCESS"}, check{ID: "b", Status: "FAILURE"}, check{ID: "c", Status: "WARNING"}
	outcomes := []outcome{
		{trial: trial{scenario: "one", revision: "1"}, checks: []check{good, bad, bad}},
		{trial: trial{scenario: "one", revision: "2"}, checks: []check{good}},
		{trial: trial{scenario: "two", revision: "2"}, checks: []check{good, {ID: "d", Status: "SKIPPED"}, {ID: "e", Status: "INFO"}}},
	}
	for _, tt := range []struct {
		name     string
		extra    []check // of scenario three
		expected []string
		only     string
		good     bool
		failures []string
		stale    []string
	}{
		{name: "unexpected", failures: []string{"one:b"}},
		{name: "expected check, of one revision", expected: []string{"one:b"}, good: true, failures: []string{"one:b"}},
		{name: "expected scenario", expected: []string{"one"}, good: true, failures: []string{"one:b"}},
		{name: "another check", expected: []string{"one:a"}, failures: []string{"one:b"}, stale: []string{"one:a"}},
		{name: "stale", expected: []string{"one", "two"}, failures: []string{"one:b"}, stale: []string{"two"}},
		{name: "unknown is stale", expected: []string{"one", "gone:x"}, failures: []string{"one:b"}, stale: []string{"gone:x"}},
		{name: "others are not judged", expected: []string{"one", "gone:x"}, only: "one", good: true, failures: []string{"one:b"}},
		{name: "a warning counts", extra: []check{warned}, expected: []string{"one"}, failures: []string{"one:b", "three:c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := append(slices.Clone(outcomes), outcome{trial: trial{scenario: "three", revision: "2"}, checks: tt.extra})
			v := judge(all, tt.expected, tt.only)
			var failures []string
			for _, f := range v.failures {
				failures = append(failures, f.scenario+":"+f.ID)
			}
			if v.good() != tt.good || !slices.Equal(failures, tt.failures) || !slices.Equal(v.stale, tt.stale) {
				t.Errorf("good %v, failures %v, stale %v", v.good(), failures, v.stale)
			}
		})
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	outcomes := []outcome{
		{trial: trial{scenario: "one", revision: "1"}, checks: []check{{ID: "a", Status: "SUCCESS"}, {ID: "b", Status: "FAILURE", Description: "does b"}}},
		{trial: trial{scenario: "two", revision: "1"}, checks: []check{{ID: "c", Status: "WARNING", ErrorMessage: "c is not there"}, {ID: "d", Status: "SKIPPED"}}},
		{trial: trial{scenario: "three", revision: "1"}},
	}
	var out bytes.Buffer
	judge(outcomes, []string{"one:b", "one:x"}, "").print(&out, outcomes)
	want := `revision  scenario  passed  failed  skipped  
1         one       1       1       0        expected
1         two       0       1       1        UNEXPECTED
1         three     0       0       0        nothing to check

What failed:
expected 1 one:b: does b
UNEXPECTED 1 two:c: c is not there
STALE one:x passes: remove it from expected-failures.yaml

3 runs: 0 passed, 2 failed, and 1 had nothing to check.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestPrintServers has all scenarios of a place in one row.
func TestPrintServers(t *testing.T) {
	t.Parallel()
	good, bad := check{ID: "a", Status: "SUCCESS"}, check{ID: "b", Status: "FAILURE", Description: "does b"}
	outcomes := []outcome{
		{trial: trial{scenario: "one", revision: "1", mode: stdio}, checks: []check{good, good}},
		{trial: trial{scenario: "two", revision: "1", mode: stdio}, checks: []check{good, bad}},
		{trial: trial{scenario: "one", revision: "1", mode: sessions}, checks: []check{good}},
	}
	for entry, note := range map[string]string{"two:b": "expected", "one:b": "UNEXPECTED"} {
		var out bytes.Buffer
		v := judge(outcomes, []string{entry}, "two")
		v.print(&out, outcomes)
		want := `revision  server  scenarios  passed  failed  skipped  
1         stdio   2          3       1       0        ` + note + `
1         http    1          1       0       0        

What failed:
` + note + ` 1 stdio two:b: does b

2 runs: 1 passed, 1 failed, and 0 had nothing to check.
`
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Error(diff)
		}
	}
}

// TestReadOutcomes finds the scenario in the name of its folder.
func TestReadOutcomes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, folder := range []string{"server-server-sse-polling-2026-11-22T10-37-46-010Z", "server-ping-2026-11-22T10-37-46-010Z"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, folder, "checks.json"), []byte(`[{"id":"x","status":"SUCCESS"}]`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readOutcomes(dir, trial{revision: newest, mode: stdio})
	if err != nil || len(got) != 2 || got[0].scenario != "ping" || got[1].scenario != "server-sse-polling" ||
		got[1].place() != newest+" stdio" || len(got[1].checks) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestLoginAdvice(t *testing.T) {
	t.Parallel()
	for help, want := range map[string][]string{
		"Put a token into the entry.":                                 nil,
		"Log in with: mcpl auth login it":                             {"auth", "login", "it"},
		"Log in with: mcpl auth login it.":                            {"auth", "login", "it"},
		`Get more with: mcpl auth login it --scope "mcp:a mcp:b". Or`: {"auth", "login", "it", "--scope", "mcp:a mcp:b"},
		`Get more with: mcpl auth login it --scope 'a b'`:             {"auth", "login", "it", "--scope", "a b"},
		"Get more with: mcpl auth login it --scope mcp:a, then":       {"auth", "login", "it", "--scope", "mcp:a"},
	} {
		if got := loginAdvice(help); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", help, got, want)
		}
	}
}

func TestJobOf(t *testing.T) {
	t.Parallel()
	env := map[string]string{"MCP_CONFORMANCE_SCENARIO": "auth/pre-registration", "MCP_CONFORMANCE_PROTOCOL_VERSION": newest,
		"MCP_CONFORMANCE_CONTEXT": `{"name":"auth/pre-registration","client_id":"me","client_secret":"s"}`}
	j, err := jobOf(func(name string) string { return env[name] }, "http://localhost:1/mcp")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"type": "http", "url": "http://localhost:1/mcp", "protocol": newest,
		"oauth": map[string]any{"clientId": "me", "clientSecret": "s"}}
	if diff := cmp.Diff(want, j.entry()); diff != "" {
		t.Error(diff)
	}
	if _, err := jobOf(func(string) string { return "" }, "http://localhost:1/mcp"); err == nil {
		t.Error("a client without a scenario")
	}
	env["MCP_CONFORMANCE_CONTEXT"] = "{"
	if _, err := jobOf(func(name string) string { return env[name] }, "http://localhost:1/mcp"); err == nil {
		t.Error("half a context")
	}
}

// TestUserLogsIn has a user follow the advice of an mcpl made of a few lines of shell, whose login
// waits until the address that it printed has been opened.
func TestUserLogsIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	done := filepath.Join(dir, "done")
	var opened []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		opened = append(opened, r.URL.Path)
		if r.URL.Path == "/authorize" {
			http.Redirect(w, r, "/callback", http.StatusFound)
			return
		}
		if err := os.WriteFile(done, nil, 0o600); err != nil {
			t.Error(err)
		}
	}))
	defer web.Close()
	script := fmt.Sprintf(`#!/bin/sh
for arg; do [ "$arg" = login ] && {
	echo "open this: %s/authorize?response_type=code&x=1" >&2
	until [ -e %[2]s ]; do :; done
	exit 0
}; done
[ -e %[2]s ] && { echo '{"success":true}'; exit 0; }
echo '{"success":false,"error":{"type":"AuthRequiredError","message":"no","help":"Log in with: mcpl auth login it"}}'
exit 6
`, web.URL, done)
	mcpl := filepath.Join(dir, "mcpl")
	if err := os.WriteFile(mcpl, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	u, err := newUser(mcpl, t.TempDir(), job{scenario: "auth/metadata-default", url: web.URL}.entry())
	if err != nil {
		t.Fatal(err)
	}
	out, err := u.do(context.Background(), "call", server, "test-tool")
	if err != nil || strings.TrimSpace(string(out)) != `{"success":true}` {
		t.Errorf("got %q, %v", out, err)
	}
	if want := []string{"/authorize", "/callback"}; !slices.Equal(opened, want) {
		t.Errorf("the browser opened %v, want %v", opened, want)
	}
}
