//go:build linux || darwin

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// seedTools is the tools.toml of Toolman's document, in front of scripted servers.
const seedTools = `active_toolsets = ["pjpd_list*", "pjpd_get*", "pjpd_projects*"]

[[servers]]
namespace = "pjpd"
command = "exec mcptest pjpd.json"

[[servers]]
namespace = "vec"
command = "exec mcptest vec.json"

[[servers]]
namespace = ""
command = "exec mcptest alone.json"
`

// seedScripts are the servers of that.
func seedScripts() map[string]mcptest.Script {
	schema := `"inputSchema":{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`
	return map[string]mcptest.Script{
		"pjpd.json": {Tools: []mcptest.Tool{
			{Def: mcptest.Raw(`{"name":"list_projects","description":"List all projects\n in the workspace","inputSchema":{"type":"object"}}`), Text: "three"},
			{Def: mcptest.Raw(`{"name":"get_task","description":"Get a task by ID","inputSchema":{"type":"object"}}`),
				Behaviour: mcptest.Behaviour{Error: &mcptest.Error{Code: -32099, Message: "no such task"}}},
			{Def: mcptest.Raw(`{"name":"create_task","description":"` + strings.Repeat("é", 140) + `","_meta":{"x":1},` + schema + `}`),
				Behaviour: mcptest.Behaviour{Result: `{"content":[],"isError":true,"x":1e2}`}},
		}, Resources: []mcptest.Resource{{URI: "projects://all", Text: "alpha",
			Def: `{"uri":"projects://all","name":"all","description":"All project summaries"}`}},
			Prompts: []mcptest.Prompt{{Name: "summarize", Text: "hello"}}},
		"vec.json": {Tools: []mcptest.Tool{{Name: "search", Text: "found"}, {Name: "odd.name", Text: "cleaned"}},
			Resources: []mcptest.Resource{{URI: "data://stats", Text: "many"}},
			Templates: []mcptest.Raw{`{"uriTemplate":"data://item/{id}","name":"items"}`}},
		"alone.json": {Tools: []mcptest.Tool{{Name: "vec_search", Text: "wrong"}, {Name: "toolman_activate", Text: "theirs"}, {Name: "solo", Text: "one"}}},
	}
}

// newToolman is a home whose working directory has a tools.toml, beside the .mcp.json that it takes the place of.
func newToolman(t *testing.T, tools string, scripts map[string]mcptest.Script) home {
	t.Helper()
	h := newHome(t, servedScript())
	for name, script := range scripts {
		raw, err := json.Marshal(script)
		if err != nil {
			t.Fatal(err)
		}
		h.writeText(t, name, string(raw))
	}
	h.writeText(t, "tools.toml", tools)
	return h
}

// described is the description of the tool that activates, in an answer to tools/list.
func described(t *testing.T, answer string) string {
	t.Helper()
	var list struct {
		Result struct {
			Tools []struct{ Name, Description string }
		}
	}
	if err := json.Unmarshal([]byte(answer), &list); err != nil || len(list.Result.Tools) == 0 {
		t.Fatalf("%v: %s", err, answer)
	}
	return list.Result.Tools[0].Description
}

// said is the text of a tool's result.
func said(t *testing.T, answer string) string {
	t.Helper()
	var r struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal([]byte(answer), &r); err != nil || len(r.Result.Content) != 1 {
		t.Fatalf("%v: %s", err, answer)
	}
	if failed := strings.Contains(r.Result.Content[0].Text, `"success":false`); failed != r.Result.IsError {
		t.Errorf("isError is %t: %s", r.Result.IsError, answer)
	}
	return r.Result.Content[0].Text
}

