package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/tailscale/hujson"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// maxDepth bounds how deep objects and arrays of a file may be nested, since the parser recurses.
const maxDepth = 1000

// parser reads one configuration file and collects what is wrong with it.
type parser struct {
	path     string
	data     []byte
	problems []Problem
}

// member is one member of a JSON object.
type member struct {
	key   string
	at    int // offset of the key
	value hujson.ValueTrimmed
}

// sections returns the keys of a file that hold servers: most clients' and VS Code's.
func sections() []string { return []string{"mcpServers", "servers"} }

// parseFile reads the bytes of a configuration file: JSON, or JSON with comments and trailing commas, with the servers
// under "mcpServers" or, as VS Code has it, "servers". It fails with a fault.Config if the bytes are not such JSON.
func parseFile(path string, data []byte) ([]*Server, []Problem, error) {
	p := &parser{path: path, data: data}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil, fault.New(fault.Config, path+":1: the file is empty",
			"Put your servers into it, for a start:\n"+minimal)
	}
	root, err := p.parse()
	if err != nil {
		return nil, nil, err
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		p.problem(Error, root.StartOffset, "", "the file holds "+kind(root.Value)+", not an object",
			"Write it as in:\n"+minimal)
		return nil, p.problems, nil
	}
	top := p.members(object, "")
	var list []*Server
	found := false
	for _, key := range sections() {
		i := slices.IndexFunc(top, func(m member) bool { return m.key == key })
		if i < 0 {
			continue
		}
		found = true
		servers, ok := top[i].value.(*hujson.Object)
		if !ok {
			p.problem(Error, top[i].at, "", fmt.Sprintf("%q is %s, not an object", key, kind(top[i].value)),
				"Write it as in:\n"+minimal)
			continue
		}
		for _, m := range p.members(servers, "") {
			if s := p.entry(m); s != nil {
				list = append(list, s)
			}
		}
	}
	if !found {
		p.withoutServers(top)
	}
	return list, p.problems, nil
}

// ParseEntries reads server entries that a person pastes, by name: one entry, which gets the name, or the object of
// servers of a file, with or without its "mcpServers". The problems are warnings about what a file made of the entries
// does not show any more. For other text, and for an entry that cannot be used, the error is a fault.Usage or a
// fault.Config that quotes nothing.
func ParseEntries(name, text string) (map[string]Entry, []Problem, error) {
	const path = "the JSON"
	p := &parser{path: path, data: []byte(text)}
	root, err := p.parse()
	if err != nil {
		return nil, nil, err
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, nil, fault.New(fault.Usage, path+" is "+kind(root.Value)+", not an object",
			`Paste a server's entry, as in: '{"command": "npx", "args": ["-y", "PACKAGE"]}'`)
	}
	top := p.members(object, "")
	isFile := func(m member) bool { return slices.Contains(sections(), m.key) && m.value.Kind() == '{' }
	isField := func(m member) bool { return m.value.Kind() != '{' }
	switch {
	case slices.ContainsFunc(top, isFile):
	case len(top) > 0 && !slices.ContainsFunc(top, isField):
		text = `{"mcpServers": ` + text + "\n}"
	case name == "":
		return nil, nil, fault.New(fault.Usage, "the server needs a name", "")
	default:
		text = `{"mcpServers": {` + jsonString(name) + ": " + text + "\n}}"
	}
	servers, problems, err := parseFile(path, []byte(text))
	if err != nil {
		return nil, nil, err
	}
	for _, problem := range problems {
		if problem.Severity == Error {
			return nil, nil, fault.New(fault.Config, "the entry cannot be used: "+problem.Message, problem.Fix)
		}
	}
	entries := map[string]Entry{}
	for _, s := range servers {
		entries[s.Name] = s.Entry
	}
	return entries, problems, nil
}

// ParseForeign parses JSON with comments and trailing commas. For other text the error is a fault.Config that names
// the line and quotes nothing. line returns the line of an offset, from 1.
func ParseForeign(path string, data []byte) (root hujson.Value, line func(offset int) int, err error) {
	p := &parser{path: path, data: data}
	root, err = p.parse()
	return root, p.line, err
}

