//go:build linux || darwin

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// principalsHome is a home with two servers that have tools of every tier.
func principalsHome(t *testing.T) home {
	t.Helper()
	h := newHome(t, mcptest.Script{})
	tool := func(name, annotations string) mcptest.Tool {
		return mcptest.Tool{Def: mcptest.Raw(fmt.Sprintf(`{"name":%q,"description":"Does %s.","inputSchema":{"type":"object"}%s}`,
			name, name, annotations)), Text: name + " was done"}
	}
	script := mcptest.Script{Resources: []mcptest.Resource{{URI: "a:one", Text: "first"}}, Tools: []mcptest.Tool{
		tool("look", `,"annotations":{"readOnlyHint":true}`), tool("change", `,"annotations":{"destructiveHint":false}`),
		tool("destroy", `,"annotations":{"destructiveHint":true}`), tool("silent", ""),
		{Name: "hang", Behaviour: mcptest.Behaviour{Never: true}},
		{Name: "large", Text: strings.Repeat("a line of a large result\n", 3000)}}}
	h.write(t, "script.json", script)
	h.write(t, ".mcp.json", map[string]any{"mcpServers": map[string]any{
		"git":  map[string]any{"command": "mcptest", "args": []string{"script.json"}},
		"mail": map[string]any{"command": "mcptest", "args": []string{"script.json"}}}})
	return h
}

// addToken makes a token and returns it. args are its name, and flags.
func (h home) addToken(t *testing.T, args ...string) string {
	t.Helper()
	var added struct{ Token string }
	if err := json.Unmarshal([]byte(h.serveToken(t, append([]string{"add"}, args...)...)), &added); err != nil {
		t.Fatal(err)
	}
	return added.Token
}

// bearer makes a token and returns its header.
func (h home) bearer(t *testing.T, args ...string) string {
	t.Helper()
	return "Authorization: Bearer " + h.addToken(t, args...)
}

// tools lists the tools that a client sees at a path, without those of mcpl.
func (s site) tools(path string, headers ...string) string {
	s.t.Helper()
	s.url = strings.TrimSuffix(s.url, "/mcp") + path
	r := s.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, headers...)
	var list struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(r.last()), &list); err != nil {
		s.t.Fatalf("%v: %+v", err, r)
	}
	var names []string
	for _, tool := range list.Result.Tools {
		if strings.Contains(tool.Name, "git_") || strings.Contains(tool.Name, "mail_") {
			names = append(names, tool.Name)
		}
	}
	return strings.Join(names, " ")
}

// call calls a tool.
func (s site) call(name, args string, headers ...string) reply {
	s.t.Helper()
	return s.ask("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name,
		args), headers...)
}

