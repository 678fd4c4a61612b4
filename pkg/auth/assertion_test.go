package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/authtest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// must returns a key that could be made.
func must[K any](key K, err error) K {
	if err != nil {
		panic(err)
	}
	return key
}

// pemOf returns a block of PEM.
func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func p256(t *testing.T) (key *ecdsa.PrivateKey, text string) {
	t.Helper()
	key = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	return key, pemOf("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key)))
}

// keyed is the entry of a machine with a key.
func keyed(key string) string {
	return fmt.Sprintf(`, "oauth": {"grant": "client_credentials", "clientId": "robot", "privateKey": %q}`, key)
}

// A machine with a key signs for each token anew. The record does not hold the key.
func TestPrivateKey(t *testing.T) {
	t.Parallel()
	edKey, rsaKey := must2(ed25519.GenerateKey(rand.Reader)), must(rsa.GenerateKey(rand.Reader, 2048))
	ec256, ec256Text := p256(t)
	ec384, ec521 := must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)),
		must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader))
	for name, tt := range map[string]struct {
		key   crypto.Signer
		text  string
		takes []string
		want  string
	}{
		"P-256":        {ec256, ec256Text, nil, "ES256"},
		"P-256, named": {ec256, ec256Text, []string{"RS256", "ES256"}, "ES256"},
		"P-384, after its curve": {ec384, pemOf("EC PARAMETERS", []byte{6, 5, 43, 129, 4, 0, 34}) +
			pemOf("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(ec384))), nil, "ES384"},
		"P-521":                       {ec521, pemOf("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(ec521))), nil, "ES512"},
		"RSA":                         {rsaKey, pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey)), nil, "RS256"},
		"RSA, for one that is strict": {rsaKey, pemOf("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(rsaKey))), []string{"PS256"}, "PS256"},
		"Ed25519":                     {edKey, pemOf("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(edKey))), []string{"EdDSA"}, "EdDSA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := authtest.Options{Keys: map[string]crypto.PublicKey{"robot": tt.key.Public()}, Expires: 3600}
			if tt.takes != nil {
				o.Edit = set("server", "token_endpoint_auth_signing_alg_values_supported", tt.takes)
			}
			as := newServer(t, o)
			file := filepath.Join(t.TempDir(), "robot.pem")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{file, tt.text} {
				dir := t.TempDir()
				s, m := entryFor(t, as.URL(), keyed(key)), newManager(dir, 0)
				first, err := m.Renew(t.Context(), s, "", nil)
				if err != nil || wantHeader(t, m, s) != first {
					t.Fatalf("%q %v", first, err)
				}
				if again, err := newManager(dir, time.Hour).Header(t.Context(), s); err != nil || again == "" || again == first {
					t.Errorf("not fetched anew: %v", err)
				}
				r, err := m.current(t.Context(), s)
				if err != nil || r.Client.Algorithm != tt.want {
					t.Errorf("%+v, %v", r, err)
				}
				data, err := os.ReadFile(m.store.path(bindingOf(s)))
				if err != nil || strings.Contains(string(data), strings.Split(tt.text, "\n")[1]) {
					t.Errorf("the key is kept: %v", err)
				}
				if out, err := m.Logout(t.Context(), s); err != nil || !out.Revoked {
					t.Errorf("%+v %v", out, err)
				}
			}
		})
	}
}

// must2 returns the second of three.
func must2[A, B any](_ A, b B, err error) B { return must(b, err) }

// A person's login can be that of a client with a key too.
func TestPrivateKeyOfPerson(t *testing.T) {
	t.Parallel()
	key, text := p256(t)
	as := newServer(t, authtest.Options{Keys: map[string]crypto.PublicKey{"me": key.Public()}, Expires: 3600})
	s, dir := entryFor(t, as.URL(), fmt.Sprintf(`, "oauth": {"clientId": "me", "privateKey": %q}`, text)), t.TempDir()
	mustLogIn(t, newManager(dir, 0), s)
	h := wantHeader(t, newManager(dir, 0), s)
	if again, err := newManager(dir, time.Hour).Header(t.Context(), s); err != nil || again == "" || again == h {
		t.Errorf("not renewed: %v", err)
	}
	if other := entryFor(t, as.URL(), `, "oauth": {"clientId": "me"}`); must(newManager(dir, 0).current(t.Context(), other)) != nil {
		t.Error("the login of a client with a key serves one without")
	}
}

// What cannot be used as a key is said before anything is sent, and never quoted.
func TestBadPrivateKey(t *testing.T) {
	t.Parallel()
	key, text := p256(t)
	body := strings.Split(text, "\n")[1]
	p224 := must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))
	for name, tt := range map[string]struct {
		options authtest.Options
		key     string
		typ     fault.Type
		message string
	}{
		"no file":            {authtest.Options{}, "/nowhere/k.pem", fault.Config, "the private key of s cannot be used: open "},
		"a folder":           {authtest.Options{}, "/", fault.Config, "the private key of s cannot be used: read /"},
		"no key":             {authtest.Options{}, pemOf("CERTIFICATE", []byte("x")), fault.Config, "there is no private key in PEM"},
		"half a key":         {authtest.Options{}, strings.Replace(text, body, body[:40], 1), fault.Config, "cannot be used: "},
		"a passphrase":       {authtest.Options{}, pemOf("ENCRYPTED PRIVATE KEY", []byte("x")), fault.Config, "it has a passphrase"},
		"a curve of no name": {authtest.Options{}, pemOf("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(p224))), fault.Config, "of a kind that mcpl does not know"},
		"another key": {authtest.Options{},
			pemOf("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))))),
			fault.AuthRequired, "gave no token for the client of its entry"},
		"no keys there":    {authtest.Options{Edit: set("server", "token_endpoint_auth_methods_supported", []string{"client_secret_basic"})}, text, fault.Config, "takes no private key, only client_secret_basic"},
		"other signatures": {authtest.Options{Edit: set("server", "token_endpoint_auth_signing_alg_values_supported", []string{"RS256"})}, text, fault.Config, "takes no signatures of this kind of key, only RS256"},
		"it repeats it":    {authtest.Options{TokenError: "echo"}, text, fault.AuthRequired, "gave no token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.options.Keys = map[string]crypto.PublicKey{"robot": key.Public()}
			as := newServer(t, tt.options)
			_, err := newManager(t.TempDir(), 0).Renew(t.Context(), entryFor(t, as.URL(), keyed(tt.key)), "", nil)
			f := wantFault(t, err, tt.typ, tt.message)
			if all := f.Message + helpOf(f) + f.Traceback; strings.Contains(all, body[:20]) || strings.Contains(all, "eyJ") {
				t.Errorf("it tells a secret: %s", all)
			}
			if tt.typ == fault.Config && as.Count("refused") > 0 {
				t.Errorf("events %v", as.Events())
			}
		})
	}
	if err := (client{Method: methodKey, key: key}).prove(nil, time.Now()); err == nil {
		t.Error("a damaged record signs")
	}
	if err := (client{Method: methodKey, Algorithm: "RS256", key: key}).prove(nil, time.Now()); err == nil {
		t.Error("an elliptic key signs as RSA")
	}
}

// A key that is gone ends renewals, and the logout still forgets the login.
func TestLostPrivateKey(t *testing.T) {
	t.Parallel()
	key, text := p256(t)
	as := newServer(t, authtest.Options{Keys: map[string]crypto.PublicKey{"robot": key.Public()}, Expires: 3600})
	file := filepath.Join(t.TempDir(), "robot.pem")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, dir := entryFor(t, as.URL(), keyed(file)), t.TempDir()
	if _, err := newManager(dir, 0).Renew(t.Context(), s, "", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	wantHeader(t, newManager(dir, 0), s)
	_, err := newManager(dir, time.Hour).Header(t.Context(), s)
	wantFault(t, err, fault.Config, "the private key of s cannot be used: open "+file)
	if out, err := newManager(dir, 0).Logout(t.Context(), s); err != nil || !out.Was || out.Revoked ||
		!strings.Contains(out.Problem, "the private key of s cannot be used") {
		t.Errorf("%+v %v", out, err)
	}
}
