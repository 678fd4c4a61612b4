// Package schema says what a tool's input schema means to a caller.
//
// [Signature] and [Params] describe the parameters, [Example] makes arguments, [Arguments] types them from the
// command line, and [Validate] finds every fault of a set of arguments at once, of which [Fault] makes one error with
// a remedy. The package reads JSON Schema as strangers send it: raw bytes, any draft from 04 to 2020-12, often
// sloppy. It reads an odd schema as far as it can and does not assert what it does not understand: a tool never
// becomes uncallable because of its schema. It never fetches anything. google/jsonschema-go gives the verdict on
// arguments, this package the explanation. Callers decide whether to check arguments at all, and send them.
package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	js "github.com/google/jsonschema-go/jsonschema"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Param is one top-level parameter of a tool, for people and models to read.
type Param struct {
	Name string
	// Type is compact: string, integer, number, boolean, null, object, any, T[], A|B for unions, and the values
	// themselves, joined by |, if they are few and short.
	Type     string
	Required bool
	// Default is the default value: a string without quotes, anything else as JSON. It is empty if there is none.
	Default     string
	Description string
	// Enum lists the allowed values of the parameter, or of its items if it is an array.
	Enum []string
}

// Limits of what a signature shows.
const (
	maxSignature = 200 // bytes, before the count of the rest
	maxLong      = 2000
	maxEnum      = 5  // values of an enum written out
	maxEnumText  = 40 // bytes of such values, joined
	maxTypeText  = 60 // bytes of any other type
	maxTypeDepth = 4  // levels of unions and arrays that a type is written with
	maxBranches  = 40 // members of a union that are considered
)

// Params returns the top-level parameters in the schema's own order. Parameters from $ref, allOf, anyOf or oneOf
// follow those of the schema itself. Required names that the schema does not describe come last. It returns what it can
// read of an odd schema.
func Params(inputSchema []byte) (params []Param) {
	d := open(inputSchema)
	for _, p := range d.properties(d.root).list {
		param := Param{Name: p.name, Type: d.typeOf(p.schema, 0), Required: p.required, Description: p.schema.Title,
			Enum: d.enumOf(p.schema)}
		for _, part := range slices.Backward(d.parts(p.schema)) {
			if part.Default != nil {
				param.Default = bare(part.Default)
			}
			if part.Description != "" {
				param.Description = part.Description
			}
		}
		params = append(params, param)
	}
	return params
}

// Signature returns the parameters on one line, as in "owner: string, repo: string, state?: open|closed, labels?:
// string[]": required ones first, then in the schema's order. Beyond about 200 bytes it ends with the count of the
// omitted parameters ("… +12"). It is empty for a tool without parameters.
func Signature(params []Param) string { return signature(params, maxSignature) }

// LongSignature is [Signature] with room for 2,000 bytes, for readers who see no other description.
func LongSignature(params []Param) string { return signature(params, maxLong) }

