package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestOAuth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for text, want := range map[string]*OAuth{
		`{"url": "https://h/mcp"}`:                nil,
		`{"url": "https://h/mcp", "oauth": null}`: nil,
		`{"url": "https://h/mcp", "oauth": {}}`:   {Grant: AuthorizationCode},
		`{"url": "https://h/mcp", "oauth": {"clientId": "me", "callbackPort": 8080, "new": [1]}}`: {
			Grant: AuthorizationCode, ClientID: "me", RedirectPort: 8080},
		`{"url": "https://h/mcp", "oauth": {"redirectPort": 8765, "scopes": ["a", "b"]}}`: {
			Grant: AuthorizationCode, RedirectPort: 8765, Scopes: []string{"a", "b"}},
		`{"url": "https://h/mcp", "oauth": {"scopes": "a  b", "redirectPort": null}}`: {
			Grant: AuthorizationCode, Scopes: []string{"a", "b"}},
		`{"url": "https://h/mcp", "oauth": {"clientMetadataUrl": "https://x/me.json"}}`: {
			Grant: AuthorizationCode, MetadataURL: "https://x/me.json"},
		`{"url": "https://h/mcp", "oauth": {"grant": "client_credentials", "clientId": "${NONE:-id}", "clientSecret": "hunter2hunter2"}}`: {
			Grant: ClientCredentials, ClientID: "id", ClientSecret: "hunter2hunter2"},
	} {
		s := w.one(text)
		if !reflect.DeepEqual(s.OAuth, want) {
			t.Errorf("%s: %+v, want %+v", text, s.OAuth, want)
		}
		if want != nil && want.ClientSecret != "" && strings.Contains(s.Mask("x"+want.ClientSecret), want.ClientSecret) {
			t.Errorf("%s: the secret is not masked", text)
		}
	}
	a, b, c := w.one(`{"url": "https://h/mcp", "oauth": {"clientId": "a", "redirectPort": 1}}`), w.one(`{"url": "https://h/mcp", "oauth": {"clientId": "b"}}`),
		w.one(`{"url": "https://h/mcp", "oauth": {"clientId": "a", "redirectPort": 2}}`)
	if a.Fingerprint() == b.Fingerprint() || a.Fingerprint() != c.Fingerprint() {
		t.Error("the client enters the fingerprint, and the port does not")
	}
	if s := w.one(`{"url": "https://h/mcp", "oauth": {"clientId": "${NOWHERE_ID}"}}`); s.Usable() == nil || s.Missing[0].Where != "oauth.clientId" {
		t.Errorf("missing %v", s.Missing)
	}
}

func TestBadOAuth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`7`:                     `"oauth" is a number, not an object`,
		`{"grant": "password"}`: `"grant" of "oauth" is unknown`,
		`{"grant": "client_credentials", "clientId": "x"}`:              `lacks "clientId", or "clientSecret" and "privateKey"`,
		`{"grant": "client_credentials", "privateKey": "k.pem"}`:        `lacks "clientId", or "clientSecret" and "privateKey"`,
		`{"clientId": "x", "clientSecret": "y", "privateKey": "k.pem"}`: `has a "clientSecret" and a "privateKey"`,
		`{"privateKey": "k.pem"}`:                                       `and no "clientId"`,
		`{"clientSecret": "x"}`:                                         `has a "clientSecret" or a "privateKey", and no "clientId"`,
		`{"redirectPort": 0}`:                                           `"redirectPort" is not a port number`,
		`{"callbackPort": "x"}`:                                         `"callbackPort" is not a port number`,
		`{"scopes": ["a b"]}`:                                           `a scope in "oauth" has a character that no scope may have`,
		`{"scopes": 7}`:                                                 `"scopes" is a number, not an array`,
		`{"clientMetadataUrl": "http://x/y"}`:                           `"clientMetadataUrl" is not an https:// address with a path`,
		`{"clientMetadataUrl": "https://x/"}`:                           `"clientMetadataUrl" is not an https:// address with a path`,
		`{"clientId": 7}`:                                               `"clientId" is a number, not a string`,
	} {
		c := newWorld(t).entry(`{"url": "https://h/mcp", "oauth": ` + text + `}`)
		if len(c.Servers) > 0 || len(c.Problems) == 0 || c.Problems[0].Fix == "" ||
			!strings.Contains(c.Problems[0].Message, want) {
			t.Errorf("%s: %+v, want %s", text, c.Problems, want)
		}
	}
}

// An entry that is written reads back as the same login; a secret in it is lifted out.
func TestOAuthWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target, err := w.Target(Selection{}, "")
	if err != nil {
		t.Fatal(err)
	}
	trial := w.Trial(target)
	for _, want := range []OAuth{
		{Grant: AuthorizationCode, ClientID: "me", RedirectPort: 8080},
		{Grant: ClientCredentials, ClientID: "me", ClientSecret: "hunter2hunter2", Scopes: []string{"a", "b"}},
		{Grant: ClientCredentials, ClientID: "me", PrivateKey: "/keys/me.pem"},
		{Grant: AuthorizationCode, MetadataURL: "https://x/y"},
	} {
		d := Entry{URL: "https://h/mcp", OAuth: &want}
		s, err := trial.Server("s", d)
		if err != nil || !reflect.DeepEqual(*s.OAuth, want) {
			t.Errorf("%+v, %v, want %+v", s.OAuth, err, want)
		}
		lifted, literals := trial.Lift("s", d)
		if want.ClientSecret != "" && (lifted.OAuth.ClientSecret != "${S_CLIENT_SECRET}" || len(literals) != 1 ||
			literals[0].Where != "oauth.clientSecret" || want.ClientSecret != "hunter2hunter2") {
			t.Errorf("%+v %+v", lifted.OAuth, literals)
		}
	}
}

// A key is a path from the folder of the file, or the key itself, which is a secret.
func TestPrivateKey(t *testing.T) {
	t.Parallel()
	const key = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49\n-----END PRIVATE KEY-----\n"
	w := newWorld(t)
	for text, want := range map[string]string{
		"keys/me.pem": filepath.Join(w.Dir, "keys", "me.pem"), "~/me.pem": filepath.Join(w.Home, "me.pem"), "/me.pem": "/me.pem", key: key,
	} {
		s := w.one(fmt.Sprintf(`{"url": "https://h/mcp", "oauth": {"clientId": "me", "privateKey": %q}}`, text))
		if s.OAuth.PrivateKey != want {
			t.Errorf("%q is %q, want %q", text, s.OAuth.PrivateKey, want)
		}
		if masked := s.Mask("x" + key); (masked != "x"+key) != IsPEM(text) {
			t.Errorf("%q: %q", text, masked)
		}
	}
}