func (f *face) call(name, args string) string {
	f.t.Helper()
	return f.do("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
}

// hasNot fails if a message has one of these texts.
func (f *face) hasNot(message string, texts ...string) {
	f.t.Helper()
	for _, text := range texts {
		if strings.Contains(message, text) {
			f.t.Errorf("%q is in %s", text, message)
		}
	}
}

// TestToolman serves a tools.toml as Toolman's document says.
func TestToolman(t *testing.T) {
	t.Parallel()
	f := newToolman(t, seedTools, seedScripts()).serve(t)
	f.initialize(`{}`)
	list := f.do("tools/list", `{}`)
	f.has(list, `"name":"toolman_activate"`, `"name":"pjpd_list_projects"`, `"name":"pjpd_get_task"`)
	f.hasNot(list, `"name":"pjpd_create_task"`, `"name":"vec_search"`, `"name":"solo"`, `s_odd`)
	want := `TOOLS:
* pjpd_list_projects: List all projects in the workspace
* pjpd_get_task: Get a task by ID
  pjpd_create_task: ` + strings.Repeat("é", 132) + `
  vec_search
  vec_odd_name_HASH
  toolman_activate_HASH
  solo

RESOURCES:
* pjpd_projects://all: All project summaries
  vec_data://stats
  vec_data://item/{id}: items`
	about := described(t, list)
	got := about[strings.Index(about, "TOOLS:"):]
	got = regexp.MustCompile(`(odd_name|toolman_activate)_[a-z2-7]{8}`).ReplaceAllString(got, "${1}_HASH")
	if got != want {
		t.Errorf("%s\n\nis not\n\n%s", got, want)
	}
	f.has(f.do("resources/list", `{}`), `"resources":[{"uri":"pjpd_projects://all"`)
	f.hasNot(f.do("resources/list", `{}`), `data://stats`)
	f.has(f.do("prompts/list", `{}`), `"name":"pjpd_summarize"`)
	f.has(f.do("prompts/get", `{"name":"pjpd_summarize"}`), `hello`)
	f.has(f.call("pjpd_list_projects", `{}`), `three`)
	for range 3 { // the description stays while nothing changes
		if again := described(t, f.do("tools/list", `{}`)); again != about {
			t.Errorf("%s\n\nis now\n\n%s", about, again)
		}
	}
}

// TestToolmanErrors answers what it cannot do with instructions, and passes what servers say.
func TestToolmanErrors(t *testing.T) {
	t.Parallel()
	f := newToolman(t, seedTools, seedScripts()).serve(t)
	f.initialize(`{}`)
	for _, c := range []struct{ name, args, want string }{
		{"pjpd_create_task", `{"title":"x"}`, `"error":"pjpd_create_task is not active. Call toolman_activate with {\"activate\": [\"pjpd_create_task\"]}, then call it again."`},
		{"pjpd_create_tsk", `{}`, `"error":"There is no \"pjpd_create_tsk\". Did you mean pjpd_create_task, pjpd_get_task? The description of toolman_activate lists all names."`},
		{"toolman_activate", `{}`, `"error":"Nothing to activate was named. Call toolman_activate with {\"activate\": [names]}`},
		{"toolman_activate", `{"activate":[],"deactivate":""}`, `"error":"Nothing to activate was named.`},
		{"toolman_activate", `{"activate":["zzz*"]}`, `"error":"There is no \"zzz*\".`},
	} {
		text := said(t, f.call(c.name, c.args))
		f.has(text, `{"success":false,"result":`, c.want)
	}
	f.has(f.call("pjpd_get_task", `{}`), `"error":{"code":-32099,"message":"no such task"}`)
	f.call("toolman_activate", `{"activate":["pjpd_create_task"]}`)
	f.has(f.call("pjpd_create_task", `{"title":"x"}`), `"result":{"content":[],"isError":true,"x":1e2}`)
	f.has(f.call("toolman_activate", `{"activate":7}`), `"code":-32602`)
}

// TestToolmanActivates takes names, globs and servers, on and off, and tells of it.
func TestToolmanActivates(t *testing.T) {
	t.Parallel()
	f := newToolman(t, seedTools, seedScripts()).serve(t)
	f.initialize(`{}`)
	f.do("tools/list", `{}`)
	f.do("resources/list", `{}`)
	hash := regexp.MustCompile(`_[a-z2-7]{8}$`) // of vec_odd_name
	f.has(said(t, f.call("toolman_activate", `{"activate":["pjpd_create_task"]}`)), `{"success":true,"result":{"activated":[`+
		`{"name":"pjpd_create_task",`, `"properties":{"title":{"type":"string"}}`, `"next":"Call pjpd_create_task, with arguments such as {\"title\":`, `"error":null}`)
	f.until(`"method":"notifications/tools/list_changed"`)
	f.mu.Lock()
	f.hasNot(strings.Join(f.heard, "\n"), `resources/list_changed`)
	f.mu.Unlock()
	f.has(f.do("tools/list", `{}`), `"name":"pjpd_create_task"`, `* pjpd_create_task`)
	for _, c := range []struct{ args, active string }{
		{`{"deactivate":["*"]}`, ""},
		{`{"activate":["vec"]}`, "vec_search vec_odd_name vec_data://stats vec_data://item/{id}"},
		{`{"deactivate":["*://*m/*"]}`, "vec_search vec_odd_name vec_data://stats"},
		{`{"deactivate":["*"],"activate":"solo vec.odd vec_odd.name"}`, "vec_odd_name solo"},
		{`{"deactivate":["*"],"activate":["mcp__toolman__pjpd_list_projects","mcp__a__b__vec_data*"]}`, "pjpd_list_projects vec_data://stats vec_data://item/{id}"},
		{`{"deactivate":["server"],"activate":["pjpd_*"]}`, "pjpd_list_projects pjpd_get_task pjpd_create_task pjpd_projects://all vec_data://stats vec_data://item/{id}"},
	} {
		f.call("toolman_activate", c.args)
		about := described(t, f.do("tools/list", `{}`))
		var active []string
		for line := range strings.Lines(about) {
			if name, ok := strings.CutPrefix(line, "* "); ok {
				name, _, _ = strings.Cut(strings.TrimSpace(name), ": ")
				active = append(active, strings.Replace(name, hash.FindString(name), "", strings.Count(name, "odd")))
			}
		}
		if got := strings.Join(active, " "); got != c.active {
			t.Errorf("%s: active is %q, not %q", c.args, got, c.active)
		}
	}
	f.until(`"method":"notifications/resources/list_changed"`)
	f.has(f.call("mcp__toolman__pjpd_list_projects", `{}`), `three`)
	other := said(t, f.call("toolman_activate", `{"deactivate":["solo","nothing"]}`))
	f.has(other, `"success":false`, `"deactivated":["solo"]`, `There is no \"nothing\"`)
}

// TestToolmanResources reads and subscribes by either form of a URI.
func TestToolmanResources(t *testing.T) {
	t.Parallel()
	scripts := seedScripts()
	vec := scripts["vec.json"]
	vec.Tools = append(vec.Tools, mcptest.Tool{Name: "touch", Text: "touched", Behaviour: mcptest.Behaviour{
		Asks: []mcptest.Ask{{Method: "notifications/resources/updated", Params: `{"uri":"data://stats","more":1.0}`, ID: "none"}}}})
	vec.Methods = map[string]mcptest.Behaviour{"resources/subscribe": {Result: `{}`}, "resources/unsubscribe": {Result: `{}`}}
	scripts["vec.json"] = vec
	f := newToolman(t, `active_toolsets = ["*"]`+seedTools[strings.Index(seedTools, "\n"):], scripts).serve(t)
	f.initialize(`{}`)
	for _, uri := range []string{"vec_data://stats", "data://stats"} {
		f.has(f.do("resources/read", `{"uri":"`+uri+`"}`), `"uri":"data://stats"`, `many`)
		f.has(f.do("resources/subscribe", `{"uri":"`+uri+`"}`), `"result":{}`)
	}
	for _, uri := range []string{"vec_data://item/7", "data://item/7"} {
		f.has(f.do("resources/read", `{"uri":"`+uri+`"}`), `"uri":"data://item/7"`)
	}
	f.has(f.do("resources/read", `{"uri":"pjpd_data://stats"}`), `"code":-32002`)
	f.has(f.do("resources/templates/list", `{}`), `"uriTemplate":"vec_data://item/{id}"`)
	f.call("vec_touch", `{}`)
	f.until(`"method":"notifications/resources/updated","params":{"uri":"vec_data://stats","more":1.0}`)
	f.until(`"method":"notifications/resources/updated","params":{"uri":"data://stats","more":1.0}`)
	f.has(f.do("resources/unsubscribe", `{"uri":"data://stats"}`), `"result":{}`)
}

// TestToolmanAnswers shows the catalogue in answers only, if the configuration says so.
func TestToolmanAnswers(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]home{
		"tools.toml":  newToolman(t, "catalog = 'answer'\n"+seedTools, seedScripts()),
		"config.toml": newToolman(t, seedTools, seedScripts()),
	} {
		if name == "config.toml" {
			if err := os.MkdirAll(filepath.Join(h.dir, "mcpl"), 0o700); err != nil {
				t.Fatal(err)
			}
			h.writeText(t, "mcpl/config.toml", "catalog = 'answer'\n")
		}
		f := h.serve(t)
		f.initialize(`{}`)
		before := described(t, f.do("tools/list", `{}`))
		f.hasNot(before, "TOOLS:", "pjpd")
		f.has(said(t, f.call("toolman_activate", `{}`)), `"success":true`, `"catalog":"TOOLS:\n* pjpd_list_projects`)
		f.has(said(t, f.call("toolman_activate", `{"activate":["vec"]}`)), `"success":true`, `* vec_search`)
		f.has(said(t, f.call("nothing", `{}`)), `"success":false`, `* vec_search`, `The catalogue is in this answer.`)
		if after := described(t, f.do("tools/list", `{}`)); after != before {
			t.Errorf("%q is now %q", before, after)
		}
	}
}

