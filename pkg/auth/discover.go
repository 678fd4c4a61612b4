package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// protocolVersion goes to servers of metadata, as the protocol asks of requests to its servers.
const protocolVersion = "2025-11-25"

// resourceMetadata is a server's metadata about itself (RFC 9728, 2).
type resourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
}

// serverMetadata is an authorization server's metadata about itself (RFC 8414, 2; RFC 9207, 3; OAuth Client ID
// Metadata Document).
type serverMetadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	ScopesSupported       []string `json:"scopes_supported"`
	GrantTypesSupported   []string `json:"grant_types_supported"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	SigningAlgorithms     []string `json:"token_endpoint_auth_signing_alg_values_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	ClientIDDocuments     bool     `json:"client_id_metadata_document_supported"`
	IssuerInResponse      bool     `json:"authorization_response_iss_parameter_supported"`
}

// site is the outcome of discovery: where and how one logs in to a server.
type site struct {
	serverMetadata
	resource       string
	resourceScopes []string
	// found says that there is metadata at all. If not, the endpoints are those that MCP 2025-03-26 assumes.
	found bool
}

// record returns a record of a login there, without tokens.
func (st *site) record(grant config.Grant, who client, asked []string) *record {
	return &record{Grant: grant, Issuer: st.Issuer, Resource: st.resource, Token: st.TokenEndpoint,
		Revoke: st.RevocationEndpoint, Client: who, Asked: asked, Secrets: new(secrets)}
}

// discover finds out where one logs in to a server. c is the server's challenge, if it refused a request; it may be
// empty. All addresses in the result are safe to use.
func (m *Manager) discover(ctx context.Context, s *config.Server, c challenge) (*site, error) {
	own, err := url.Parse(s.URL)
	if err != nil {
		return nil, badMetadata(s, "its URL cannot be used", "", nil)
	}
	rm, err := m.resourceMetadata(ctx, s, own, c)
	if err != nil {
		return nil, err
	}
	st := &site{resource: canonical(own)}
	issuer, fromResource := rootOf(own), false
	if rm != nil {
		st.resource, st.resourceScopes, st.found = rm.Resource, rm.ScopesSupported, true
		if len(rm.AuthorizationServers) > 0 {
			issuer, fromResource = rm.AuthorizationServers[0], true
		}
	}
	found, err := m.serverMetadata(ctx, s, issuer)
	switch {
	case err != nil:
		return nil, err
	case found != nil:
		st.serverMetadata, st.found = *found, true
	case fromResource:
		return nil, badMetadata(s, "its authorization server has no metadata", issuer, nil)
	default: // MCP 2025-03-26, authorization, fallbacks for servers without metadata discovery
		st.serverMetadata = serverMetadata{Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize",
			TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register", ChallengeMethods: []string{"S256"}}
	}
	return st, nil
}

// canonical returns the identifier of a server whose metadata does not name it (RFC 8707, 2; MCP 2025-11-25,
// authorization, canonical server URI).
func canonical(u *url.URL) string {
	c := *u
	c.Fragment, c.RawFragment, c.User = "", "", nil
	c.Scheme, c.Host = strings.ToLower(c.Scheme), strings.ToLower(c.Host)
	return c.String()
}

// rootOf returns scheme, host and port as they are written, without path and query.
func rootOf(u *url.URL) string { return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String() }

// resourceMetadata returns a server's metadata. It is nil if the server has none. The address in the server's refusal
// counts; else it tries the well-known place with the path of the URL, then that of the root (MCP 2025-11-25,
// authorization, protected resource metadata discovery).
func (m *Manager) resourceMetadata(ctx context.Context, s *config.Server, own *url.URL, c challenge) (
	*resourceMetadata, error) {
	const place = "/.well-known/oauth-protected-resource"
	root := rootOf(own)
	var places []string
	if path := strings.TrimSuffix(own.EscapedPath(), "/"); path != "" {
		places = append(places, root+place+path)
	}
	places = append(places, root+place)
	if c.metadata != "" {
		places = append([]string{c.metadata}, slices.DeleteFunc(places, func(p string) bool { return p == c.metadata })...)
	}
	rm, from, err := firstOf[resourceMetadata](ctx, m, s, "the metadata of "+s.Name, places)
	switch {
	case rm == nil:
		return nil, err
	case rm.Resource == "":
		return nil, badMetadata(s, "its metadata names no resource", from, nil)
	case !covers(rm.Resource, own):
		return nil, badMetadata(s, "its metadata is that of another resource, "+quoted(s, rm.Resource), from, nil)
	}
	return rm, nil
}

// firstOf returns the first document that exists at these places. It is nil if there is none.
func firstOf[T any](ctx context.Context, m *Manager, s *config.Server, what string, places []string) (
	doc *T, from string, err error) {
	for _, from = range places {
		doc = new(T)
		err = m.document(ctx, s, from, doc)
		_, absent := errors.AsType[absentError](err)
		_, forbidden := errors.AsType[forbiddenError](err)
		switch {
		case err == nil:
			return doc, from, nil
		case absent:
			continue
		case ctx.Err() != nil:
			return nil, "", context.Cause(ctx)
		case forbidden:
			return nil, "", badMetadata(s, what+" is at an address that cannot be used", from, err)
		}
		return nil, "", newFault(s, fault.ServerConnection, s.Mask(what+" cannot be read"),
			"Check the connection, and try again; if it fails again, tell whoever runs "+hostOf(s)+".").
			Trace("at " + quoted(s, from)).Trace(quoted(s, err.Error()))
	}
	return nil, "", nil
}

// covers reports whether a resource is the one at u: it has the same origin, and its path is u's or a parent of it.
func covers(resource string, u *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Fragment != "" || r.User != nil || originOf(r) != originOf(u) ||
		r.RawQuery != "" && r.RawQuery != u.RawQuery {
		return false
	}
	base, path := strings.TrimSuffix(r.EscapedPath(), "/"), strings.TrimSuffix(u.EscapedPath(), "/")
	return path == base || strings.HasPrefix(path, base+"/")
}

// serverMetadata returns an authorization server's metadata. It is nil if the server has none. It tries the
// well-known places of RFC 8414 and OpenID Connect Discovery (MCP 2025-11-25, authorization, authorization server
// metadata discovery).
func (m *Manager) serverMetadata(ctx context.Context, s *config.Server, issuer string) (*serverMetadata, error) {
	if err := allowed(s, issuer); err != nil {
		return nil, badMetadata(s, "its authorization server cannot be used", issuer, err)
	}
	u, err := url.Parse(issuer)
	if err != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, badMetadata(s, "its authorization server cannot be used", issuer,
			errors.New("an issuer has no query and no fragment"))
	}
	root, path := rootOf(u), strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{root + "/.well-known/oauth-authorization-server" + path,
		root + "/.well-known/openid-configuration" + path}
	if path != "" {
		places = append(places, root+path+"/.well-known/openid-configuration")
	}
	sm, from, err := firstOf[serverMetadata](ctx, m, s, "the metadata of the authorization server of "+s.Name, places)
	if sm == nil {
		return nil, err
	}
	if err := sm.check(s, issuer); err != nil {
		return nil, badMetadata(s, "the metadata of its authorization server cannot be trusted: "+err.Error(), from, nil)
	}
	return sm, nil
}

