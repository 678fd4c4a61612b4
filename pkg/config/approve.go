package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Approver says which servers of a project's configuration a person has approved. It is safe for concurrent use.
type Approver interface {
	// Approve returns what the server gets if it may be started or contacted. Else it returns the fault.ApprovalRequired
	// that says why not, or a fault.Config if the approvals cannot be read, and whose logins the server would use.
	Approve(s *Server) (Allowed, error)
	// Adopt approves a server, with the whole environment, that was in use before there were approvals. It does nothing if
	// a person has decided about the server since.
	Adopt(s *Server) error
	// Stamp identifies what the answers depend on, beside the servers. While it stays the same, so do the answers.
	Stamp() string
}

// Allowed is what a server of a project gets.
type Allowed struct {
	// WholeEnv says that it gets the whole environment of mcpl, and not only the variables that every program needs.
	WholeEnv bool
	// LoginOwner tells apart whose logins it uses. If empty, it uses those of the user's own servers.
	LoginOwner string
}

// LoginOwner tells apart whose logins a server uses. It is empty for those of the user's own servers.
func (s *Server) LoginOwner() string { return s.allowed.LoginOwner }

// approve asks the approver about a server that comes with a project. Without an approver none is approved.
func (e Env) approve(s *Server) (Allowed, error) {
	if e.Approver == nil {
		return Allowed{}, fault.New(fault.ApprovalRequired,
			s.Name+" comes with this project, and no one has approved it", "").On(s.Name, "")
	}
	return e.Approver.Approve(s)
}

// Adopt is [Approver.Adopt]. It reports whether s may be used then. No one else may use s meanwhile.
func (e Env) Adopt(s *Server) (bool, error) {
	if err := e.Approver.Adopt(s); err != nil {
		return false, err
	}
	e.judge(s)
	return s.Unapproved == nil, nil
}

// judge asks the approver about a server that comes with a project, and enters the answer.
func (e Env) judge(s *Server) {
	s.allowed, s.Unapproved = e.approve(s)
	s.admit = func() error {
		_, err := e.approve(s)
		return err
	}
}

// Reprieves reports whether a server that was refused when the configuration was read would be approved now: a file
// that it runs is again what it was. Nothing but the approver sees such a change.
func (c *Config) Reprieves() bool {
	return slices.ContainsFunc(c.Servers, func(s *Server) bool { return s.Unapproved != nil && s.Admit() == nil })
}

// ApprovalStamp is the [Approver.Stamp] that an index of these sources depends on. It is empty if no file of them comes
// with a project.
func (e Env) ApprovalStamp(s *Sources) string {
	found := slices.ContainsFunc(s.Configs, func(f Source) bool { return f.Found })
	if !found || e.Approver == nil {
		return ""
	}
	return e.Approver.Stamp()
}

// Term is one text of an entry as it stands in its file: which field, as in "args[2]" or "env.TOKEN", and its text.
type Term struct {
	Field, Text string
	// Hash is the beginning of the hash of the whole text if a part of it is masked. An approval does not cover it.
	Hash string `json:"-"`
}

// Terms returns what a person approves of a server: all of the entry, as written, that decides which program runs and
// what it gets. The order is that of the file, but for env and headers, which are sorted. Time limits and "disabled"
// are not part of it. Secrets that the entry holds are in the texts; see [Server.ShownTerms].
func (s *Server) Terms() []Term {
	var list []Term
	add := func(field, text string) string {
		// An empty variable also decides: it hides an inherited one.
		if text != "" || strings.HasPrefix(field, "env.") || strings.HasPrefix(field, "headers.") {
			list = append(list, Term{Field: field, Text: text})
		}
		return text
	}
	w := s.written
	w.Env, w.Headers = slices.Clone(w.Env), slices.Clone(w.Headers)
	byName := func(a, b KeyValue) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Value, b.Value))
	}
	slices.SortFunc(w.Env, byName)
	slices.SortFunc(w.Headers, byName)
	add("type", string(s.Transport))
	w.mapTexts(add)
	if w.Roots != nil {
		add("roots", fmt.Sprint(len(w.Roots)))
	}
	if w.OAuth != nil {
		add("oauth.grant", string(w.OAuth.Grant))
		add("oauth.redirectPort", fmt.Sprint(w.OAuth.RedirectPort))
	}
	if s.InheritEnv {
		add("inheritEnv", "true")
	}
	if s.allowHTTP {
		add("allowHTTP", "true")
	}
	if s.TakesAPIKey {
		add("apiKey", APIKeyVariable(s.Name))
	}
	if s.Credentials != OfGateway {
		add("credentials", string(s.Credentials))
	}
	for _, g := range s.given {
		add("given."+g.name, g.text)
	}
	return list
}

