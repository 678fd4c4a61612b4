// Package tool holds the nouns that every package shares: the reference to a tool ([Ref]), its definition as the
// server sent it ([Def], read with [Parse]), the result of a call ([Result]), and the [Audience] that a call reports
// to. Resources and prompts, which servers offer beside tools, have the same nouns and another [Kind].
//
// Definitions stay byte for byte: a JSON Schema that went through a Go struct loses keywords, key order and number
// formats, and a model then sees another tool than the one its server describes. Only icons and _meta are not shown to
// callers: they never help.
package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Kind is the kind of a definition or of a reference. The zero Kind is a tool.
type Kind string

// The kinds of things that servers offer.
const (
	Tool     Kind = ""
	Resource Kind = "resource" // the thing that a URI names
	Template Kind = "template" // resources whose URIs follow a pattern (RFC 6570)
	Prompt   Kind = "prompt"
)

// String returns the word for a kind.
func (k Kind) String() string {
	if k == Tool {
		return "tool"
	}
	return string(k)
}

// Verb returns the verb of mcpl that uses a thing of the kind.
func (k Kind) Verb() string {
	switch k {
	case Resource, Template:
		return "read"
	case Prompt:
		return "prompt"
	}
	return "call"
}

// Ref names a tool of a server, or one of its prompts by its name, or a resource by its URI.
type Ref struct {
	Server string `json:"server"`
	Name   string `json:"tool"`
	Kind   Kind   `json:"-"`
}

// String returns "server/name".
func (r Ref) String() string { return r.Server + "/" + r.Name }

// Tool returns the name of a tool. It is empty if r names something else.
func (r Ref) Tool() string {
	if r.Kind != Tool {
		return ""
	}
	return r.Name
}

// Def is the definition of a tool (MCP 2025-11-25, server/tools, "Tool"), or of a prompt or resource (server/prompts,
// server/resources). The raw fields are the server's own bytes. They are nil if the server sent none.
type Def struct {
	Kind Kind
	// Name is the Name of a [Ref] to it: for a resource its URI, for a template its pattern.
	Name        string
	Title       string
	Description string
	// InputSchema of a prompt is made from its arguments, all of which are strings.
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	Annotations  json.RawMessage
	// Fields holds all members of the definition, in the server's order.
	Fields []Field
}

// Field is one member of a JSON object, its value byte for byte.
type Field struct {
	Key   string
	Value json.RawMessage
	// Written is the key as an object that was split has it, if [Quote] would write it otherwise.
	Written json.RawMessage
}

// ErrNotObject says that a definition is not a JSON object.
var ErrNotObject = errors.New("not a JSON object")

// parse reads the members that the definitions of all kinds share, and the schemas of tools.
func parse(raw []byte) (Def, error) {
	fields, err := SplitObject(raw)
	if err != nil {
		return Def{}, err
	}
	var d Def
	for _, f := range fields {
		switch f.Key {
		case "name":
			d.Name = Text(f.Value)
		case "title":
			d.Title = Text(f.Value)
		case "description":
			d.Description = Text(f.Value)
		case "inputSchema":
			d.InputSchema = f.Value
		case "outputSchema":
			d.OutputSchema = f.Value
		case "annotations":
			d.Annotations = f.Value
		}
		d.Fields = append(d.Fields, f)
	}
	return d, nil
}

// Shown returns the members that a caller sees: all but icons and _meta.
func (d Def) Shown() []Field {
	return slices.DeleteFunc(slices.Clone(d.Fields), func(f Field) bool { return f.Key == "icons" || f.Key == "_meta" })
}

// Raw returns the definition as a caller sees it, as one JSON object, its values byte for byte. If a key is repeated,
// only its last value counts, but Raw keeps all of them.
func (d Def) Raw() []byte { return JoinObject(d.Shown()) }

// Whole returns all of the definition.
func (d Def) Whole() []byte { return JoinObject(d.Fields) }

// DisplayTitle returns the definition's own title, else the one in its annotations (its place before 2025-06-18). It
// may be empty.
func (d Def) DisplayTitle() string {
	if d.Title != "" {
		return d.Title
	}
	return d.Hints().Title
}

// Hints are a tool's annotations, decoded. A nil hint was not given. The protocol's defaults are readOnly false,
// destructive true, idempotent false, openWorld true.
type Hints struct {
	Title       string `json:"title"`
	ReadOnly    *bool  `json:"readOnlyHint"`
	Destructive *bool  `json:"destructiveHint"`
	Idempotent  *bool  `json:"idempotentHint"`
	OpenWorld   *bool  `json:"openWorldHint"`
}

// Hints decodes the annotations. It ignores annotations that do not follow the protocol.
func (d Def) Hints() Hints {
	var h Hints
	if json.Unmarshal(d.Annotations, &h) != nil {
		return Hints{}
	}
	return h
}

