package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

// KeyValue is an environment variable or a header.
type KeyValue struct{ Name, Value string }

// entry is the part of an entry that says how to reach the server: as a file has it, or with its variables filled in.
type entry struct {
	command string
	args    []string
	env     []KeyValue
	cwd     string
	url     string
	headers []KeyValue
	roots   []string
	login   *OAuth // nil if the entry says nothing of one
}

// written is a server's entry as it stands in a file.
type written struct {
	name      string
	line      int
	transport Transport
	entry

	connectTimeout, callTimeout, ttl, idle time.Duration
	lifecycle                              Lifecycle
	protocol                               string
	disabled                               bool
	fallBack                               bool // see Server
	allowHTTP                              bool // "url" may be plain http:// to another machine
}

// entryParser reads the fields of one entry.
type entryParser struct {
	*parser
	name string
	typ  string // the field "type"
	bad  bool   // there was an error, so that the entry cannot be used
}

// entry reads a server's entry. If the entry cannot be used, ok is false and a problem says why.
func (p *parser) entry(m member) (w written, ok bool) {
	e := &entryParser{parser: p, name: m.key}
	w = written{name: m.key, line: m.line}
	if wrong := invalidName(m.key); wrong != "" {
		p.problem(Error, m.line, m.key, wrong, "Give it another name: letters, digits, - and _ work everywhere.")
		return w, false
	}
	object, isObject := m.value.Value.(*hujson.Object)
	if !isObject {
		e.fail(m.line, "the entry is "+kind(m.value)+", not an object",
			`Write it as in: "NAME": {"command": "npx", "args": ["-y", "PACKAGE"]}`)
		return w, false
	}
	fields := entryFields()
	for _, member := range p.members(object, m.key) {
		if i := slices.IndexFunc(fields, func(f entryField) bool { return f.key == member.key }); i >= 0 {
			fields[i].read(e, &w, member)
		}
	}
	if !e.bad {
		e.transport(&w)
	}
	return w, !e.bad
}

func (e *entryParser) fail(line int, message, fix string) {
	e.bad = true
	e.problem(Error, line, e.name, message, fix)
}

// entryField is one field of an entry and the function that reads it.
type entryField struct {
	key  string
	read func(e *entryParser, w *written, m member)
}

// entryFields lists the fields that mcpl knows. It passes over the fields of other clients without a word.
func entryFields() []entryField {
	return []entryField{
		{"command", func(e *entryParser, w *written, m member) { w.command = e.string(m) }},
		{"args", func(e *entryParser, w *written, m member) { w.args = e.strings(m) }},
		{"env", func(e *entryParser, w *written, m member) { w.env = e.pairs(m) }},
		{"cwd", func(e *entryParser, w *written, m member) { w.cwd = e.string(m) }},
		{"type", func(e *entryParser, _ *written, m member) { e.typ = e.string(m) }},
		{"url", func(e *entryParser, w *written, m member) { w.url = e.string(m) }},
		{"headers", func(e *entryParser, w *written, m member) { w.headers = e.pairs(m) }},
		{"connectTimeout", func(e *entryParser, w *written, m member) { w.connectTimeout = e.duration(m) }},
		{"callTimeout", func(e *entryParser, w *written, m member) { w.callTimeout = e.duration(m) }},
		{"timeout", func(e *entryParser, w *written, m member) {
			if d := e.duration(m); w.callTimeout == 0 {
				w.callTimeout = d
			}
		}},
		{"ttl", func(e *entryParser, w *written, m member) { w.ttl = e.duration(m) }},
		{"idle", func(e *entryParser, w *written, m member) { w.idle = e.duration(m) }},
		{"lifecycle", func(e *entryParser, w *written, m member) { w.lifecycle = e.lifecycle(m) }},
		{"protocol", func(e *entryParser, w *written, m member) { w.protocol = e.protocol(m) }},
		{"roots", func(e *entryParser, w *written, m member) {
			if w.roots = e.strings(m); w.roots == nil && m.value.Value.Kind() != 'n' {
				w.roots = []string{} // an empty list says that there are none; null says nothing
			}
		}},
		{"disabled", func(e *entryParser, w *written, m member) { w.disabled = e.bool(m) }},
		{"allowHTTP", func(e *entryParser, w *written, m member) { w.allowHTTP = e.bool(m) }},
		{"oauth", func(e *entryParser, w *written, m member) { e.oauth(w, m) }},
	}
}

