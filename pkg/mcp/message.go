// Package mcp holds the protocol's own things, for the faces of mcpl that are servers: JSON-RPC messages whose parts
// stay byte for byte ([Parse], [Request], [Answer]), their framing on a stream ([Reader]) and as server-sent events
// ([AppendEvent]), headers that repeat parts of them ([CheckHeaders]), the revisions ([Revisions]) and the codes of
// errors.
//
// pkg/conn is mcpl's client; it uses the SDK's messages where it does not relay them.
package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Message is one JSON-RPC 2.0 message. Its raw fields alias the bytes that it was parsed from.
type Message struct {
	// ID is nil for a notification.
	ID json.RawMessage
	// Method is empty for a response.
	Method string
	// Params of a request or notification, and Result of a response, are nil if there are none.
	Params, Result json.RawMessage
	// Error of a response is nil unless it is one.
	Error *tool.UpstreamError
}

// IsRequest reports whether the message wants a response.
func (m Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsResponse reports whether the message is a response.
func (m Message) IsResponse() bool { return m.Method == "" }

// Parse reads one message. If raw is something else, the error is what JSON-RPC answers, and the message has the ID if
// there is a valid one. A batch (an array, MCP 2025-03-26 only) is refused.
func Parse(raw []byte) (Message, *tool.UpstreamError) {
	members, err := tool.SplitObject(raw)
	switch {
	case errors.Is(err, tool.ErrNotObject):
		return Message{}, refusal(InvalidRequest, "a message is one JSON object; batches are not taken")
	case err != nil:
		return Message{}, refusal(ParseError, "the message is not JSON")
	}
	var m Message
	var version, method, failed json.RawMessage
	for _, member := range members {
		switch member.Key {
		case "jsonrpc":
			version = member.Value
		case "id":
			m.ID = member.Value
		case "method":
			method = member.Value
		case "params":
			if m.Params = member.Value; string(m.Params) == "null" {
				m.Params = nil // some clients write it so
			}
		case "result":
			m.Result = member.Value
		case "error":
			failed = member.Value
		}
	}
	if m.ID != nil && !isID(m.ID) {
		m.ID = nil
		return m, refusal(InvalidRequest, "the id of a message is a string or a whole number")
	}
	if string(version) != `"2.0"` {
		return m, refusal(InvalidRequest, `a message has "jsonrpc": "2.0"`)
	}
	if method != nil {
		return m, m.call(method)
	}
	return m, m.response(failed)
}

func refusal(code int, text string) *tool.UpstreamError {
	return &tool.UpstreamError{Code: code, Message: text}
}

// call completes a request or notification.
func (m *Message) call(method json.RawMessage) *tool.UpstreamError {
	if m.Method = tool.Text(method); m.Method == "" {
		return refusal(InvalidRequest, "the method of a message is a string")
	}
	if m.Params != nil && m.Params[0] != '{' {
		return refusal(InvalidRequest, "the params of a message are an object")
	}
	return nil
}

// response completes a response. failed is its member error.
func (m *Message) response(failed json.RawMessage) *tool.UpstreamError {
	switch {
	case m.ID == nil:
		return refusal(InvalidRequest, "the message has neither a method nor an id")
	case (m.Result == nil) == (failed == nil):
		return refusal(InvalidRequest, "a response has either a result or an error")
	case failed == nil:
		return nil
	}
	m.Error = new(tool.UpstreamError)
	if json.Unmarshal(failed, m.Error) != nil {
		return refusal(InvalidRequest, "the error of a response has a code and a message")
	}
	return nil
}

// isID reports whether a value can be the id of a message: "a string or integer" that is not null (MCP 2025-11-25,
// basic, requests).
func isID(value json.RawMessage) bool {
	if value[0] == '"' {
		return true
	}
	digits := bytes.TrimPrefix(value, []byte("-"))
	return !slices.ContainsFunc(digits, func(c byte) bool { return c < '0' || c > '9' })
}

// Request returns a request. id is a number or a text in JSON; params may be nil.
func Request(id json.RawMessage, method string, params json.RawMessage) []byte {
	return join([]tool.Field{{Key: "id", Value: id}}, method, params)
}

// Notification returns a notification. params may be nil.
func Notification(method string, params json.RawMessage) []byte { return join(nil, method, params) }

func join(fields []tool.Field, method string, params json.RawMessage) []byte {
	fields = append(fields, tool.Field{Key: "method", Value: tool.Quote(method)})
	if params != nil {
		fields = append(fields, tool.Field{Key: "params", Value: params})
	}
	return object(fields)
}

// Answer returns the response to the request with that id: failure if it is not nil, else result.
func Answer(id, result json.RawMessage, failure *tool.UpstreamError) []byte {
	if id == nil {
		id = json.RawMessage("null") // what could not be read has none (JSON-RPC 2.0, section 5)
	}
	fields := []tool.Field{{Key: "id", Value: id}, {Key: "result", Value: result}}
	if failure != nil {
		fields[1] = tool.Field{Key: "error", Value: errorJSON(failure)}
	}
	return object(fields)
}

func object(fields []tool.Field) []byte {
	return tool.JoinObject(append([]tool.Field{{Key: "jsonrpc", Value: json.RawMessage(`"2.0"`)}}, fields...))
}

func errorJSON(e *tool.UpstreamError) json.RawMessage {
	fields := []tool.Field{{Key: "code", Value: strconv.AppendInt(nil, int64(e.Code), 10)},
		{Key: "message", Value: tool.Quote(e.Message)}}
	if e.Data != nil {
		fields = append(fields, tool.Field{Key: "data", Value: e.Data})
	}
	return tool.JoinObject(fields)
}