// check verifies that metadata belongs to the issuer that was asked, and that its addresses are safe.
func (sm *serverMetadata) check(s *config.Server, issuer string) error {
	// "MUST be identical" (RFC 8414, 3.3). One difference is allowed: https://host and https://host/ are the same
	// address, and servers write either.
	if sm.Issuer != issuer && !(strings.TrimSuffix(sm.Issuer, "/") == strings.TrimSuffix(issuer, "/") &&
		strings.Count(strings.TrimSuffix(issuer, "/"), "/") == 2) {
		return errors.New("it is that of another issuer, " + quoted(s, sm.Issuer))
	}
	for _, e := range []struct {
		name, url string
		optional  bool
	}{
		{"authorization_endpoint", sm.AuthorizationEndpoint,
			slices.Equal(sm.GrantTypesSupported, []string{string(config.ClientCredentials)})},
		{"token_endpoint", sm.TokenEndpoint, false},
		{"registration_endpoint", sm.RegistrationEndpoint, true},
		{"revocation_endpoint", sm.RevocationEndpoint, true},
	} {
		if e.url == "" && e.optional {
			continue
		}
		if e.url == "" {
			return errors.New("it has no " + e.name)
		}
		if err := errors.Join(allowed(s, e.url), wellFormed(e.url)); err != nil {
			return errors.New("its " + e.name + ", " + quoted(s, e.url) + ": " + err.Error())
		}
	}
	if err := checkPage(sm.AuthorizationEndpoint); err != nil {
		return errors.New("its authorization_endpoint, " + quoted(s, sm.AuthorizationEndpoint) + ": " + err.Error())
	}
	return nil
}

// wellFormed refuses an address that a browser may read differently from mcpl (RFC 3986, 2).
func wellFormed(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("it has characters that no URL has")
	}
	return nil
}

// checkPage refuses a login address with parameters or a fragment that would change the request (RFC 6749, 3.1).
func checkPage(text string) error {
	u, err := url.Parse(text)
	if err != nil || strings.Contains(text, "#") {
		return errors.New("it has a fragment")
	}
	for name := range u.Query() {
		switch name {
		case "client_id", "code_challenge", "code_challenge_method", "redirect_uri", "request", "request_uri", "resource",
			"response_mode", "response_type", "scope", "state":
			return errors.New("it has a parameter \"" + name + "\" of its own")
		}
	}
	return nil
}

// badMetadata is the fault of metadata that cannot be right.
func badMetadata(s *config.Server, what, where string, cause error) *fault.Fault {
	f := newFault(s, fault.Protocol, s.Mask("cannot log in to "+s.Name+": "+what),
		fmt.Sprintf("No login and no token was sent. Tell whoever runs %s; if it gives out tokens by other means, put one "+
			"into \"headers\" of the entry in %s.", hostOf(s), s.Place()))
	if where != "" {
		f.Trace("at " + quoted(s, where))
	}
	return f.Because(cause)
}
