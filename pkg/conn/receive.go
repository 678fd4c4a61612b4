package conn

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// maxWaiting bounds the requests of a server that wait for a response at the same time.
const maxWaiting = 64

// receive takes a request or a notification of the server, or a response that may be an error, without waiting. request
// is the id of the request in whose stream it came, as JSON. It is empty if it came in no request's stream.
func (s *session) receive(request string, message []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
		Params json.RawMessage `json:"params"`
		Error  struct {
			Data json.RawMessage `json:"data"`
		} `json:"error"`
	}
	switch {
	case json.Unmarshal(message, &m) != nil:
		return
	case m.Method == nil:
		s.router.keepData(string(m.ID), m.Error.Data)
		return
	}
	method := *m.Method
	if m.ID == nil || string(m.ID) == "null" {
		s.notified(request, method, m.Params)
		return
	}
	if s.waiting.Add(1) > maxWaiting {
		s.waiting.Add(-1)
		s.log("more than %d questions of the server wait for an answer; %s is dropped", maxWaiting, method)
		return
	}
	if method == string(mcp.MethodListRoots) {
		s.asked.first.Store(true)
	}
	// The server may withdraw it before the goroutine begins.
	withdrawn, withdraw := context.WithCancel(context.Background())
	s.router.questions.Store(string(m.ID), (func())(withdraw))
	s.goroutines.run(func(ctx context.Context) {
		defer s.waiting.Add(-1)
		defer s.router.questions.Delete(string(m.ID))
		defer withdraw()
		answering, giveUp := context.WithCancel(ctx) // the answer to what was withdrawn is sent all the same
		defer giveUp()
		defer context.AfterFunc(withdrawn, giveUp)()
		body, failure := s.answer(answering, request, method, m.Params)
		key := "result"
		if failure != nil {
			s.log("%s was refused: %s", method, failure.Message)
			key, body = "error", errorJSON(failure)
		}
		reply := tool.JoinObject([]tool.Field{
			{Key: "jsonrpc", Value: json.RawMessage(`"2.0"`)}, {Key: "id", Value: m.ID}, {Key: key, Value: body}})
		if err := s.wire.send(ctx, reply); err != nil {
			s.log("the answer to %s could not be sent: %v", method, err)
		}
		if method == string(mcp.MethodListRoots) {
			s.asked.answer()
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

// errorJSON returns the error of a response of ours.
func errorJSON(e *tool.UpstreamError) json.RawMessage {
	code, _ := json.Marshal(e.Code) // a number always encodes
	fields := []tool.Field{{Key: "code", Value: code}, {Key: "message", Value: tool.Quote(e.Message)}}
	if e.Data != nil {
		fields = append(fields, tool.Field{Key: "data", Value: e.Data})
	}
	return tool.JoinObject(fields)
}

// answer returns the result of a request of the server, or refuses it.
func (s *session) answer(ctx context.Context, request, method string, params json.RawMessage) (
	json.RawMessage, *tool.UpstreamError) {
	switch method {
	case string(mcp.MethodPing):
		return json.RawMessage("{}"), nil
	case string(mcp.MethodListRoots):
		return s.listRoots(ctx, s.router.owner(request))
	case string(mcp.MethodElicitationCreate):
		return s.forCall(ctx, request, params, s.elicit)
	case string(mcp.MethodSamplingCreateMessage):
		if !s.router.canSample() { // no call has to be waited for
			return nil, &tool.UpstreamError{Code: mcp.METHOD_NOT_FOUND, Message: noModel}
		}
		return s.forCall(ctx, request, params, s.sample)
	}
	s.log("%s: %s", method, params) // some servers log by requests of their own
	return nil, notOffered(method)
}

func notOffered(method string) *tool.UpstreamError {
	return &tool.UpstreamError{Code: mcp.METHOD_NOT_FOUND, Message: "mcpl does not offer " + method}
}

// forCall answers a request of the server for its call. The server and the ends of call and session withdraw it.
func (s *session) forCall(ctx context.Context, request string, params json.RawMessage,
	answer func(context.Context, *call, json.RawMessage) (json.RawMessage, *tool.UpstreamError)) (
	json.RawMessage, *tool.UpstreamError) {
	c, err := s.router.assign(ctx, request, taskOf(params), s.sharedQuestion)
	if err != nil {
		return nil, &tool.UpstreamError{Code: mcp.INTERNAL_ERROR, Message: err.Error()}
	}
	defer s.router.replied(c)
	return answer(ctx, c, params)
}

// sharedQuestion notes that the server has asked something that names no call while several clients used it. It
// announces a change, since what is known of the server has changed.
func (s *session) sharedQuestion() {
	s.log("it asks something that names no call, while several clients use it: their calls take turns from now on")
	if s.opt.Changed != nil {
		s.opt.Changed(s.server.Name)
	}
}

// listRoots returns the roots of a call's audience, if it has its own, else those of the server's entry.
func (s *session) listRoots(ctx context.Context, c *call) (roots json.RawMessage, refused *tool.UpstreamError) {
	switch {
	case c != nil && c.audience != nil && c.audience.Can().Roots:
		err := s.during(ctx, c, func(ctx context.Context, a tool.Audience) (err error) {
			roots, err = a.Roots(ctx)
			return err
		})
		return roots, asRefusal(err)
	case s.roots == nil:
		return nil, &tool.UpstreamError{Code: mcp.METHOD_NOT_FOUND, Message: "mcpl offers no roots to this server"}
	}
	return s.roots, nil
}

// sample asks the language model of a call's audience.
func (s *session) sample(ctx context.Context, c *call, params json.RawMessage) (
	result json.RawMessage, refused *tool.UpstreamError) {
	if c == nil || c.audience == nil || !c.audience.Can().Sample {
		return nil, &tool.UpstreamError{Code: mcp.METHOD_NOT_FOUND, Message: noModel}
	}
	s.log("it asks a language model")
	err := s.during(ctx, c, func(ctx context.Context, a tool.Audience) (err error) {
		result, err = a.Sample(ctx, tool.Sampling{Server: s.server.Name, Raw: params})
		return err
	})
	return result, asRefusal(err)
}

// asRefusal returns err as the error of a response of ours. It is nil if err is nil.
func asRefusal(err error) *tool.UpstreamError {
	var own *tool.UpstreamError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	}
	return &tool.UpstreamError{Code: mcp.INTERNAL_ERROR, Message: err.Error()}
}

// noModel is the error of a sampling request.
const noModel = "mcpl does not offer sampling/createMessage: it has no language model"

// maxNote bounds a notification, in bytes: many of them may wait for a slow audience.
const maxNote = 64 << 10

// publish passes a notification that belongs to no call to the watchers of the server.
func (s *session) publish(method string, params json.RawMessage) {
	if s.events != nil && s.ready.Load() {
		s.events(tool.Event{Server: s.server.Name, Method: method, Params: params})
	}
}

// notified takes a notification of the server.
func (s *session) notified(request, method string, params json.RawMessage) {
	if len(params) > maxNote {
		s.log("%s of %d bytes is dropped", method, len(params))
		return
	}
	switch method {
	case string(mcp.MethodNotificationProgress):
		s.progressed(params)
	case string(mcp.MethodNotificationMessage):
		s.said(s.router.owner(request), params)
	case methodCancelled:
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(params, &p) == nil && p.ID != nil { // questions of input_required have no id
			s.router.withdraw(string(p.ID))
		}
	case mcp.MethodNotificationToolsListChanged, mcp.MethodNotificationResourcesListChanged,
		mcp.MethodNotificationPromptsListChanged:
		s.log("%s", method)
		s.moved.Store(true)
		switch method {
		case mcp.MethodNotificationToolsListChanged:
			s.offer.changed(tool.Tool)
		case mcp.MethodNotificationPromptsListChanged:
			s.offer.changed(tool.Prompt)
		}
		if s.opt.Changed != nil && s.ready.Load() {
			s.opt.Changed(s.server.Name)
		}
		s.publish(method, params)
	default:
		s.publish(method, params)
	}
}

// progressed passes a sign of progress to the call that it belongs to, and restarts its limit.
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
	if c := s.router.byRequest(string(p.Token)); c != nil {
		c.clock.renew()
		progress := tool.Progress{Done: p.Done, Total: p.Total, Message: s.server.Mask(p.Message), Raw: params}
		c.enqueue(func(a tool.Audience) { a.Progress(progress) })
	}
}

// said passes a log message on. Without an owner it goes to the log only.
func (s *session) said(c *call, params json.RawMessage) {
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
	if c != nil {
		c.enqueue(func(a tool.Audience) {
			a.Message(tool.Message{Level: m.Level, Logger: m.Logger, Data: m.Data, Raw: params})
		})
	}
}
