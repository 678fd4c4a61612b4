package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	js "github.com/google/jsonschema-go/jsonschema"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Limits against hostile schemas.
const (
	maxNesting = 200  // levels of objects and arrays; deeper schemas are not used at all
	maxTargets = 1000 // schemas that references lead to; further ones are not asserted
	// maxPatterns bounds the patterns that are compiled, in bytes: eight bytes can make a program of 40 kB.
	maxPatterns = 64 << 10
	// maxQueued is how many bytes the schemas that references lead to may have. They may lie within each other.
	maxQueued = 1 << 20
)

// parser rewrites a stranger's schema into 2020-12 as the library takes it: references are local and of one form,
// older spellings are translated, and keywords with meaningless values are dropped. The library would refuse the
// whole schema because of one of them.
type parser struct {
	raw []byte
	// old says that the draft is 07 or older, in which everything beside a $ref is ignored.
	old bool
	// id is the root's own name, which its references may start with.
	id string
	// keys maps a reference to the target it has become; queue holds the raw targets.
	keys  map[string]string
	queue [][]byte
	// children holds the objects and arrays that references led through, by JSON pointer.
	children map[string]map[string]json.RawMessage
	// queued is the size of all targets but the root.
	queued int
	// regexps holds the patterns met so far, nil for those that do not compile. patterns is their size.
	regexps  map[string]*regexp.Regexp
	patterns int
	// refers says that there is a $ref at all.
	refers bool
	// lax says that a part was dropped that may have had a meaning.
	lax bool
}

// check reports whether there is a schema at all, and reads the keywords that hold for all of it.
func (p *parser) check() error {
	trimmed := bytes.TrimSpace(p.raw)
	switch {
	case len(trimmed) == 0:
		return errors.New("the tool has no input schema")
	case !json.Valid(trimmed):
		return errors.New("the input schema is not JSON")
	case nesting(trimmed) > maxNesting:
		return errors.New("the input schema is nested too deeply")
	case string(trimmed) == "true" || string(trimmed) == "false":
		return nil
	}
	fields, err := tool.SplitObject(trimmed)
	if err != nil {
		return errors.New("the input schema is not a JSON object")
	}
	for _, f := range fields {
		switch f.Key {
		case "$schema":
			p.old = strings.Contains(tool.Text(f.Value), "json-schema.org/draft-0")
		case "$id", "id":
			p.id = strings.TrimSuffix(tool.Text(f.Value), "#")
		}
	}
	return nil
}

// parse returns the targets of the document; the root is the first.
func (p *parser) parse() map[string]*js.Schema {
	p.queue = [][]byte{p.raw}
	p.keys = map[string]string{"#": targetRef(0)}
	p.children = map[string]map[string]json.RawMessage{}
	p.regexps = map[string]*regexp.Regexp{}
	targets := map[string]*js.Schema{}
	for i := 0; i < len(p.queue); i++ { // the queue grows while references are met
		targets[targetRef(i)] = p.schema(p.queue[i], i == 0, false)
	}
	return targets
}

// schema reads one schema. root says that it is the whole document. foreign says that it is below a schema with a
// name of its own, where local references mean something else.
func (p *parser) schema(raw []byte, root, foreign bool) *js.Schema {
	raw = bytes.TrimSpace(raw)
	switch string(raw) {
	case "true":
		return &js.Schema{}
	case "false":
		return falseSchema()
	}
	fields, err := tool.SplitValid(raw)
	if err != nil {
		p.lax = true
		return &js.Schema{}
	}
	s := &js.Schema{}
	k := keywords{parser: p, s: s, foreign: foreign}
	for _, f := range fields {
		if f.Key == "$id" && !root && !strings.HasPrefix(tool.Text(f.Value), "#") {
			k.foreign = true
		}
	}
	for _, f := range fields {
		k.read(f)
	}
	k.finish()
	return s
}

// reference returns the target of ref. It is empty if ref cannot be resolved.
func (p *parser) reference(ref string, foreign bool) string {
	p.refers = true
	if p.id != "" {
		if rest, ok := strings.CutPrefix(ref, p.id); ok && (rest == "" || rest[0] == '#') {
			ref = "#" + strings.TrimPrefix(rest, "#")
		}
	}
	if key, ok := p.keys[ref]; ok && !foreign {
		return key
	}
	raw := p.lookup(ref)
	p.queued += len(raw)
	if raw == nil || foreign || len(p.queue) >= maxTargets || p.queued > maxQueued+4*len(p.raw) {
		p.lax = true
		return ""
	}
	key := targetRef(len(p.queue))
	p.keys[ref] = key
	p.queue = append(p.queue, raw)
	return key
}

// lookup follows a local reference such as "#/$defs/a~1b" through the schema. It is nil if the reference leads
// nowhere. It does not know names of anchors.
func (p *parser) lookup(ref string) []byte {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	if plain, err := url.PathUnescape(path); err == nil { // else the percent signs stand for themselves
		path = plain
	}
	raw, at := json.RawMessage(p.raw), ""
	for _, segment := range strings.Split(path, "/") {
		children, known := p.children[at]
		if !known {
			children = split(raw)
			p.children[at] = children
		}
		raw = children[strings.ReplaceAll(strings.ReplaceAll(segment, "~1", "/"), "~0", "~")]
		if raw == nil {
			return nil
		}
		at += "/" + segment
	}
	return raw
}

// split returns the members of an object by name, or the elements of an array by number. It is nil for other values.
func split(raw []byte) map[string]json.RawMessage {
	fields, err := tool.SplitObject(raw)
	if err != nil {
		elems, err := tool.SplitArray(raw)
		if err != nil {
			return nil
		}
		for i, elem := range elems {
			fields = append(fields, tool.Field{Key: strconv.Itoa(i), Value: elem})
		}
	}
	children := make(map[string]json.RawMessage, len(fields))
	for _, f := range fields {
		children[f.Key] = f.Value
	}
	return children
}

// falseMark is the comment that marks the schema false, since the library's form of it, {"not": {}}, may also be the
// rest of a negation that was not understood.
const falseMark = "false"

// falseSchema is the schema that accepts nothing.
func falseSchema() *js.Schema { return &js.Schema{Comment: falseMark, Not: &js.Schema{}} }

func isFalse(s *js.Schema) bool { return s.Comment == falseMark }

// compiles reports whether Go's regular expressions can check the pattern. Patterns are written for JavaScript; those
// with look-ahead cannot be checked here.
func (p *parser) compiles(pattern string) bool {
	if re, known := p.regexps[pattern]; pattern == "" || known {
		return pattern == "" || re != nil
	}
	if p.patterns += len(pattern); p.patterns > maxPatterns {
		return false
	}
	p.regexps[pattern], _ = regexp.Compile(pattern) // nil if it fails
	return p.regexps[pattern] != nil
}

func sortedValues(m map[string]*js.Schema) (values []*js.Schema) {
	for _, key := range sortedKeys(m) {
		values = append(values, m[key])
	}
	return values
}
