package jwt

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

// TestMain checks that no fetch is left.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const audience = "https://mcp.example.com/mcp"

// issuer is a real issuer, over HTTP on this machine.
type issuer struct {
	t    *testing.T
	http *httptest.Server
	url  string

	mu      sync.Mutex
	keys    map[string]crypto.Signer
	listed  []map[string]string // the keys that it shows
	status  int                 // of its answers; 0: they are good
	edit    func(metadata map[string]any)
	fetches int // of its keys
	now     time.Time
	notices []string
}

// newIssuer starts an issuer at a path, with the keys "rsa", "ec" and "ed".
func newIssuer(t *testing.T, path string) *issuer {
	t.Helper()
	i := &issuer{t: t, keys: map[string]crypto.Signer{}, now: time.Now().Truncate(time.Second)}
	i.http = httptest.NewServer(i)
	t.Cleanup(i.http.Close)
	i.url = i.http.URL + path
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.add("rsa", rsaKey)
	i.add("ec", ecKey)
	i.add("ed", edKey)
	return i
}

// b64 writes octets as RFC 7515, 2, has them.
func b64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// shown returns a public key as issuers write it.
func shown(id string, public crypto.PublicKey) map[string]string {
	switch k := public.(type) {
	case *rsa.PublicKey:
		return map[string]string{"kty": "RSA", "kid": id, "use": "sig", "n": b64(k.N.Bytes()), "e": "AQAB"}
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil {
			panic(err)
		}
		half := len(point) / 2
		return map[string]string{"kty": "EC", "kid": id, "crv": k.Curve.Params().Name, "x": b64(point[1 : 1+half]), "y": b64(point[1+half:])}
	case ed25519.PublicKey:
		return map[string]string{"kty": "OKP", "kid": id, "crv": "Ed25519", "x": b64(k)}
	}
	return nil
}

// add makes the issuer sign with a key, and show it.
func (i *issuer) add(id string, key crypto.Signer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys[id] = key
	i.listed = append(i.listed, shown(id, key.Public()))
}

// set changes the issuer.
func (i *issuer) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

// ServeHTTP implements http.Handler. The metadata is at the place of RFC 8414, or of OpenID Connect if it has a path.
func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	path := strings.TrimPrefix(i.url, i.http.URL)
	place := "/.well-known/oauth-authorization-server"
	if path != "" {
		place = path + "/.well-known/openid-configuration"
	}
	switch {
	case i.status != 0:
		w.WriteHeader(i.status)
	case r.URL.Path == place:
		metadata := map[string]any{"issuer": i.url, "jwks_uri": i.http.URL + "/keys"}
		if i.edit != nil {
			i.edit(metadata)
		}
		_ = json.NewEncoder(w).Encode(metadata)
	case r.URL.Path == "/keys":
		i.fetches++
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": i.listed})
	default:
		http.NotFound(w, r)
	}
}

func (i *issuer) time() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.now
}

func (i *issuer) pass(d time.Duration) { i.set(func() { i.now = i.now.Add(d) }) }

func (i *issuer) fetched() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

// verifier returns what judges tokens of the issuer.
func (i *issuer) verifier(change ...func(*config.JWT)) *Verifier {
	i.t.Helper()
	settings := config.JWT{Issuer: i.url, Audience: audience, NameClaim: "sub",
		Algorithms: []string{"RS256", "PS384", "ES256", "EdDSA"},
		Scopes:     map[string]string{"mcpl:read": "read", "mcpl:write": "write", "mcpl:destructive": "destructive"}}
	for _, change := range change {
		change(&settings)
	}
	v := New(Options{Settings: settings, Version: "test", Now: i.time, Notice: func(text string) {
		i.set(func() { i.notices = append(i.notices, text) })
	}})
	i.t.Cleanup(v.Close)
	return v
}

// claims returns good claims, changed.
func (i *issuer) claims(change ...func(jose.MapClaims)) jose.MapClaims {
	c := jose.MapClaims{"iss": i.url, "aud": audience, "sub": "ada", "exp": i.time().Add(time.Hour).Unix(),
		"scope": "openid mcpl:read mcpl:write"}
	for _, change := range change {
		change(c)
	}
	return c
}

// sign returns a token. An empty kid is left out.
func (i *issuer) sign(algorithm, kid string, key any, claims jose.MapClaims, header ...string) string {
	i.t.Helper()
	token := jose.NewWithClaims(jose.GetSigningMethod(algorithm), claims)
	if kid != "" {
		token.Header["kid"] = kid
	}
	for n := 0; n < len(header); n += 2 {
		token.Header[header[n]] = header[n+1]
	}
	signed, err := token.SignedString(key)
	if err != nil {
		i.t.Fatal(err)
	}
	return signed
}

