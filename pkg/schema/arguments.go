package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	js "github.com/google/jsonschema-go/jsonschema"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Arguments builds the arguments of a call: the members of the JSON object base (nil for none), each of which a pair
// replaces. The forms of a pair:
//
//	key=text       typed by the schema: a number, true, false, null, or JSON if the schema
//	               wants that, else a string; an array takes JSON, or the key repeated
//	key:=json      JSON as it stands
//	key=@file      the file's content: a string, or JSON if the schema wants no string
//	key:=@file     JSON from a file
//	key=@@text     a string that begins with @
//
// The key a.b means member b of a, unless the schema knows a key "a.b" or knows no object a. Text that does not have
// the type that the schema wants becomes a string, for [Validate] to explain. Numbers keep their spelling; keys keep
// the order of base, then of the pairs. readFile returns the content of a file.
//
// The error is a *fault.Fault of type Usage (a pair of another form) or InvalidArguments (all pairs that cannot be
// used). It never quotes the content of a file.
func Arguments(inputSchema, base []byte, pairs []string,
	readFile func(string) ([]byte, error)) (json.RawMessage, error) {
	b := argumentBuilder{readFile: readFile}
	if len(pairs) > 0 { // which the schema gives their types
		b.document = open(inputSchema)
	}
	args, err := baseObject(base)
	if err != nil {
		return nil, err
	}
	for _, text := range pairs {
		p, err := parsePair(text)
		if err != nil {
			return nil, err
		}
		path, s := b.resolve(b.root, p.key)
		args = b.set(args, path, path, s, p)
	}
	if len(b.faults) > 0 {
		f := fault.New(fault.InvalidArguments, b.message(),
			"Write key=value, key:=JSON, key=@FILE or key:=@FILE, or give the arguments as one JSON object.")
		f.Arguments = b.faults
		for _, cause := range b.causes {
			f.Because(cause)
		}
		return nil, f
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, tool.JoinObject(args)); err != nil { // each value was checked
		return nil, fault.From(err)
	}
	return compact.Bytes(), nil
}

// argumentBuilder applies pairs to an object and collects what is wrong with them.
type argumentBuilder struct {
	*document
	readFile func(string) ([]byte, error)
	faults   []fault.Argument
	causes   []error
	// given holds the pointers that pairs have set, to tell a repeated key from one of base.
	given []string
}

func (b *argumentBuilder) message() string {
	if len(b.faults) == 1 {
		return "The argument " + strings.TrimPrefix(b.faults[0].Pointer, "/") + " " + b.faults[0].Problem
	}
	return count(len(b.faults), "argument") + " cannot be used"
}

// baseObject reads the object that pairs change. If a key is repeated, the last one counts.
func baseObject(base []byte) ([]tool.Field, error) {
	if len(bytes.TrimSpace(base)) == 0 {
		return nil, nil
	}
	fields, err := tool.SplitObject(base)
	if err == nil {
		var object []tool.Field
		for _, f := range fields {
			object = put(object, f.Key, f.Value)
		}
		return object, nil
	}
	problem := "is " + describe(decode(base))
	if !errors.Is(err, tool.ErrNotObject) {
		problem = "is not valid JSON" + position(base)
	}
	f := fault.New(fault.InvalidArguments, "the arguments are not one JSON object: the text "+problem,
		"Give one JSON object, quoted for the shell as in '{\"key\": \"value\"}', or write key=value for each argument.")
	f.Arguments = []fault.Argument{{Problem: problem, Expected: "a JSON object"}}
	return nil, f
}

// position says where raw stops being JSON, without quoting it.
func position(raw []byte) string {
	var syntax *json.SyntaxError
	var v any
	if err := json.Unmarshal(raw, &v); errors.As(err, &syntax) {
		return fmt.Sprintf(" (at byte %d of %d)", syntax.Offset, len(raw))
	}
	return ""
}

// put sets a member of an object. A key that is there keeps its place.
func put(object []tool.Field, key string, value json.RawMessage) []tool.Field {
	for i := range object {
		if object[i].Key == key {
			object[i].Value = value
			return object
		}
	}
	return append(object, tool.Field{Key: key, Value: value})
}

