package auth

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// client is mcpl's identity at an authorization server.
type client struct {
	ID string `json:"id"`
	// Method is its proof at the token endpoint (RFC 7591, 2): one of the methods below.
	Method string `json:"method"`
	// Origin says where the client comes from.
	Origin clientOrigin `json:"origin"`
	// Redirect and Scopes are those that it was registered with. Until is the end of its secret; zero means never.
	Redirect string    `json:"redirect_uri,omitempty"`
	Scopes   []string  `json:"scopes,omitempty"`
	Until    time.Time `json:"secret_expires,omitzero"`

	secret string
	// For methodKey: the signing algorithm, the key, and the issuer that it signs for.
	Algorithm string `json:"algorithm,omitempty"`
	key       crypto.Signer
	audience  string
}

type clientOrigin string

const (
	fromEntry    clientOrigin = "entry"
	fromDocument clientOrigin = "document"   // its id is the URL of a document
	registered   clientOrigin = "registered" // RFC 7591
)

// The methods of authentication that mcpl knows.
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodKey   = "private_key_jwt"
)

// methodFor chooses how a client with or without a secret proves itself to a server that takes these methods. It is
// empty if there is no way. A server that names no methods takes client_secret_basic (RFC 8414, 2).
func methodFor(takes []string, secret bool) string {
	switch {
	case !secret:
		return methodNone
	case len(takes) == 0 || slices.Contains(takes, methodBasic):
		return methodBasic
	case slices.Contains(takes, methodPost):
		return methodPost
	case slices.Contains(takes, methodNone):
		return methodNone
	}
	return ""
}

// refusedError is a refusal of the token endpoint (RFC 6749, 5.2).
type refusedError struct {
	status            string
	code, description string // as the server wrote them, without secrets, on one line
}

func (e *refusedError) Error() string {
	text := "it answered with HTTP " + e.status
	if e.code != "" {
		text = "it answered " + e.code
	}
	if e.description != "" {
		text += ": " + e.description
	}
	return text
}

// refusal returns the code of the refusal in an error's chain. It is empty if there is none.
func refusal(err error) string {
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return refused.code
	}
	return ""
}

// errNoToken says that a success came without a token.
var errNoToken = errors.New("its answer is not that of a token endpoint")

// redeem asks a token endpoint for a token. form has all parameters of the grant except the client's own. Its errors
// hold no secret; a *refusedError is an answer.
func (m *Manager) redeem(ctx context.Context, s *config.Server, endpoint string, c client,
	form url.Values) (*oauth2.Token, error) {
	// The library's other ways to a token omit the resource parameter (RFC 8707) from a renewal. This one accepts all
	// parameters, the grant too.
	conf := clientcredentials.Config{ClientID: c.ID, TokenURL: endpoint, EndpointParams: form,
		AuthStyle: oauth2.AuthStyleInParams}
	if c.Method == methodBasic || c.Method == methodPost {
		conf.ClientSecret = c.secret
	}
	if c.Method == methodBasic {
		conf.AuthStyle = oauth2.AuthStyleInHeader
	}
	if c.Method == methodKey {
		if err := c.prove(form, m.opt.Now()); err != nil {
			return nil, err
		}
	}
	token, err := conf.Token(context.WithValue(ctx, oauth2.HTTPClient, m.net.client(s, endpoint)))
	var refused *oauth2.RetrieveError
	var broken *url.Error
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &refused):
		hide := hider(c, form)
		return nil, &refusedError{status: refused.Response.Status, code: quoted(s, hide(refused.ErrorCode)),
			description: quoted(s, hide(refused.ErrorDescription))}
	case errors.As(err, &broken):
		return nil, broken.Err
	default: // its text may quote the answer
		return nil, errNoToken
	}
	if token.TokenType != "" && !strings.EqualFold(token.TokenType, "bearer") {
		return nil, fmt.Errorf("its token is of the type %s, and mcpl knows Bearer", quoted(s, token.TokenType))
	}
	if !isBearer(token.AccessToken) {
		return nil, errors.New("its token has characters that no header may have")
	}
	return token, nil
}

// isBearer reports whether a token can stand in a header (RFC 6750, 2.1, and what servers make of it).
func isBearer(token string) bool {
	return token != "" && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// hider returns a function that removes the secrets of a request from a text that comes back.
func hider(c client, form url.Values) func(string) string {
	var pairs []string
	for _, secret := range []string{c.secret, form.Get("code"), form.Get("code_verifier"), form.Get("refresh_token"),
		form.Get("token"), form.Get("client_assertion")} {
		if len(secret) >= 4 {
			pairs = append(pairs, secret, "***")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}

// setToken puts a token into the record. A server that sends no new refresh token leaves the old one valid (RFC 6749,
// 6); one that names no scopes has granted those that were asked for (5.1).
func (r *record) setToken(t *oauth2.Token, now time.Time) {
	r.Secrets.Access = t.AccessToken
	if t.RefreshToken != "" {
		r.Secrets.Refresh = t.RefreshToken
	}
	r.Obtained, r.Expires = now.UTC().Truncate(time.Second), time.Time{}
	if !t.Expiry.IsZero() {
		r.Expires = t.Expiry.UTC().Truncate(time.Second)
	}
	scope, _ := t.Extra("scope").(string)
	if list := scopesIn(scope); len(list) > 0 {
		r.Granted = list
	} else if r.Granted == nil {
		r.Granted = r.Asked
	}
}

func (r *record) expired(now time.Time) bool { return r.endsWithin(0, now) }

// expiring reports whether a token is due for renewal: within skew of its end, or within a quarter of its life if
// that is less, so that a token of a short life is not renewed at each request.
func (r *record) expiring(now time.Time) bool {
	return r.endsWithin(min(skew, r.Expires.Sub(r.Obtained)/4), now)
}

func (r *record) endsWithin(d time.Duration, now time.Time) bool {
	return !r.Expires.IsZero() && !now.Add(d).Before(r.Expires)
}

// fits reports whether a record has the client and the grant that the entry asks for.
func (r *record) fits(s *config.Server) bool {
	o := oauthOf(s)
	switch {
	case r.Grant != o.Grant:
		return false
	case o.ClientID != "":
		return r.Client.Origin == fromEntry && r.Client.ID == o.ClientID &&
			(r.Client.Method == methodKey) == (o.PrivateKey != "") &&
			(o.Grant != config.ClientCredentials || slices.Equal(r.Asked, o.Scopes) || len(o.Scopes) == 0)
	}
	return r.Client.Origin != fromEntry
}

// oauthOf returns the entry's login settings, or the defaults if the entry has none.
func oauthOf(s *config.Server) config.OAuth {
	if s.OAuth == nil {
		return config.OAuth{Grant: config.AuthorizationCode}
	}
	return *s.OAuth
}

// knowSecret fills in the secret of a record's client: the entry's if the client is the entry's, else the stored one.
func (r *record) knowSecret(s *config.Server) {
	r.Client.secret = r.Secrets.Client
	if o := oauthOf(s); r.Client.Origin == fromEntry && r.Client.ID == o.ClientID {
		r.Client.secret = o.ClientSecret
	}
}
