package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

// KeyValue is an environment variable or a header.
type KeyValue struct{ Name, Value string }

// Entry is a server's entry: as a file has it, as a person types it, or, in mcpl's terms, as another client has it.
// ${NAME} in its texts is a reference, $${ a plain "${". In a [Server] its variables are filled in.
type Entry struct {
	// Transport may be empty in an entry to be written: Stdio with Command, either kind of HTTP with URL.
	Transport Transport
	// Command, Args, Env and Cwd belong to a Stdio server. Env holds only what the entry sets. The Cwd of a [Server] is
	// absolute; if empty, the server starts in the caller's working directory.
	Command string
	Args    []string
	Env     []KeyValue
	Cwd     string
	// URL and Headers belong to the other transports. FallBack says that the entry has no type, so that a server that
	// does not speak HTTP may be tried with SSE (MCP 2025-11-25, transports, backwards compatibility).
	URL       string
	Headers   []KeyValue
	FallBack  bool
	allowHTTP bool // URL may be plain http:// to another machine
	// Protocol is the MCP revision that the entry pins, such as "2025-06-18". If empty, it pins none.
	Protocol string
	// Roots lists the folders (absolute paths in a [Server]) and file URIs that the server gets as its roots. If nil, the
	// entry does not say; if empty, the server gets none.
	Roots []string
	// OAuth is the entry's word on the login. If nil, the entry says nothing of one.
	OAuth *OAuth
	// The time limits that the entry sets. Zero means that it sets none.
	ConnectTimeout, CallTimeout, TTL time.Duration
	// Idle is the time without a request after which the daemon stops the server. Zero means that the entry does not
	// say. Lifecycle says how long the server lives altogether.
	Idle      time.Duration
	Lifecycle Lifecycle
	// Scope says who shares the server while it runs. If empty, the entry does not say.
	Scope Scope
	// Credentials says whose credentials a gateway sends to a server over HTTP. Forward names, for each header that the
	// server gets, the header of the client that it comes from. TakesAPIKey says that a server of a project asks for the
	// key in the environment: see [Server.APIKey].
	Credentials Whose
	Forward     []KeyValue
	TakesAPIKey bool
	// Pin is the setting pins for this server. If empty, the entry does not say.
	Pin Pins
	// Namespace stands before the names of the server's tools and prompts where names of several servers stand side by
	// side. If nil, that is the server's name; if empty, nothing does.
	Namespace *string
	// Description says in a few words what the server is for, to models that choose a server. If empty, the words of its
	// tools' names do.
	Description string
	// Disabled says that the entry has "disabled": true.
	Disabled bool
	// InheritEnv says that a server of a project asks for the whole environment of mcpl.
	InheritEnv bool
}

// field is one field of an entry or of its "oauth": its key in a file, and the place of its value.
type field struct {
	key string
	// at is a *string, *[]string, *[]KeyValue, *time.Duration, *bool, *int, *Lifecycle, *Scope, *Whose, *Pins, **string or
	// **OAuth.
	at any
}

// fields lists the fields that mcpl knows, but "type", in the order of a file that mcpl writes.
func (d *Entry) fields() []field {
	return []field{{"command", &d.Command}, {"args", &d.Args}, {"env", &d.Env}, {"cwd", &d.Cwd}, {"url", &d.URL},
		{"headers", &d.Headers}, {"roots", &d.Roots}, {"oauth", &d.OAuth}, {"connectTimeout", &d.ConnectTimeout},
		{"callTimeout", &d.CallTimeout}, {"ttl", &d.TTL}, {"idle", &d.Idle}, {"lifecycle", &d.Lifecycle},
		{"scope", &d.Scope}, {"credentials", &d.Credentials}, {"forward", &d.Forward}, {"apiKey", &d.TakesAPIKey},
		{"protocol", &d.Protocol}, {"pin", &d.Pin}, {"disabled", &d.Disabled}, {"allowHTTP", &d.allowHTTP},
		{"inheritEnv", &d.InheritEnv}, {"namespace", &d.Namespace}, {"description", &d.Description}}
}

