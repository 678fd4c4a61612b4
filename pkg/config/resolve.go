package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// resolve fills in the variables of a server that was read from a file. It reports false if the server is unusable
// then; a problem says why.
func (l *loader) resolve(s *Server) bool {
	s.Command, s.Cwd = tilde(s.Command, l.env.Home), tilde(s.Cwd, l.env.Home)
	s.written, s.variablesFile = s.Entry, l.env.WhereToPut(l.config.Sources)
	var through []string
	s.Entry = s.written.mapTexts(func(where, text string) string {
		x := expand(text, l.variables.text)
		for _, name := range x.names {
			l.use(name, s.Name)
		}
		for _, name := range x.missing {
			if !slices.ContainsFunc(s.Missing, func(m MissingVariable) bool { return m.Name == name }) {
				s.Missing = append(s.Missing, MissingVariable{name, where})
			}
		}
		for _, v := range x.values {
			if !IsPlain(v.Name) {
				through = append(through, v.Value)
			}
		}
		if x.strange {
			l.problem(Warning, s, where+` has a "${" that is neither ${NAME} nor ${NAME:-default} and stays as it is`,
				`Name a variable, or write $${ for a plain "${".`)
		}
		return x.text
	})
	if s.Transport == Stdio {
		s.Cwd = l.cwd(s)
	}
	l.roots(s)
	if s.OAuth != nil {
		s.OAuth.Grant = cmp.Or(s.OAuth.Grant, AuthorizationCode)
	}
	if key := s.OAuth.keyFile(); key != "" {
		s.OAuth.PrivateKey = absolute(key, projectDir(s.File), l.env.Home)
	}
	s.env, s.headers = l.setters(s.written.Env), l.setters(s.written.Headers)
	// The name is in every message about the server, and so is not a secret.
	public := func(value string) bool { return strings.Contains(s.Name, strings.TrimSpace(value)) }
	s.secrets = replacer(slices.DeleteFunc(append(through, s.Entry.masked()...), public))
	s.literals, s.hidden = replacer(slices.DeleteFunc(s.written.masked(), public)), new(hidden)
	if message, fix := l.unusable(s); message != "" {
		l.problem(Error, s, message, fix)
		return false
	}
	return true
}

// cwd returns the absolute folder that a server starts in. A relative one starts from the file's projectDir. Without
// one, the servers of a project that was found start in the project's folder.
func (l *loader) cwd(s *Server) string {
	switch {
	case s.Cwd == "":
		return l.config.Sources.project
	case filepath.IsAbs(s.Cwd):
		return filepath.Clean(s.Cwd)
	default:
		return filepath.Join(projectDir(s.File), s.Cwd)
	}
}

// roots makes paths among a server's roots absolute. URIs stay.
func (l *loader) roots(s *Server) {
	for i, root := range s.Roots {
		if !strings.Contains(root, "://") {
			s.Roots[i] = absolute(root, projectDir(s.File), l.env.Home)
		}
	}
}

// setters says how each variable or header is set.
func (l *loader) setters(pairs []KeyValue) []Setter {
	var list []Setter
	for _, p := range pairs {
		var from []string
		x := expand(p.Value, l.variables.text)
		for _, name := range x.names {
			val, set := l.variables.find(name)
			switch {
			case slices.Contains(x.missing, name):
				val.from = "not set"
			case !set:
				val.from = "not set, its default"
			}
			from = append(from, fmt.Sprintf("${%s}: %s", name, val.from))
		}
		if from == nil {
			from = []string{"the entry"}
		}
		list = append(list, Setter{p.Name, strings.Join(from, ", ")})
	}
	return list
}

// unusable says what is wrong with a server whose variables are filled in, and how to mend it. It quotes no values,
// since they may be secret. If variables are missing, it does not judge a URL or a command.
func (l *loader) unusable(s *Server) (message, fix string) {
	for _, header := range s.Headers {
		if strings.ContainsAny(header.Value, "\r\n\x00") {
			return fmt.Sprintf("the value of the header %s has a line break", header.Name),
				"Take it out, also from the variable it comes from."
		}
	}
	texts := s.Entry
	texts.OAuth = nil
	bad := ""
	texts.mapTexts(func(where, text string) string {
		if bad == "" && strings.Contains(text, "\x00") {
			bad = where
		}
		return text
	})
	switch {
	case bad != "":
		return bad + " has a NUL character", "Take it out: no program accepts one."
	case len(s.Missing) > 0:
		return "", ""
	case slices.ContainsFunc(s.Roots,
		func(root string) bool { return !filepath.IsAbs(root) && !strings.HasPrefix(root, "file://") }):
		return `"roots" has a URI that does not name a folder`, `Write a path, or a URI that begins with file://`
	case s.Transport != Stdio:
		if message, fix = unusableURL(s.URL, s.allowHTTP); message == "" {
			message, fix = s.OAuth.unusable()
		}
		return message, fix
	case strings.TrimSpace(s.Command) == "":
		return `"command" is empty once its variables are filled in`, "Set the variable, or write the command itself."
	case strings.ContainsAny(s.Command, " \t\n") && !l.exists(s):
		return `"command" is a whole command line, and no file of that name exists`, splitFix(s)
	}
	return "", ""
}

// unusableURL says what is wrong with the URL of a server, and how to mend it.
func unusableURL(text string, allowHTTP bool) (message, fix string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return `"url" is not an http:// or https:// address with a host`, `Write it as in: "url": "https://example.com/mcp"`
	case u.Scheme == "http" && !allowHTTP && !IsLoopback(u.Hostname()):
		return `"url" is plain http:// to another machine: anyone on the way can read all of it, tokens too`,
			`Write https://. If you trust the network, add "allowHTTP": true to the entry instead.`
	}
	return "", ""
}

// IsLoopback reports whether a host is this machine: localhost, 127.0.0.0/8 or ::1, also with a final dot.
func IsLoopback(host string) bool {
	host = strings.TrimSuffix(host, ".")
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// exists reports whether a server's command is a file.
func (l *loader) exists(s *Server) bool {
	dir := s.Cwd
	if dir == "" {
		dir = l.env.Dir
	}
	info, err := os.Stat(absolute(s.Command, dir, l.env.Home))
	return err == nil && !info.IsDir()
}

// splitFix says how to write a command line as command and args, secrets masked.
func splitFix(s *Server) string {
	words := strings.Fields(s.written.Command)
	if len(words) == 0 || strings.ContainsAny(s.written.Command, `"'\`) {
		return `Leave the program in "command" and put each argument into "args".`
	}
	split := Entry{Command: words[0], Args: slices.Concat(words[1:], s.written.Args)}
	secrets := replacer(split.masked())
	for i, arg := range split.Args {
		split.Args[i] = fmt.Sprintf("%q", mask(secrets, mask(s.literals, arg)))
	}
	return fmt.Sprintf(`Split it: "command": %q, "args": [%s]`, mask(secrets, mask(s.literals, split.Command)),
		strings.Join(split.Args, ", "))
}