func signature(params []Param, room int) string {
	var parts []string
	for _, required := range []bool{true, false} {
		for _, p := range params {
			if p.Required == required {
				parts = append(parts, p.signature())
			}
		}
	}
	var b strings.Builder
	for i, part := range parts {
		if i > 0 && b.Len()+2+len(part) > room {
			fmt.Fprintf(&b, ", … +%d", len(parts)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(part)
	}
	return b.String()
}

func (p Param) signature() string {
	name := p.Name
	if name == "" || len(name) > maxSignature || strings.ContainsAny(name, " ,:?|\"\t\r\n") {
		name = string(tool.Quote(cut(name, maxSignature/2)))
	}
	if p.Required {
		return name + ": " + p.Type
	}
	// A caller may omit an optional parameter, so that a null type adds nothing.
	return name + "?: " + strings.TrimSuffix(strings.TrimPrefix(p.Type, "null|"), "|null")
}

// typeOf returns the compact type of s; see [Param].
func (d *document) typeOf(s *js.Schema, depth int) string {
	if depth > maxTypeDepth || !d.spend(1) {
		return "any"
	}
	for _, part := range d.parts(s) {
		if text := shortEnum(valuesOf(part)); text != "" {
			return text
		}
	}
	for _, part := range d.parts(s) {
		if typ := d.plainType(part, depth); typ != "any" {
			return typ
		}
	}
	return "any"
}

// plainType is typeOf for the keywords of s alone.
func (d *document) plainType(s *js.Schema, depth int) string {
	var union []string
	add := func(typ string) {
		if !slices.Contains(union, typ) {
			union = append(union, typ)
		}
	}
	types := typesOf(s)
	for _, typ := range types {
		if typ == "array" {
			typ = d.arrayType(s, depth)
		}
		add(typ)
	}
	branches := s.AnyOf
	if len(branches) == 0 {
		branches = s.OneOf
	}
	if len(types) == 0 && len(branches) <= maxBranches {
		for _, branch := range branches {
			add(d.typeOf(branch, depth+1))
		}
	}
	if len(union) == 0 {
		return impliedType(s)
	}
	if slices.Contains(union, "any") {
		return "any"
	}
	if text := strings.Join(union, "|"); len(union) == 1 || len(text) <= maxTypeText {
		return text
	}
	if len(types) > 0 {
		return strings.Join(types, "|")
	}
	return "any"
}

func (d *document) arrayType(s *js.Schema, depth int) string {
	if s.Items == nil || len(s.PrefixItems) > 0 {
		return "array"
	}
	elem := d.typeOf(s.Items, depth+1)
	switch {
	case elem == "any":
		return "array"
	case strings.Contains(elem, "|"):
		return "(" + elem + ")[]"
	}
	return elem + "[]"
}

// impliedType guesses the type of a schema without one from the keywords that it uses.
func impliedType(s *js.Schema) string {
	switch values := valuesOf(s); {
	case len(values) > 0:
		typ := jsonType(values[0])
		for _, v := range values {
			if jsonType(v) != typ {
				return "any"
			}
		}
		return typ
	case s.Properties != nil || len(s.Required) > 0 || s.PatternProperties != nil:
		return "object"
	case s.Items != nil || len(s.PrefixItems) > 0:
		return "array"
	case isFalse(s):
		return "never"
	}
	return "any"
}

func typesOf(s *js.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

// valuesOf returns the values that const or enum allow, or a choice of constants (which may have titles). If nil, all
// values are allowed.
func valuesOf(s *js.Schema) []any {
	switch {
	case s.Const != nil:
		return []any{*s.Const}
	case s.Enum != nil:
		return s.Enum
	}
	branches := s.OneOf
	if len(branches) == 0 {
		branches = s.AnyOf
	}
	var values []any
	for _, branch := range branches {
		if branch.Const == nil || len(branches) > maxBranches {
			return nil
		}
		values = append(values, *branch.Const)
	}
	return values
}

// shortEnum joins values by | if they are few and short. Else it is empty.
func shortEnum(values []any) string {
	if len(values) == 0 || len(values) > maxEnum {
		return ""
	}
	texts := make([]string, len(values))
	for i, v := range values {
		if texts[i] = bare(encode(v)); texts[i] == "" || strings.ContainsAny(texts[i], "|, \t\r\n{[") {
			return ""
		}
	}
	if text := strings.Join(texts, "|"); len(text) <= maxEnumText {
		return text
	}
	return ""
}

func (d *document) enumOf(s *js.Schema) []string {
	for _, part := range d.parts(s) {
		values := valuesOf(part)
		if len(values) == 0 && part.Items != nil {
			for _, item := range d.parts(part.Items) {
				values = append(values, valuesOf(item)...)
			}
		}
		if len(values) > 0 {
			texts := make([]string, len(values))
			for i, v := range values {
				texts[i] = bare(encode(v))
			}
			return texts
		}
	}
	return nil
}

// bare renders a JSON value for reading: a string without its quotes unless it is empty.
func bare(raw json.RawMessage) string {
	var s string
	if len(raw) > 2 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