// mapTexts returns the entry with every text in it replaced by f's result, single texts before lists. where names the
// text, as in "args[2]" or "env.TOKEN".
func (d Entry) mapTexts(f func(where, text string) string) Entry {
	mapFields("", d.fields(), f)
	return d
}

func mapFields(prefix string, fields []field, f func(where, text string) string) {
	for _, one := range fields {
		if text, ok := one.at.(*string); ok {
			*text = f(prefix+one.key, *text)
		}
	}
	for _, one := range fields {
		switch at := one.at.(type) {
		case *[]string:
			*at = slices.Clone(*at)
			for i, text := range *at {
				(*at)[i] = f(fmt.Sprintf("%s%s[%d]", prefix, one.key, i), text)
			}
		case *[]KeyValue:
			*at = slices.Clone(*at)
			for i, p := range *at {
				(*at)[i].Value = f(one.key+"."+p.Name, p.Value)
			}
		case **OAuth:
			if *at != nil {
				login := **at
				mapFields("oauth.", login.fields(), f)
				*at = &login
			}
		}
	}
}

// entryParser reads the fields of one entry.
type entryParser struct {
	*parser
	name    string
	at      int           // offset of the name
	typ     string        // the field "type"
	timeout time.Duration // the field "timeout", another name of "callTimeout"
	bad     bool          // there was an error, so that the entry cannot be used
}

// entry reads a server's entry. If the entry cannot be used, it returns nil, and a problem says why.
func (p *parser) entry(m member) *Server {
	e := &entryParser{parser: p, name: m.key, at: m.at}
	s := &Server{Name: m.key, File: p.path, Line: p.line(m.at)}
	if wrong := invalidName(m.key); wrong != "" {
		p.problem(Error, m.at, m.key, wrong, "Give it another name: letters, digits, - and _ work everywhere.")
		return nil
	}
	object, isObject := m.value.(*hujson.Object)
	if !isObject {
		e.fail(m.at, "the entry is "+kind(m.value)+", not an object",
			`Write it as in: "NAME": {"command": "npx", "args": ["-y", "PACKAGE"]}`)
		return nil
	}
	e.fields(p.members(object, m.key), append(s.fields(), field{"type", &e.typ}, field{"timeout", &e.timeout})...)
	s.CallTimeout = cmp.Or(s.CallTimeout, e.timeout)
	if !e.bad {
		e.transport(s)
	}
	if !e.bad {
		e.credentials(s)
	}
	if e.bad {
		return nil
	}
	return s
}

func (e *entryParser) fail(at int, message, fix string) {
	e.bad = true
	e.problem(Error, at, e.name, message, fix)
}

// fields reads the members of an object that mcpl knows. It passes over those of other clients without a word.
func (e *entryParser) fields(members []member, known ...field) {
	for _, m := range members {
		i := slices.IndexFunc(known, func(f field) bool { return f.key == m.key })
		if i < 0 {
			continue
		}
		switch at := known[i].at.(type) {
		case *string:
			*at = e.string(m)
		case **string:
			if text := e.string(m); m.value.Kind() == '"' {
				*at = &text
			}
		case *[]string:
			*at = e.strings(m)
		case *[]KeyValue:
			*at = e.pairs(m)
		case *time.Duration:
			*at = e.duration(m)
		case *bool:
			*at = e.bool(m)
		case *int:
			*at = e.port(m)
		case **OAuth:
			*at = e.oauth(m)
		default:
			e.word(at, m)
		}
	}
}

// word reads a field that is one of a few words.
func (e *entryParser) word(at any, m member) {
	switch at := at.(type) {
	case *Lifecycle:
		*at = e.lifecycle(m)
	case *Scope:
		*at = e.scope(m)
	case *Whose:
		*at = e.whose(m)
	case *Pins:
		*at = e.pins(m)
	}
}

