package mcp

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Headers that repeat parts of a request over HTTP (MCP 2026-07-28, transports; SEP-2243).
const (
	MethodHeader = "Mcp-Method"
	NameHeader   = "Mcp-Name"
	paramHeader  = "Mcp-Param-"
)

// CheckHeaders compares the headers of a request with its parts. header returns the value of a header, and whether the
// request has it. inputSchema is that of the tool that is called; nil if there is none. CheckHeaders returns what is
// wrong, or "".
func CheckHeaders(m Message, inputSchema json.RawMessage, header func(name string) (string, bool)) string {
	if method, _ := header(MethodHeader); method != m.Method {
		return MethodHeader + " is not the method of the body"
	}
	if name, named := nameOf(m); named {
		said, has := header(NameHeader)
		decoded, ok := decodeHeader(said)
		if !has || !ok || decoded != name {
			return NameHeader + " is not the name in the body"
		}
	}
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if m.Method != "tools/call" || json.Unmarshal(orEmpty(m.Params), &p) != nil {
		return ""
	}
	for _, want := range headersOf(inputSchema, nil) {
		name := paramHeader + want.name
		said, has := header(name)
		value := valueAt(p.Arguments, want.path)
		switch decoded, ok := decodeHeader(said); {
		case value == nil && said != "":
			return name + " repeats an argument that the body does not have"
		case value == nil:
		case !has || !ok || !repeats(decoded, value):
			return name + " is not the argument in the body"
		}
	}
	return ""
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("{}")
	}
	return raw
}

// nameOf returns what a request names, if the header Mcp-Name repeats it.
func nameOf(m Message) (name string, named bool) {
	key := "name"
	switch m.Method {
	case "tools/call", "prompts/get":
	case "resources/read":
		key = "uri"
	default:
		return "", false
	}
	return tool.Text(valueAt(m.Params, []string{key})), true
}

// valueAt returns the value at a path of keys; nil if there is none, or it is null.
func valueAt(object json.RawMessage, path []string) json.RawMessage {
	for _, key := range path {
		fields, err := tool.SplitObject(orEmpty(object))
		if err != nil {
			return nil
		}
		i := slices.IndexFunc(fields, func(f tool.Field) bool { return f.Key == key })
		if i < 0 || string(fields[i].Value) == "null" {
			return nil
		}
		object = fields[i].Value
	}
	return object
}

// repeatedParam is an argument that a header repeats.
type repeatedParam struct {
	name string // of the header, without its prefix
	path []string
}

// maxHeaderDepth bounds how deep a schema is searched for arguments that headers repeat.
const maxHeaderDepth = 8

// headersOf returns the arguments that an input schema marks with x-mcp-header.
func headersOf(schema json.RawMessage, path []string) []repeatedParam {
	properties, err := tool.SplitObject(orEmpty(valueAt(schema, []string{"properties"})))
	if err != nil || len(path) == maxHeaderDepth {
		return nil
	}
	var list []repeatedParam
	for _, p := range properties {
		at := append(slices.Clip(path), p.Key)
		if name := tool.Text(valueAt(p.Value, []string{"x-mcp-header"})); name != "" {
			list = append(list, repeatedParam{name, at})
		}
		list = append(list, headersOf(p.Value, at)...)
	}
	return list
}

// decodeHeader decodes the value of a header: =?base64?...?= is one that a header cannot hold as it is.
func decodeHeader(value string) (string, bool) {
	encoded, begins := strings.CutPrefix(value, "=?base64?")
	encoded, ends := strings.CutSuffix(encoded, "?=")
	if !begins || !ends {
		return value, true
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	return string(decoded), err == nil
}

// repeats reports whether the text of a header is a value: a string, a boolean or a whole number.
func repeats(header string, value json.RawMessage) bool {
	switch value[0] {
	case '"':
		return header == tool.Text(value)
	case 't', 'f':
		return header == string(value)
	}
	said, err := strconv.ParseFloat(header, 64)
	is, wrong := strconv.ParseFloat(string(value), 64)
	return err == nil && wrong == nil && said == is
}