func get(object []tool.Field, key string) json.RawMessage {
	for _, f := range object {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// pair is a key=value of the command line.
type pair struct {
	key, value string
	raw        bool // the form key:=
	file       bool // the value is the name of a file
}

func parsePair(text string) (pair, error) {
	key, value, ok := strings.Cut(text, "=")
	p := pair{key: key, value: value}
	if p.key, p.raw = strings.CutSuffix(key, ":"); !ok || p.key == "" {
		return p, fault.New(fault.Usage, fmt.Sprintf("%q is not of the form key=value", cut(text, 80)),
			"Write key=value, key:=JSON, key=@FILE or key:=@FILE, or give the arguments as one JSON object.")
	}
	if rest, at := strings.CutPrefix(value, "@"); at {
		if !p.raw && strings.HasPrefix(rest, "@") {
			p.value = rest
			return p, nil
		}
		if p.value, p.file = rest, true; rest == "" {
			return p, fault.New(fault.Usage, fmt.Sprintf("%q names no file after the @", text),
				fmt.Sprintf("Write %s=@FILE for the content of a file, or %s=@@ for the text @.", p.key, p.key))
		}
	}
	return p, nil
}

// resolve splits a key into the path that it means, and finds the schema at its end.
func (b *argumentBuilder) resolve(s *js.Schema, key string) ([]string, *js.Schema) {
	if sub := b.property(s, key); sub != nil {
		return []string{key}, sub
	}
	for i := len(key) - 1; i > 0; i-- {
		if key[i] != '.' || i == len(key)-1 {
			continue
		}
		if sub := b.property(s, key[:i]); sub != nil && b.takesObject(sub) {
			path, end := b.resolve(sub, key[i+1:])
			return append([]string{key[:i]}, path...), end
		}
	}
	for _, part := range b.parts(s) {
		if part.AdditionalProperties != nil && !isFalse(part.AdditionalProperties) {
			return []string{key}, part.AdditionalProperties
		}
	}
	return []string{key}, &js.Schema{}
}

func (b *argumentBuilder) takesObject(s *js.Schema) bool {
	types := b.types(s, 0)
	return len(types) == 0 || slices.Contains(types, "object")
}

// set puts the value of p into object at path. full is the whole path.
func (b *argumentBuilder) set(object []tool.Field, path, full []string, s *js.Schema, p pair) []tool.Field {
	if len(path) > 1 {
		inner, err := tool.SplitObject(get(object, path[0]))
		if err != nil { // absent or not an object: an object replaces it
			inner = nil
		}
		return put(object, path[0], tool.JoinObject(b.set(inner, path[1:], full, s, p)))
	}
	at := ""
	for _, segment := range full {
		at = pointer(at, segment)
	}
	value, ok := b.value(s, p, at)
	if !ok {
		return object
	}
	types := b.types(s, 0)
	takesArray := slices.Contains(types, "array")
	if slices.Contains(b.given, at) {
		if !takesArray {
			b.fail(at, "is given twice, and takes one value", nil)
			return object
		}
		return put(object, path[0], tool.JoinArray(append(elements(get(object, path[0])), elements(value)...)))
	}
	b.given = append(b.given, at)
	return put(object, path[0], value)
}

// elements returns the elements of an array. A single value counts as an array of one.
func elements(raw json.RawMessage) []json.RawMessage {
	if list, err := tool.SplitArray(raw); err == nil && raw[0] == '[' {
		return list
	}
	return []json.RawMessage{raw}
}

func (b *argumentBuilder) fail(at, problem string, cause error) {
	b.faults = append(b.faults, fault.Argument{Pointer: at, Problem: problem})
	if cause != nil {
		b.causes = append(b.causes, cause)
	}
}

// value returns the JSON value of p, typed by s.
func (b *argumentBuilder) value(s *js.Schema, p pair, at string) (json.RawMessage, bool) {
	text := p.value
	if p.file {
		content, err := b.readFile(p.value)
		if err != nil {
			b.fail(at, fmt.Sprintf("cannot be read from the file %q%s", p.value, missing(err, p)), err)
			return nil, false
		}
		text = string(content)
	}
	if !utf8.ValidString(text) {
		b.fail(at, "is not UTF-8 text", nil)
		return nil, false
	}
	types := b.types(s, 0)
	if p.raw || p.file && len(types) > 0 && !slices.Contains(types, "string") {
		text = strings.TrimSpace(text)
		if !json.Valid([]byte(text)) {
			b.fail(at, "is not valid JSON"+position([]byte(text)), nil)
			return nil, false
		}
		return json.RawMessage(text), true
	}
	if p.file {
		return tool.Quote(text), true
	}
	return b.typed(s, types, text), true
}

func missing(err error, p pair) string {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf(": there is no such file (for the text itself write %s=@@%s)", p.key, p.value)
	}
	return ""
}

// typed turns text into a value of one of the types. If none of them takes it, it becomes a string.
func (b *argumentBuilder) typed(s *js.Schema, types []string, text string) json.RawMessage {
	if allowed := b.allowed(s, text); allowed != nil {
		return allowed
	}
	if isValueOf(types, text) {
		return json.RawMessage(text)
	}
	if slices.Contains(types, "array") && !slices.Contains(types, "string") {
		return tool.JoinArray(elements(b.element(s, text)))
	}
	return tool.Quote(text)
}

// allowed returns the value that s allows (enum, const) and that is written as text. It is nil if there is none.
func (b *argumentBuilder) allowed(s *js.Schema, text string) json.RawMessage {
	for _, part := range b.parts(s) {
		for _, allowed := range valuesOf(part) {
			if raw := encode(allowed); bare(raw) == text {
				return raw
			}
		}
	}
	return nil
}

// isValueOf reports whether text is JSON of one of the types, strings aside. If no string is allowed, a fraction
// counts as an integer, so that the fault is about the number. Without types it accepts objects and arrays.
func isValueOf(types []string, text string) bool {
	has := func(typ string) bool { return slices.Contains(types, typ) }
	switch {
	case text == "null":
		return has("null")
	case text == "true" || text == "false":
		return has("boolean")
	case number(text):
		return has("number") || has("integer") && (jsonType(plainNumber(text)) == "integer" || !has("string"))
	case !json.Valid([]byte(text)):
		return false
	}
	switch strings.TrimSpace(text)[0] { // text is JSON, which is never empty
	case '{':
		return has("object") || len(types) == 0
	case '[':
		return has("array") || len(types) == 0
	}
	return false
}

// element types the text of one array element by the schema of the items.
func (b *argumentBuilder) element(s *js.Schema, text string) json.RawMessage {
	parts := b.parts(s)
	for _, part := range slices.Concat(parts, b.branches(parts)) {
		if part.Items == nil {
			continue
		}
		types := b.types(part.Items, 0)
		if slices.Contains(types, "array") { // a single value does not stand for nested arrays
			break
		}
		return b.typed(part.Items, types, text)
	}
	return tool.Quote(text)
}

func number(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text)) &&
		strings.TrimSpace(text) == text
}