// TestToolmanEqualNames takes the first of two equal names and reports the other, with what else is odd.
func TestToolmanEqualNames(t *testing.T) {
	t.Parallel()
	h := newToolman(t, seedTools+"retries = 3\n", seedScripts())
	f := h.serve(t)
	f.initialize(`{}`)
	f.call("toolman_activate", `{"activate":["vec_search","toolman*"]}`)
	f.has(f.call("vec_search", `{}`), `found`)
	list := f.do("tools/list", `{}`)
	i := strings.Index(list, "toolman_activate_")
	f.has(f.call(list[i:i+25], `{}`), `theirs`)
	f.exit()
	f.has(f.said.String(), `the tool vec_search of server is left out: vec has one of that name, and comes first`,
		`tools.toml, line 14: "servers.retries" is not known here and is ignored`)
	if n := strings.Count(f.said.String(), "left out"); n != 1 {
		t.Errorf("it is said %d times: %s", n, f.said)
	}
}

// TestActivateElsewhere serves the exposure in front of another configuration, and a tools.toml that is named.
func TestActivateElsewhere(t *testing.T) {
	t.Parallel()
	h := newToolman(t, seedTools, seedScripts())
	f := h.serve(t, "--expose", "activate", "--config", ".mcp.json")
	f.initialize(`{}`)
	f.has(f.do("tools/list", `{}`), `"name":"activate"`, `TOOLS:\n  s_odd: Adds two numbers.\n`)
	f.call("activate", `{"activate":["s_odd"]}`)
	f.has(f.do("tools/list", `{}`), strings.Replace(odd, `"odd"`, `"s_odd"`, 1))
	f.has(f.call("s_odd", `{"a":1}`), `"result":`+oddResult+`}`)
	h.writeText(t, "mine.toml", "[[servers]]\nnamespace = 'x'\ncommand = 'mcptest vec.json'\n")
	h.vars = []string{"MCPL_TRUST="} // a file that is named needs no approval
	f = h.serve(t, "--config", "mine.toml")
	f.initialize(`{}`)
	f.has(f.do("tools/list", `{}`), `"name":"toolman_activate"`, `  x_search\n`)
	f = h.serve(t, "--expose", "all", "--config", "mine.toml")
	f.initialize(`{}`)
	f.has(f.do("tools/list", `{}`), `"name":"x_search"`)
	h.writeText(t, "bad.toml", "active_toolsets = []\n[[servers]\n")
	f = h.serve(t, "--config", "bad.toml")
	f.initialize(`{}`)
	f.has(f.do("tools/list", `{}`), `"error":`, `bad.toml:2: not a tools.toml`)
}

