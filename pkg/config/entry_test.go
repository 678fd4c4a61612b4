package config

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEntry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vars["NAME"] = "v"
	s := w.one(`{"command": "~/bin/x", "args": ["a", 5, true, "${NAME}"], "env": {"N": 1.50, "B": false, "S": "$NAME $${NAME}"}, "cwd": "sub"}`)
	if s.Command != w.path("~/bin/x") || !slices.Equal(s.Args, []string{"a", "5", "true", "v"}) || s.Cwd != w.path("sub") {
		t.Errorf("%+v", s)
	}
	if want := []KeyValue{{"N", "1.50"}, {"B", "false"}, {"S", "$NAME ${NAME}"}}; !slices.Equal(s.Env, want) {
		t.Errorf("env %v", s.Env)
	}
}

func TestTransport(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]Transport{
		`"http"`: HTTP, `"streamable-http"`: HTTP, `"streamableHttp"`: HTTP, `"SSE"`: SSE, `null`: HTTP,
	} {
		w := newWorld(t)
		if s := w.one(`{"type": ` + typ + `, "url": "http://localhost:1/x", "headers": {"X-Key": "v"}}`); s.Transport != want ||
			!slices.Equal(s.Headers, []KeyValue{{"X-Key", "v"}}) {
			t.Errorf("%s: %+v", typ, s)
		}
	}
	if s := newWorld(t).one(`{"type": "stdio", "command": "x"}`); s.Transport != Stdio {
		t.Errorf("%+v", s)
	}
	for entry, want := range map[string]bool{
		`{"url": "https://h/x"}`: true, `{"type": "http", "url": "https://h/x"}`: false, `{"type": "sse", "url": "https://h/x"}`: false, `{"command": "x"}`: false,
	} {
		if s := newWorld(t).one(entry); s.FallBack != want {
			t.Errorf("%s: %+v", entry, s)
		}
	}
}

// Plain http goes to this machine alone, unless the entry says otherwise.
func TestAllowHTTP(t *testing.T) {
	t.Parallel()
	for entry, ok := range map[string]bool{
		`{"url": "http://localhost:1/x"}`: true, `{"url": "http://LOCALHOST"}`: true, `{"url": "http://127.0.0.1"}`: true, `{"url": "http://127.8.9.1:80"}`: true,
		`{"url": "http://[::1]:8080/mcp"}`: true, `{"url": "https://example.com"}`: true, `{"url": "http://example.com", "allowHTTP": true}`: true,
		`{"url": "http://${FAR}/mcp"}`: false, `{"url": "http://example.com"}`: false, `{"url": "http://10.0.0.1", "allowHTTP": false}`: false,
		`{"url": "http://localhost.example.com"}`: false, `{"url": "http://[2001:db8::1]/"}`: false, `{"type": "sse", "url": "http://user:hunter2@0.0.0.0/"}`: false,
		`{"url": "http://example.com", "allowHTTP": "yes"}`: false,
	} {
		w := newWorld(t)
		w.vars["FAR"] = "example.com"
		w.write(".mcp.json", `{"mcpServers": {"s": `+entry+`}}`)
		c := w.load(Selection{})
		if (len(c.Servers) == 1) != ok || (len(c.Problems) == 0) != ok {
			t.Errorf("%s: %+v, %+v", entry, c.Servers, c.Problems)
		}
		for _, p := range c.Problems {
			if strings.Contains(p.Message+p.Fix, "hunter2") || !strings.Contains(p.Message+p.Fix, "HTTP") {
				t.Errorf("%s: %+v", entry, p)
			}
		}
	}
}

func TestProtocolAndRoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vars["R"] = "/from/var"
	for entry, want := range map[string][]string{
		`{"command": "x"}`:                nil,
		`{"command": "x", "roots": null}`: nil,
		`{"command": "x", "roots": []}`:   {},
		`{"url": "https://x", "roots": ["sub", "~/mine", "${R}", "file:///a%20b"]}`: {w.path("sub"), w.path("~/mine"), "/from/var", "file:///a%20b"},
	} {
		if s := w.one(entry); !slices.Equal(s.Roots, want) || (s.Roots == nil) != (want == nil) {
			t.Errorf("%s: %q", entry, s.Roots)
		}
	}
	if s := w.one(`{"command": "x", "protocol": "2025-06-18"}`); s.Protocol != "2025-06-18" {
		t.Errorf("%+v", s)
	}
	for entry, message := range map[string]string{
		`{"command": "x", "protocol": "2025-06-19"}`: `"protocol" is not a revision that mcpl knows`,
		`{"command": "x", "protocol": 7}`:            `"protocol" is a number, not a string`,
		`{"command": "x", "roots": "/a"}`:            `"roots" is a string, not an array`,
		`{"command": "x", "roots": ["https://x"]}`:   `"roots" has a URI that does not name a folder`,
		`{"command": "x", "roots": [{}]}`:            `"roots"[0] is an object, not a string`,
	} {
		w := newWorld(t)
		w.write(".mcp.json", `{"mcpServers": {"s": `+entry+`}}`)
		c := w.load(Selection{})
		if len(c.Servers) != 0 || len(c.Problems) != 1 || c.Problems[0].Message != message {
			t.Errorf("%s: %+v", entry, c.Problems)
		}
		if strings.Contains(message, "revision") && !strings.Contains(c.Problems[0].Fix, "2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05") {
			t.Errorf("%s", c.Problems[0].Fix)
		}
	}
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]Entry{
		`{"command": "x"}`: {},
		`{"command": "x", "idle": "5m", "lifecycle": "keep-alive"}`: {Idle: 5 * time.Minute, Lifecycle: KeepAlive},
		`{"command": "x", "idle": 500, "lifecycle": "ephemeral"}`:   {Idle: 500 * time.Millisecond, Lifecycle: Ephemeral},
		`{"command": "x", "idle": null, "lifecycle": null}`:         {},
	} {
		if s := newWorld(t).one(entry); s.Idle != want.Idle || s.Lifecycle != want.Lifecycle {
			t.Errorf("%s: %+v", entry, s)
		}
	}
	// How long a server lives does not make it another one.
	w := newWorld(t)
	a, b := w.one(`{"command": "x"}`), w.one(`{"command": "x", "idle": "5m", "lifecycle": "keep-alive"}`)
	if a.Fingerprint() != b.Fingerprint() {
		t.Error("the fingerprints differ")
	}
}

func TestPin(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]Pins{
		`{"command": "x"}`:                "",
		`{"command": "x", "pin": "hold"}`: HoldPins,
		`{"command": "x", "pin": "off"}`:  NoPins,
		`{"command": "x", "pin": null}`:   "",
	} {
		w := newWorld(t)
		s := w.one(entry)
		if s.Pin != want || s.Fingerprint() != w.one(`{"command": "x"}`).Fingerprint() {
			t.Errorf("%s: %q", entry, s.Pin)
		}
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]struct {
		scope      Scope
		perSession bool
	}{
		`{"command": "x"}`:                                  {"", false},
		`{"command": "x", "scope": null}`:                   {"", false},
		`{"command": "x", "scope": "shared"}`:               {Shared, false},
		`{"command": "x", "scope": "session"}`:              {SessionOnly, true},
		`{"command": "x", "scope": "user"}`:                 {UserOnly, false},
		`{"url": "https://h/mcp"}`:                          {"", true},
		`{"type": "sse", "url": "https://h"}`:               {"", true},
		`{"url": "https://h/mcp", "scope": "shared"}`:       {Shared, false},
		`{"url": "https://h/mcp", "scope": "user"}`:         {UserOnly, false},
		`{"url": "https://h/mcp", "scope": "session"}`:      {SessionOnly, true},
		`{"command": "x", "scope": "shared", "args": null}`: {Shared, false},
	} {
		if s := newWorld(t).one(entry); s.Scope != want.scope || s.PerSession() != want.perSession {
			t.Errorf("%s: %q, %v", entry, s.Scope, s.PerSession())
		}
	}
	// Who shares a server does not make it another one.
	w := newWorld(t)
	if w.one(`{"command": "x"}`).Fingerprint() != w.one(`{"command": "x", "scope": "session"}`).Fingerprint() {
		t.Error("the fingerprints differ")
	}
}