// refused fails unless a token is refused with this code and these words.
func refused(t *testing.T, v *Verifier, token string, code gateway.TokenCode, words string) {
	t.Helper()
	p, err := v.Principal(t.Context(), token)
	why, ok := errors.AsType[*gateway.TokenError](err)
	if p != nil || !ok || why.Code != code || !strings.Contains(why.Reason, words) {
		t.Errorf("%+v, %v, not %s: %s", p, err, code, words)
	}
}

// TestPrincipal takes the tokens that an issuer signs, in each way and with each kind of claims.
func TestPrincipal(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "/tenant")
	v := i.verifier()
	want := Prefix + "ada@" + i.url
	for _, c := range []struct {
		name, algorithm, kid, key string
		tier                      gateway.Tier
		change                    func(jose.MapClaims)
		header                    []string
	}{
		{"RSA", "RS256", "rsa", "rsa", "write", func(jose.MapClaims) {}, nil},
		{"RSA-PSS", "PS384", "rsa", "rsa", "write", func(jose.MapClaims) {}, []string{"typ", "at+jwt"}},
		{"EC", "ES256", "ec", "ec", "write", func(jose.MapClaims) {}, []string{"typ", "application/at+JWT"}},
		{"Ed25519", "EdDSA", "ed", "ed", "write", func(jose.MapClaims) {}, nil},
		{"no kid", "ES256", "", "ec", "write", func(jose.MapClaims) {}, nil},
		{"audiences", "ES256", "ec", "ec", "write", func(c jose.MapClaims) { c["aud"] = []string{"x", audience} }, nil},
		{"scp", "ES256", "ec", "ec", "destructive", func(c jose.MapClaims) { c["scp"] = []string{"mcpl:destructive"} }, nil},
		{"leeway", "ES256", "ec", "ec", "write", func(c jose.MapClaims) {
			c["exp"], c["nbf"] = i.time().Add(-59*time.Second).Unix(), i.time().Add(59*time.Second).Unix()
		}, nil},
	} {
		p, err := v.Principal(t.Context(), i.sign(c.algorithm, c.kid, i.keys[c.key], i.claims(c.change), c.header...))
		if err != nil || p.Name != want || p.Tier != c.tier || p.Servers != nil {
			t.Errorf("%s: %+v, %v", c.name, p, err)
		}
	}
	if n := i.fetched(); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
}