func (e *entryParser) transport(w *written) {
	switch strings.ToLower(e.typ) {
	case "":
		w.transport = Stdio
		if w.url != "" {
			w.transport, w.fallBack = HTTP, true
		}
	case "stdio":
		w.transport = Stdio
	case "http", "streamable-http", "streamablehttp", "streamable_http":
		w.transport = HTTP
	case "sse":
		w.transport = SSE
	default:
		e.fail(w.line, `"type" is unknown`, `Use "stdio", "http" or "sse", or omit it.`)
		return
	}
	switch {
	case w.command == "" && w.url == "":
		e.fail(w.line, `the entry has no "command" and no "url"`,
			`Give it the command that starts the server: "command": "npx", "args": ["-y", "PACKAGE"]`)
	case w.command != "" && w.url != "":
		e.fail(w.line, `the entry has both "command" and "url"`,
			`Keep "command" for a program to be started, or "url" for a server that runs elsewhere.`)
	case w.transport == Stdio && w.url != "":
		e.fail(w.line, `"type" is "stdio", but the entry has a "url"`, `Set "type" to "http", or replace "url" by "command".`)
	case w.transport != Stdio && w.command != "":
		e.fail(w.line, `"type" is a remote transport, but the entry has a "command"`,
			`Set "type" to "stdio", or replace "command" by "url".`)
	}
}

// string reads a string. null counts as no value.
func (e *entryParser) string(m member) string {
	s, ok := scalar(m.value)
	if k := m.value.Value.Kind(); k != '"' && k != 'n' {
		ok = false
	}
	if !ok {
		e.fail(m.line, fmt.Sprintf("%q is %s, not a string", m.key, kind(m.value)), "Put it in double quotes.")
	}
	return s
}

// strings reads an array of strings. Numbers and booleans count as their text.
func (e *entryParser) strings(m member) []string {
	array, ok := m.value.Value.(*hujson.Array)
	if !ok {
		if m.value.Value.Kind() != 'n' {
			e.fail(m.line, fmt.Sprintf("%q is %s, not an array", m.key, kind(m.value)), `Write it as in: `+example(m.key))
		}
		return nil
	}
	var list []string
	for i, v := range array.Elements {
		s, ok := scalar(v)
		if !ok || v.Value.Kind() == 'n' {
			e.fail(e.line(v), fmt.Sprintf("%q[%d] is %s, not a string", m.key, i, kind(v)), "Put it in double quotes.")
			continue
		}
		list = append(list, s)
	}
	return list
}

// example returns a list of texts as a person writes it.
func example(key string) string {
	if key == "roots" {
		return `"roots": ["src", "/data"]`
	}
	return `"args": ["-y", "PACKAGE"]`
}

// pairs reads an object of strings. Numbers and booleans count as their text.
func (e *entryParser) pairs(m member) []KeyValue {
	object, ok := m.value.Value.(*hujson.Object)
	if !ok {
		if m.value.Value.Kind() != 'n' {
			e.fail(m.line, fmt.Sprintf("%q is %s, not an object", m.key, kind(m.value)),
				fmt.Sprintf("Write it as in: %q: {\"NAME\": \"value\"}", m.key))
		}
		return nil
	}
	var list []KeyValue
	for _, inner := range e.members(object, e.name) {
		s, ok := scalar(inner.value)
		switch {
		case !ok || inner.value.Value.Kind() == 'n':
			e.fail(inner.line, fmt.Sprintf("%q of %q is %s, not a string", inner.key, m.key, kind(inner.value)),
				"Put it in double quotes.")
		case m.key == "env" && (inner.key == "" || strings.ContainsAny(inner.key, "=\x00")):
			e.fail(inner.line, `a name in "env" is empty or has "=" in it`, `Write name and value apart: "NAME": "value"`)
		case m.key == "headers" && !IsHeaderName(inner.key):
			e.fail(inner.line, `a name in "headers" is not a valid header name`,
				`Write name and value apart: "Authorization": "Bearer ${TOKEN}"`)
		default:
			list = append(list, KeyValue{inner.key, s})
		}
	}
	return list
}