func (e *entryParser) transport(s *Server) {
	s.Transport = RemoteTransport(e.typ)
	switch {
	case s.Transport != "":
	case e.typ == "" && s.URL != "":
		s.Transport, s.FallBack = HTTP, true
	case e.typ == "" || strings.EqualFold(e.typ, "stdio"):
		s.Transport = Stdio
	default:
		e.fail(e.at, `"type" is unknown`, `Use "stdio", "http" or "sse", or omit it.`)
		return
	}
	switch {
	case s.Command == "" && s.URL == "":
		e.fail(e.at, `the entry has no "command" and no "url"`,
			`Give it the command that starts the server: "command": "npx", "args": ["-y", "PACKAGE"]`)
	case s.Command != "" && s.URL != "":
		e.fail(e.at, `the entry has both "command" and "url"`,
			`Keep "command" for a program to be started, or "url" for a server that runs elsewhere.`)
	case s.Transport == Stdio && s.URL != "":
		e.fail(e.at, `"type" is "stdio", but the entry has a "url"`, `Set "type" to "http", or replace "url" by "command".`)
	case s.Transport != Stdio && s.Command != "":
		e.fail(e.at, `"type" is a remote transport, but the entry has a "command"`,
			`Set "type" to "stdio", or replace "command" by "url".`)
	}
}

// RemoteTransport returns the transport that a "type" in the file of any client names, "" if it names neither kind of
// HTTP.
func RemoteTransport(typ string) Transport {
	switch strings.ToLower(typ) {
	case "http", "streamable-http", "streamablehttp", "streamable_http":
		return HTTP
	case "sse":
		return SSE
	}
	return ""
}

// wrong records that a field is not what it has to be. null is never wrong: it counts as no value.
func (e *entryParser) wrong(m member, want, fix string) {
	if m.value.Kind() != 'n' {
		e.fail(m.at, fmt.Sprintf("%q is %s, not %s", m.key, kind(m.value), want), fix)
	}
}

func (e *entryParser) string(m member) string {
	s := text(m.value)
	switch {
	case m.value.Kind() != '"':
		e.wrong(m, "a string", "Put it in double quotes.")
	case m.key == "protocol" && s != "" && !slices.Contains(revisions(), s):
		e.fail(m.at, `"protocol" is not a revision that mcpl knows`,
			"Use one of "+strings.Join(revisions(), ", ")+", or omit it to have one agreed on.")
	}
	return s
}

