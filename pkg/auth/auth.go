// Package auth gets, keeps, renews and forgets the tokens of servers that want a login, as the authorization pages of
// MCP 2025-11-25 and 2026-07-28 describe it (OAuth 2.1).
//
// Make a [Manager] with [New]. [Manager.Login] finds the authorization server, chooses a client, and gets a token
// through a browser. [Manager.Header] gives the token to the connections of pkg/conn and renews it before it expires;
// [Manager.Renew] gets another one after a server has refused it. Both hold a lock that all processes of mcpl share,
// so that a refresh token is redeemed once. [Manager.State] says what is known of a login, [Manager.Logout] forgets
// it. Other packages decide whether and when to ask a server; only Login opens a browser.
//
// Libraries do a part: golang.org/x/oauth2 has code challenges, the address of the authorization request and the
// token endpoint with its errors, github.com/zalando/go-keyring has the keyring, github.com/cli/browser the browser.
// This package does discovery, registration, the choice of scopes and of the client, the checks of issuer and
// resource, locks and storage. The oauthex package of the protocol's own Go SDK would fetch documents, but refuses
// private addresses and resources that differ by a path, and brings the SDK along; mcp-go's client belongs to its
// transport, and keeps no lock.
package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/auth/login"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// skew is the time before a token's end at which it is renewed.
const skew = 30 * time.Second

// Options configure a manager.
type Options struct {
	// StateDir is mcpl's folder for state. Logins are in its folder auth.
	StateDir string
	// Credentials is the place of the tokens.
	Credentials config.Credentials
	// Version is mcpl's own. Authorization servers see it.
	Version string
	// Lookup returns environment variables.
	Lookup func(string) (string, bool)
	Now    func() time.Time
}

// Manager gets, keeps and renews tokens. It is safe for concurrent use.
type Manager struct {
	opt   Options
	net   network
	store *store
}

// New returns a manager. It reads nothing and asks no server yet.
func New(opt Options) *Manager {
	st := &store{dir: login.Dir(opt.StateDir), place: opt.Credentials, ringTurn: make(chan struct{}, 1)}
	st.ring = findKeyring(opt.Lookup)
	return &Manager{opt: opt, net: newNetwork(), store: st}
}

// loginStep returns the step by which a person logs in to a server. scopes may be empty.
func loginStep(s *config.Server, scopes []string) fault.Step {
	step := fault.Step{Verb: "auth login", Server: s.Name}
	if s.Principal() != "" {
		step.Args = []string{"--as", s.Principal()}
	}
	if len(scopes) > 0 {
		step.Args = append(step.Args, "--scope", strings.Join(scopes, " "))
	}
	return step
}

// Header returns the Authorization header for requests to a server. It is empty if there is no token for it. A token
// that ends within 30 s is renewed first. If the authorization server refuses the renewal, the error is a
// fault.AuthRequired; if it cannot be reached, the token serves until its end.
func (m *Manager) Header(ctx context.Context, s *config.Server) (string, error) {
	r, err := m.current(ctx, s)
	if err != nil || r.header() == "" {
		return "", err
	}
	if !r.expiring(m.opt.Now()) {
		return r.header(), nil
	}
	header, err := m.Renew(ctx, s, r.header(), nil)
	if err != nil && !fault.Is(err, fault.AuthRequired) && ctx.Err() == nil && !r.expired(m.opt.Now()) {
		return r.header(), nil
	}
	return header, err
}

// current returns the record of a server. It is nil if there is none that fits the server's entry.
func (m *Manager) current(ctx context.Context, s *config.Server) (*record, error) {
	r, err := m.store.load(ctx, s)
	if err != nil || r == nil || !r.fits(s) {
		return nil, err
	}
	r.knowSecret(s)
	return r, nil
}

// Renew returns another Authorization header than used, which the server has refused with these WWW-Authenticate
// headers or which is about to expire. used is empty if none was sent. The result is empty if there is no other.
// Concurrent renewals, across processes too, share one token request.
func (m *Manager) Renew(ctx context.Context, s *config.Server, used string, challenges []string) (string, error) {
	if r, err := m.current(ctx, s); err != nil || r == nil && oauthOf(s).Grant != config.ClientCredentials {
		return "", err // not worth a lock
	}
	unlock, err := m.store.lock(ctx, s)
	if err != nil {
		return "", err
	}
	defer unlock()
	r, err := m.current(ctx, s)
	if err != nil {
		return "", err
	}
	if h := r.header(); h != "" && h != used && !r.expired(m.opt.Now()) {
		return h, nil // another process has renewed it meanwhile
	}
	if r != nil {
		if err := r.Client.takeKey(s, r.Issuer); err != nil {
			return "", err
		}
	}
	switch {
	case oauthOf(s).Grant == config.ClientCredentials:
		return m.fetch(ctx, s, r, parseChallenges(challenges), false)
	case r == nil || r.Secrets.Refresh == "":
		return "", nil
	}
	return m.refresh(ctx, s, r)
}