// TestRefused refuses what an issuer has not signed for this gateway, and fetches nothing for what shows without keys.
func TestRefused(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "")
	v := i.verifier()
	der, err := x509.MarshalPKIXPublicKey(i.keys["rsa"].Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	with := func(name string, value any) jose.MapClaims {
		return i.claims(func(c jose.MapClaims) {
			if c[name] = value; value == nil {
				delete(c, name)
			}
		})
	}
	good := i.sign("ES256", "ec", i.keys["ec"], i.claims())
	for token, words := range map[string]string{
		i.sign("none", "", jose.UnsafeAllowNoneSignatureType, i.claims()):                      "signed in a way",
		i.sign("HS256", "rsa", public, i.claims()):                                             "signed in a way",
		i.sign("RS512", "rsa", i.keys["rsa"], i.claims()):                                      "signed in a way",
		i.sign("ES256", "ec", i.keys["ec"], with("iss", "https://evil.example")):               "another issuer",
		i.sign("ES256", "ec", i.keys["ec"], with("iss", i.url+"/")):                            "another issuer",
		i.sign("ES256", "ec", i.keys["ec"], with("iss", nil)):                                  "lacks one of",
		i.sign("ES256", "ec", i.keys["ec"], with("aud", "https://mcp.example.com/mcp/all")):    "another audience",
		i.sign("ES256", "ec", i.keys["ec"], with("aud", nil)):                                  "lacks one of",
		i.sign("ES256", "ec", i.keys["ec"], with("exp", nil)):                                  "lacks one of",
		i.sign("ES256", "ec", i.keys["ec"], with("exp", i.time().Add(-61*time.Second).Unix())): "has expired",
		i.sign("ES256", "ec", i.keys["ec"], with("nbf", i.time().Add(61*time.Second).Unix())):  "has not come",
		i.sign("ES256", "ec", i.keys["ec"], i.claims(), "typ", "logout+jwt"):                   "not an access token",
		i.sign("ES256", "ec", i.keys["ec"], i.claims(), "crit", "b64"):                         "critical",
		strings.Repeat("x", maxToken) + good:                                                   "too long",
		"a.b.c":                                                                                "can be read",
		"":                                                                                     "can be read",
	} {
		refused(t, v, token, gateway.InvalidToken, words)
	}
	if n := i.fetched(); n != 0 {
		t.Errorf("the keys were fetched %d times", n)
	}
	_, stranger, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(good, ".")
	claims, signature, _ := strings.Cut(rest, ".")
	forged := b64([]byte(strings.Replace(decoded(t, claims), "ada", "eve", 1)))
	for token, words := range map[string]string{
		i.sign("EdDSA", "ed", stranger, i.claims()):                                "signature is wrong",
		i.sign("EdDSA", "", stranger, i.claims()):                                  "signature is wrong",
		head + "." + forged + "." + signature:                                      "signature is wrong",
		i.sign("ES256", "rsa", i.keys["ec"], i.claims()):                           "key is none",
		i.sign("ES256", "other", i.keys["ec"], i.claims()):                         "key is none",
		i.sign("ES256", "ec", i.keys["ec"], with("sub", nil)):                      "whose it is",
		i.sign("ES256", "ec", i.keys["ec"], with("sub", 7)):                        "whose it is",
		i.sign("ES256", "ec", i.keys["ec"], with("sub", "a\nb")):                   "whose it is",
		i.sign("ES256", "ec", i.keys["ec"], with("sub", strings.Repeat("a", 256))): "whose it is",
	} {
		refused(t, v, token, gateway.InvalidToken, words)
	}
	refused(t, v, i.sign("ES256", "ec", i.keys["ec"], with("scope", "openid")), gateway.InsufficientScope, "no scope")
	if n := i.fetched(); n != 1 { // unknown ids are many, and the clock stands still
		t.Errorf("the keys were fetched %d times", n)
	}
}

func decoded(t *testing.T, text string) string {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestClaims names principals and their servers by other claims, and lets a token without a scope do a little.
func TestClaims(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "")
	v := i.verifier(func(s *config.JWT) { s.NameClaim, s.ServersClaim, s.Tier = "email", "servers", "read" })
	ask := func(servers any) string {
		return i.sign("ES256", "ec", i.keys["ec"], i.claims(func(c jose.MapClaims) {
			c["scope"], c["email"], c["servers"] = "", "ada@example.com", servers
		}))
	}
	for _, servers := range []any{"git* mail", []string{"git*", "mail"}} {
		p, err := v.Principal(t.Context(), ask(servers))
		if err != nil || p.Name != Prefix+"ada@example.com@"+i.url || p.Tier != gateway.TierRead ||
			!slices.Equal(p.Servers, []string{"git*", "mail"}) {
			t.Errorf("%+v, %v", p, err)
		}
	}
	for _, servers := range []any{nil, "", []string{}, 7} {
		refused(t, v, ask(servers), gateway.InsufficientScope, "names no server")
	}
	refused(t, v, ask("a/b"), gateway.InvalidToken, "names servers")
}

// TestRotation follows an issuer that changes its keys, and does not ask it more often than it should.
func TestRotation(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "")
	v := i.verifier()
	is := func(token string, wantFetches int) {
		t.Helper()
		if _, err := v.Principal(t.Context(), token); err != nil {
			t.Error(err)
		}
		v.keys.busy.Wait()
		if n := i.fetched(); n != wantFetches {
			t.Errorf("the keys were fetched %d times, not %d", n, wantFetches)
		}
	}
	_, second, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	old, young := i.sign("EdDSA", "ed", i.keys["ed"], i.claims()), i.sign("EdDSA", "second", second, i.claims())
	is(old, 1)
	refused(t, v, young, gateway.InvalidToken, "key is none")
	i.add("second", second)
	refused(t, v, young, gateway.InvalidToken, "key is none")
	i.pass(pause)
	is(young, 2)
	i.set(func() { i.listed = i.listed[3:] }) // only the second is left
	is(old, 2)
	i.pass(fresh)
	is(old, 3) // it is the last time: new keys come behind it
	refused(t, v, old, gateway.InvalidToken, "key is none")
}

