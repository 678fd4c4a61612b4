package mcptest

import (
	"encoding/json"
	"fmt"
)

// running is a task.
type running struct {
	tool  *Tool
	call  message
	polls int
	asked bool // the Ask of it was answered
	ended bool // it was cancelled
}

// wantsTask reports whether a tools/call asks for a task (revision 2025-11-25).
func wantsTask(m message) bool {
	var p struct {
		Task json.RawMessage `json:"task"`
	}
	return json.Unmarshal(m.Params, &p) == nil && p.Task != nil
}

// startTask makes a task of a call, and says so.
func (s *server) startTask(m message, t *Tool) {
	s.mu.Lock()
	id := fmt.Sprintf("task-%d", len(s.tasks)+1)
	r := &running{tool: t, call: m}
	s.tasks[id] = r
	state := r.state(id, declared(m) == modern)
	s.mu.Unlock()
	if declared(m) == modern {
		s.reply(m, Raw(`{"resultType":"task",`+state+`}`))
		return
	}
	s.reply(m, Raw(`{"task":{`+state+`}}`))
}

// state is what both revisions say of a task.
func (r *running) state(id string, isModern bool) string {
	poll, ttl := "pollInterval", "ttl"
	if isModern {
		poll, ttl = "pollIntervalMs", "ttlMs"
	}
	return fmt.Sprintf(`"taskId":%s,"status":%s,"statusMessage":"poll %d","createdAt":"2026-01-01T00:00:00Z",`+
		`"lastUpdatedAt":"2026-01-01T00:00:00Z",%q:60000,%q:%v`,
		quote(id), quote(r.status()), r.polls, ttl, poll, r.tool.Task.PollMs)
}

func (r *running) status() string {
	switch t := r.tool.Task; {
	case r.ended:
		return "cancelled"
	case r.polls <= t.Polls:
		return "working"
	case t.Ask != nil && !r.asked:
		return "input_required"
	case t.Error != nil:
		return "failed"
	}
	return "completed"
}

// answerTask answers a request about a task.
func (s *server) answerTask(m message, cancelled <-chan struct{}) {
	var p struct {
		ID        string          `json:"taskId"`
		Responses json.RawMessage `json:"inputResponses"`
	}
	_ = json.Unmarshal(m.Params, &p) // what cannot be read names no task
	isModern := declared(m) == modern
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.tasks[p.ID]
	if r == nil {
		s.fail(m, Error{Code: codeInvalidParams, Message: "unknown task"})
		return
	}
	switch m.Method {
	case "tasks/get":
		r.polls++
		s.reply(m, s.complete(m, r.state(p.ID, isModern)+r.outcome(isModern)))
	case "tasks/cancel":
		r.ended = true
		s.reply(m, s.complete(m, r.state(p.ID, isModern)))
	case "tasks/update":
		r.asked, r.call.replies = true, append(r.call.replies, string(p.Responses))
		s.reply(m, s.complete(m, `"_more":0`))
	default:
		s.taskResult(m, r, cancelled)
	}
}

// outcome is what the state of a task holds beside itself from revision 2026-07-28 on.
func (r *running) outcome(isModern bool) string {
	if !isModern {
		return ""
	}
	switch t := r.tool.Task; r.status() {
	case "completed":
		return `,"result":{` + r.tool.result(r.call) + `}`
	case "failed":
		return fmt.Sprintf(`,"error":{"code":%d,"message":%s}`, t.Error.Code, quote(t.Error.Message))
	case "input_required":
		return `,"inputRequests":{"ask":{"method":` + quote(t.Ask.Method) + `,"params":` + t.Ask.Params.or("{}").line() + `}}`
	}
	return ""
}

// taskResult answers tasks/result, after what the task wants to ask. It needs mu.
func (s *server) taskResult(m message, r *running, cancelled <-chan struct{}) {
	t := r.tool.Task
	if t.Ask != nil && !r.asked {
		ask := *t.Ask
		ask.Wait = true
		s.mu.Unlock()
		answer, ok := s.ask(ask, cancelled)
		ok = ok && s.sleep(t.Busy, cancelled)
		s.mu.Lock()
		if !ok {
			return
		}
		r.asked, r.call.replies = true, append(r.call.replies, answer)
	}
	if t.Error != nil {
		s.fail(m, *t.Error)
		return
	}
	s.reply(m, s.complete(m, r.tool.result(r.call)))
}
