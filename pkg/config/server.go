package config

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Transport is the way to reach a server.
type Transport string

// The transports of the protocol: a child's stdin and stdout, Streamable HTTP, and the older
// HTTP with server-sent events.
const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
	SSE   Transport = "sse"
)

// Lifecycle says how long a started server lives. If empty, it lives until it has been idle for a while.
type Lifecycle string

// The lifecycles that an entry can ask for.
const (
	Ephemeral Lifecycle = "ephemeral"  // a process for each command, never in the daemon
	KeepAlive Lifecycle = "keep-alive" // not stopped for being idle
)

// Scope says who shares a running server. If empty, it is shared, but see [Server.PerSession].
type Scope string

// The scopes that an entry can ask for.
const (
	Shared      Scope = "shared"  // all who would start it the same way
	SessionOnly Scope = "session" // the requests of one session of a gateway's client
	UserOnly    Scope = "user"    // the requests of one principal
)

// Server is one configured server, its variables filled in.
type Server struct {
	Name string
	Entry
	// File and Line are the place of the entry. Why says how the file was found.
	File string
	Line int
	Why  string
	// Project is the folder of the project that the entry comes with. It is empty for servers of the user's own files,
	// and of files that the user named.
	Project string
	// Unapproved is the fault.ApprovalRequired of a server that no one has approved, or the fault.Config of approvals that
	// cannot be read. If nil, the server may be started.
	Unapproved error
	// Missing lists the variables without value and default that the entry needs. In the fields above they stand as
	// written, as in ${TOKEN}.
	Missing []MissingVariable

	written       Entry    // as it stands in the file
	env, headers  []Setter // how each is set
	variablesFile string   // where missing variables belong
	secrets       *strings.Replacer
	literals      *strings.Replacer // as secrets, for the entry as written
	hidden        *hidden           // secrets that came later; shared by all copies
	allowed       Allowed           // for a server of a project
	given         []given           // values that files of the project give to its variables
	principal     string            // whose login it gets
	key           string            // see APIKey
	admit         func() error      // asks the approver once more; nil for servers that need no approval
}

// MissingVariable is a variable that an entry needs, and the field that needs it.
type MissingVariable struct {
	Name  string `json:"name"`
	Where string `json:"where"` // "args[2]", "env.TOKEN", "url" ...
}

// Place returns the file and the line of the entry, for a sentence.
func (s *Server) Place() string { return fmt.Sprintf("%s, line %d", s.File, s.Line) }

// Usable returns nil if the server may be started and has all it needs. Else it returns Unapproved, or the
// fault.MissingVariable that names each missing variable, the file to put it in and where to get it. A disabled server
// can be usable.
func (s *Server) Usable() error {
	if s.Unapproved != nil {
		return s.Unapproved
	}
	if len(s.Missing) == 0 {
		return nil
	}
	var names, sources []string
	for _, m := range s.Missing {
		names = append(names, "${"+m.Name+"} (in "+m.Where+")")
		if url := WhereToGet(m.Name); url != "" {
			sources = append(sources, fmt.Sprintf("Get %s at %s", m.Name, url))
		}
	}
	verb := "which is not set"
	if len(names) > 1 {
		verb = "which are not set"
	}
	message := fmt.Sprintf("server %s needs %s, %s", s.Name, strings.Join(names, ", "), verb)
	f := fault.New(fault.MissingVariable, message, "").On(s.Name, "").
		Trace("the entry stands in " + s.Place())
	for _, m := range s.Missing {
		f.ThenSet("Add to", fault.Set{Variable: m.Name, File: s.variablesFile})
	}
	if len(sources) > 0 {
		f.Next = append(f.Next, fault.Next{Why: strings.Join(sources, "\n")})
	}
	return f
}

// Admit says once more whether the server may be started, from what is approved now and from the files that it runs as
// they are now. Whoever starts or contacts a server calls it right before. The error is that of Unapproved.
func (s *Server) Admit() error {
	if s.admit == nil {
		return nil
	}
	return s.admit()
}

// PerSession reports whether each session of a gateway's client gets the server for itself: its scope says so, or says
// nothing and the server is reached over HTTP. A connection costs little, and then its stream says whose question it is
// that the server asks.
func (s *Server) PerSession() bool {
	return s.Scope == SessionOnly || s.Scope == "" && s.Transport != Stdio
}

// Fingerprint identifies how the server is started or reached: the hex SHA-256 of the entry, variables filled in.
// Secrets enter it only through the hash; time limits and the scope do not enter it.
func (s *Server) Fingerprint() string {
	texts := []string{"mcpl server 1", string(s.Transport), s.Command, s.Cwd, s.URL, fmt.Sprint(len(s.Args))}
	texts = append(texts, s.Args...)
	for _, pairs := range [][]KeyValue{s.Env, s.Headers} {
		texts = append(texts, fmt.Sprint(len(pairs)))
		pairs = slices.SortedFunc(slices.Values(pairs), func(a, b KeyValue) int { return strings.Compare(a.Name, b.Name) })
		for _, p := range pairs {
			texts = append(texts, p.Name, p.Value)
		}
	}
	// Keys that came later enter only if they are set, so that other servers keep their fingerprints.
	if s.Protocol != "" {
		texts = append(texts, "protocol", s.Protocol)
	}
	if s.Roots != nil {
		texts = append(append(texts, "roots", fmt.Sprint(len(s.Roots))), s.Roots...)
	}
	if s.key != "" {
		texts = append(texts, "apiKey", s.key)
	}
	return digest(append(texts, s.OAuth.texts()...))
}

