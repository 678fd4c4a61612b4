//go:build linux || darwin

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// syntropyHome is a home with the servers of seed 001, some of their tools, and a server that is dead.
func syntropyHome(t *testing.T) home {
	t.Helper()
	h := newHome(t, mcptest.Script{})
	entries := make(map[string]any)
	for server, tools := range map[string][]string{"serena": {"find_symbol", "read_file"}, "linear": {"create_issue"},
		"github": {"create_issue", "fork"}} {
		var script mcptest.Script
		for _, name := range tools {
			script.Tools = append(script.Tools, mcptest.Tool{Name: name, Description: "Does " + name + ".", Text: name + " of " + server})
		}
		h.write(t, server+".json", script)
		entries[server] = map[string]any{"command": "mcptest", "args": []string{server + ".json"}}
	}
	entries["dead"] = map[string]any{"command": "mcptest-that-is-not-there"}
	h.write(t, ".mcp.json", map[string]any{"mcpServers": entries})
	return h
}

// write writes a file of the home as JSON.
func (h home) write(t *testing.T, name string, content any) {
	t.Helper()
	data, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	h.writeText(t, name, string(data))
}

func (h home) writeText(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// stateFile is the file of choices in a home.
const stateFile = "mcpl/tool-state.json"

// names returns the names of the tools that a client sees, sorted.
func (f *face) names() []string {
	f.t.Helper()
	var m struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(f.do("tools/list", `{}`)), &m); err != nil {
		f.t.Fatal(err)
	}
	var names []string
	for _, one := range m.Result.Tools {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	return names
}

// lists fails unless the client sees exactly these tools.
func (f *face) lists(want ...string) {
	f.t.Helper()
	if got := f.names(); !slices.Equal(got, want) {
		f.t.Errorf("tools/list has %q, want %q", got, want)
	}
}

// textOf calls a tool and returns the text of its result.
func (f *face) textOf(name, args string) string {
	f.t.Helper()
	answer := f.do("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(answer), &m); err != nil {
		f.t.Fatal(err)
	}
	if len(m.Result.Content) == 0 {
		return answer
	}
	return m.Result.Content[0].Text
}

// enabled is an answer of enable_tools.
type enabled struct {
	Success  bool
	Message  string
	Enabled  int    `json:"enabled_count"`
	Disabled int    `json:"disabled_count"`
	File     string `json:"state_file"`
}

// enable calls enable_tools under a name.
func (f *face) enable(name, args string) (e enabled) {
	f.t.Helper()
	if text := f.textOf(name, args); json.Unmarshal([]byte(text), &e) != nil {
		f.t.Fatalf("%s", text)
	}
	return e
}

// TestSyntropyGates are gates 2 to 6 of seed 001.
func TestSyntropyGates(t *testing.T) {
	t.Parallel()
	h := syntropyHome(t)
	f := h.serve(t, "--expose", "all")
	f.initialize(`{}`)
	f.lists("enable_tools", "github_create_issue", "github_fork", "linear_create_issue", "list_all_tools",
		"serena_find_symbol", "serena_read_file")

	// Gate 2: enable_tools.
	e := f.enable("mcp__syntropy__enable_tools", `{"enable":["mcp__syntropy__serena_find_symbol","mcp__syntropy__linear_create_issue"],"disable":["mcp__syntropy__github_create_issue"]}`)
	if want := (enabled{true, "Tool state updated successfully.", 2, 1, filepath.Join(h.dir, stateFile)}); e != want {
		t.Errorf("%+v, want %+v", e, want)
	}
	// Gate 6: the state file is JSON for people.
	data, err := os.ReadFile(e.File)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "version": 1,
  "enabled": [
    "serena/find_symbol",
    "linear/create_issue"
  ],
  "disabled": [
    "github/create_issue"
  ]
}
`
	if string(data) != want {
		t.Errorf("the state file is %s, want %s", data, want)
	}
	// Gate 3: list_all_tools.
	gate3 := func(f *face) {
		t.Helper()
		var all struct {
			Total    int `json:"total_tools"`
			Enabled  int `json:"enabled_tools"`
			Disabled int `json:"disabled_tools"`
			Tools    []struct{ Name, Description, Server, Status string }
		}
		if text := f.textOf("list_all_tools", `{}`); json.Unmarshal([]byte(text), &all) != nil {
			t.Fatalf("%s", text)
		}
		var lines []string
		for _, one := range all.Tools {
			lines = append(lines, strings.Join([]string{one.Name, one.Description, one.Server, one.Status}, "|"))
		}
		slices.Sort(lines)
		if want := []string{"github_create_issue|Does create_issue.|github|disabled", "github_fork|Does fork.|github|disabled",
			"linear_create_issue|Does create_issue.|linear|enabled", "serena_find_symbol|Does find_symbol.|serena|enabled",
			"serena_read_file|Does read_file.|serena|disabled"}; !slices.Equal(lines, want) {
			t.Errorf("%q, want %q", lines, want)
		}
		if all.Total != 5 || all.Enabled != 2 || all.Disabled != 3 {
			t.Errorf("counts: %+v", all)
		}
	}
	gate3(f)
	// Gate 5: tools/list has what is enabled, and the two tools of management.
	gate5 := func(f *face) {
		t.Helper()
		f.lists("enable_tools", "linear_create_issue", "list_all_tools", "serena_find_symbol")
		f.has(f.textOf("mcp__syntropy__serena_find_symbol", `{}`), "find_symbol of serena")
		f.has(f.textOf("github_create_issue", `{}`), `is switched off`, `enable_tools {"enable":["github_create_issue"]}`)
		f.has(f.textOf("serena_read_file", `{}`), `is switched off`)
	}
	f.until("notifications/tools/list_changed")
	gate5(f)
	// Gate 4: the state outlasts the process.
	f.exit()
	later := h.serve(t, "--expose", "all")
	later.initialize(`{}`)
	gate5(later)
	gate3(later)
}

// TestEnableTools: unknown and repeated names, names in other forms, and wrong arguments.
func TestEnableTools(t *testing.T) {
	t.Parallel()
	h := syntropyHome(t)
	f := h.serve(t, "--expose", "all")
	f.initialize(`{}`)
	f.has(f.textOf("list_all_tools", `{}`), `"total_tools":5,"enabled_tools":5,"disabled_tools":0,`,
		`"unavailable_servers":[{"server":"dead","why":`, `mcptest-that-is-not-there`)
	e := f.enable("enable_tools", `{"enable":["nosuch","mcp__s__serena_nosuch","mcp__s__enable_tools"],"disable":["linear"]}`)
	if !e.Success || e.Enabled != 0 || e.Disabled != 1 || !strings.Contains(e.Message, "nosuch, mcp__s__serena_nosuch, mcp__s__enable_tools") {
		t.Errorf("%+v", e)
	}
	f.lists("enable_tools", "github_create_issue", "github_fork", "list_all_tools", "serena_find_symbol", "serena_read_file")
	e = f.enable("enable_tools", `{"enable":["serena/find_symbol","serena_find_symbol","mcp__a__b__serena_find_symbol"]}`)
	if e.Enabled != 1 || e.Disabled != 1 {
		t.Errorf("%+v", e)
	}
	f.lists("enable_tools", "list_all_tools", "serena_find_symbol")
	if e = f.enable("enable_tools", `{"disable":["serena_find_symbol"]}`); e.Enabled != 1 || e.Disabled != 2 {
		t.Errorf("%+v", e)
	}
	f.lists("enable_tools", "list_all_tools") // and not everything else
	if e = f.enable("enable_tools", `{"enable":"[\"github\"]","disable":[]}`); e.Enabled != 2 {
		t.Errorf("%+v", e)
	}
	f.lists("enable_tools", "github_create_issue", "github_fork", "list_all_tools")
	for args, want := range map[string]string{`{}`: `"success":true`, `{"enable":[],"disable":[]}`: `"success":true`,
		`{"enabled":["github"]}`: `does not take "enabled"`, `{"enable":[7]}`: `enable is not a list of names`, `{"enable":null}`: `"success":true`} {
		f.has(f.textOf("enable_tools", args), want)
	}
	f.lists("enable_tools", "github_create_issue", "github_fork", "list_all_tools")
	// A choice for this project stays, and the answer says so.
	if cmd, _, stderr := h.mcpl(t, "disable", "--project", "github/fork"); cmd.Run() != nil {
		t.Fatal(stderr)
	}
	mcptest.Wait(t, "the tool is off", func() bool { return !slices.Contains(f.names(), "github_fork") })
	if e = f.enable("enable_tools", `{"enable":["github_fork"]}`); !strings.Contains(e.Message, "Still off") || !strings.Contains(e.Message, "github/fork") {
		t.Errorf("%+v", e)
	}
}

// TestEnableToolsModern: a client of MCP 2026-07-28 switches tools, too.
func TestEnableToolsModern(t *testing.T) {
	t.Parallel()
	s := syntropyHome(t).serveHTTP(t, "--expose", "all")
	body, headers := modern("tools/call", "enable_tools", `"arguments":{"enable":["mcp__any__github_fork"]},`)
	s.is(s.ask("POST", body, headers...), 200, `\"enabled_count\":1`, `"resultType":"complete"`)
	body, headers = modern("tools/list", "", "")
	r := s.ask("POST", body, headers...)
	s.is(r, 200, `"github_fork"`, `"enable_tools"`)
	if strings.Contains(r.body, "serena") {
		t.Errorf("%s", r.body)
	}
}

// TestEnableToolsDenied: the policy is stronger than a client.
func TestEnableToolsDenied(t *testing.T) {
	t.Parallel()
	h := syntropyHome(t)
	h.writeText(t, "mcpl/config.toml", "[[policy]]\nmatch = \"github/fork\"\naction = \"deny\"\n")
	f := h.serve(t, "--expose", "all")
	f.initialize(`{}`)
	e := f.enable("enable_tools", `{"enable":["github_fork","linear_create_issue"]}`)
	if !e.Success || e.Enabled != 1 || !strings.Contains(e.Message, "the policy denies them: github/fork") {
		t.Errorf("%+v", e)
	}
}

// TestServeFollowsState: what a hand or another mcpl writes holds within a second on lists, search, read and call of
// every exposure.
func TestServeFollowsState(t *testing.T) {
	t.Parallel()
	h := syntropyHome(t)
	all, search := h.serve(t, "--expose", "all"), h.serve(t)
	site := h.serveHTTP(t, "--expose", "all")
	all.initialize(`{}`)
	search.initialize(`{}`)
	onSite := func() bool {
		return strings.Contains(site.ask("POST", `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`).body, "github_fork")
	}
	check := func(on bool) {
		t.Helper()
		if got := slices.Contains(all.names(), "github_fork"); got != on {
			t.Errorf("tools/list has the tool: %v", got)
		}
		if got := onSite(); got != on {
			t.Errorf("over HTTP, tools/list has the tool: %v", got)
		}
		for _, probe := range []struct{ text, want string }{
			{search.call("search_tools", `{"query":"fork"}`), "github/fork"},
			{search.call("read_tool", `{"names":["mcp__any__github_fork"]}`), "inputSchema"},
			{search.call("call_tool", `{"tool":"mcp__any__github_fork"}`), "fork of github"},
			{search.call("call_tool", `{"server":"github","tool":"mcp__any__github_fork"}`), "fork of github"},
			{all.call("mcp__any__github_fork", `{}`), "fork of github"},
			{site.ask("POST", `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"github_fork"}}`).body, "fork of github"},
		} {
			if got := strings.Contains(probe.text, probe.want); got != on {
				t.Errorf("%q in %q: %v", probe.want, probe.text, got)
			}
		}
	}
	check(true)
	run := func(args ...string) func() {
		return func() {
			t.Helper()
			if cmd, _, stderr := h.mcpl(t, args...); cmd.Run() != nil {
				t.Fatal(stderr)
			}
		}
	}
	byHand := func(text string) func() { return func() { h.writeText(t, stateFile, text) } }
	for i, step := range []struct {
		on bool
		do func()
	}{
		{false, byHand(`{"disabled": ["mcp__syntropy__github_fork"]}`)}, {true, run("enable", "mcp__syntropy__github_fork")},
		{false, run("disable", "github")}, {true, byHand(`{}`)}, {false, byHand(`{"enabled": ["linear"] /* only */}`)},
		{true, run("enable", "--all")},
	} {
		step.do()
		mcptest.Wait(t, "the client is told", func() bool {
			all.mu.Lock()
			defer all.mu.Unlock()
			return strings.Count(strings.Join(all.heard, "\n"), `notifications/tools/list_changed`) > i
		})
		mcptest.Wait(t, "the others have seen it", func() bool {
			return onSite() == step.on && strings.Contains(search.call("search_tools", `{"query":"fork"}`), "github/fork") == step.on
		})
		check(step.on)
	}
}

// TestServeUnsure: if the state cannot be read, only the tools of management are listed, and all answers name the line
// to mend.
func TestServeUnsure(t *testing.T) {
	t.Parallel()
	h := syntropyHome(t)
	h.writeText(t, stateFile, "{\n  \"Disabled\": [\"github\"]\n}")
	f, search := h.serve(t, "--expose", "all"), h.serve(t)
	f.initialize(`{}`)
	search.initialize(`{}`)
	line := filepath.Join(h.dir, stateFile) + ":2: "
	refused := func() {
		t.Helper()
		f.lists("enable_tools", "list_all_tools")
		for _, answer := range []string{f.textOf("serena_find_symbol", `{}`), f.textOf("enable_tools", `{"enable":["serena"]}`),
			f.textOf("mcp__syntropy__list_all_tools", `{}`), f.do("resources/read", `{"uri":"a:b"}`),
			search.call("search_tools", `{"query":"fork"}`), search.call("call_tool", `{"tool":"github/fork"}`),
			search.call("list_servers", `{}`)} {
			f.has(answer, line, "Correct line 2 of")
		}
		f.has(f.do("tools/call", `{"name":"serena_find_symbol"}`), `"isError":true`)
	}
	refused()
	h.writeText(t, stateFile, `{"disabled": ["github"]}`)
	mcptest.Wait(t, "the file is read again", func() bool { return slices.Contains(f.names(), "serena_find_symbol") })
	f.lists("enable_tools", "linear_create_issue", "list_all_tools", "serena_find_symbol", "serena_read_file")
	mcptest.Wait(t, "the other reads it", func() bool {
		return strings.Contains(search.call("call_tool", `{"tool":"serena/find_symbol"}`), "of serena")
	})
	h.writeText(t, stateFile, "{\n  \"disabled\": [7]\n}")
	mcptest.Wait(t, "the file is read once more", func() bool { return len(f.names()) == 2 })
	mcptest.Wait(t, "the other reads it once more", func() bool {
		return strings.Contains(search.call("call_tool", `{"tool":"serena/find_symbol"}`), line)
	})
	refused()
}

// TestServeNames: names that the APIs of models take, unique, and each calls its own tool.
func TestServeNames(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{})
	long := strings.Repeat("x", 200)
	entries := make(map[string]any)
	for server, one := range map[string]struct {
		namespace any
		tools     []string
	}{
		"a_b": {nil, []string{"c", "d"}}, "a": {nil, []string{"b_c", "b_d"}},
		"long": {nil, []string{long, long + "y", long[:59]}}, "größe": {nil, []string{"naïve", "na.ve", "日本"}},
		"bare": {"", []string{"enable_tools", "list_all_tools", "plain", "a_b_c"}}, "n": {"other space", []string{"t"}},
		"my.own": {"mine", []string{"t", "mcp__x__plain"}},
	} {
		var script mcptest.Script
		for _, name := range one.tools {
			script.Tools = append(script.Tools, mcptest.Tool{Name: name, Text: server + "\n" + name})
		}
		h.write(t, server+".json", script)
		entry := map[string]any{"command": "mcptest", "args": []string{server + ".json"}}
		if one.namespace != nil {
			entry["namespace"] = one.namespace
		}
		entries[server] = entry
	}
	h.write(t, ".mcp.json", map[string]any{"mcpServers": entries})
	f := h.serve(t, "--expose", "all")
	f.initialize(`{}`)
	before := f.names()
	reached := make(map[string]string)
	for _, name := range before {
		if !regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`).MatchString(name) {
			t.Errorf("%q is not a name", name)
		}
		if name == "enable_tools" || name == "list_all_tools" {
			continue
		}
		got := f.textOf(name, `{}`)
		if other := reached[got]; other != "" || !strings.Contains(got, "\n") {
			t.Errorf("%s and %s call %q", name, other, got)
		}
		reached[got] = name
		if again := f.textOf("mcp__any__name__"+name, `{}`); again != got {
			t.Errorf("mcp__any__name__%s calls %q, want %q", name, again, got)
		}
	}
	if len(reached) != 17 || len(before) != 19 {
		t.Errorf("%d tools reached of %q", len(reached), before)
	}
	for text, want := range map[string]string{"bare\nplain": "plain", "my.own\nt": "mine_t", "a\nb_c": "a_b_c"} {
		if got := reached[text]; got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	// A name does not come to mean another tool when its own is off.
	f.enable("enable_tools", `{"disable":["a/b_c"]}`)
	f.has(f.textOf("a_b_c", `{}`), "is switched off")
	isNew := func(name string) bool { return !slices.Contains(before, name) }
	if after := f.names(); len(after) != len(before)-1 || slices.ContainsFunc(after, isNew) {
		t.Errorf("%q, and before %q", after, before)
	}
}

// TestServeNamesOfPrompts: prompts have names as tools have.
func TestServeNamesOfPrompts(t *testing.T) {
	t.Parallel()
	h := newHome(t, mcptest.Script{Prompts: []mcptest.Prompt{{Name: "enable_tools", Text: "one"}, {Name: "grüß dich", Text: "two"}}})
	content, err := os.ReadFile(filepath.Join(h.dir, ".mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	h.writeText(t, ".mcp.json", string(bytes.Replace(content, []byte(`"s": {`), []byte(`"s": {"namespace": "", `), 1)))
	f := h.serve(t)
	f.initialize(`{}`)
	f.has(f.do("prompts/list", `{}`), `"name":"enable_tools"`, `"name":"gr_____dich_`)
	f.has(f.do("prompts/get", `{"name":"mcp__any__enable_tools"}`), `one`)
}