// TestServePrincipals: a token opens the servers and tools that it is limited to. It does not see the others, and
// cannot call them under any name.
func TestServePrincipals(t *testing.T) {
	t.Parallel()
	h := principalsHome(t)
	h.writeText(t, "mcpl/config.toml", `
[profiles.looking]
tools = ["mail/look", "git/l*"]
mode = "all"
[profiles.searching]
servers = ["mail"]
`)
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	git := h.bearer(t, "git", "--servers", "g*")
	read, write := h.bearer(t, "read", "--tier", "read"), h.bearer(t, "write", "--tier", "write")
	looking := h.bearer(t, "looking", "--profile", "looking")
	own := "Authorization: Bearer " + s.token
	const all = "look change destroy silent hang large"
	of := func(server, names string) string {
		return server + "_" + strings.ReplaceAll(names, " ", " "+server+"_")
	}
	for _, c := range []struct{ who, path, want string }{
		{own, "/mcp", of("git", all) + " " + of("mail", all)}, {git, "/mcp", of("git", all)},
		{read, "/mcp", "git_look mail_look"}, {write, "/mcp", "git_look git_change mail_look mail_change"},
		{looking, "/mcp", "git_look git_large mail_look"}, {looking, "/mcp/p/looking", "git_look git_large mail_look"},
		{own, "/mcp/p/looking", "git_look git_large mail_look"}, {git, "/mcp/p/looking", "git_look git_large"},
		{read, "/mcp/p/looking/all", "git_look mail_look"}, {own, "/mcp/p/searching", ""},
		{own, "/mcp/p/searching/all", of("mail", all)},
	} {
		if got := s.tools(c.path, c.who); got != c.want {
			t.Errorf("%s sees at %s %q, not %q", c.who[:20], c.path, got, c.want)
		}
	}
	for _, c := range []struct{ who, tool, want string }{
		{git, "git_look", "look was done"}, {git, "mail_look", "there is no tool"}, {git, "mail/look", "there is no tool"},
		{git, "mcp__x__mail_look", "there is no tool"}, {read, "git_look", "look was done"},
		{read, "git_change", `the tier \"read\" of \"read\" says \"deny\"`}, {read, "git_silent", "deny"},
		{write, "git_change", "change was done"}, {write, "git_destroy", "deny"}, {write, "git_silent", "deny"},
		{looking, "git_look", "look was done"}, {looking, "git_silent", "there is no tool"}, {own, "git_destroy", "destroy was done"},
	} {
		s.is(s.call(c.tool, "{}", c.who), 200, c.want)
	}
	search := site{t, s.url + "/search", "", 0, nil}
	found := search.call("search_tools", `{"query":"look"}`, git)
	if search.is(found, 200, "git/look"); strings.Contains(found.body, "mail") {
		t.Error(found.body)
	}
	if r := search.call("list_servers", `{}`, git); strings.Contains(r.body, "mail") {
		t.Error(r.body)
	}
	if found = search.call("search_tools", `{"query":"destroy"}`, read); strings.Contains(found.body, "destroy(") {
		t.Error(found.body)
	}
	for tool, args := range map[string]string{"read_tool": `{"names":["mail/look"]}`, "call_tool": `{"server":"mail","tool":"look"}`,
		"search_tools": `{"query":"look","server":"mail"}`} {
		if r := search.call(tool, args, git); !strings.Contains(r.body, `there is no server \"mail`) {
			t.Errorf("%s: %s", tool, r.body)
		}
	}
	for path, who := range map[string]string{"/p/none": own, "/p/searching": looking, "/p/looking/none": own, "/none": own} {
		elsewhere := site{t, s.url + path, "", 0, nil}
		elsewhere.is(elsewhere.ask("POST", ping, who), 404, "there is no")
	}
	if list := h.serveToken(t); !strings.Contains(list, `"tier":"read"`) && !strings.Contains(list, `"tier": "read"`) {
		t.Error(list)
	}
}

// TestServePrincipalsApart: what a principal switches off, and what it has kept, is its own.
func TestServePrincipalsApart(t *testing.T) {
	t.Parallel()
	h := principalsHome(t)
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	ada, bob := h.bearer(t, "ada"), h.bearer(t, "bob")
	before := s.tools("/mcp", bob)
	s.is(s.call("enable_tools", `{"enable":["git_look","mail_look"]}`, ada), 200, `\"success\":true`, "principals/")
	if got := s.tools("/mcp", ada); got != "git_look mail_look" {
		t.Errorf("ada sees %q", got)
	}
	if got := s.tools("/mcp", bob); got != before {
		t.Errorf("bob sees %q", got)
	}
	s.is(s.call("git_change", "{}", ada), 200, "git/change is switched off")
	s.is(s.call("git_change", "{}", bob), 200, "change was done")
	// It narrows, and switches nothing on that is off for all.
	cmd, _, stderr := h.mcpl(t, "disable", "git")
	if err := cmd.Run(); err != nil {
		t.Fatal(err, stderr)
	}
	s.is(s.call("enable_tools", `{"enable":["git_look"]}`, ada), 200, "Still off")
	if got := s.tools("/mcp", ada); got != "mail_look" {
		t.Errorf("ada sees %q", got)
	}
	search := site{t, s.url + "/search", "", 0, nil}
	kept := search.call("call_tool", `{"server":"mail","tool":"large"}`, bob)
	search.is(kept, 200, "is kept as")
	_, after, _ := strings.Cut(kept.body, "is kept as ")
	id, _, _ := strings.Cut(after, ".")
	part := fmt.Sprintf(`{"result":%q,"lines":"1:2"}`, id)
	search.is(search.call("read_tool", part, bob), 200, "a line of a large result")
	if r := search.call("read_tool", part, ada); strings.Contains(r.body, "a line of") {
		t.Errorf("ada reads what bob has kept: %s", r.body)
	}
}

