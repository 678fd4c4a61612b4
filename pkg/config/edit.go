package config

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Rule of this file: an edit cuts bytes out of the text and puts bytes in, so that comments, order, indentation and
// everything that mcpl does not understand stay as they are. Before a caller gets the new text, it is parsed and
// compared with the old one.

// editor holds the text of a configuration file.
type editor struct {
	parser
	mark []byte // the byte order mark, which is not in data
	root hujson.Value
	style
}

// newEditor parses a file's text. White space alone counts as an empty object.
func newEditor(path string, text []byte) (*editor, error) {
	data := bytes.TrimPrefix(text, []byte(byteOrderMark))
	mark := text[:len(text)-len(data)]
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{\n}\n")
	}
	e := &editor{parser: parser{path: path, data: data}, mark: mark, style: style{newline: "\n", unit: "  "}}
	var err error
	if e.root, err = e.parse(); err != nil {
		return nil, err
	}
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		e.newline = "\r\n"
	}
	object, ok := e.root.Value.(*hujson.Object)
	if !ok {
		return nil, fault.New(fault.Config, fmt.Sprintf("%s holds %s, not an object", path, kind(e.root.Value)),
			"Write it as in:\n"+minimal)
	}
	if len(object.Members) > 0 {
		if indent, alone := e.indent(object.Members[0].Name.StartOffset); alone && indent != "" {
			e.unit = indent
		}
	}
	return e, nil
}

// indent returns the white space at the start of the offset's line, and whether there is nothing else before the
// offset.
func (e *editor) indent(offset int) (indent string, alone bool) {
	line := e.data[1+bytes.LastIndexByte(e.data[:offset], '\n') : offset]
	rest := bytes.TrimLeft(line, " \t")
	return string(line[:len(line)-len(rest)]), len(rest) == 0
}

// find returns the position of an object's last member of that name, which is the one that counts. It is -1 if there
// is none.
func find(object hujson.Value, name string) int {
	for i, m := range slices.Backward(object.Value.(*hujson.Object).Members) {
		if text(m.Name.Value) == name {
			return i
		}
	}
	return -1
}

// behind returns the offset of what follows a value and the comments behind it: a comma, unless the value is the last
// one.
func behind(v hujson.Value) int { return v.EndOffset + len(v.AfterExtra) }

// isSpread reports whether a value stands on several lines.
func (e *editor) isSpread(v hujson.Value) bool {
	return bytes.IndexByte(e.data[v.StartOffset:v.EndOffset], '\n') >= 0
}

// splice returns the text with the bytes between two offsets replaced.
func (e *editor) splice(from, to int, text string) []byte {
	return slices.Concat(e.data[:from], []byte(text), e.data[to:])
}

// insert puts a member behind the last one of an object, in the object's own layout: on one line or on several, with
// or without a comma behind it. The member comes after all comments.
func (e *editor) insert(object hujson.Value, render func(s style, indent string) string) []byte {
	inside := object.Value.(*hujson.Object)
	closing := object.EndOffset - 1
	// Only white space is behind the last comment.
	at := closing - len(inside.AfterExtra) + len(bytes.TrimRight(inside.AfterExtra, " \t\r\n"))
	outer, _ := e.indent(object.StartOffset)
	if len(inside.Members) == 0 {
		indent := e.deeper(outer)
		text := e.newline + indent + render(e.style, indent)
		if !bytes.Contains(e.data[at:closing], []byte("\n")) {
			return e.splice(at, closing, text+e.newline+outer)
		}
		return e.splice(at, at, text)
	}
	last := inside.Members[len(inside.Members)-1]
	end, comma, after := last.Value.EndOffset, ",", ""
	if e.data[behind(last.Value)] == ',' {
		comma, after = "", ","
	}
	text := " " + render(style{}, "") + after
	if e.isSpread(object) {
		indent, alone := e.indent(last.Name.StartOffset)
		if !alone {
			indent = e.deeper(outer)
		}
		text = e.newline + indent + render(e.style, indent) + after
	}
	return slices.Concat(e.data[:end], []byte(comma), e.data[end:at], []byte(text), e.data[at:])
}

func (e *editor) replace(object hujson.Value, i int, render func(s style, indent string) string) []byte {
	m := object.Value.(*hujson.Object).Members[i]
	s, indent := style{}, ""
	if e.isSpread(object) {
		s = e.style
		indent, _ = e.indent(m.Name.StartOffset)
	}
	return e.splice(m.Value.StartOffset, m.Value.EndOffset, render(s, indent))
}

// remove cuts a member out, with its comma and with the lines that only it stands on.
func (e *editor) remove(object hujson.Value, i int) []byte {
	members := object.Value.(*hujson.Object).Members
	from, to := members[i].Name.StartOffset, members[i].Value.EndOffset
	comma := -1 // the offset of the comma to cut, if it does not follow at once
	if next := behind(members[i].Value); e.data[next] == ',' {
		if next == to {
			to++
		} else {
			comma = next
		}
	} else if i > 0 {
		comma = behind(members[i-1].Value)
	}
	blank := to + len(e.data[to:]) - len(bytes.TrimLeft(e.data[to:], " \t"))
	rest := bytes.TrimPrefix(e.data[blank:], []byte("\r"))
	indent, alone := e.indent(from)
	switch {
	case alone && bytes.HasPrefix(rest, []byte("\n")):
		from -= len(indent)
		to = len(e.data) - len(rest) + 1
	case comma >= 0 && comma < from, !alone && e.data[blank] == '}':
		from = len(bytes.TrimRight(e.data[:from], " \t"))
	default:
		to = blank
	}
	switch {
	case comma < 0:
		return e.splice(from, to, "")
	case comma < from:
		return slices.Concat(e.data[:comma], e.data[comma+1:from], e.data[to:])
	default:
		return slices.Concat(e.data[:from], e.data[to:comma], e.data[comma+1:])
	}
}

