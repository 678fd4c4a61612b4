package auth

import (
	"context"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// Kind is what is known of a server's login, in words.
type Kind string

// The kinds of logins.
const (
	LoggedIn    Kind = "logged in"
	Expired     Kind = "expired"            // and there is no refresh token: a person has to log in again
	CanRenew    Kind = "can be renewed"     // expired, and renewed when it is needed
	NotLoggedIn Kind = "not logged in"      // whether one is needed shows when the server is asked
	Static      Kind = "static header"      // the entry brings its own
	Machine     Kind = "client credentials" // no person is needed
)

// State is what is known of a server's login. It holds no secret.
type State struct {
	Kind     Kind
	Issuer   string
	Scopes   []string
	Obtained time.Time // zero: there is no token
	Expires  time.Time // zero: not known
	// Renewable says that there is a refresh token, or credentials that fetch a new one.
	Renewable bool
	// Kept is where the tokens are: "keyring", or "file" with its path in File.
	Kept config.Credentials
	File string
}

// State says what is known of a server's login. No server is asked.
func (m *Manager) State(ctx context.Context, s *config.Server) (State, error) {
	if s.OwnLogin() != "" {
		return State{Kind: Static}, nil
	}
	r, err := m.current(ctx, s)
	if err != nil {
		return State{}, err
	}
	machine := oauthOf(s).Grant == config.ClientCredentials
	if r == nil || r.header() == "" && !machine {
		if machine {
			return State{Kind: Machine, Renewable: true}, nil
		}
		return State{Kind: NotLoggedIn}, nil
	}
	st := State{Kind: LoggedIn, Issuer: r.Issuer, Scopes: r.Granted, Obtained: r.Obtained, Expires: r.Expires, Renewable: r.Renewable || machine,
		Kept: r.Kept, File: m.store.path(r.Binding)}
	switch expired := r.expired(m.opt.Now()); {
	case machine:
		st.Kind = Machine
	case expired && r.Renewable:
		st.Kind = CanRenew
	case expired:
		st.Kind = Expired
	}
	return st, nil
}

// Logout is what became of a login that was ended.
type Logout struct {
	// Was says that there was one.
	Was bool
	// Revoked says that the authorization server was told, and took it.
	Revoked bool
	// Problem says why it was not; "" where it has no such service.
	Problem string
}

// Logout forgets the login of a server, and tells its authorization server where that can be told (RFC
// 7009). A file that is damaged is set aside.
func (m *Manager) Logout(ctx context.Context, s *config.Server) (Logout, error) {
	ctx = forServer(ctx, s)
	unlock, err := m.store.lock(ctx, s)
	if err != nil {
		return Logout{}, err
	}
	defer unlock()
	var out Logout
	if r, err := m.store.load(ctx, s); err == nil && r != nil {
		out.Was = r.header() != ""
		r.knowSecret(s)
		out.Revoked, out.Problem = m.revokeAll(ctx, s, r)
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
	for _, t := range []struct{ token, hint string }{{r.Secrets.Refresh, "refresh_token"}, {r.Secrets.Access, "access_token"}} {
		if t.token == "" {
			continue
		}
		if err := m.revoke(ctx, r, t.token, t.hint); err != nil {
			return false, s.Mask(quoted(err.Error()))
		}
		revoked = true
	}
	return revoked, ""
}
