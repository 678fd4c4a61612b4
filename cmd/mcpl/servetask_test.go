//go:build linux || darwin

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// tasksScript is a server whose calls become tasks.
func tasksScript(era string) mcptest.Script {
	ask := &mcptest.Ask{Method: "elicitation/create",
		Params: `{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}},` +
			`"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"task-2"}}}`}
	script := mcptest.Script{Modern: era, Tools: []mcptest.Tool{{Name: "plain", Text: "done", Task: &mcptest.Task{Polls: 1, PollMs: 1}},
		{Name: "asking", Replies: true, Task: &mcptest.Task{PollMs: 1, Ask: ask}},
		{Name: "slow", Task: &mcptest.Task{Polls: 1_000_000, PollMs: 1}}}}
	if era == "" {
		script.Capabilities = `{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}}`
	}
	return script
}

// taskOf returns the id of the task in a message.
func taskOf(t *testing.T, message string) string {
	t.Helper()
	var m struct {
		Result struct {
			ID   string `json:"taskId"`
			Task struct {
				ID string `json:"taskId"`
			}
		}
	}
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		t.Fatal(err, message)
	}
	if m.Result.ID+m.Result.Task.ID == "" || strings.Contains(message, `"task-`) {
		t.Fatalf("no task, or the id that its server gave it: %s", message)
	}
	return m.Result.ID + m.Result.Task.ID
}

// TestServeTasks hands on the tasks of servers up to 2025-11-25.
func TestServeTasks(t *testing.T) {
	t.Parallel()
	h := newHome(t, tasksScript(""))
	f := h.serve(t, "--expose", "all")
	hello := f.do("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}`)
	f.has(hello, `"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}`)
	created := f.do("tools/call", `{"name":"s_plain","task":{"ttl":60000}}`)
	id := taskOf(t, created)
	f.has(created, `"status":"working"`)
	about := fmt.Sprintf(`{"taskId":%q}`, id)
	mcptest.Wait(t, "the task ends", func() bool {
		state := f.do("tasks/get", about)
		f.has(state, fmt.Sprintf(`"taskId":%q`, id))
		return strings.Contains(state, `"completed"`)
	})
	f.has(f.do("tasks/result", about), `"text":"done"`)
	f.has(f.do("tools/call", `{"name":"s_plain"}`), `"text":"done"`) // a client that does not ask for a task gets none

	asking := fmt.Sprintf(`{"taskId":%q}`, taskOf(t, f.do("tools/call", `{"name":"s_asking","task":{}}`)))
	mcptest.Wait(t, "the task asks", func() bool {
		return strings.Contains(f.do("tasks/get", asking), `"input_required"`)
	})
	result := f.begin("tasks/result", asking)
	question := f.until(`"elicitation/create"`)
	var asked struct {
		ID json.RawMessage
	}
	if err := json.Unmarshal([]byte(question), &asked); err != nil {
		t.Fatal(err)
	}
	if want := `"io.modelcontextprotocol/related-task":` + asking; !strings.Contains(question, want) {
		t.Errorf("%s is not in %s", want, question)
	}
	f.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ada"}}}`, asked.ID))
	f.has(f.until(result, `"result":`), "Ada")

	slow := fmt.Sprintf(`{"taskId":%q}`, taskOf(t, f.do("tools/call", `{"name":"s_slow","task":{}}`)))
	f.has(f.do("tasks/cancel", slow), `"cancelled"`)
	for _, wrong := range []string{`{"taskId":"task-1"}`, `{}`, `{"taskId":5}`, strings.Replace(slow, `":"`, `":"A`, 1)} {
		f.has(f.do("tasks/get", wrong), `"code":-32602`)
	}
	other := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	r := other.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":`+about+`}`, "Authorization: Bearer "+other.token)
	other.is(r, 200, "there is no such task")
}

// TestServeModernTasks hands on the tasks of a server since 2026-07-28 to a client that follows them, and follows them
// for the others.
func TestServeModernTasks(t *testing.T) {
	t.Parallel()
	h := newHome(t, tasksScript("only"))
	s := h.serveAt(t, "127.0.0.1:0", "--expose", "all")
	ada, bob := h.bearer(t, "ada"), h.bearer(t, "bob")
	do := func(who, method, name, members string) reply {
		body, headers := modern(method, name, members)
		body = strings.Replace(body, `"elicitation":{}`, `"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}`, 1)
		return s.ask("POST", body, append(headers, who)...)
	}
	s.is(do(ada, "server/discover", "", ""), 200, `"extensions":{"io.modelcontextprotocol/tasks":{}}`)
	created := do(ada, "tools/call", "s_asking", "")
	s.is(created, 200, `"resultType":"task"`)
	about := fmt.Sprintf(`"taskId":%q,`, taskOf(t, created.last()))
	mcptest.Wait(t, "the task asks", func() bool {
		return strings.Contains(do(ada, "tasks/get", "", about).body, `"input_required"`)
	})
	s.is(do(bob, "tasks/get", "", about), 200, "there is no such task")
	s.is(do(ada, "tasks/update", "", about+`"inputResponses":{"ask":{"action":"accept","content":{"name":"Ada"}}},`), 200, `"result":`)
	mcptest.Wait(t, "the task ends", func() bool {
		state := do(ada, "tasks/get", "", about).body
		return strings.Contains(state, `"completed"`) && strings.Contains(state, "Ada")
	})
	body, headers := modern("tools/call", "s_plain", "")
	s.is(s.ask("POST", body, append(headers, ada)...), 200, `"resultType":"complete"`, `"text":"done"`)
	id := s.session(ada)
	s.is(s.call("s_plain", "{}", ada, id), 200, `"text":"done"`)
}