// SetEntry returns a configuration file's bytes with a server's entry put in, behind the others and in the file's own
// layout. With replace it replaces an entry of that name, and says so in replaced; without, such an entry is a
// fault.Config. The path is only named in faults.
func SetEntry(path string, data []byte, name string, d Entry, replace bool) (after []byte, replaced bool, err error) {
	if wrong := invalidName(name); wrong != "" {
		return nil, false, fault.New(fault.Usage, wrong, "Give it another name: letters, digits, - and _ work everywhere.")
	}
	e, err := newEditor(path, data)
	if err != nil {
		return nil, false, err
	}
	at, i, err := e.locate(name)
	switch {
	case err != nil:
		return nil, false, err
	case i >= 0 && !replace:
		return nil, false, fault.New(fault.Config, fmt.Sprintf("%s has a server %q already", path, name),
			"Give the new one another name, or replace the old one with --force.").
			Then("See it with", fault.Step{Verb: "config"}).On(name, "")
	case i >= 0:
		after = e.replace(at, i, d.json)
	case at.Value != nil:
		after = e.insert(at, func(s style, indent string) string { return jsonString(name) + ": " + d.json(s, indent) })
	default:
		after = e.insert(e.root, func(s style, indent string) string {
			return `"mcpServers": ` + s.object([]string{jsonString(name) + ": " + d.json(s, s.deeper(indent))}, indent)
		})
	}
	if err := e.check(after, name, &d); err != nil {
		return nil, false, err
	}
	return slices.Concat(e.mark, after), i >= 0, nil
}

// locate finds the entry of a name: the object that holds it and its position there. If there is no such entry, the
// position is -1, and the object is the one for new entries, without a value if the file has none.
func (e *editor) locate(name string) (first hujson.Value, i int, err error) {
	for _, key := range sections() {
		at := find(e.root, key)
		if at < 0 {
			continue
		}
		m := e.root.Value.(*hujson.Object).Members[at]
		if m.Value.Value.Kind() != '{' {
			return m.Value, -1, fault.New(fault.Config, fmt.Sprintf("%s:%d: %q is %s, not an object", e.path,
				e.line(m.Name.StartOffset), key, kind(m.Value.Value)), "Write it as in:\n"+minimal)
		}
		if i := find(m.Value, name); i >= 0 {
			return m.Value, i, nil
		}
		if first.Value == nil {
			first = m.Value
		}
	}
	return first, -1, nil
}

// RemoveEntry returns a configuration file's bytes without a server's entry, wherever in the file it is defined, also
// more than once. Comments outside of it stay. If there is no such entry, the error is a fault.ServerNotFound.
func RemoveEntry(path string, data []byte, name string) ([]byte, error) {
	before, err := newEditor(path, data)
	if err != nil {
		return nil, err
	}
	for e, removed := before, false; ; removed = true {
		object, i, err := e.locate(name)
		switch {
		case err != nil:
			return nil, err
		case i < 0 && !removed:
			return nil, fault.New(fault.ServerNotFound, fmt.Sprintf("%s has no server %q", path, name), "").
				Then("See which file has it with", fault.Step{Verb: "config"}).On(name, "")
		case i < 0:
			return slices.Concat(before.mark, e.data), before.check(e.data, name, nil)
		}
		if e, err = newEditor(path, e.remove(object, i)); err != nil {
			return nil, err
		}
	}
}

// check compares an edited text with the one before. The entry must be as wanted, or gone if want is nil, and every
// other entry unchanged. Anything else is a fault.
func (e *editor) check(after []byte, name string, want *Entry) error {
	others := func(s *Server) bool { return s.Name == name }
	was, _, err := parseFile(e.path, e.data)
	if err != nil {
		return err
	}
	is, problems, err := parseFile(e.path, after)
	if err != nil {
		return err
	}
	var got *Server
	if i := slices.IndexFunc(is, others); i >= 0 {
		got = is[i]
	}
	switch {
	case want == nil && got == nil:
	case want != nil && got != nil && got.json(style{}, "") == want.json(style{}, ""):
	default:
		f := fault.New(fault.Config, fmt.Sprintf("the entry of %q cannot be written to %s", name, e.path),
			"Give it a command or a url, as text that is valid UTF-8.").On(name, "")
		blame(f, problems, name)
		return f
	}
	was, is = slices.DeleteFunc(was, others), slices.DeleteFunc(is, others)
	same := func(a, b *Server) bool { return a.Name == b.Name && reflect.DeepEqual(a.Entry, b.Entry) }
	if !slices.EqualFunc(was, is, same) {
		return fault.New(fault.Internal, "an edit of "+e.path+" would have changed more than the entry of "+name,
			"Nothing was written. Change the file by hand, and report this with the file's layout, values left out.")
	}
	return nil
}