// PinKey names what the server has offered so far, for as long as its entry keeps its name and its place: it is a
// digest of the two. project returns the place of the folder of a project; if nil, that is the folder.
func (s *Server) PinKey(project func(folder string) string) string {
	place, err := filepath.EvalSymlinks(filepath.Dir(s.File))
	if err != nil {
		place = filepath.Dir(s.File)
	}
	if project != nil {
		place = project(place)
	}
	return digest([]string{"mcpl pins 1", place, filepath.Base(s.File), s.Name})
}

// Environ returns the environment of the server's process: base ("NAME=value", as os.Environ has it), then the
// entry's own variables, which win. From then on [Server.Mask] replaces what looks secret in base.
func (s *Server) Environ(base []string) []string {
	base = s.Inherited(base)
	environ := make([]string, 0, len(base)+len(s.Env))
	for _, assignment := range base {
		name, _, _ := strings.Cut(assignment, "=")
		if !slices.ContainsFunc(s.Env, func(own KeyValue) bool { return sameVariable(own.Name, name) }) {
			environ = append(environ, assignment)
		}
	}
	s.hidden.inherit(environ)
	for _, own := range s.Env {
		environ = append(environ, own.Name+"="+own.Value)
	}
	return environ
}

// Inherited returns what the server's process gets of an environment: all of it but the secrets of the gateway, and a
// server of a project only what every program needs, unless a person has approved more.
func (s *Server) Inherited(base []string) []string {
	if s.Project != "" && !s.allowed.WholeEnv {
		return minimalEnviron(base)
	}
	return withoutOwn(base)
}

// sameVariable compares names of environment variables as the system does.
func sameVariable(a, b string) bool {
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
}

// Display is a server as a person may see it: variables by their names, no secrets.
type Display struct {
	Transport Transport `json:"transport"`
	// Command is the whole command line, in the quotes that a POSIX shell needs.
	Command string   `json:"command,omitempty"`
	Cwd     string   `json:"cwd,omitempty"`
	URL     string   `json:"url,omitempty"`
	Env     []Setter `json:"env,omitempty"`
	Headers []Setter `json:"headers,omitempty"`
}

// Setter names an environment variable or a header and says how it is set.
type Setter struct {
	Name string `json:"name"`
	From string `json:"from"` // "the entry", or each reference with its origin
}

// Display returns the entry as it was written, for people: ${VAR}s stay, literal secrets are masked, and env and
// headers show only their names.
func (s *Server) Display() Display {
	return s.display(func(text string) string { return maskPasswords(mask(s.literals, text)) })
}

// Shown is Display for a person who approves the entry: only what looks like a token is masked. A word that could be a
// program, a path or a text of a shell is shown, whatever stands before it or equals it. Long white space is counted.
func (s *Server) Shown() Display {
	tokens := s.tokens()
	d := s.display(func(text string) string { return mask(tokens, text) })
	d.Command, d.URL, d.Cwd = squeeze(d.Command), squeeze(d.URL), squeeze(d.Cwd)
	return d
}

// tokens replaces the part of literals that a person who approves need not see.
func (s *Server) tokens() *strings.Replacer {
	return replacer(slices.DeleteFunc(s.written.secrets(), func(text string) bool { return !isTokenShaped(text) }))
}

func (s *Server) display(masked func(string) string) Display {
	d := Display{Transport: s.Transport, Env: s.env, Headers: s.headers}
	d.URL = maskPasswords(masked(s.written.URL))
	d.Cwd = s.Cwd
	if s.written.Cwd != "" {
		d.Cwd = masked(s.written.Cwd)
	}
	if s.written.Command != "" {
		words := []string{quote(masked(s.written.Command))}
		for _, arg := range s.written.Args {
			words = append(words, quote(masked(arg)))
		}
		d.Command = strings.Join(words, " ")
	}
	return d
}

// quote quotes a word for a shell so that its references stay references there.
func quote(word string) string {
	if strings.Contains(word, "${") && !strings.ContainsAny(strings.ReplaceAll(word, "${", ""), "\"\\`$!\n") {
		return `"` + word + `"`
	}
	return fault.Quote(word)
}

// Mask replaces every secret of the server in text by "***": the values that came through ${VAR}; the values of its
// variables and headers; the other literal values of the entry that look secret by name, flag or form, in plain, URL
// and JSON spelling; the variables that its process inherits and that look secret; the texts given to [Server.Hide];
// and the password of every URL. Other values of fewer than four bytes occur everywhere, and stay, and so do common
// words such as "debug".
func (s *Server) Mask(text string) string {
	return maskPasswords(mask(s.hidden.replacer(), mask(s.secrets, text)))
}

// Hide makes [Server.Mask] replace these texts too, also for copies of s: the tokens of a login, which no entry
// holds. It remembers the last few, since a server may quote a token that was renewed meanwhile. A server that was
// not read from a file hides nothing.
func (s *Server) Hide(secrets ...string) { s.hidden.add(secrets) }

func mask(secrets *strings.Replacer, text string) string {
	if secrets == nil {
		return text
	}
	return secrets.Replace(text)
}
