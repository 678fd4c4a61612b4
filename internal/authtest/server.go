// Package authtest is a real authorization server and an MCP server behind it, over HTTP on this machine,
// for tests. It approves every login, checks what a careful server checks (redirect addresses, code
// challenges, client secrets, resources, refresh tokens that come twice), lies if its options say so, and
// remembers what it was asked. [Browse] plays the browser of the person who logs in.
package authtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are how a server behaves. The zero value is a careful server of MCP 2025-11-25.
type Options struct {
	// Prefix is the path of the issuer, as in "/tenant1".
	Prefix string
	// MetadataPath is where the authorization server's metadata is; "" is the place of RFC 8414.
	MetadataPath string
	// ResourcePath is where the resource's metadata is; "" is the place of RFC 9728 for /mcp.
	ResourcePath string
	// NoResource and NoMetadata take the documents away.
	NoResource, NoMetadata bool
	// Silent leaves resource_metadata out of the refusals.
	Silent bool
	// Edit changes a document before it is sent: "resource" or "server".
	Edit func(kind string, doc map[string]any)
	// Clients are those that were registered by hand: ids and their secrets, "" for none. Any redirect
	// address on this machine is theirs.
	Clients map[string]string
	// Keys are clients that prove themselves with a key, in the way of RFC 7523: ids and public keys.
	Keys map[string]crypto.PublicKey
	// Signs is the key that access tokens are signed with, as JSON Web Tokens; nil if they say nothing. It is on P-256.
	Signs *ecdsa.PrivateKey
	// Audience is the audience of such tokens. "" is the resource that the client asks for.
	Audience string
	// NoRegistration takes registration away. Method is what a registered client is to use; "" is what it asks for.
	NoRegistration bool
	Method         string
	// Expires is how long tokens last, in seconds; 0: it is not said, and they last.
	Expires int
	// NoRefresh gives no refresh tokens.
	NoRefresh bool
	// Scopes are what each tool needs. A tool that is not named needs none.
	Scopes map[string]string
	// Iss is the iss of authorization responses: "" is right, "none" leaves it out, else it is taken as it stands.
	Iss string
	// Deny is the error that logins end with.
	Deny string
	// TokenError is the error that the token endpoint answers with, "down" for HTTP 503.
	TokenError string
}

// Server is a running server.
type Server struct {
	http *httptest.Server

	mu      sync.Mutex
	opt     Options
	events  []string
	clients map[string]registered
	codes   map[string]grant
	access  map[string]grant
	refresh map[string]grant
	used    map[string]bool // refresh tokens that were redeemed
	secrets []string        // all that must stay between the server and its client
}

// registered is a client.
type registered struct {
	secret, method, redirect string
	key                      crypto.PublicKey
}

// grant is what a code or a token stands for.
type grant struct {
	client, redirect, challenge, resource, scope string
	until                                        time.Time
}

// New starts a server. Close ends it.
func New(opt Options) *Server {
	s := &Server{opt: opt, clients: map[string]registered{}, codes: map[string]grant{}, access: map[string]grant{},
		refresh: map[string]grant{}, used: map[string]bool{}}
	for id, secret := range opt.Clients {
		method := "client_secret_basic"
		if secret == "" {
			method = "none"
		}
		s.clients[id] = registered{secret: secret, method: method}
	}
	for id, key := range opt.Keys {
		s.clients[id] = registered{key: key, method: "private_key_jwt"}
	}
	s.http = httptest.NewUnstartedServer(s) // which may be asked at once, by whoever knew its port's last owner
	s.http.Start()
	return s
}

// Close ends the server.
func (s *Server) Close() { s.http.Close() }

// URL is that of the MCP server, Issuer that of the authorization server.
func (s *Server) URL() string { return s.http.URL + "/mcp" }

// Issuer is the identifier of the authorization server.
func (s *Server) Issuer() string { return s.http.URL + s.options().Prefix }

func (s *Server) options() Options {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opt
}

// Change changes how the server behaves from now on.
func (s *Server) Change(change func(*Options)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.opt)
}

// Expire ends all access tokens, Revoke also the refresh tokens.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
}

// Revoke ends all tokens.
func (s *Server) Revoke() {
	s.Expire()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.refresh)
}

// Events returns what the server was asked, in order: "register", "authorize SCOPES", "token GRANT" for
// each token that was given, "keys", "refused ERROR", "revoke KIND", "reuse", "call TOOL".
func (s *Server) Events() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// Count counts the events that begin with what.
func (s *Server) Count(what string) int {
	n := 0
	for _, event := range s.Events() {
		if strings.HasPrefix(event, what) {
			n++
		}
	}
	return n
}