// TestActivateOverHTTP keeps an active set for each session, and one for all clients without.
func TestActivateOverHTTP(t *testing.T) {
	t.Parallel()
	s := newToolman(t, seedTools, seedScripts()).serveHTTP(t)
	turnOn := func(name string) string {
		return `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"toolman_activate","arguments":{"activate":["` + name + `"]}}}`
	}
	const list = `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`
	one, other := s.session(), s.session()
	s.is(s.ask("POST", turnOn("solo"), one), 200, `success`)
	s.is(s.ask("POST", turnOn("vec_search")), 200, `success`) // a client that does not send its session back
	body, headers := modern("tools/list", "", "")
	for name, r := range map[string]reply{"solo ": s.ask("POST", list, one), "": s.ask("POST", list, other), "vec_search ": s.ask("POST", list),
		"vec_search": s.ask("POST", body, headers...)} {
		on := ""
		for _, tool := range []string{"solo", "vec_search"} {
			if strings.Contains(r.body, `"name":"`+tool+`"`) {
				on += tool
			}
		}
		if on != strings.TrimSpace(name) {
			t.Errorf("%q is on, not %q: %s", on, name, r.body)
		}
	}
	body, headers = modern("tools/call", "toolman_activate", `"arguments":{"activate":["pjpd"]},`)
	s.is(s.ask("POST", body, headers...), 200, `success`)
	body, headers = modern("tools/call", "pjpd_list_projects", "")
	s.is(s.ask("POST", body, headers...), 200, `three`, `"resultType":"complete"`)
	s.url += "/activate"
	s.is(s.ask("POST", list), 200, `"name":"toolman_activate"`, `"name":"pjpd_create_task"`)
	s.url = strings.TrimSuffix(s.url, "activate") + "search"
	s.is(s.ask("POST", list), 200, `"name":"search_tools"`)
}