// refresh redeems the refresh token of a record. The caller holds the lock.
func (m *Manager) refresh(ctx context.Context, s *config.Server, r *record) (string, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {r.Secrets.Refresh}, "resource": {r.Resource}}
	// Once the request is sent, its answer must be kept: it may hold the only valid refresh token.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestLimit)
	defer cancel()
	token, err := m.redeem(limited, s, r.Token, r.Client, form)
	if err == nil {
		r.setToken(token, m.opt.Now())
		return r.header(), m.store.save(limited, s, r)
	}
	switch refusal(err) {
	case "invalid_grant":
		r.forgetTokens()
	case "invalid_client", "unauthorized_client":
		r.forgetTokens()
		if r.Client.Origin == registered {
			r.Client.Redirect = "" // so that it registers anew
		}
	default:
		return "", newFault(s, fault.ServerConnection, fmt.Sprintf("the login of %s could not be renewed", s.Name),
			"Try again later; the login is kept.").Then("If that fails too, log in again with", loginStep(s, r.Asked)).
			Trace("at " + quoted(s, r.Token)).Trace(s.Mask(err.Error()))
	}
	if err := m.store.save(limited, s, r); err != nil {
		return "", err
	}
	return "", newFault(s, fault.AuthRequired, fmt.Sprintf("the login of %s has ended", s.Name), "").
		Then("", loginStep(s, nil)).Trace(s.Mask("its authorization server: " + err.Error()))
}

// fetch gets a token for a client that has credentials of its own (OAuth 2.1, 4.2). The caller holds the lock. r may
// be nil. With anew, fetch discovers the authorization server again.
func (m *Manager) fetch(ctx context.Context, s *config.Server, r *record, c challenge, anew bool) (string, error) {
	if r == nil || anew || !r.expiring(m.opt.Now()) { // unknown, or refused before its time: the server may have moved
		st, err := m.discover(ctx, s, c)
		if err != nil {
			return "", err
		}
		who, err := m.entryClient(s, st, r)
		if err != nil {
			return "", err
		}
		r = st.record(config.ClientCredentials, who, chooseScopes(oauthOf(s).Scopes, c, st))
	}
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {r.Resource}}
	if len(r.Asked) > 0 {
		form.Set("scope", strings.Join(r.Asked, " "))
	}
	token, err := m.redeem(ctx, s, r.Token, r.Client, form)
	if err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		f := newFault(s, fault.ServerConnection,
			fmt.Sprintf("the authorization server of %s gave no token for the client of its entry", s.Name),
			"Check \"oauth\" of "+s.Name+" in "+s.Place()+", and try again.")
		if refusal(err) != "" {
			f.Type = fault.AuthRequired
		}
		return "", f.Trace("at " + quoted(s, r.Token)).Trace(s.Mask(err.Error()))
	}
	token.RefreshToken = "" // of no use: the next token is fetched like this one
	r.Granted = nil
	r.setToken(token, m.opt.Now())
	return r.header(), m.store.save(ctx, s, r)
}

// chooseScopes decides which scopes to ask for: those that were set; else those of the server's refusal; else all
// that its metadata lists (MCP 2025-11-25, authorization, scope selection strategy).
func chooseScopes(set []string, c challenge, st *site) []string {
	switch {
	case len(set) > 0:
		return set
	case len(c.scopes) > 0:
		return c.scopes
	}
	var list []string
	for _, scope := range st.resourceScopes {
		if config.IsScope(scope) && !slices.Contains(list, scope) {
			list = append(list, scope)
		}
	}
	return list
}

// LoginStep returns the step by which a person logs in to a server that has refused a request with these
// WWW-Authenticate headers. If the login lacks scopes, the step names them and those that were asked for before. It
// is nil if the server is not known to offer a login.
func (m *Manager) LoginStep(ctx context.Context, s *config.Server, challenges []string) *fault.Step {
	c := parseChallenges(challenges)
	r, err := m.current(ctx, s)
	switch {
	case oauthOf(s).Grant == config.ClientCredentials:
		return nil
	case c.code == "insufficient_scope" && len(c.scopes) > 0:
		var union []string
		if err == nil && r != nil {
			union = slices.Concat(r.Asked, r.Granted)
		}
		union = append(union, c.scopes...)
		slices.Sort(union)
		return new(loginStep(s, slices.Compact(union)))
	case c.metadata != "" || s.OAuth != nil || err == nil && r != nil:
		return new(loginStep(s, nil))
	}
	if st, err := m.discover(ctx, s, c); err != nil || !st.found {
		return nil
	}
	return new(loginStep(s, nil))
}

// hostOf names who runs a server.
func hostOf(s *config.Server) string {
	return cmp.Or(hostIn(s.URL), s.Name)
}

// hostIn returns the host of a URL. It is empty if text is not a URL.
func hostIn(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// newFault returns a fault about a server.
func newFault(s *config.Server, t fault.Type, message, help string) *fault.Fault {
	return fault.New(t, message, help).On(s.Name, "")
}

// errTimeout is the cause of a login that took too long.
var errTimeout = errors.New("the login took too long")