// Secrets returns every code, token and secret that the server has given out or was shown.
func (s *Server) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.secrets)
}

// note remembers an event. The caller holds the lock.
func (s *Server) note(format string, args ...any) {
	s.events = append(s.events, fmt.Sprintf(format, args...))
}

// secret makes up a secret. The caller holds the lock.
func (s *Server) secret(kind string) string {
	text := kind + "-" + rand.Text()
	s.secrets = append(s.secrets, text)
	return text
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &s.opt
	resourcePath, metadataPath := o.ResourcePath, o.MetadataPath
	if resourcePath == "" {
		resourcePath = "/.well-known/oauth-protected-resource/mcp"
	}
	if metadataPath == "" {
		metadataPath = "/.well-known/oauth-authorization-server" + o.Prefix
	}
	switch {
	case r.URL.Path == "/mcp":
		s.serveMCP(w, r)
	case r.URL.Path == resourcePath && !o.NoResource:
		s.document(w, "resource", map[string]any{"resource": s.http.URL + "/mcp",
			"authorization_servers": []string{s.http.URL + o.Prefix}})
	case r.URL.Path == metadataPath && !o.NoMetadata:
		s.document(w, "server", s.metadata())
	case r.URL.Path == o.Prefix+"/keys" && o.Signs != nil:
		s.keys(w)
	case r.URL.Path == o.Prefix+"/register" && !o.NoRegistration:
		s.register(w, r)
	case r.URL.Path == o.Prefix+"/authorize":
		s.authorize(w, r)
	case r.URL.Path == o.Prefix+"/token":
		s.token(w, r)
	case r.URL.Path == o.Prefix+"/revoke":
		s.revoke(w, r)
	default:
		http.NotFound(w, r)
	}
}

// metadata is the authorization server's (RFC 8414).
func (s *Server) metadata() map[string]any {
	o, base := &s.opt, s.http.URL+s.opt.Prefix
	doc := map[string]any{
		"issuer":                                base,
		"authorization_endpoint":                base + "/authorize",
		"token_endpoint":                        base + "/token",
		"revocation_endpoint":                   base + "/revoke",
		"response_types_supported":              []string{"code"},
		"code_challenge_methods_supported":      []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic", "client_secret_post"},
	}
	if len(o.Keys) > 0 {
		doc["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt"}
	}
	if o.Signs != nil {
		doc["jwks_uri"] = base + "/keys"
	}
	if !o.NoRegistration {
		doc["registration_endpoint"] = base + "/register"
	}
	if o.Iss == "" {
		doc["authorization_response_iss_parameter_supported"] = true
	}
	return doc
}

func (s *Server) document(w http.ResponseWriter, kind string, doc map[string]any) {
	if s.opt.Edit != nil {
		s.opt.Edit(kind, doc)
	}
	answer(w, http.StatusOK, doc)
}

func answer(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc) // the client may have gone
}

// serveMCP is the MCP server: the tools "t" and "write".
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	_ = json.NewDecoder(r.Body).Decode(&m) // a DELETE has no body
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	g, ok := s.access[token]
	metadata := ""
	if !s.opt.Silent {
		metadata = `, resource_metadata="` + s.http.URL + "/.well-known/oauth-protected-resource/mcp" + `"`
		if s.opt.ResourcePath != "" {
			metadata = `, resource_metadata="` + s.http.URL + s.opt.ResourcePath + `"`
		}
	}
	need := s.opt.Scopes[m.Params.Name]
	switch {
	case !ok || g.resource != s.http.URL+"/mcp" || !g.until.IsZero() && time.Now().After(g.until):
		s.note("unauthorized")
		scope := ""
		if base := s.opt.Scopes[""]; base != "" {
			scope = `, scope="` + base + `"`
		}
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`+scope+metadata)
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_token"})
		return
	case need != "" && !slices.Contains(strings.Fields(g.scope), need):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+need+`"`+metadata)
		answer(w, http.StatusForbidden, map[string]string{"error": "insufficient_scope"})
		return
	}
	result := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},` +
			`"serverInfo":{"name":"guarded","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"t","inputSchema":{"type":"object"}},` +
			`{"name":"write","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"ok"}]}`,
	}[m.Method]
	if result == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if m.Method == "tools/call" {
		s.note("call %s", m.Params.Name)
	}
	answer(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": json.RawMessage(result)})
}