// TestServeTokenAnew: a token with the name of a revoked one has nothing of what that had.
func TestServeTokenAnew(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	old := h.bearer(t, "ci")
	s.is(s.call("enable_tools", `{"disable":["s_odd"]}`, old), 200, `\"success\":true`)
	body, headers := modern("tools/call", "s_ask", "")
	asked := s.ask("POST", body, append(headers, old)...)
	s.is(asked, 200, `"resultType":"input_required"`)
	var state struct{ Result struct{ RequestState string } }
	if err := json.Unmarshal([]byte(asked.last()), &state); err != nil {
		t.Fatal(err)
	}
	h.serveToken(t, "revoke", "ci")
	anew := h.bearer(t, "ci")
	body, headers = modern("tools/call", "s_ask", fmt.Sprintf(`"requestState":%q,"inputResponses":{"question":`+
		`{"action":"accept","content":{"name":"Ada"}}},`, state.Result.RequestState))
	s.is(s.ask("POST", body, append(headers, anew)...), 200, "the requestState is not valid")
	s.is(s.call("s_odd", `{"a":1}`, anew), 200, `"type":"novel"`)
	limited := h.bearer(t, "limited", "--servers", "s")
	s.is(s.path("/metrics").ask("GET", "", "X-Forwarded-Proto: https", limited), 403)
	s.is(s.path("/metrics").ask("GET", "", "X-Forwarded-Proto: https", anew), 200)
}

// TestServeDescribesServers: what an entry says of its server stands in the description of search_tools, made short and
// without what no reader sees.
func TestServeDescribesServers(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	h.write(t, ".mcp.json", map[string]any{"mcpServers": map[string]any{"s": map[string]any{"command": "mcptest",
		"args": []string{"script.json"}, "description": "sums\n and \u202eodds, " + strings.Repeat("x", 100)}}})
	f := h.serve(t)
	f.initialize(`{}`)
	list := f.do("tools/list", `{}`)
	f.has(list, "Servers: s (sums and ")
	if strings.Contains(list, "\u202e") || strings.Contains(list, `\u202e`) || strings.Contains(list, strings.Repeat("x", 80)) {
		t.Error(list)
	}
}

// TestServePrincipalsLimits: a token makes as many calls as it may, and the other clients all of theirs.
func TestServePrincipalsLimits(t *testing.T) {
	t.Parallel()
	h := principalsHome(t)
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	few, one, other := h.bearer(t, "few", "--per-minute", "2"), h.bearer(t, "one", "--at-once", "1"), h.bearer(t, "other")
	s.is(s.call("git_look", "{}", few), 200, "look was done")
	s.is(s.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:one"}}`, few), 200, "first")
	s.is(s.call("git_look", "{}", few), 200, "may make 2 calls in a minute", "Make the call again in")
	s.is(s.call("git_look", "{}", other), 200, "look was done")
	hanging := s.open(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"git_hang"}}`, one)
	defer hanging.Body.Close()
	mcptest.Wait(t, "the call hangs", func() bool { return strings.Contains(s.call("git_look", "{}", one).body, "run already") })
	s.is(s.call("git_look", "{}", other), 200, "look was done")
}

// TestServePrincipalsExpire: a token counts until it expires, and those of a file that is provided count alone.
func TestServePrincipalsExpire(t *testing.T) {
	t.Parallel()
	h := principalsHome(t)
	gone := h.bearer(t, "gone", "--expires", "1ns")
	stays := h.bearer(t, "stays", "--expires", "90d")
	provided := filepath.Join(h.dir, "provided.json")
	if err := os.Rename(h.tokens(), provided); err != nil {
		t.Fatal(err)
	}
	h.vars = append(h.vars, "MCPL_TOKENS_FILE="+provided)
	s := h.serveAt(t, "127.0.0.1:0")
	s.is(s.ask("POST", ping, gone), 401)
	s.is(s.ask("POST", ping, stays), 200)
	if _, err := os.Stat(h.tokens()); err == nil {
		t.Error("a token was made beside those that are provided")
	}
	cmd, _, stderr := h.mcpl(t, "serve", "token", "revoke", "stays")
	_ = cmd.Run() // its exit code is looked at
	if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(stderr.String(), "cannot be changed here") {
		t.Errorf("%d: %s", code, stderr)
	}
}

// TestServeApproves: where the policy asks about a call, the person in front of the client is asked, if that can be.
func TestServeApproves(t *testing.T) {
	t.Parallel()
	h := newHome(t, servedScript())
	h.writeText(t, "mcpl/config.toml", `
[[policy]]
match = "s/odd"
action = "ask"
[[policy]]
match = "s/steps"
action = "ask"
by = ["token"]
`)
	const odd = `{"name":"s_odd","arguments":{"a":1}}`
	f := h.serve(t, "--expose", "all")
	f.initialize(`{"elicitation":{}}`)
	answered := make(map[string]bool)
	for _, c := range []struct{ reply, want string }{
		{`{"action":"decline"}`, "was not approved"}, {`{"action":"accept","content":{"yes":false}}`, "was not approved"},
		{`7`, "is not an object"}, {`{"action":"accept","content":{"yes":true}}`, `"type":"novel"`},
	} {
		id := f.begin("tools/call", odd)
		var asked struct{ ID json.RawMessage }
		mcptest.Wait(t, "the client is asked", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, m := range f.heard {
				if !strings.Contains(m, `"elicitation/create"`) {
					continue
				}
				if err := json.Unmarshal([]byte(m), &asked); err == nil && !answered[string(asked.ID)] {
					f.has(m, "may s/odd be called?", `\"a\":1`)
					answered[string(asked.ID)] = true
					return true
				}
			}
			return false
		})
		f.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, asked.ID, c.reply))
		f.has(f.until(id, `"jsonrpc"`), c.want)
	}
	f.has(f.do("tools/call", `{"name":"s_steps"}`), `"isError":true`, "needs an approval", "mcpl approvals")
	for _, capabilities := range []string{`{}`, `{"elicitation":{"url":{}}}`} {
		other := h.serve(t, "--expose", "search")
		other.initialize(capabilities)
		other.has(other.do("tools/call", `{"name":"call_tool","arguments":{"server":"s","tool":"odd","arguments":{"a":1}}}`),
			`"isError":true`, "needs an approval", "mcpl approvals")
	}
	s := h.serveHTTP(t, "--expose", "all")
	body, headers := modern("tools/call", "s_odd", `"arguments":{"a":1},`)
	asked := s.ask("POST", body, headers...)
	s.is(asked, 200, `"resultType":"input_required"`, "may s/odd be called?")
	var state struct{ Result struct{ RequestState string } }
	if err := json.Unmarshal([]byte(asked.last()), &state); err != nil {
		t.Fatal(err)
	}
	body, headers = modern("tools/call", "s_odd", fmt.Sprintf(`"arguments":{"a":1},"requestState":%q,`+
		`"inputResponses":{"question":{"action":"accept","content":{"yes":true}}},`, state.Result.RequestState))
	s.is(s.ask("POST", body, headers...), 200, `"type":"novel"`)
}

