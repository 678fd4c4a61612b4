package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Limits of a form that a person fills in.
const (
	maxFormBytes   = 256 << 10
	maxFormMembers = 60
)

// Member is one member of a [Form].
type Member struct {
	Name, Title, Description string
	// Type is string, integer, number, boolean, or array: some of the Choices. For anything else it is empty.
	Type     string
	Required bool
	Default  json.RawMessage // nil if there is none
	// Choices lists the allowed values. If nil, any value is allowed.
	Choices []Choice
	Format  string
	// Limits says which values are allowed, like "1 to 20 characters". It is empty if there is no limit.
	Limits string

	alone json.RawMessage // the schema of an object with only this member
}

// Choice is a value of an enumeration, as a person sees it.
type Choice struct {
	Value json.RawMessage
	// Text is the value, a string without quotes. Title is the server's name for it, and often empty.
	Text, Title string
}

// Form reads the schema of a server's question to its user (MCP 2025-11-25, client/elicitation): an object with flat
// members, in the schema's order. ok is false if no form can be made of the schema.
func Form(raw json.RawMessage) (members []Member, ok bool) {
	p := parser{raw: raw}
	if len(raw) > maxFormBytes || p.check() != nil {
		return nil, false
	}
	top := split(raw)
	fields, err := tool.SplitObject(top["properties"])
	if top == nil || err != nil && top["properties"] != nil || len(fields) > maxFormMembers {
		return nil, false
	}
	for _, name := range []string{"$ref", "allOf", "anyOf", "oneOf", "patternProperties"} {
		if top[name] != nil {
			return nil, false
		}
	}
	var required []string
	_ = json.Unmarshal(top["required"], &required) // other JSON requires nothing
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f.Key] {
			return nil, false
		}
		seen[f.Key] = true
		members = append(members, memberOf(f, slices.Contains(required, f.Key)))
	}
	for _, name := range required {
		if !seen[name] {
			return nil, false
		}
	}
	return members, true
}

// Check returns what is wrong with a value of the member. It passes over what it cannot check.
func (m Member) Check(value json.RawMessage) []fault.Argument {
	faults, _ := Validate(m.alone, tool.JoinObject([]tool.Field{{Key: m.Name, Value: value}}))
	return faults
}

func memberOf(f tool.Field, required bool) Member {
	s := split(f.Value)
	m := Member{Name: f.Key, Required: required, Title: tool.Text(s["title"]), Description: tool.Text(s["description"]),
		Default: s["default"], Format: tool.Text(s["format"])}
	if string(m.Default) == "null" {
		m.Default = nil
	}
	m.alone = tool.JoinObject([]tool.Field{
		{Key: "type", Value: json.RawMessage(`"object"`)},
		{Key: "properties", Value: tool.JoinObject([]tool.Field{f})},
	})
	m.Choices = choicesOf(s)
	switch typ := tool.Text(s["type"]); typ {
	case "string", "integer", "number", "boolean":
		m.Type = typ
	case "array":
		if m.Choices = choicesOf(split(s["items"])); m.Choices != nil {
			m.Type = typ
		}
	case "":
		if s["type"] == nil && m.Choices != nil {
			m.Type = "string"
		}
	}
	m.Limits = limitsOf(s, m.Type)
	return m
}

// choicesOf reads enum, with the titles of enumNames, or oneOf or anyOf of titled constants (SEP-1330).
func choicesOf(s map[string]json.RawMessage) []Choice {
	var choices []Choice
	if list, err := tool.SplitArray(s["enum"]); err == nil {
		var names []json.RawMessage
		names, _ = tool.SplitArray(s["enumNames"]) // without titles the values say enough
		for i, value := range list {
			c := Choice{Value: value, Text: bare(value)}
			if i < len(names) {
				c.Title = tool.Text(names[i])
			}
			choices = append(choices, c)
		}
		return choices
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		list, err := tool.SplitArray(s[key])
		if err != nil {
			continue
		}
		for _, raw := range list {
			one := split(raw)
			if one["const"] == nil {
				return nil
			}
			choices = append(choices, Choice{Value: one["const"], Text: bare(one["const"]), Title: tool.Text(one["title"])})
		}
	}
	return choices
}

// limitsOf describes the keywords that bound a value.
func limitsOf(s map[string]json.RawMessage, typ string) string {
	var list []string
	limit := func(before, keyword, after string) {
		if value := scalar(s[keyword]); value != "" {
			list = append(list, before+value+after)
		}
	}
	between := func(low, high, of string) {
		if least, most := scalar(s[low]), scalar(s[high]); least != "" && most != "" {
			list = append(list, least+" to "+most+of)
			return
		}
		limit("at least ", low, of)
		limit("at most ", high, of)
	}
	switch typ {
	case "string":
		between("minLength", "maxLength", " characters")
		if pattern := tool.Text(s["pattern"]); pattern != "" {
			list = append(list, "matching "+cut(pattern, 100))
		}
	case "integer", "number":
		between("minimum", "maximum", "")
		limit("more than ", "exclusiveMinimum", "")
		limit("less than ", "exclusiveMaximum", "")
		limit("a multiple of ", "multipleOf", "")
	case "array":
		between("minItems", "maxItems", " of them")
	}
	return strings.Join(list, ", ")
}

// scalar returns a number as it is written, if it is short enough to read. Else it is empty.
func scalar(raw json.RawMessage) string {
	if len(raw) == 0 || len(raw) > 24 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return ""
	}
	return string(raw)
}
