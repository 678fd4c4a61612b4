package auth

import (
	"context"
	"errors"
	"net/url"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/auth/login"
	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// State says what is known of a server's login. It asks no server.
func (m *Manager) State(ctx context.Context, s *config.Server) (login.State, error) {
	if s.OwnLogin() != "" {
		return login.State{Kind: login.Static}, nil
	}
	r, err := m.current(ctx, s)
	if err != nil {
		return login.State{}, err
	}
	machine := oauthOf(s).Grant == config.ClientCredentials
	if r == nil || r.header() == "" && !machine {
		if machine {
			return login.State{Kind: login.Machine, Renewable: true}, nil
		}
		if s.APIKey() != "" {
			return login.State{Kind: login.Static}, nil
		}
		return login.State{Kind: login.NotLoggedIn}, nil
	}
	st := login.State{Kind: login.LoggedIn, Issuer: r.Issuer, Scopes: r.Granted, Obtained: r.Obtained, Expires: r.Expires,
		Renewable: r.Renewable || machine, Kept: r.Kept, File: m.store.path(r.Binding)}
	switch expired := r.expired(m.opt.Now()); {
	case machine:
		st.Kind = login.Machine
	case expired && r.Renewable:
		st.Kind = login.CanRenew
	case expired:
		st.Kind = login.Expired
	}
	return st, nil
}

// Logout forgets the login of a server, and revokes it if its authorization server can (RFC 7009). It sets a damaged
// file aside, and fails if something else than a file is in its place. For a server that is not approved it asks no
// one: the request would carry the secrets of the entry.
func (m *Manager) Logout(ctx context.Context, s *config.Server) (login.Ended, error) {
	unlock, err := m.store.lock(ctx, s)
	if err != nil {
		return login.Ended{}, err
	}
	defer unlock()
	var out login.Ended
	r, err := m.store.load(ctx, s)
	if errors.Is(err, atomicfile.ErrUnfit) {
		return out, err // whether there was a login is not known, and what lies there is not mcpl's
	}
	if err == nil && r != nil {
		out.Was = r.header() != ""
		r.knowSecret(s)
		if s.Unapproved != nil {
			out.Problem = "its entry is not approved, so it was not asked to"
		} else {
			out.Revoked, out.Problem = m.revokeAll(ctx, s, r)
		}
	}
	return out, m.store.remove(ctx, s)
}

// revokeAll revokes the tokens of a record, the one that lasts longer first.
func (m *Manager) revokeAll(ctx context.Context, s *config.Server, r *record) (revoked bool, problem string) {
	if r.Revoke == "" {
		return false, ""
	}
	if err := r.Client.takeKey(s, r.Issuer); err != nil {
		return false, err.Error()
	}
	for _, t := range []struct{ token, hint string }{{r.Secrets.Refresh, "refresh_token"},
		{r.Secrets.Access, "access_token"}} {
		if t.token == "" {
			continue
		}
		form := url.Values{"token": {t.token}, "token_type_hint": {t.hint}, "grant_type": nil} // nil: the library sends none
		_, err := m.redeem(ctx, s, r.Revoke, r.Client, form)
		if refused, ok := errors.AsType[*refusedError](err); ok {
			err = errors.New("it answered with HTTP " + refused.status)
		}
		if err != nil && !errors.Is(err, errNoToken) {
			return false, quoted(s, err.Error())
		}
		revoked = true
	}
	return revoked, ""
}