// TestServeWaysBack: what a client has switched off it switches on again, and the answers say how.
func TestServeWaysBack(t *testing.T) {
	t.Parallel()
	h := principalsHome(t)
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	ada := h.bearer(t, "ada")
	before := s.tools("/mcp", ada)
	s.is(s.call("enable_tools", `{"disable":["git_look"]}`, ada), 200, `\"success\":true`)
	s.is(s.call("git_look", "{}", ada), 200, `{\"enable\":[\"git_look\"]}`, `{\"enable\":[\"*\"]} switches everything on`)
	search := site{t, s.url + "/search", "", 0, nil}
	search.is(search.call("call_tool", `{"server":"git","tool":"look"}`, ada), 200, "git/look is switched off for this client",
		"at the path /mcp/all")
	s.is(s.call("enable_tools", `{"enable":["git_look"]}`, ada), 200, `\"success\":true`)
	if got := s.tools("/mcp", ada); got != "git_look" {
		t.Errorf("ada sees %q", got)
	}
	s.is(s.call("enable_tools", `{"enable":["*"]}`, ada), 200, `\"success\":true`)
	if got := s.tools("/mcp", ada); got != before {
		t.Errorf("ada sees %q, not %q", got, before)
	}
	cmd, _, stderr := h.mcpl(t, "disable", "git/look")
	if err := cmd.Run(); err != nil {
		t.Fatal(err, stderr)
	}
	mcptest.Wait(t, "the operator's choice holds", func() bool {
		return strings.Contains(s.call("git_look", "{}", ada).body, "is switched off for all clients")
	})
}

// TestServeMisspelt: what models make of the name of a tool is understood.
func TestServeMisspelt(t *testing.T) {
	t.Parallel()
	h := principalsHome(t)
	f := h.serve(t)
	f.initialize(`{}`)
	for _, args := range []string{`{"server":"git","tool":"look"}`, `{"tool":"git/look"}`, `{"server":"git","tool":"git/look"}`,
		`{"server":"git/look"}`, `{"tool":"git_look"}`, `{"server":"git","name":"look"}`, `{"name":"git/look","arguments":{}}`,
		`{"server":"git","arguments":{"name":"look","arguments":{}}}`, `{"arguments":"{\"tool\":\"git/look\"}"}`} {
		f.has(f.do("tools/call", `{"name":"call_tool","arguments":`+args+`}`), "look was done")
	}
	a := h.serve(t, "--expose", "activate")
	a.initialize(`{}`)
	a.has(a.do("tools/call", `{"name":"activate","arguments":{"activate":["git/look"]}}`), `\"success\":true`)
	a.has(a.do("tools/call", `{"name":"git/look"}`), "look was done")
}
