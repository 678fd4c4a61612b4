package conn

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// maxWaiting is how many requests of a server may wait for an answer at the same time.
const maxWaiting = 64

// receive takes a request or a notification of the server, which came under ctx: over HTTP that of
// the request in whose stream it came. It does not wait.
func (s *session) receive(ctx context.Context, message []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(message, &m) != nil {
		return
	}
	if m.ID == nil || string(m.ID) == "null" {
		s.notified(ctx, m.Method, m.Params)
		return
	}
	if s.waiting.Add(1) > maxWaiting {
		s.waiting.Add(-1)
		s.log("more than %d questions of the server wait for an answer; %s is dropped", maxWaiting, m.Method)
		return
	}
	var e *errand
	if m.Method == string(mcp.MethodElicitationCreate) {
		e = s.desk.respondent(ctx, taskOf(m.Params))
	}
	s.crew.do(func(ctx context.Context) {
		defer s.waiting.Add(-1)
		defer s.desk.replied(e)
		body, failure := s.answer(e, string(m.ID), m.Method, m.Params)
		key := "result"
		if failure != nil {
			s.log("%s was refused: %s", m.Method, failure.Message)
			key, body = "error", failure.json()
		}
		reply := tool.JoinObject([]tool.Field{{Key: "jsonrpc", Value: json.RawMessage(`"2.0"`)}, {Key: "id", Value: m.ID}, {Key: key, Value: body}})
		if err := s.wire.send(ctx, reply); err != nil {
			s.log("the answer to %s could not be sent: %v", m.Method, err)
		}
	})
}

// taskOf returns the id of the task that a request belongs to, or "": "All requests, notifications, and
// responses related to a task MUST include the io.modelcontextprotocol/related-task key in their _meta
// field" (MCP 2025-11-25, basic/utilities/tasks).
func taskOf(params json.RawMessage) string {
	var p struct {
		Meta struct {
			Task struct {
				ID string `json:"taskId"`
			} `json:"io.modelcontextprotocol/related-task"`
		} `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil {
		return ""
	}
	return p.Meta.Task.ID
}

// rpcError is an error that we answer with.
type rpcError struct {
	Code    int
	Message string
}

func (e *rpcError) json() json.RawMessage {
	code, _ := json.Marshal(e.Code) // a number always encodes
	return tool.JoinObject([]tool.Field{{Key: "code", Value: code}, {Key: "message", Value: tool.Quote(e.Message)}})
}

// answer gives the result of a request of the server, or refuses it. e is whom a question is for, or nil.
func (s *session) answer(e *errand, id, method string, params json.RawMessage) (json.RawMessage, *rpcError) {
	switch method {
	case string(mcp.MethodPing):
		return json.RawMessage("{}"), nil
	case string(mcp.MethodListRoots):
		if s.roots == nil {
			return nil, &rpcError{mcp.METHOD_NOT_FOUND, "mcpl offers no roots to this server"}
		}
		return s.roots, nil
	case string(mcp.MethodElicitationCreate):
		defer s.desk.answered(id)
		return s.elicit(e, params, func(giveUp func()) { s.desk.asked(id, giveUp) })
	case string(mcp.MethodSamplingCreateMessage):
		return nil, &rpcError{mcp.METHOD_NOT_FOUND, noModel}
	}
	return nil, &rpcError{mcp.METHOD_NOT_FOUND, "mcpl does not offer " + method}
}

// noModel is what a server is told that asks for sampling.
const noModel = "mcpl does not offer sampling/createMessage: it has no language model"

// maxNote bounds a notification, in bytes: an audience that is slow has many of them wait.
const maxNote = 64 << 10

// notified takes a notification of the server.
func (s *session) notified(ctx context.Context, method string, params json.RawMessage) {
	if len(params) > maxNote {
		s.log("%s of %d bytes is dropped", method, len(params))
		return
	}
	switch method {
	case string(mcp.MethodNotificationProgress):
		s.progressed(params)
	case string(mcp.MethodNotificationMessage):
		s.said(s.desk.addressee(ctx), params)
	case methodCancelled:
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(params, &p) == nil && p.ID != nil { // what input_required asks has no id
			s.desk.withdraw(string(p.ID))
		}
	case mcp.MethodNotificationToolsListChanged, mcp.MethodNotificationResourcesListChanged, mcp.MethodNotificationPromptsListChanged:
		s.log("%s", method)
		if s.opt.Changed != nil && s.ready.Load() {
			s.opt.Changed(s.server.Name)
		}
	}
}

// progressed passes a sign of progress to the errand that it belongs to.
func (s *session) progressed(params json.RawMessage) {
	var p struct {
		Token   json.RawMessage `json:"progressToken"`
		Done    float64         `json:"progress"`
		Total   float64         `json:"total"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	if e := s.desk.owner(p.Token); e != nil {
		e.progress(tool.Progress{Done: p.Done, Total: p.Total, Message: p.Message})
	}
}

// said passes a log message on.
func (s *session) said(e *errand, params json.RawMessage) {
	var m struct {
		Level  string          `json:"level"`
		Logger string          `json:"logger"`
		Data   json.RawMessage `json:"data"`
	}
	if json.Unmarshal(params, &m) != nil {
		return
	}
	if s.opt.Log != nil {
		text := string(m.Data)
		var plain string
		if json.Unmarshal(m.Data, &plain) == nil {
			text = plain
		}
		s.log("%s: %s", strings.TrimSpace(m.Level+" "+m.Logger), text)
	}
	if e != nil {
		e.hear(func(a tool.Audience) { a.Message(tool.Message{Level: m.Level, Logger: m.Logger, Data: m.Data}) })
	}
}
