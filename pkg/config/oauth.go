package config

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// Grant is the way to get tokens for a server.
type Grant string

// The grants that an entry can ask for (OAuth 2.1, 4.1 and 4.2).
const (
	AuthorizationCode Grant = "authorization_code" // a person logs in, with the verb "auth login"
	ClientCredentials Grant = "client_credentials" // a machine has a secret of its own
)

// OAuth is the part of an entry about the login to its server. Most servers with a login need none of it.
type OAuth struct {
	Grant Grant
	// ClientID and ClientSecret are those of a client that was registered by hand. Both may be empty.
	ClientID, ClientSecret string
	// PrivateKey is the key by which the client proves itself in place of a secret: in PEM, or the absolute path of a
	// file that holds it. It may be empty.
	PrivateKey string
	// MetadataURL is the place of this client's client id metadata document. It may be empty.
	MetadataURL string
	// Scopes are asked for in place of those that the server names. It may be empty.
	Scopes []string
	// RedirectPort is the port of 127.0.0.1 that a login comes back to. Zero means any free one.
	RedirectPort int
}

// fields lists the fields of a login.
func (o *OAuth) fields() []field {
	return []field{{"grant", (*string)(&o.Grant)}, {"clientId", &o.ClientID}, {"clientSecret", &o.ClientSecret},
		{"privateKey", &o.PrivateKey}, {"clientMetadataUrl", &o.MetadataURL}, {"scopes", &o.Scopes},
		{"redirectPort", &o.RedirectPort}}
}

// oauth reads the entry's "oauth". Claude Code uses the names clientId and callbackPort too.
func (e *entryParser) oauth(m member) *OAuth {
	object, ok := m.value.(*hujson.Object)
	if !ok {
		e.wrong(m, "an object", `Write it as in: "oauth": {"clientId": "${CLIENT_ID}"}`)
		return nil
	}
	o := new(OAuth)
	e.fields(e.members(object, e.name), append(o.fields(), field{"callbackPort", &o.RedirectPort})...)
	if o.Grant != "" && o.Grant != AuthorizationCode && o.Grant != ClientCredentials {
		e.fail(m.at, `"grant" of "oauth" is unknown`,
			`Use "client_credentials" for a machine, or omit it for a person's login.`)
	}
	return o
}

// port reads the number of a TCP port. null means any.
func (e *entryParser) port(m member) int {
	if m.value.Kind() == 'n' {
		return 0
	}
	s, _ := scalar(m.value)
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 65535 {
		e.fail(m.at, fmt.Sprintf("%q is not a port number", m.key),
			fmt.Sprintf("Write a number between 1024 and 65535, as in: %q: 8765", m.key))
		return 0
	}
	return n
}

// keyFile returns the path of the private key's file. It is empty if there is none. o may be nil.
func (o *OAuth) keyFile() string {
	if o == nil || IsPEM(o.PrivateKey) {
		return ""
	}
	return o.PrivateKey
}

// IsPEM reports whether a private key is the key itself, not the path of a file.
func IsPEM(key string) bool { return strings.Contains(key, "-----BEGIN ") }

// unusable says what is wrong with a login, and how to mend it. It quotes no values.
func (o *OAuth) unusable() (message, fix string) {
	if o == nil {
		return "", ""
	}
	if message, fix = o.unusableClient(); message != "" {
		return message, fix
	}
	if slices.ContainsFunc(o.Scopes, func(scope string) bool { return scope != "" && !IsScope(scope) }) {
		return `a scope in "oauth" has a character that no scope may have`,
			`Write each scope as a text of its own: "scopes": ["read", "write"]`
	}
	if o.MetadataURL != "" && !isDocumentURL(o.MetadataURL) {
		return `"clientMetadataUrl" is not an https:// address with a path`,
			`Write it as in: "clientMetadataUrl": "https://example.com/mcpl.json"`
	}
	return "", ""
}

// unusableClient says what is wrong with the client of a login: its id, and how it proves itself.
func (o *OAuth) unusableClient() (message, fix string) {
	id, secret, key := o.ClientID != "", o.ClientSecret != "", o.PrivateKey != ""
	switch {
	case secret && key:
		return `"oauth" has a "clientSecret" and a "privateKey"`, `Omit the one that the client was not registered with.`
	case o.Grant == ClientCredentials && !(id && (secret || key)):
		return `"oauth" with the grant "client_credentials" lacks "clientId", or "clientSecret" and "privateKey"`,
			`Write the id, and the secret behind a variable: "clientSecret": "${CLIENT_SECRET}"`
	case (secret || key) && !id:
		return `"oauth" has a "clientSecret" or a "privateKey", and no "clientId"`, `Add the "clientId" that it belongs to.`
	}
	return "", ""
}

// isDocumentURL reports whether a URL can be the place of a client's metadata (OAuth Client ID Metadata Document,
// section 3).
func isDocumentURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Host != "" && len(u.Path) > 1 && u.Fragment == "" && u.User == nil
}

// IsScope reports whether text is a scope-token of RFC 6749, 3.3.
func IsScope(text string) bool {
	return text != "" && !strings.ContainsFunc(text,
		func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// texts returns what the login adds to a server's fingerprint.
func (o *OAuth) texts() []string {
	if o == nil {
		return nil
	}
	scopes := slices.Clone(o.Scopes)
	slices.Sort(scopes)
	return append([]string{"oauth", string(o.Grant), o.ClientID, o.ClientSecret, o.PrivateKey, o.MetadataURL}, scopes...)
}

// OwnLogin names the part of an entry over HTTP that is a login of its own. It is empty if there is none.
func (s *Server) OwnLogin() string {
	for _, h := range s.Headers {
		if strings.EqualFold(h.Name, "Authorization") {
			return "the header Authorization"
		}
	}
	if u, err := url.Parse(s.URL); err == nil && u.User != nil {
		return "a user in its URL"
	}
	return ""
}
