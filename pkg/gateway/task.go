package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Tasks (MCP 2025-11-25, basic/utilities/tasks; since 2026-07-28 the extension of SEP-2663) are handed on: the id of
// one names its server too, for the principal alone that began it.

// tasksExtension is the name of the extension.
const tasksExtension = "io.modelcontextprotocol/tasks"

// relatedTask is the member of _meta that names the task of a message.
const relatedTask = "io.modelcontextprotocol/related-task"

// taskPurpose is the purpose of the ids of tasks.
func (r *request) taskPurpose() string { return "task of " + r.client.who.Principal.identity() }

// taskID returns the id that the client sees of a task of a server.
func (r *request) taskID(server, id string) json.RawMessage {
	return tool.Quote(r.client.gateway.sealer.marked(r.taskPurpose(), server+"\x00"+id))
}

// task answers a request about a task by its server.
func (r *request) task(ctx context.Context) (json.RawMessage, error) {
	var p struct {
		ID string `json:"taskId"`
	}
	if err := r.params(&p); err != nil {
		return nil, err
	}
	text, err := r.client.gateway.sealer.unmarked(r.taskPurpose(), p.ID)
	server, id, isTask := strings.Cut(text, "\x00")
	if err != nil || !isTask {
		return nil, &tool.UpstreamError{Code: mcp.InvalidParams, Message: "there is no such task"}
	}
	r.about = server
	params := r.with(tool.Field{Key: "taskId", Value: tool.Quote(id)})
	result, err := r.askServer(ctx, server, params)
	return r.withTasks(server, result), err
}

// withTasks returns a message of a server in which the ids of tasks are those for the client: in the state of a task
// that it holds, or is, and in _meta.
func (r *request) withTasks(server string, message json.RawMessage) json.RawMessage {
	fields, err := tool.SplitObject(message)
	if err != nil {
		return message // odd, and the server's own
	}
	isTask := strings.HasPrefix(r.message.Method, "tasks/") ||
		slices.ContainsFunc(fields, func(f tool.Field) bool { return f.Key == "resultType" && tool.Text(f.Value) == "task" })
	changed := false
	for i, f := range fields {
		value := f.Value
		switch {
		case f.Key == "taskId" && isTask && tool.Text(f.Value) != "":
			value = r.taskID(server, tool.Text(f.Value))
		case f.Key == "task":
			value = r.member(server, f.Value, "taskId")
		case f.Key == "_meta":
			value = r.member(server, f.Value, relatedTask, "taskId")
		}
		changed = changed || string(value) != string(f.Value)
		fields[i].Value = value
	}
	if !changed {
		return message
	}
	return tool.JoinObject(fields)
}

// member returns an object with the id for the client in place of the id of a task that is found by following keys.
func (r *request) member(server string, object json.RawMessage, keys ...string) json.RawMessage {
	fields, err := tool.SplitObject(object)
	i := slices.IndexFunc(fields, func(f tool.Field) bool { return f.Key == keys[0] })
	switch {
	case err != nil || i < 0:
		return object
	case len(keys) > 1:
		fields[i].Value = r.member(server, fields[i].Value, keys[1:]...)
	case tool.Text(fields[i].Value) == "":
		return object
	default:
		fields[i].Value = r.taskID(server, tool.Text(fields[i].Value))
	}
	return tool.JoinObject(fields)
}
