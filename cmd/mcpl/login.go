package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/cli/browser"

	"github.com/mcp-launchpad/mcpl/internal/verb"
	"github.com/mcp-launchpad/mcpl/pkg/auth"
	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// newLogins returns what keeps the logins. The settings are read now; where they are damaged, the verb that
// runs says so.
func newLogins(app *verb.App) *auth.Manager {
	settings, _, err := app.Env.LoadSettings()
	if err != nil {
		settings.Credentials = config.AutoCredentials
	}
	return auth.New(auth.Options{StateDir: app.Env.StateDir(), Credentials: settings.Credentials, Version: app.Version,
		Lookup: os.LookupEnv, Now: time.Now})
}

// logins shows pkg/auth to the verbs, which must not reach net/http.
type logins struct{ *auth.Manager }

// Login implements verb.Logins.
func (l logins) Login(ctx context.Context, s *config.Server, o verb.LoginOptions) (verb.LoginState, error) {
	opt := auth.LoginOptions{Scopes: o.Scopes, Timeout: o.Timeout, Show: o.Show, Input: o.Input, Notice: o.Notice}
	if o.Browser {
		opt.Open = openBrowser
	}
	return stateOf(l.Manager.Login(ctx, s, opt))
}

// State implements verb.Logins.
func (l logins) State(ctx context.Context, s *config.Server) (verb.LoginState, error) {
	return stateOf(l.Manager.State(ctx, s))
}

// Logout implements verb.Logins.
func (l logins) Logout(ctx context.Context, s *config.Server) (verb.LoggedOut, error) {
	out, err := l.Manager.Logout(ctx, s)
	return verb.LoggedOut(out), err
}

func stateOf(st auth.State, err error) (verb.LoginState, error) {
	return verb.LoginState{Kind: string(st.Kind), Issuer: st.Issuer, Scopes: st.Scopes, Obtained: st.Obtained, Expires: st.Expires,
		Renewable: st.Renewable, Kept: string(st.Kept), File: st.File}, err
}

// openBrowser opens a browser. What it has to say stays out of our streams.
func openBrowser(address string) error {
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	return browser.OpenURL(address)
}
