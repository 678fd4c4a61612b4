// Package login holds what a login to a server over HTTP needs and what is known of it, as plain types.
//
// pkg/auth does logins, and reaches net/http for that. This package does not, so that internal/verb can
// speak of logins and yet run before net/http is initialised (internal/early).
package login

import (
	"io"
	"path/filepath"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// Options are what a login needs.
type Options struct {
	// Scopes to ask for. If empty, those of the entry, else those that the server names.
	Scopes []string
	// Timeout bounds the whole login.
	Timeout time.Duration
	// Show shows the person the address to open.
	Show func(address string)
	// Open opens a browser, and may take as long as that is open. If nil, no browser is opened.
	Open func(address string) error
	// Input is where the person may paste the address that the browser ended at. It may be nil.
	Input io.Reader
	// Notice tells the person what else there is to know.
	Notice func(text string)
}

// Kind is what is known of a server's login, in words of the contract.
type Kind string

// The kinds of logins.
const (
	LoggedIn    Kind = "logged in"
	Expired     Kind = "expired"            // and without a refresh token: a person has to log in again
	CanRenew    Kind = "can be renewed"     // expired, and renewed when it is needed
	NotLoggedIn Kind = "not logged in"      // a request shows whether the server wants a login
	Static      Kind = "static header"      // the entry brings its own
	Machine     Kind = "client credentials" // no person is needed
	Unknown     Kind = "unknown"            // the login cannot be read
)

// State is what is known of a server's login. It holds no secret. Its JSON form is that of the contract.
type State struct {
	Kind     Kind      `json:"login"`
	Issuer   string    `json:"issuer,omitempty"`
	Scopes   []string  `json:"scopes,omitempty"`
	Obtained time.Time `json:"obtained_at,omitzero"` // zero if there is no token
	Expires  time.Time `json:"expires_at,omitzero"`  // zero if it is not known
	// Renewable says that a new token needs no person: there is a refresh token, or there are
	// credentials that fetch one.
	Renewable bool `json:"renewable,omitempty"`
	// Kept is where the tokens are: "keyring", or "file" with its path in File.
	Kept config.Credentials `json:"kept_in,omitempty"`
	File string             `json:"file,omitempty"`
}

// Ended is the outcome of a logout.
type Ended struct {
	// Was says that there was a login.
	Was bool
	// Revoked says that the authorization server has revoked it.
	Revoked bool
	// Problem says why it was not revoked. It is empty if the authorization server has no such service.
	Problem string
}

// Dir returns the folder of the logins in mcpl's folder for state. Each is a file there.
func Dir(stateDir string) string { return filepath.Join(stateDir, "auth") }