// ShownTerms is Terms for a person who approves the entry: what looks like a token, and the password of the URL, is
// masked. A hash tells then when it changes.
func (s *Server) ShownTerms() []Term {
	terms, tokens, secrets := s.Terms(), s.tokens(), s.givenSecrets()
	for i := range terms {
		t := &terms[i]
		name, isGiven := strings.CutPrefix(t.Field, "given.")
		masked := t.Text
		switch {
		case isGiven && s.hides(name, t.Text): // also a short one
			masked = "***"
		case isGiven:
			masked = mask(secrets, masked)
		default:
			// Without the number of an argument, which changes with those before it.
			name, _, _ = strings.Cut(name, "[")
			masked = mask(tokens, masked)
		}
		if name == "url" {
			masked = maskPasswords(masked)
		}
		if masked != t.Text {
			t.Hash = digest([]string{name, t.Text})[:shortDigest]
		}
		t.Text = squeeze(masked)
	}
	return terms
}

// givenSecrets replaces what looks like a token in the values that environment files of the project give.
func (s *Server) givenSecrets() *strings.Replacer {
	var l secretList
	for _, g := range s.given {
		l.inText(g.text)
		l.shaped(g.text)
	}
	l = slices.DeleteFunc(l, func(text string) bool { return !isTokenShaped(text) })
	for _, g := range s.given {
		if s.hides(g.name, g.text) {
			l = append(l, g.text)
		}
	}
	return replacer(l)
}

// maxBlanks is how many characters of white space in a row a person is shown.
const maxBlanks = 8

// squeeze counts long white space in place of showing it: what stands behind it could leave the screen.
func squeeze(text string) string {
	var b strings.Builder
	for text != "" {
		rest := strings.TrimLeftFunc(text, unicode.IsSpace)
		blanks := text[:len(text)-len(rest)]
		if n := utf8.RuneCountInString(blanks); n > maxBlanks {
			blanks = fmt.Sprintf(" [%d blanks] ", n)
		}
		word := rest
		if i := strings.IndexFunc(rest, unicode.IsSpace); i >= 0 {
			word = rest[:i]
		}
		b.WriteString(blanks + word)
		text = rest[len(word):]
	}
	return b.String()
}

// shortDigest is how many digits of a hash a person is shown.
const shortDigest = 12

// given is a variable that an environment file of the project gives a value.
type given struct {
	name string
	value
}

// hides reports whether a given value is a secret by its name. In the command line, a text that does not look like a
// token may be a program: a name does not hide it.
func (s *Server) hides(name, text string) bool {
	if !looksSecret(name) || isTokenShaped(text) {
		return looksSecret(name)
	}
	words := append([]string{s.written.Command}, s.written.Args...)
	return !slices.ContainsFunc(words, func(word string) bool { return slices.Contains(referencesIn(word), name) })
}

func referencesIn(text string) []string {
	return expand(text, func(string) (string, bool) { return "", false }).names
}

// isTokenShaped reports whether a text could be a token and nothing else: no path, no file and no text of a shell.
func isTokenShaped(text string) bool {
	_, end, dotted := cutLast(text, ".")
	return !strings.ContainsAny(text, " \t\r\n/\\$`;|&<>()'\"") && !(dotted && len(end) <= 4)
}

// References returns the names of the variables that the entry refers to, in the order of the entry.
func (s *Server) References() []string {
	var names []string
	s.written.mapTexts(func(_, text string) string {
		for _, name := range referencesIn(text) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return text
	})
	for _, g := range s.given {
		names = append(names, g.refers...)
	}
	return names
}

// minimalEnviron keeps the variables that programs need to run at all: where things are, the language, the time zone,
// proxies and certificates. It is the environment of a server that comes with a project.
func minimalEnviron(base []string) []string {
	return slices.DeleteFunc(slices.Clone(base), func(assignment string) bool {
		name, _, _ := strings.Cut(assignment, "=")
		return !isBasic(name)
	})
}

// isBasic reports whether every program may see a variable. The Windows names are those that the SDKs of MCP pass on.
func isBasic(name string) bool {
	upper := strings.ToUpper(name)
	switch upper {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR", "PWD",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS",
		"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA",
		"PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME",
		"USERPROFILE", "COMSPEC", "WINDIR":
		return true
	}
	if looksSecret(name) {
		return false // npm_config_//registry.npmjs.org/:_authToken and its kin
	}
	for _, prefix := range []string{"LC_", "XDG_", "SSL_CERT_", "NPM_CONFIG_"} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	return false
}