// TestIssuerDown: an issuer that cannot be asked makes mcpl refuse no token for good, and its keys last a day. The
// person who runs the gateway hears of it once.
func TestIssuerDown(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "")
	i.status = 500
	v := i.verifier()
	token := i.sign("ES256", "ec", i.keys["ec"], i.claims(func(c jose.MapClaims) { c["exp"] = i.now.Add(100 * time.Hour).Unix() }))
	for range 3 {
		refused(t, v, token, gateway.CannotJudge, "cannot be fetched")
		i.pass(pause)
	}
	if len(i.notices) != 1 || !strings.Contains(i.notices[0], "HTTP 500") {
		t.Errorf("%q", i.notices)
	}
	i.set(func() { i.status = 0 })
	if _, err := v.Principal(t.Context(), token); err != nil {
		t.Error(err)
	}
	i.set(func() { i.status = 503 })
	i.pass(stale - time.Second)
	if _, err := v.Principal(t.Context(), token); err != nil {
		t.Error(err)
	}
	v.keys.busy.Wait()
	refused(t, v, i.sign("ES256", "new", i.keys["ec"], i.claims()), gateway.CannotJudge, "cannot be fetched")
	i.pass(time.Second)
	refused(t, v, token, gateway.CannotJudge, "cannot be fetched")
	if len(i.notices) != 2 {
		t.Errorf("%q", i.notices)
	}
}

// TestDiscovery: keys come only from where the issuer itself says, and over a way that others cannot answer.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	for words, edit := range map[string]func(map[string]any){
		"another issuer": func(m map[string]any) { m["issuer"] = "https://evil.example" },
		"not https://":   func(m map[string]any) { m["jwks_uri"] = "http://evil.example/keys" },
		"set jwks_url":   func(m map[string]any) { delete(m, "jwks_uri") },
		"HTTP 404":       func(m map[string]any) { m["jwks_uri"] = m["issuer"].(string) + "/none" },
		"no JSON with a list": func(m map[string]any) {
			m["jwks_uri"] = m["issuer"].(string) + "/.well-known/oauth-authorization-server"
		},
	} {
		i := newIssuer(t, "")
		i.edit = edit
		refused(t, i.verifier(), i.sign("ES256", "ec", i.keys["ec"], i.claims()), gateway.CannotJudge, "")
		if len(i.notices) != 1 || !strings.Contains(i.notices[0], words) {
			t.Errorf("%q, not %s", i.notices, words)
		}
	}
	i := newIssuer(t, "")
	i.edit = func(m map[string]any) { m["jwks_uri"] = "x" }
	v := i.verifier(func(s *config.JWT) { s.JWKSURL = i.http.URL + "/keys" })
	if _, err := v.Principal(t.Context(), i.sign("ES256", "ec", i.keys["ec"], i.claims())); err != nil {
		t.Error(err)
	}
}

// TestBadKeys: keys that are too large, or that come from elsewhere by a redirect, are not taken.
func TestBadKeys(t *testing.T) {
	t.Parallel()
	for words, answer := range map[string]http.HandlerFunc{
		"larger than": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, maxDocument+1)) // its reader may have read enough
		},
		"not https://": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/keys", http.StatusFound)
		},
		"redirects more than": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) },
		"more than 100": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"keys":[` + strings.Repeat("{},", maxKeys) + `{}]}`)) // as above
		},
	} {
		i := newIssuer(t, "")
		keys := httptest.NewServer(answer)
		t.Cleanup(keys.Close)
		v := i.verifier(func(s *config.JWT) { s.JWKSURL = keys.URL })
		refused(t, v, i.sign("ES256", "ec", i.keys["ec"], i.claims()), gateway.CannotJudge, "")
		if len(i.notices) != 1 || !strings.Contains(i.notices[0], words) {
			t.Errorf("%q, not %s", i.notices, words)
		}
	}
}

// TestSlowIssuer: a client that goes does not wait for an issuer that does not answer, nor does the end.
func TestSlowIssuer(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "")
	asked := make(chan struct{}, 1)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(slow.Close)
	v := i.verifier(func(s *config.JWT) { s.JWKSURL = slow.URL })
	ctx, leave := context.WithCancel(t.Context())
	judged := make(chan error, 1)
	token := i.sign("ES256", "ec", i.keys["ec"], i.claims())
	go func() {
		_, err := v.Principal(ctx, token)
		judged <- err
	}()
	<-asked
	leave()
	if err := <-judged; err == nil || !strings.Contains(err.Error(), "cannot be fetched") {
		t.Error(err)
	}
	began := time.Now()
	v.Close()
	if took := time.Since(began); took > fetchLimit/2 {
		t.Errorf("it took %s to end", took)
	}
	refused(t, v, token, gateway.CannotJudge, "")
}
