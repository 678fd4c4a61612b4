package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// identify chooses mcpl's client at the site's authorization server: the client of the entry; one that registered
// there before; a document that the server fetches; else one that registers now (MCP 2025-11-25, authorization,
// client registration approaches). old may be nil.
func (m *Manager) identify(ctx context.Context, s *config.Server, st *site, old *record, redirect string,
	scopes []string) (client, error) {
	o := oauthOf(s)
	switch {
	case o.ClientID != "":
		return m.entryClient(s, st, old)
	case st.ClientIDDocuments && o.MetadataURL != "":
		return client{ID: o.MetadataURL, Method: methodNone, Origin: fromDocument}, nil
	case old.registeredAt(st.Issuer, redirect, scopes, m.opt.Now()):
		c := old.Client
		c.secret = old.Secrets.Client
		return c, nil
	case st.RegistrationEndpoint != "":
		return m.register(ctx, s, st, redirect, scopes)
	}
	message := s.Name + " takes only clients that were registered by hand"
	return client{}, newFault(s, fault.Config, message,
		fmt.Sprintf("Register mcpl at %s as a native application with the redirect address %s, and put "+
			`"oauth": {"clientId": "...", "redirectPort": PORT} into the entry in %s `+
			`(and "clientSecret": "${VARIABLE}" if it gives you one).`,
			st.Issuer, "http://127.0.0.1:PORT"+callbackPath, s.Place()))
}

// entryClient returns the client that the entry names. It belongs to the issuer that it was used at before, as any
// client does (MCP SEP-2352, authorization server binding). old may be nil.
func (m *Manager) entryClient(s *config.Server, st *site, old *record) (client, error) {
	o := oauthOf(s)
	if old != nil && old.Client.Origin == fromEntry && old.Client.ID == o.ClientID &&
		strings.TrimSuffix(old.Issuer, "/") != strings.TrimSuffix(st.Issuer, "/") {
		return client{}, newFault(s, fault.Protocol,
			s.Name+" has another authorization server than before, and the client of its entry belongs to the other one",
			"Nothing was sent to it.").
			Then("If the new one is right and knows the client, forget the old one with",
				fault.Step{Verb: "auth logout", Server: s.Name}).
			Then("Then log in with", loginStep(s, nil)).
			Trace("before: " + quoted(s, old.Issuer)).Trace("now: " + quoted(s, st.Issuer))
	}
	if o.PrivateKey != "" {
		return keyedClient(s, st)
	}
	c := client{ID: o.ClientID, Origin: fromEntry, secret: o.ClientSecret}
	c.Method = methodFor(st.AuthMethods, c.secret != "")
	if c.Method == "" || c.Method == methodNone && o.Grant == config.ClientCredentials {
		return c, newFault(s, fault.Config, fmt.Sprintf("the authorization server of %s takes no client secret, only %s",
			s.Name, quoted(s, strings.Join(st.AuthMethods, ", "))),
			fmt.Sprintf("mcpl knows client_secret_basic, client_secret_post, none, and private_key_jwt with a \"privateKey\". "+
				"Ask whoever runs %s for a client of one of these kinds.", hostOf(s)))
	}
	return c, nil
}

// registeredAt reports whether r has a client that is registered at this issuer and fits this login. A secret that
// one server has given out never goes to another.
func (r *record) registeredAt(issuer, redirect string, scopes []string, now time.Time) bool {
	if r == nil || r.Issuer != issuer || r.Client.Origin != registered || r.Client.Redirect != redirect {
		return false
	}
	if slices.ContainsFunc(scopes, func(scope string) bool { return !slices.Contains(r.Client.Scopes, scope) }) {
		return false
	}
	hasSecret := r.Client.Method == methodNone || r.Secrets.Client != ""
	return hasSecret && (r.Client.Until.IsZero() || now.Before(r.Client.Until))
}

// registration is a request for a client, and its answer (RFC 7591, 2 and 3).
type registration struct {
	ClientName      string   `json:"client_name,omitempty"`
	ApplicationType string   `json:"application_type,omitempty"`
	RedirectURIs    []string `json:"redirect_uris,omitempty"`
	GrantTypes      []string `json:"grant_types,omitempty"`
	ResponseTypes   []string `json:"response_types,omitempty"`
	AuthMethod      string   `json:"token_endpoint_auth_method,omitempty"`
	Scope           string   `json:"scope,omitempty"`

	ClientID      string  `json:"client_id,omitempty"`
	ClientSecret  string  `json:"client_secret,omitempty"`
	SecretExpires float64 `json:"client_secret_expires_at,omitempty"` // seconds since 1970; zero: never
	Error         string  `json:"error,omitempty"`
	Description   string  `json:"error_description,omitempty"`
}

// register registers mcpl as a client (RFC 7591).
func (m *Manager) register(ctx context.Context, s *config.Server, st *site, redirect string,
	scopes []string) (client, error) {
	ask := registration{ClientName: "mcpl", ApplicationType: "native", RedirectURIs: []string{redirect},
		ResponseTypes: []string{"code"}, GrantTypes: []string{"authorization_code", "refresh_token"},
		AuthMethod: methodNone, Scope: strings.Join(scopes, " ")}
	if len(st.GrantTypesSupported) > 0 && !slices.Contains(st.GrantTypesSupported, "refresh_token") {
		ask.GrantTypes = ask.GrantTypes[:1]
	}
	if len(st.AuthMethods) > 0 && !slices.Contains(st.AuthMethods, methodNone) {
		if ask.AuthMethod = methodFor(st.AuthMethods, true); ask.AuthMethod == "" {
			ask.AuthMethod = methodBasic // the server will refuse it if it does not like that
		}
	}
	got, err := m.askRegistration(ctx, s, st.RegistrationEndpoint, ask)
	switch {
	case ctx.Err() != nil:
		return client{}, context.Cause(ctx)
	case err != nil:
		return client{}, newFault(s, fault.ServerConnection,
			fmt.Sprintf("the authorization server of %s does not register mcpl as a client", s.Name),
			fmt.Sprintf("Register it by hand at %s, and put \"oauth\": {\"clientId\": \"...\"} into the entry in %s.",
				st.Issuer, s.Place())).Trace("at " + quoted(s, st.RegistrationEndpoint)).Trace(s.Mask(err.Error()))
	}
	c := client{ID: got.ClientID, Method: got.AuthMethod, Origin: registered, Redirect: redirect, Scopes: scopes,
		secret: got.ClientSecret}
	switch c.Method {
	case methodNone, methodBasic, methodPost:
	default:
		// The answer does not say how the client proves itself: without a secret, if the server allows that.
		c.Method = methodFor(st.AuthMethods, c.secret != "" && !slices.Contains(st.AuthMethods, methodNone))
	}
	if got.SecretExpires > 0 {
		c.Until = time.Unix(int64(got.SecretExpires), 0).UTC()
	}
	return c, nil
}

func (m *Manager) askRegistration(ctx context.Context, s *config.Server, endpoint string,
	ask registration) (*registration, error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	resp, err := m.send(ctx, s, http.MethodPost, endpoint, string(body),
		http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	if err != nil {
		return nil, plainError(err)
	}
	var got registration
	bad := json.Unmarshal(data, &got)
	switch {
	case resp.StatusCode/100 != 2:
		return nil, &refusedError{status: resp.Status, code: quoted(s, got.Error), description: quoted(s, got.Description)}
	case bad != nil || got.ClientID == "":
		return nil, errors.New("its answer has no client_id")
	}
	return &got, nil
}
