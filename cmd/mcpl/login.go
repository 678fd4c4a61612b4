package main

import (
	"io"
	"os"
	"time"

	"github.com/cli/browser"

	"github.com/mcp-launchpad/mcpl/internal/verb"
	"github.com/mcp-launchpad/mcpl/pkg/auth"
	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// newLogins returns the keeper of the logins. It reads the settings; if they are damaged, the verb that runs says so.
func newLogins(app *verb.App) *auth.Manager {
	settings, _, err := app.Env.LoadSettings()
	if err != nil {
		settings.Credentials = config.AutoCredentials
	}
	return auth.New(auth.Options{StateDir: app.Env.StateDir(), Credentials: settings.Credentials, Version: app.Version,
		Lookup: os.LookupEnv, Now: time.Now})
}

// openBrowser opens a browser, whose output stays out of our streams.
func openBrowser(address string) error {
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	return browser.OpenURL(address)
}
