package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcp-launchpad/mcpl/pkg/auth/login"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Login logs in to a server: through a browser, or, for a client with credentials of its own, by asking for a token.
// It returns the same as [Manager.State].
func (m *Manager) Login(ctx context.Context, s *config.Server, opt login.Options) (login.State, error) {
	if s.Transport == config.Stdio {
		return login.State{}, newFault(s, fault.Usage, s.Name+" is not a server over HTTP: there is nothing to log in to",
			"Its credentials belong in \"env\" of its entry.").
			Then("See the logins of all servers with", fault.Step{Verb: "auth status"})
	}
	if name := s.OwnLogin(); name != "" {
		return login.State{}, newFault(s, fault.Usage, fmt.Sprintf("the entry of %s brings its own login, %s", s.Name, name),
			"To log in instead, take it out of the entry in "+s.Place()+".").Then("Then log in with", loginStep(s, opt.Scopes))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, opt.Timeout, errTimeout)
	defer cancel()
	err := m.login(ctx, s, opt)
	if err != nil && ctx.Err() != nil {
		return login.State{}, ended(ctx, s, opt.Timeout)
	}
	if err != nil {
		return login.State{}, err
	}
	st, err := m.State(ctx, s)
	if err == nil && st.Kept == config.InFiles && m.store.place == config.AutoCredentials && m.store.ring != nil {
		opt.Notice("the keyring did not take the login; it is kept in a file instead")
	}
	return st, err
}

// ended is the fault of a login that was given up.
func ended(ctx context.Context, s *config.Server, limit time.Duration) *fault.Fault {
	if errors.Is(context.Cause(ctx), errTimeout) {
		return newFault(s, fault.Timeout, fmt.Sprintf("the login to %s was not completed within %s", s.Name, limit), "").
			Then("Try again, with more time",
				fault.Step{Verb: "auth login", Server: s.Name, Args: []string{"--timeout", (2 * limit).String()}})
	}
	return newFault(s, fault.Interrupted, "interrupted during the login to "+s.Name, "Nothing was changed. Try again.")
}

func (m *Manager) login(ctx context.Context, s *config.Server, opt login.Options) error {
	c, refused, err := m.probe(ctx, s)
	if err != nil {
		return err
	}
	if oauthOf(s).Grant == config.ClientCredentials {
		return m.loginMachine(ctx, s, c)
	}
	st, err := m.discover(ctx, s, c)
	if err != nil {
		return err
	}
	switch {
	case !st.found && !refused:
		return newFault(s, fault.Usage, s.Name+" does not ask for a login, and offers none", "").
			Then("Use it as it is", fault.Step{Verb: "list", Server: s.Name, Args: []string{"--refresh"}})
	// "If code_challenge_methods_supported is absent, the authorization server does not support PKCE and MCP clients MUST
	// refuse to proceed" (MCP 2025-11-25, authorization, authorization code protection).
	case !slices.Contains(st.ChallengeMethods, "S256"):
		return badMetadata(s, "its authorization server does not say that it checks code challenges (PKCE with S256), "+
			"without which a login can be stolen", st.Issuer, nil)
	case st.AuthorizationEndpoint == "":
		return badMetadata(s, "its authorization server has no page to log in at", st.Issuer, nil)
	}
	old, err := m.store.load(ctx, s)
	if err != nil {
		opt.Notice(err.Error())
		old = nil // save sets it aside
	}
	l, redirect, err := listen(s, old)
	if err != nil {
		return err
	}
	defer l.Close()
	set := opt.Scopes
	if len(set) == 0 {
		set = oauthOf(s).Scopes
	}
	scopes := withOffline(chooseScopes(set, c, st), st)
	who, err := m.identify(ctx, s, st, old, redirect, scopes)
	if err != nil {
		return err
	}
	r := st.record(config.AuthorizationCode, who, scopes)
	if who.Origin == registered {
		r.Secrets.Client = who.secret
	}
	return m.authorize(ctx, s, st, r, l, redirect, opt)
}

// withOffline adds the scope for a refresh token if the authorization server knows it and others are asked for ("MAY
// add offline_access ... when the Authorization Server metadata contains it", MCP 2026-07-28, authorization, refresh
// tokens).
func withOffline(scopes []string, st *site) []string {
	const offline = "offline_access"
	if len(scopes) == 0 || slices.Contains(scopes, offline) || !slices.Contains(st.ScopesSupported, offline) {
		return scopes
	}
	return append(slices.Clone(scopes), offline)
}