// Tokens estimates the tokens that the definition costs a model: one for every four bytes of its JSON, the rule of
// thumb for English text and JSON.
func (d Def) Tokens() int { return (len(d.Raw()) + 3) / 4 }

// Result is the outcome of tools/call. Raw is the result object as the server sent it.
type Result struct {
	Raw     json.RawMessage
	IsError bool
}

// SplitObject returns the members of a JSON object in order, values byte for byte (aliasing raw). It fails with
// [ErrNotObject] if raw is other JSON, and with a syntax error if raw is not JSON.
func SplitObject(raw []byte) ([]Field, error) {
	if !json.Valid(raw) {
		var v any
		return nil, fmt.Errorf("not JSON: %w", json.Unmarshal(raw, &v))
	}
	return SplitValid(raw)
}

// SplitValid is [SplitObject] for bytes that are known to be JSON, as every value within a split object is. It does not
// check them again: at each level of a deep object that would cost as much as the object is deep.
func SplitValid(raw []byte) ([]Field, error) {
	raw = bytes.TrimSpace(raw)
	if raw[0] != '{' {
		return nil, ErrNotObject
	}
	var fields []Field
	for i := nextValue(raw, 1); raw[i] != '}'; {
		end := valueEnd(raw, i)
		f := Field{Key: Text(raw[i:end])}
		if !isPlain(raw[i:end]) && !bytes.Equal(Quote(f.Key), raw[i:end]) {
			f.Written = raw[i:end:end]
		}
		i = nextValue(raw, end)
		end = valueEnd(raw, i)
		f.Value = raw[i:end:end]
		fields = append(fields, f)
		i = nextValue(raw, end)
	}
	return fields, nil
}

// isPlain reports whether a JSON string is ASCII without escapes, which can be written in one way only.
func isPlain(quoted []byte) bool {
	return !slices.ContainsFunc(quoted, func(c byte) bool { return c == '\\' || c >= utf8.RuneSelf })
}

// SplitArray returns the elements of a JSON array, byte for byte (aliasing raw).
func SplitArray(raw []byte) ([]json.RawMessage, error) {
	// encoding/json copies the bytes of a RawMessage unchanged when decoding.
	var elems []json.RawMessage
	err := json.Unmarshal(raw, &elems)
	return elems, err
}

// SplitValidArray is [SplitArray] for bytes that are known to be JSON. It returns nil if they are not an array.
func SplitValidArray(raw []byte) []json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if raw[0] != '[' {
		return nil
	}
	elems := []json.RawMessage{}
	for i := nextValue(raw, 1); raw[i] != ']'; {
		end := valueEnd(raw, i)
		elems = append(elems, raw[i:end:end])
		i = nextValue(raw, end)
	}
	return elems
}

// JoinArray is the inverse of [SplitArray].
func JoinArray(elems []json.RawMessage) json.RawMessage {
	array := []byte{'['}
	for i, elem := range elems {
		if i > 0 {
			array = append(array, ',')
		}
		array = append(array, elem...)
	}
	return append(array, ']')
}

// JoinObject is the inverse of [SplitObject]. Unlike encoding/json it neither compacts nor escapes the values.
func JoinObject(fields []Field) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		if f.Written != nil {
			b.Write(f.Written)
		} else {
			b.Write(Quote(f.Key))
		}
		b.WriteByte(':')
		b.Write(f.Value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// Quote returns s as a JSON string (RFC 8259, section 7), as encoding/json does without its HTML escapes: bytes that
// are not UTF-8 become U+FFFD. It spares a search the start of encoding/json.
func Quote(s string) []byte {
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	for _, r := range s { // of invalid bytes range makes U+FFFD
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r < 0x20 || r == 0x2028 || r == 0x2029: // these two are line ends in old JavaScript
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// Text decodes a JSON string. For other values it is empty.
func Text(raw []byte) string {
	if text, ok := plainText(raw); ok {
		return text
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// plainText returns what stands in a JSON string of ASCII without escapes, as most are, for which encoding/json takes
// several times as long. ok is false for all else.
func plainText(raw []byte) (text string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	inner := raw[1 : len(raw)-1]
	for _, c := range inner {
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return "", false
		}
	}
	return string(inner), true
}

// The scanners below walk JSON that json.Valid has accepted, so they need not check again.

// nextValue returns where the next key or value begins, or the object ends.
func nextValue(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r' || b[i] == ':' || b[i] == ',' {
		i++
	}
	return i
}

// valueEnd returns the end of the key or value that begins at i, inside an object.
func valueEnd(b []byte, i int) int {
	for depth := 0; ; i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
		case ' ', '\t', '\n', '\r', ':', ',':
			if depth == 0 {
				return i
			}
		}
	}
}