// TestToolmanTrust starts no server of a tools.toml before a person has approved it, through the daemon or without it.
func TestToolmanTrust(t *testing.T) {
	t.Parallel()
	scripts := seedScripts()
	pjpd := scripts["pjpd.json"]
	pjpd.Starts = "pjpd.starts"
	scripts["pjpd.json"] = pjpd
	h := newToolman(t, seedTools, scripts)
	if err := os.Remove(filepath.Join(h.dir, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	h.vars = []string{"MCPL_TRUST=", "MCPL_DAEMON=on", "XDG_RUNTIME_DIR="}
	stopsDaemon(t, h, "--config", "tools.toml")
	f := h.serve(t)
	f.initialize(`{}`)
	about := described(t, f.do("tools/list", `{}`))
	f.has(about, "TOOLS:\n\nNOT AVAILABLE:\n  pjpd: no one has approved it; a person types in "+h.dir+": mcpl trust pjpd\n")
	if _, err := os.Stat(filepath.Join(h.dir, "pjpd.starts")); err == nil {
		t.Error("a server that waits for its approval was started")
	}
	run := func(args ...string) string {
		t.Helper()
		cmd, stdout, stderr := h.mcpl(t, args...)
		if err := cmd.Run(); err != nil {
			t.Errorf("%q: %v\n%s%s", args, err, stdout, stderr)
		}
		return stdout.String()
	}
	shown := run("trust", "--list")
	f.has(shown, "command: sh -c 'exec mcptest pjpd.json'", "file: pjpd.json")
	approve := func(name string) {
		t.Helper()
		hash := regexp.MustCompile(`"hash":\s*"([0-9a-f]+)"`).FindStringSubmatch(run("--json", "trust", name, "--list"))
		run("trust", name, "--yes", hash[1])
	}
	approve("pjpd")
	f.until(`"method":"notifications/tools/list_changed"`)
	mcptest.Wait(t, "the approved server is there", func() bool {
		return strings.Contains(f.do("tools/list", `{}`), `"name":"pjpd_list_projects"`)
	})
	f.has(f.call("pjpd_list_projects", `{}`), `three`)
	f.has(h.log(t), "pjpd\tconnected") // the daemon takes the same file
	// A server of the other configuration may have the same name, and is approved by itself.
	h.writeText(t, ".mcp.json", `{"mcpServers": {"pjpd": {"command": "mcptest", "args": ["script.json"]}}}`)
	shown = run("trust", "--list")
	f.has(shown, "script.json", "pjpd.json", "vec.json")
	states := func() string {
		t.Helper()
		states := regexp.MustCompile(`"state":\s*"(\w+)"`).FindAllStringSubmatch(run("--json", "trust", "pjpd", "--list"), -1)
		return fmt.Sprint(states[0][1], " ", states[1][1])
	}
	if got := states(); got != "new approved" {
		t.Error(got)
	}
	approve("pjpd")
	approve("vec")
	if got := states(); got != "approved approved" {
		t.Error(got)
	}
	f.has(f.call("pjpd_list_projects", `{}`), `three`)
	f.has(run("--json", "untrust", "pjpd"), `"pjpd"`)
	if got := states(); got != "new new" {
		t.Error(got)
	}
}
