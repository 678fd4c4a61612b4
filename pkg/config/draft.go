package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Entry is a server's entry to be written into a file, as a person types it or as another client's file has it, in
// mcpl's terms. ${NAME} in its texts is a reference, $${ a plain "${".
type Entry struct {
	// Transport may be empty: Stdio with Command, HTTP with URL.
	Transport Transport
	Command   string
	Args      []string
	Env       []KeyValue
	Cwd       string
	URL       string
	Headers   []KeyValue
	// OAuth is the login of a server over HTTP. If nil, the entry says nothing of one.
	OAuth *OAuth
	// The time limits. Zero sets none.
	ConnectTimeout, CallTimeout time.Duration
	Disabled                    bool
}

// inner returns the part of the entry that says how to reach the server.
func (d Entry) inner() entry {
	e := entry{command: d.Command, args: d.Args, env: d.Env, cwd: d.Cwd, url: d.URL, headers: d.Headers}
	if d.OAuth.members() != nil {
		login := *d.OAuth
		login.Grant, login.Scopes = cmp.Or(login.Grant, AuthorizationCode), slices.Concat(login.Scopes)
		e.login = &login
	}
	return e
}

// HoldsValues reports whether the entry itself holds a value of a variable or a header, so that only its owner may
// read a file made for it.
func (d Entry) HoldsValues() bool {
	return slices.ContainsFunc(slices.Concat(d.Env, d.Headers), func(p KeyValue) bool { return !onlyReferences(p.Value) })
}

// style is the layout of JSON. An empty newline puts everything on one line.
type style struct{ newline, unit string }

func (s style) deeper(indent string) string {
	if s.newline == "" {
		return ""
	}
	return indent + s.unit
}

// object lays out members, each rendered for the depth below indent.
func (s style) object(members memberList, indent string) string {
	switch {
	case len(members) == 0:
		return "{}"
	case s.newline == "":
		return "{" + strings.Join(members, ", ") + "}"
	}
	start := s.newline + s.deeper(indent)
	return "{" + start + strings.Join(members, ","+start) + s.newline + indent + "}"
}

// memberList holds the members of an object, rendered.
type memberList []string

func (l *memberList) add(key, value string) { *l = append(*l, jsonString(key)+": "+value) }

func (l *memberList) text(key, value string) {
	if value != "" {
		l.add(key, jsonString(value))
	}
}

// texts adds an array of strings unless it is empty.
func (l *memberList) texts(key string, values []string) {
	if len(values) == 0 {
		return
	}
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = jsonString(value)
	}
	l.add(key, "["+strings.Join(quoted, ", ")+"]")
}

// pairs adds an object of strings unless it is empty, laid out for the depth of indent.
func (l *memberList) pairs(key string, list []KeyValue, s style, indent string) {
	var inner memberList
	for _, p := range list {
		inner.add(p.Name, jsonString(p.Value))
	}
	if inner != nil {
		l.add(key, s.object(inner, indent))
	}
}

// json renders the entry. The type stands with every URL, since other clients that read the same file ask for it.
func (d Entry) json(s style, indent string) string {
	var members memberList
	if d.URL != "" {
		members.text("type", string(cmp.Or(d.Transport, HTTP)))
	}
	members.text("command", d.Command)
	members.texts("args", d.Args)
	members.pairs("env", d.Env, s, s.deeper(indent))
	members.text("cwd", d.Cwd)
	members.text("url", d.URL)
	members.pairs("headers", d.Headers, s, s.deeper(indent))
	if login := d.OAuth.members(); login != nil {
		members.add("oauth", s.object(login, s.deeper(indent)))
	}
	if d.ConnectTimeout > 0 {
		members.text("connectTimeout", shortDuration(d.ConnectTimeout))
	}
	if d.CallTimeout > 0 {
		members.text("callTimeout", shortDuration(d.CallTimeout))
	}
	if d.Disabled {
		members.add("disabled", "true")
	}
	return s.object(members, indent)
}

// jsonString renders a string without the HTML escapes that encoding/json likes.
func jsonString(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string into a buffer cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// Target is the file that add, remove and import change.
type Target struct {
	Path string
	// Why says how it was chosen.
	Why    string
	Exists bool
	// Sources are the files that the target's entries are read with.
	Sources *Sources
}

// Target chooses the file to change: the one named by to; else the first configuration in force; else .mcp.json at
// the root of the repository; else, outside of a repository, ~/.claude/mcp.json. The file need not exist.
func (e Env) Target(sel Selection, to string) (*Target, error) {
	if to != "" {
		return e.namedTarget(sel, absolute(to, e.Dir, e.Home))
	}
	src, err := e.Locate(sel)
	if err != nil {
		return nil, err
	}
	t := &Target{Sources: src}
	root, inside := repository(e.Dir)
	switch {
	case len(src.Configs) > 0:
		t.Path, t.Why, t.Exists = src.Configs[0].Path, src.Configs[0].Why, true
	case inside:
		t.Path, t.Why, src.project = filepath.Join(root, ".mcp.json"), "at the root of the repository", root
	default:
		t.Path, t.Why = e.userConfig(), "in your home folder"
	}
	return t, nil
}

func (e Env) namedTarget(sel Selection, path string) (*Target, error) {
	t := &Target{Path: path, Why: "--to", Sources: &Sources{Explicit: true}}
	info, err := os.Stat(path)
	t.Exists = err == nil
	if t.Exists && info.IsDir() {
		return nil, fault.New(fault.Usage, fmt.Sprintf("--to: %s is a folder", path),
			"Name a file: --to "+fault.Quote(filepath.Join(path, ".mcp.json")))
	}
	if t.Exists {
		t.Sources.try(&t.Sources.Configs, path, t.Why)
	}
	return t, e.locateEnvFiles(t.Sources, sel)
}

// Upwards returns the working directory and its parents up to the root of the repository: the folders that may hold a
// project's files.
func (e Env) Upwards() []string {
	root, _ := repository(e.Dir)
	dirs := []string{e.Dir}
	for dir := e.Dir; dir != root; {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	return dirs
}

// Trial reads entries before they are written to a file, as they would be read from there.
type Trial struct {
	env       Env
	target    *Target
	variables variables
	kept      []Literal // the literals whose variables are taken
}

// Trial returns a trial for entries of the target's file.
func (e Env) Trial(t *Target) *Trial {
	trial := &Trial{env: e, target: t, variables: variables{lookup: e.Lookup}}
	for _, file := range t.Sources.EnvFiles {
		trial.variables.read(file.Path) // the verb config shows its problems
	}
	return trial
}

// Server returns the server that an entry makes, its variables filled in. If the entry cannot be used, the error is a
// fault.Config.
func (t *Trial) Server(name string, d Entry) (*Server, error) {
	l := loader{env: t.env, config: &Config{Sources: t.target.Sources},
		variablesFile: t.env.WhereToPut(t.target.Sources), variables: t.variables}
	text := `{"mcpServers": {` + jsonString(name) + ": " + d.json(style{}, "") + "}}"
	if err := l.add(Source{Path: t.target.Path, Why: t.target.Why}, []byte(text)); err != nil {
		return nil, err
	}
	if len(l.config.Servers) == 1 {
		return l.config.Servers[0], nil
	}
	f := fault.New(fault.Config, fmt.Sprintf("the entry of %q cannot be used", name), "Give it a command or a url.")
	for _, p := range l.config.Problems {
		if p.Severity == Error {
			f.Message, f.Help = f.Message+": "+p.Message, p.Fix
		}
	}
	return nil, f.On(name, "")
}
