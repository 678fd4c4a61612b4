package typegen

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Limits of a type. Types beyond them are any.
const (
	maxDepth   = 8       // levels of schemas within each other, through references too
	maxMembers = 500     // of a union or a list of literals
	maxText    = 1000    // bytes of a list of literals
	maxRoom    = 1 << 16 // bytes of a tool's types
)

// reader makes types of a schema.
type reader struct {
	root []byte
	// children holds the members that references led through, by JSON pointer.
	children map[string]map[string]json.RawMessage
	// active are the references that are being followed.
	active []string
	// work is the rest of the bytes that may be read, room of those that may be written.
	work, room int
}

// newReader returns a reader of a schema; nil if it is not JSON.
func newReader(root []byte) *reader {
	if !json.Valid(root) {
		return nil
	}
	return &reader{root: root, children: map[string]map[string]json.RawMessage{}, work: 20_000 + 4*maxDepth*len(root),
		room: min(4000+2*len(root), maxRoom)}
}

// schema is the keywords of a schema object, each once.
type schema map[string]json.RawMessage

// fields returns the members of an object; nil for other values, and at the end of the budget.
func (r *reader) fields(raw []byte) []tool.Field {
	if r.work -= len(raw); r.work < 0 || len(raw) == 0 {
		return nil
	}
	fields, err := tool.SplitValid(raw)
	if err != nil {
		return nil
	}
	return fields
}

func (r *reader) list(raw []byte) []json.RawMessage {
	if r.work -= len(raw); r.work < 0 || len(raw) == 0 {
		return nil
	}
	return tool.SplitValidArray(raw)
}

// typ returns the type of a schema at a depth.
func (r *reader) typ(raw []byte, depth int) *node {
	switch strings.TrimSpace(string(raw[:min(len(raw), 8)])) {
	case "false":
		return leaf("never")
	case "true":
		return leaf("any")
	}
	if r.room -= 8; depth > maxDepth || r.room < 0 {
		return leaf("any")
	}
	s := schema{}
	for _, f := range r.fields(raw) {
		s[f.Key] = f.Value
	}
	parts := []*node{r.own(s, depth)}
	if ref := text(s["$ref"]); ref != "" {
		parts = append(parts, r.follow(ref, depth))
	}
	for _, sub := range r.list(s["allOf"]) {
		parts = append(parts, r.typ(sub, depth+1))
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := r.list(s[key]); len(branches) > 0 && len(branches) <= maxMembers {
			var types []*node
			for _, sub := range branches {
				types = append(types, r.typ(sub, depth+1))
			}
			parts = append(parts, union(types))
		}
	}
	n := intersection(parts)
	if string(s["nullable"]) == "true" && !n.isAny() { // of OpenAPI
		n = union([]*node{n, leaf("null")})
	}
	return n
}

// own returns the type that the keywords of s give that hold no alternatives.
func (r *reader) own(s schema, depth int) *node {
	if value, ok := s["const"]; ok {
		return r.literals([]json.RawMessage{value}, s)
	}
	if values := r.list(s["enum"]); len(values) > 0 {
		return r.literals(values, s)
	}
	names := []string{text(s["type"])}
	if len(s["type"]) > 0 && s["type"][0] == '[' {
		names = nil
		for _, name := range r.list(s["type"]) {
			names = append(names, text(name))
		}
	}
	var types []*node
	for _, name := range names[:min(len(names), maxMembers)] {
		types = append(types, r.named(name, s, depth))
	}
	return union(types)
}

// named returns the type of a name of the keyword type; "" is that of a schema without it.
func (r *reader) named(name string, s schema, depth int) *node {
	switch name {
	case "string", "boolean", "null", "number":
		return leaf(name)
	case "integer":
		return leaf("number")
	case "array":
		return r.array(s, depth)
	case "object":
		return r.object(s, depth)
	case "":
		if s["properties"] != nil {
			return r.object(s, depth)
		}
		if s["items"] != nil || s["prefixItems"] != nil {
			return r.array(s, depth)
		}
	}
	return leaf("any")
}