// duration reads a time limit: a text such as "30s" or "24h", or a number of milliseconds, as other clients have it.
// Anything else is dropped with a warning.
func (e *entryParser) duration(m member) time.Duration {
	var d time.Duration
	var err error
	switch m.value.Value.Kind() {
	case 'n':
		return 0
	case '"':
		d, err = time.ParseDuration(text(m.value))
	case '0':
		var ms float64
		ms, err = strconv.ParseFloat(string(m.value.Value.(hujson.Literal)), 64)
		if ms > math.MaxInt64/float64(time.Millisecond)/2 {
			ms = 0
		}
		d = time.Duration(ms * float64(time.Millisecond))
	}
	if err != nil || d <= 0 {
		e.problem(Warning, m.line, e.name, fmt.Sprintf("%q is not a time limit and is ignored", m.key),
			fmt.Sprintf("Write it as in: %q: \"30s\" (a number counts milliseconds)", m.key))
		return 0
	}
	return d
}

// lifecycle reads how long a server lives. Another word is dropped with a warning.
func (e *entryParser) lifecycle(m member) Lifecycle {
	s, ok := scalar(m.value)
	switch l := Lifecycle(s); {
	case ok && (l == Ephemeral || l == KeepAlive || l == ""):
		return l
	}
	e.problem(Warning, m.line, e.name, `"lifecycle" is unknown and is ignored`,
		`Use "ephemeral" (a process for each call) or "keep-alive" (never stopped for being idle), or omit it.`)
	return ""
}

// revisions lists the protocol's revisions that an entry can pin, newest first.
func revisions() []string {
	return []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
}

func (e *entryParser) protocol(m member) string {
	s, ok := scalar(m.value)
	if k := m.value.Value.Kind(); !ok || k != '"' && k != 'n' {
		return e.string(m) // it says what is wrong
	}
	if s != "" && !slices.Contains(revisions(), s) {
		e.fail(m.line, `"protocol" is not a revision that mcpl knows`,
			"Use one of "+strings.Join(revisions(), ", ")+", or omit it to have one agreed on.")
	}
	return s
}

func (e *entryParser) bool(m member) bool {
	switch m.value.Value.Kind() {
	case 't', 'f':
		return m.value.Value.Kind() == 't'
	case 'n':
		return false
	}
	e.fail(m.line, fmt.Sprintf("%q is %s, not true or false", m.key, kind(m.value)),
		"Write true or false, without quotes.")
	return false
}

// scalar returns the text of a string, a number or a boolean. For null the text is empty.
func scalar(v hujson.Value) (string, bool) {
	literal, ok := v.Value.(hujson.Literal)
	if !ok {
		return "", false
	}
	switch literal.Kind() {
	case '"':
		return literal.String(), true
	case 'n':
		return "", true
	default:
		return string(literal), true
	}
}

// IsHeaderName reports whether name is a token of RFC 9110, 5.6.2, as the names of headers and of authentication
// schemes are.
func IsHeaderName(name string) bool { return name != "" && TokenLength(name) == len(name) }

// TokenLength returns the length of the token (RFC 9110, 5.6.2) that text begins with.
func TokenLength(text string) int {
	for i := range len(text) {
		c := text[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return i
		}
	}
	return len(text)
}