// loginMachine gets a token for a client with credentials of its own.
func (m *Manager) loginMachine(ctx context.Context, s *config.Server, c challenge) error {
	unlock, err := m.store.lock(ctx, s)
	if err != nil {
		return err
	}
	defer unlock()
	old, err := m.store.load(ctx, s)
	if err != nil {
		old = nil // save sets it aside
	}
	_, err = m.fetch(ctx, s, old, c, true)
	return err
}

// authorize sends the person to the authorization server, waits for the code that comes back, and redeems it.
func (m *Manager) authorize(ctx context.Context, s *config.Server, st *site, r *record, l net.Listener,
	redirect string, opt login.Options) error {
	verifier, state := oauth2.GenerateVerifier(), rand.Text()
	conf := oauth2.Config{ClientID: r.Client.ID, RedirectURL: redirect, Scopes: r.Asked,
		Endpoint: oauth2.Endpoint{AuthURL: st.AuthorizationEndpoint}}
	address := conf.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier),
		oauth2.SetAuthURLParam("resource", r.Resource))
	if len(address) > maxAddress {
		return badMetadata(s, fmt.Sprintf("the address to log in at is longer than %d bytes", maxAddress), st.Issuer, nil)
	}
	// A lying server can show the page of an honest one, to get its answer (RFC 9700, 4.4).
	if page, tokens := hostIn(st.AuthorizationEndpoint), hostIn(st.TokenEndpoint); page != tokens {
		opt.Notice(fmt.Sprintf("the answer of the page at %s goes to %s, for a token", page, tokens))
	}
	w := newCallbackServer(l, expected{state: state, issuer: st.Issuer, issuerRequired: st.IssuerInResponse})
	defer w.close()
	opt.Show(address)
	if opt.Open != nil {
		// This goroutine ends with the program that opens the browser, or with this one.
		go func() {
			if err := opt.Open(address); err != nil {
				opt.Notice("no browser could be opened: " + err.Error())
			}
		}()
	}
	if opt.Input != nil {
		w.read(opt.Input, opt.Notice)
	}
	var got response
	select {
	case got = <-w.got:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := got.fault(s, st)
	if err == nil {
		form := url.Values{"grant_type": {"authorization_code"}, "code": {got.code}, "redirect_uri": {redirect},
			"code_verifier": {verifier}, "resource": {r.Resource}}
		err = m.finish(ctx, s, r, form)
	}
	w.page <- err
	return err
}

// finish redeems a code and keeps the token.
func (m *Manager) finish(ctx context.Context, s *config.Server, r *record, form url.Values) error {
	token, err := m.redeem(ctx, s, r.Token, r.Client, form)
	if err != nil {
		return newFault(s, fault.ServerConnection,
			fmt.Sprintf("the authorization server of %s gave no token for the login", s.Name),
			"").Then("Try again with", loginStep(s, nil)).Trace("at " + quoted(s, r.Token)).
			Trace(s.Mask(err.Error()))
	}
	unlock, err := m.store.lock(ctx, s)
	if err != nil {
		return err
	}
	defer unlock()
	r.setToken(token, m.opt.Now())
	return m.store.save(ctx, s, r)
}

// probe asks a server for its tools without a login. refused reports whether the server wants one. The request comes
// before any handshake, since some servers shake hands with every client and refuse later; a server that wants a
// login refuses at once.
func (m *Manager) probe(ctx context.Context, s *config.Server) (c challenge, refused bool, err error) {
	method, body := http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	if s.Transport == config.SSE {
		method, body = http.MethodGet, ""
	}
	header := http.Header{}
	for _, h := range s.Headers {
		header.Add(h.Name, h.Value)
	}
	header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		header.Set("Content-Type", "application/json")
		header.Set("MCP-Protocol-Version", protocolVersion)
	}
	resp, err := m.send(ctx, s, method, s.URL, body, header)
	if err != nil {
		if ctx.Err() != nil {
			return challenge{}, false, context.Cause(ctx)
		}
		return challenge{}, false, newFault(s, fault.ServerConnection, s.Name+" cannot be reached", "").
			Then("See what is wrong with", fault.Step{Verb: "doctor", Server: s.Name}).Trace(s.Mask(err.Error()))
	}
	resp.Body.Close()
	return parseChallenges(resp.Header.Values("WWW-Authenticate")), resp.StatusCode == http.StatusUnauthorized, nil
}