// parse parses JSON with comments and trailing commas. For other text it fails with a fault.Config. The library accepts
// a line comment at the very end only with a line break behind it.
func (p *parser) parse() (hujson.Value, error) {
	if line := tooDeep(p.data); line > 0 {
		return hujson.Value{}, p.notJSON(line, "the values are nested too deep")
	}
	root, err := hujson.Parse(p.data)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		if again, err := hujson.Parse(append(slices.Clip(p.data), '\n')); err == nil {
			return again, nil
		}
	}
	if err != nil {
		return root, p.notJSON(position(err))
	}
	return root, nil
}

// withoutServers says what is wrong with a file that has neither of the two keys.
func (p *parser) withoutServers(top []member) {
	for _, m := range top {
		object, ok := m.value.(*hujson.Object)
		if !ok {
			continue
		}
		for _, inner := range object.Members {
			if key := text(inner.Name.Value); key == "command" || key == "url" {
				p.problem(Error, m.at, "", `the servers stand at the top of the file, not under "mcpServers"`,
					`Put them one level deeper: {"mcpServers": { ... }}`)
				return
			}
		}
	}
	p.problem(Error, 0, "", `the file has no "mcpServers"`, "Put your servers there, as in:\n"+minimal)
}

// members returns the members of an object in order. If a key is repeated, the last member counts, at the place of
// the first, as in other JSON parsers. within is the server for the message about it.
func (p *parser) members(object *hujson.Object, within string) []member {
	var list []member
	at := make(map[string]int, len(object.Members))
	for _, m := range object.Members {
		next := member{text(m.Name.Value), m.Name.StartOffset, m.Value.Value}
		i, repeated := at[next.key]
		if !repeated {
			at[next.key] = len(list)
			list = append(list, next)
			continue
		}
		p.problem(Warning, next.at, within, fmt.Sprintf("%q stands here and in line %d, and only the last one counts",
			next.key, p.line(list[i].at)), "Remove one of the two.")
		list[i] = next
	}
	return list
}

// problem records what is wrong at an offset.
func (p *parser) problem(severity Severity, at int, server, message, fix string) {
	p.problems = append(p.problems, Problem{severity, p.path, p.line(at), server, message, fix})
}

// line returns the line of an offset, from 1.
func (p *parser) line(at int) int { return 1 + bytes.Count(p.data[:at], []byte("\n")) }

func (p *parser) notJSON(line int, why string) *fault.Fault {
	return fault.New(fault.Config, fmt.Sprintf("%s:%d: not JSON: %s", p.path, line, why),
		fmt.Sprintf("Correct line %d of %s, or the line before it. Comments and trailing commas are fine.", line, p.path))
}

// position returns the line of a syntax error and a description of it. It uses the library's own text only if that
// quotes no more than one character of the file.
func position(err error) (line int, why string) {
	var column int
	if n, _ := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); n < 1 {
		line = 1
	}
	cause := errors.Unwrap(err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return line, "the file ends in the middle of a value"
	case cause != nil && strings.HasPrefix(cause.Error(), "invalid character"):
		return line, cause.Error()
	default:
		return line, "a word without quotes, or a string with a line break or an unknown escape"
	}
}

// tooDeep returns the line where values are nested deeper than maxDepth. It is 0 if there is no such line.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return 1 + bytes.Count(data[:i], []byte("\n"))
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			end := "\n"
			switch {
			case bytes.HasPrefix(data[i:], []byte("/*")):
				end = "*/"
			case !bytes.HasPrefix(data[i:], []byte("//")):
				continue
			}
			n := bytes.Index(data[i+2:], []byte(end))
			if n < 0 {
				return 0
			}
			i += 1 + n + len(end)
		}
	}
	return 0
}

// text returns a JSON string's value. For other values it is empty.
func text(v hujson.ValueTrimmed) string {
	if literal, ok := v.(hujson.Literal); ok && literal.Kind() == '"' {
		return literal.String()
	}
	return ""
}

// kind names the kind of a value, with its article.
func kind(v hujson.ValueTrimmed) string {
	switch v.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	default:
		return "a number"
	}
}

// invalidName says what is wrong with a server's name. It is empty if the name is valid.
func invalidName(name string) string {
	switch {
	case name == "":
		return "the name of a server is empty"
	case strings.Contains(name, "/"):
		return `the name of a server contains "/", which separates servers from tools`
	case strings.ContainsFunc(name, unicode.IsControl):
		return "the name of a server contains a control character"
	}
	return ""
}