// literals returns the union of values. If it is too long, it is the type that the schema names, or any.
func (r *reader) literals(values []json.RawMessage, s schema) *node {
	size := 0
	var parts []*node
	for _, v := range values {
		written := string(v)
		switch {
		case len(v) == 0 || v[0] == '{' || v[0] == '[':
			return leaf("any")
		case v[0] == '"':
			written = string(tool.Quote(tool.Text(v)))
		}
		if size += len(written); size > maxText || len(parts) >= maxMembers {
			return r.own(schema{"type": s["type"]}, maxDepth)
		}
		parts = append(parts, leaf(written))
	}
	r.room -= size
	return union(parts)
}

func (r *reader) array(s schema, depth int) *node {
	items, prefix := s["items"], s["prefixItems"]
	if len(items) > 0 && items[0] == '[' { // before 2020-12
		items, prefix = s["additionalItems"], items
	}
	elem := leaf("any")
	if items != nil {
		elem = r.typ(items, depth+1)
	}
	elems := r.list(prefix)
	if len(elems) == 0 || len(elems) > maxMembers {
		return arrayOf(elem)
	}
	var parts []*node
	for _, e := range elems {
		parts = append(parts, r.typ(e, depth+1))
	}
	if elem.text != "never" {
		parts = append(parts, joined("", []*node{leaf("..."), arrayOf(elem)}))
	}
	return joined(", ", parts)
}

func (r *reader) object(s schema, depth int) *node {
	required := map[string]bool{}
	for _, name := range r.list(s["required"]) {
		required[text(name)] = true
	}
	var members []member
	seen := map[string]bool{}
	for _, f := range r.fields(s["properties"]) {
		if r.room -= len(f.Key) + 4; r.room < 0 {
			break
		}
		if seen[f.Key] {
			continue
		}
		seen[f.Key] = true
		m := member{name: name(f.Key), required: required[f.Key], typ: r.typ(f.Value, depth+1), doc: r.doc(f.Value)}
		if !m.required {
			m.name += "?"
		}
		members = append(members, m)
	}
	more := s["additionalProperties"]
	switch {
	case string(more) == "false":
		return object(members)
	case len(members) == 0 && more == nil:
		return leaf("Record<string, any>")
	case len(members) == 0:
		return object([]member{{name: "[key: string]", typ: r.typ(more, depth+1)}})
	case len(more) > 0 && (more[0] == '{' || string(more) == "true"): // any, since it holds for the named ones too
		members = append(members, member{name: "[key: string]", typ: leaf("any")})
	}
	return object(members)
}

// doc returns the description of a parameter, with its default.
func (r *reader) doc(raw []byte) string {
	var doc, value string
	for _, f := range r.fields(raw) {
		switch f.Key {
		case "description":
			doc = line(tool.Text(f.Value), maxNote)
		case "default":
			value = line(string(f.Value), maxNote/2)
		}
	}
	switch {
	case value != "" && doc != "":
		doc = strings.TrimSuffix(doc, ".") + "; default " + value
	case value != "":
		doc = "Default " + value
	}
	r.room -= len(doc)
	return doc
}

// follow returns the type that a local reference leads to: any if it leads back to itself.
func (r *reader) follow(ref string, depth int) *node {
	if slices.Contains(r.active, ref) {
		return leaf("any")
	}
	raw := r.lookup(ref)
	if raw == nil {
		return leaf("any")
	}
	r.active = append(r.active, ref)
	defer func() { r.active = r.active[:len(r.active)-1] }()
	return r.typ(raw, depth+1)
}

// lookup follows a JSON pointer (RFC 6901) through the schema; nil if it leads nowhere.
func (r *reader) lookup(ref string) []byte {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' {
		return nil
	}
	if plain, err := url.PathUnescape(path); err == nil { // else the percent signs stand for themselves
		path = plain
	}
	raw, at := json.RawMessage(r.root), ""
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		children, known := r.children[at]
		if !known {
			children = r.split(raw)
			r.children[at] = children
		}
		if raw = children[strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)]; raw == nil {
			return nil
		}
		at += "/" + segment
	}
	return raw
}

func (r *reader) split(raw []byte) map[string]json.RawMessage {
	children := map[string]json.RawMessage{}
	for _, f := range r.fields(raw) {
		children[f.Key] = f.Value
	}
	if len(children) == 0 {
		for i, elem := range r.list(raw) {
			children[strconv.Itoa(i)] = elem
		}
	}
	return children
}

// text returns a JSON string, "" for anything else.
func text(raw []byte) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	return tool.Text(raw)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