// TestBadEntries checks that each bad entry is reported with its line and a fix, that it cannot
// be used, and that it hides no other. No report quotes a value.
func TestBadEntries(t *testing.T) {
	t.Parallel()
	for entry, message := range map[string]string{
		`"command"`: "is a string, not an object",
		`[]`:        "is an array", `null`: "is null", `7`: "is a number", `true`: "is a boolean",
		`{}`:                                                       `no "command"`,
		`{"command": "x", "pin": "strict"}`:                        `"pin" is not "warn", "hold" or "off"`,
		`{"command": "x", "pin": true}`:                            `"pin" is not "warn", "hold" or "off"`,
		`{"command": "x", "scope": "client"}`:                      `"scope" is not "shared", "session" or "user"`,
		`{"command": "x", "scope": 1}`:                             `"scope" is not "shared", "session" or "user"`,
		`{"command": ""}`:                                          `no "command"`,
		`{"command": ["npx"]}`:                                     `"command" is an array`,
		`{"command": 5}`:                                           `"command" is a number`,
		`{"command": "x", "url": "http://h"}`:                      "both",
		`{"command": "x", "args": "a hunter2"}`:                    `"args" is a string`,
		`{"command": "x", "args": ["a", {}]}`:                      `"args"[1] is an object`,
		`{"command": "x", "args": [null]}`:                         `"args"[0] is null`,
		`{"command": "x", "env": ["A=hunter2"]}`:                   `"env" is an array`,
		`{"command": "x", "env": {"A": ["hunter2"]}}`:              `"A" of "env" is an array`,
		`{"command": "x", "env": {"A": null}}`:                     "is null",
		`{"command": "x", "env": {"A=hunter2": ""}}`:               `has "=" in it`,
		`{"command": "x", "env": {"": "hunter2"}}`:                 "is empty",
		`{"command": "x", "disabled": "yes"}`:                      `"disabled" is a string`,
		`{"command": "x", "cwd": {}}`:                              `"cwd" is an object`,
		`{"command": "x", "type": "hunter2"}`:                      `"type" is unknown`,
		`{"command": "x", "type": "sse"}`:                          "is a remote transport",
		`{"url": "http://h", "type": "stdio"}`:                     `"type" is "stdio"`,
		`{"url": "ftp://hunter2"}`:                                 "not an http:// or https://",
		`{"url": "https://"}`:                                      "not an http:// or https://",
		`{"url": "http://user:hunter2@:80"}`:                       "not an http:// or https://",
		`{"url": "%zz hunter2"}`:                                   "not an http:// or https://",
		`{"url": "http://h", "headers": {"A b": "hunter2"}}`:       "not a valid header name",
		`{"url": "http://h", "headers": {"": "hunter2"}}`:          "not a valid header name",
		`{"url": "http://h", "headers": {"A": "hunter2\n"}}`:       "line break",
		`{"command": "x\u0000"}`:                                   "command has a NUL",
		`{"command": "x", "args": ["hunter2\u0000"]}`:              "args[0] has a NUL",
		`{"command": "${EMPTY}"}`:                                  "is empty once",
		`{"command": "npx -y pkg --token hunter2"}`:                `Split it: "command": "npx", "args": ["-y", "pkg", "--token", "***"]`,
		`{"command": "npx -y pkg", "args": ["--api-key=hunter2"]}`: `"args": ["-y", "pkg", "--api-key=***"]`,
		`{"command": "sh -c 'echo hunter2'"}`:                      `each argument into "args"`,
		`{"command": "npx ${SECRET}"}`:                             `"args": ["${SECRET}"]`,
	} {
		w := newWorld(t)
		w.vars["EMPTY"], w.vars["SECRET"] = "", "hunter2"
		w.write(".mcp.json", "{\"mcpServers\": {\n\"good\": {\"command\": \"g\"},\n\"s\": "+entry+",\n\"also\": {\"command\": \"g\"}}}")
		c := w.load(Selection{})
		if got := names(c); !slices.Equal(got, []string{"good", "also"}) {
			t.Errorf("%s: servers %v", entry, got)
		}
		if len(c.Problems) != 1 {
			t.Errorf("%s: problems\n%s", entry, problems(c))
			continue
		}
		p := c.Problems[0]
		if p.Severity != Error || p.Line != 3 || p.Server != "s" || p.Fix == "" ||
			!strings.Contains(p.Message+p.Fix, message) {
			t.Errorf("%s: %+v", entry, p)
		}
		if strings.Contains(p.Message+p.Fix, "hunter2") {
			t.Errorf("%s: the problem quotes a value: %+v", entry, p)
		}
	}
}

func TestBadNames(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{`""`: "empty", `"a/b"`: `contains "/"`, `"a\nb"`: "control character"} {
		w := newWorld(t)
		w.write(".mcp.json", `{"mcpServers": {`+name+`: {"command": "x"}, "ok": {"command": "x"}}}`)
		c := w.load(Selection{})
		if got := names(c); !slices.Equal(got, []string{"ok"}) || len(c.Problems) != 1 ||
			!strings.Contains(c.Problems[0].Message, message) {
			t.Errorf("%s: %v\n%s", name, got, problems(c))
		}
	}
}

// TestBadFiles has the files that are JSON but hold no servers where they should.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	for content, text := range map[string]string{
		`[]`:                               "an array, not an object",
		`{}`:                               `no "mcpServers"`,
		`{"mcpServers": []}`:               `"mcpServers" is an array`,
		`{"a": 1, "s": {"command": "x"}}`:  "one level deeper",
		`{"s": {"args": [], "url": "x"} }`: "one level deeper",
	} {
		w := newWorld(t)
		w.write(".mcp.json", content)
		c := w.load(Selection{})
		if len(c.Servers) != 0 || len(c.Problems) != 1 || c.Problems[0].Severity != Error ||
			!strings.Contains(problems(c), text) {
			t.Errorf("%s: problems\n%s", content, problems(c))
		}
	}
	w := newWorld(t)
	w.write(".mcp.json", `{"mcpServers": {}}`)
	if c := w.load(Selection{}); len(c.Servers)+len(c.Problems) != 0 {
		t.Errorf("no servers: %+v", c)
	}
}

func TestRepeatedKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(".mcp.json", `{"mcpServers": {
		"a": {"command": "old"},
		"b": {"command": "x", "env": {"K": "1",
			"K": "2"}},
		"a": {"command": "new",
			"command": "newest"}}}`)
	c := w.load(Selection{})
	if got := names(c); !slices.Equal(got, []string{"a", "b"}) || c.Servers[0].Command != "newest" ||
		c.Servers[1].Env[0].Value != "2" {
		t.Errorf("servers %v, %+v", got, c.Servers)
	}
	var lines []int
	for _, p := range c.Problems {
		lines = append(lines, p.Line)
	}
	if !slices.Equal(lines, []int{5, 6, 4}) {
		t.Errorf("lines %v in\n%s", lines, problems(c))
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.one(`{"command": "x", "connectTimeout": "1m", "callTimeout": 1500, "timeout": 7, "ttl": "36h"}`)
	if s.ConnectTimeout != time.Minute || s.CallTimeout != 1500*time.Millisecond || s.TTL != 36*time.Hour {
		t.Errorf("%+v", s)
	}
	if s := w.one(`{"command": "x", "timeout": 2000}`); s.CallTimeout != 2*time.Second {
		t.Errorf("%+v", s)
	}
	for _, bad := range []string{`"30"`, `""`, `0`, `-5`, `"-1s"`, `1e300`, `1e999`, `{}`, `true`, `0.0000001`} {
		c := w.entry(`{"command": "x", "timeout": ` + bad + `}`)
		if len(c.Servers) != 1 || c.Servers[0].CallTimeout != 0 || len(c.Problems) != 1 || c.Problems[0].Severity != Warning {
			t.Errorf("%s: %+v\n%s", bad, c.Servers, problems(c))
		}
	}
}

// TestUse7SmallTimeoutsAreWarnedAbout: a number that was probably meant to count seconds counts milliseconds, with a
// warning that shows both.
func TestUse7SmallTimeoutsAreWarnedAbout(t *testing.T) {
	t.Parallel()
	for text, warned := range map[string]bool{`60`: true, `999`: true, `0.5`: true, `1000`: false, `"60ms"`: false} {
		c := newWorld(t).entry(`{"command": "x", "timeout": ` + text + `}`)
		if len(c.Servers) != 1 || c.Servers[0].CallTimeout <= 0 || (len(c.Problems) == 1) != warned {
			t.Fatalf("%s: %+v\n%s", text, c.Servers, problems(c))
		}
		want := `"timeout": "` + text + `s"`
		if warned && (!strings.Contains(c.Problems[0].Fix, want) || c.Problems[0].Severity != Warning) {
			t.Errorf("%s: %+v", text, c.Problems[0])
		}
	}
}

func TestCwd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vars["D"] = "deep"
	const entries = `{"mcpServers": {"none": {"command": "x"}, "rel": {"command": "x", "cwd": "${D}/er"}, "home": {"command": "x", "cwd": "~/h"}, "up": {"command": "x", "cwd": ".."}}}`
	check := func(sel Selection, want ...string) {
		t.Helper()
		for i, s := range w.load(sel).Servers {
			if want[i] != "" {
				want[i] = w.path(want[i])
			}
			if s.Cwd != want[i] {
				t.Errorf("%s in %s: %q, want %q", s.Name, s.File, s.Cwd, want[i])
			}
		}
	}
	w.write("~/.claude/mcp.json", entries)
	check(Selection{}, "", "~/deep/er", "~/h", "~/..")
	w.write("../.claude/mcp.json", entries)
	check(Selection{}, "..", "../deep/er", "~/h", "../..")
	w.write("../.mcp.json", entries)
	check(Selection{}, "..", "../deep/er", "~/h", "../..")
	w.write("../x/.vscode/mcp.json", entries)
	check(Selection{Configs: []string{"../x/.vscode/mcp.json"}}, "", "../x/deep/er", "~/h", "..")
}

func TestCommandWithSpaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.write("my programs/run me", "")
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if s := w.one(`{"command": "./my programs/run me"}`); s.Command != "./my programs/run me" {
		t.Errorf("%+v", s)
	}
	if c := w.entry(`{"command": "./my programs"}`); len(c.Servers) != 0 {
		t.Errorf("a folder is taken for a program: %+v", c.Servers[0])
	}
}