// strings reads an array of strings. Numbers and booleans count as their text. An empty array is not nil: it says that
// there are none. Scopes may also stand in one string.
func (e *entryParser) strings(m member) []string {
	array, ok := m.value.(*hujson.Array)
	switch {
	case m.key == "scopes" && m.value.Kind() == '"':
		return strings.Fields(text(m.value))
	case !ok:
		e.wrong(m, "an array", `Write it as in: `+example(m.key))
		return nil
	}
	list := make([]string, 0, len(array.Elements))
	for i, v := range array.Elements {
		s, ok := scalar(v.Value)
		if !ok {
			e.fail(v.StartOffset, fmt.Sprintf("%q[%d] is %s, not a string", m.key, i, kind(v.Value)), "Put it in double quotes.")
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
	object, ok := m.value.(*hujson.Object)
	if !ok {
		e.wrong(m, "an object", fmt.Sprintf("Write it as in: %q: {\"NAME\": \"value\"}", m.key))
		return nil
	}
	var list []KeyValue
	for _, inner := range e.members(object, e.name) {
		s, ok := scalar(inner.value)
		switch {
		case !ok:
			e.fail(inner.at, fmt.Sprintf("%q of %q is %s, not a string", inner.key, m.key, kind(inner.value)),
				"Put it in double quotes.")
		case m.key == "env" && (inner.key == "" || strings.ContainsAny(inner.key, "=\x00")):
			e.fail(inner.at, `a name in "env" is empty or has "=" in it`, `Write name and value apart: "NAME": "value"`)
		case m.key == "headers" && !IsHeaderName(inner.key):
			e.fail(inner.at, `a name in "headers" is not a valid header name`,
				`Write name and value apart: "Authorization": "Bearer ${TOKEN}"`)
		default:
			list = append(list, KeyValue{inner.key, s})
		}
	}
	return list
}

// shortLimit is the limit below which a number is probably meant to count seconds, as in some clients' files.
const shortLimit = 1000 * time.Millisecond

// short says what is odd about the time limit d, if an entry has it under key as a small number of milliseconds,
// and how to write seconds. Both are empty if nothing is.
func short(key, number string, d time.Duration) (message, fix string) {
	if d <= 0 || d >= shortLimit {
		return "", ""
	}
	return fmt.Sprintf("%q: %s is %s: a number counts milliseconds", key, number, d),
		fmt.Sprintf("For seconds write it as in: %q: \"%ss\"", key, number)
}

// duration reads a time limit: a text such as "30s" or "24h", or a number of milliseconds, as other clients have it. A
// small number gets a warning. Anything else is dropped with a warning.
func (e *entryParser) duration(m member) time.Duration {
	var d time.Duration
	switch m.value.Kind() {
	case 'n':
		return 0
	case '"':
		d, _ = time.ParseDuration(text(m.value)) // zero if it is not one
	case '0':
		if ms := m.value.(hujson.Literal).Float(); ms <= math.MaxInt64/float64(time.Millisecond)/2 {
			d = time.Duration(ms * float64(time.Millisecond))
		}
		if message, fix := short(m.key, m.value.(hujson.Literal).String(), d); message != "" {
			e.problem(Warning, m.at, e.name, message, fix)
		}
	}
	if d <= 0 {
		e.problem(Warning, m.at, e.name, fmt.Sprintf("%q is not a time limit and is ignored", m.key),
			fmt.Sprintf("Write it as in: %q: \"30s\" (a number counts milliseconds)", m.key))
		return 0
	}
	return d
}

// lifecycle reads how long a server lives. Another word is dropped with a warning.
func (e *entryParser) lifecycle(m member) Lifecycle {
	l := Lifecycle(text(m.value))
	if k := m.value.Kind(); k == 'n' || k == '"' && (l == "" || l == Ephemeral || l == KeepAlive) {
		return l
	}
	e.problem(Warning, m.at, e.name, `"lifecycle" is unknown and is ignored`,
		`Use "ephemeral" (a process for each call) or "keep-alive" (never stopped for being idle), or omit it.`)
	return ""
}

// scope reads who shares the server. Another word makes the entry unusable: it may be meant to keep users apart.
func (e *entryParser) scope(m member) Scope {
	s := Scope(text(m.value))
	if k := m.value.Kind(); k != 'n' && (k != '"' || !slices.Contains([]Scope{"", Shared, SessionOnly, UserOnly}, s)) {
		e.fail(m.at, `"scope" is not "shared", "session" or "user"`, "Use one of these, or omit it.")
	}
	return s
}

// pins reads what becomes of definitions that have changed. Another word makes the entry unusable: it may be meant to
// be strict.
func (e *entryParser) pins(m member) Pins {
	p := Pins(text(m.value))
	if k := m.value.Kind(); k != 'n' && (k != '"' || p != "" && !p.valid()) {
		e.fail(m.at, `"pin" is not "warn", "hold" or "off"`, "Use one of these, or omit it.")
	}
	return p
}

// revisions lists the protocol's revisions that an entry can pin, newest first.
func revisions() []string {
	return []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
}

func (e *entryParser) bool(m member) bool {
	k := m.value.Kind()
	if k != 't' && k != 'f' {
		e.wrong(m, "true or false", "Write true or false, without quotes.")
	}
	return k == 't'
}

// scalar returns the text of a string, a number or a boolean.
func scalar(v hujson.ValueTrimmed) (string, bool) {
	literal, ok := v.(hujson.Literal)
	return literal.String(), ok && literal.Kind() != 'n'
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
