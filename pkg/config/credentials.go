package config

import (
	"fmt"
	"slices"
	"strings"
)

// Whose says whose credentials a gateway sends to a server over HTTP. If empty, they are those of the gateway.
type Whose string

// The credentials that an entry can ask for.
const (
	OfGateway Whose = "gateway" // the gateway's own, as on the command line
	OfUser    Whose = "user"    // the login of the principal who calls
	Forwarded Whose = "forward" // headers of the request of the client, by the entry's "forward"
)

// PerUser reports whether each principal of a gateway gets the server for itself.
func (s *Server) PerUser() bool { return s.Scope == UserOnly || s.Credentials == OfUser }

// For returns the server with the login of a principal in place of the gateway's, and with these headers in place of
// its own of the same names.
func (s *Server) For(principal string, headers []KeyValue) *Server {
	own := *s
	if s.Credentials == OfUser {
		own.principal = principal
	}
	if len(headers) > 0 {
		replaced := func(h KeyValue) bool {
			return slices.ContainsFunc(headers, func(f KeyValue) bool { return strings.EqualFold(f.Name, h.Name) })
		}
		own.Headers = append(slices.DeleteFunc(slices.Clone(s.Headers), replaced), headers...)
		own.hidden = s.hidden.fork() // what is hidden here is not the secret of others
		for _, h := range headers {
			own.Hide(h.Value)
		}
	}
	return &own
}

// Principal is whose login the server gets; "" means the gateway's, or that of the user of the command line.
func (s *Server) Principal() string { return s.principal }

// APIKey is the key that the server gets as a bearer token if there is no login for it: the value of the variable
// ${NAME}_API_KEY of the process, with the name of the server in capitals. It is "" if the entry does not take one, or
// if the server gets the login of a principal.
func (s *Server) APIKey() string {
	if s.principal != "" || s.Credentials == OfUser {
		return ""
	}
	return s.key
}

// APIKeyVariable returns the name of the variable that may hold the key of a server.
func APIKeyVariable(server string) string {
	upper := func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return c - 'a' + 'A'
		case c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
			return c
		}
		return '_'
	}
	return strings.Map(upper, server) + "_API_KEY"
}

// apiKey gives a server its key. A server of a project gets one only if its entry says so, which a person approves.
func (l *loader) apiKey(s *Server) {
	if s.Transport == Stdio || s.OwnLogin() != "" || s.Project != "" && !s.TakesAPIKey {
		return
	}
	name := APIKeyVariable(s.Name)
	l.config.EnvNames = append(l.config.EnvNames, name)
	if value, set := l.env.Lookup(name); set && value != "" && !strings.ContainsAny(value, "\r\n\x00") {
		s.key = value
		s.Hide(value)
	}
}

// whose reads whose credentials the server gets. Another word makes the entry unusable.
func (e *entryParser) whose(m member) Whose {
	w := Whose(text(m.value))
	if k := m.value.Kind(); k != 'n' && (k != '"' || !slices.Contains([]Whose{"", OfGateway, OfUser, Forwarded}, w)) {
		e.fail(m.at, `"credentials" is not "gateway", "user" or "forward"`, "Use one of these, or omit it.")
	}
	return w
}

// credentials checks the fields about credentials of an entry whose transport is known.
func (e *entryParser) credentials(s *Server) {
	const forwardFix = `Write it as in: "credentials": "forward", "forward": {"Authorization": "X-Notes-Token"}`
	switch {
	case s.Transport == Stdio && (s.Credentials != "" || s.Forward != nil || s.TakesAPIKey):
		e.fail(e.at, `"credentials", "forward" and "apiKey" are for servers with a "url"`,
			`A server with a "command" gets its credentials in "env".`)
	case (s.Credentials == Forwarded) != (len(s.Forward) > 0):
		e.fail(e.at, `"forward" and "credentials": "forward" belong together`, forwardFix)
	}
	for _, f := range s.Forward {
		if !IsHeaderName(f.Name) || !IsHeaderName(f.Value) {
			e.fail(e.at, `"forward" has a name that is not a valid header name`, forwardFix)
		} else if !forwardable(f.Value) {
			e.fail(e.at, fmt.Sprintf(`"forward" hands on the header %s, which is between the client and mcpl`, f.Value),
				"Have the client send the credentials in a header of their own. "+forwardFix)
		}
	}
}

// forwardable reports whether a header of a client may be handed on: it is none of those by which the client shows the
// gateway who it is, or by which the two speak.
func forwardable(header string) bool {
	header = strings.ToLower(header)
	own := []string{"authorization", "proxy-authorization", "cookie", "host", "origin", "accept", "content-type",
		"content-length", "connection", "transfer-encoding", "last-event-id"}
	return !slices.Contains(own, header) && !strings.HasPrefix(header, "mcp-")
}
