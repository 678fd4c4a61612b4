package jwt

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	jose "github.com/golang-jwt/jwt/v5"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

// FuzzKeys reads the keys of an issuer: what can be used is complete, and the rest is passed over.
func FuzzKeys(f *testing.F) {
	curve, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	good, err := json.Marshal(map[string]any{"keys": []any{shown("a", curve.Public())}})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(good), `{}`, `{"keys":[]}`, `{"keys":[1,{"kty":"oct","k":"eA"}]}`, `[`,
		`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`,
		`{"keys":[{"kty":"RSA","n":"` + strings.Repeat("_", 342) + `","e":"AQAB","alg":"PS256","key_ops":["sign"]}]}`,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + strings.Repeat("A", 43) + `","use":"enc"}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := parseKeys(data)
		if (err == nil) != (len(keys) > 0) || len(keys) > maxKeys {
			t.Fatalf("%d keys, %v", len(keys), err)
		}
		for _, k := range keys {
			if k.public == nil || len(k.algorithms) == 0 {
				t.Errorf("%+v", k)
			}
			for _, algorithm := range k.algorithms { // the library takes the key for it
				err := jose.GetSigningMethod(algorithm).Verify("x", make([]byte, 64), k.public)
				if errors.Is(err, jose.ErrInvalidKeyType) || errors.Is(err, jose.ErrInvalidKey) {
					t.Errorf("%s, %T: %v", algorithm, k.public, err)
				}
			}
		}
	})
}

// FuzzToken judges whatever a client sends as a token: only what is signed counts, and errors quote nothing.
func FuzzToken(f *testing.F) {
	signer := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) // the same in all processes that fuzz
	now := time.Unix(1_800_000_000, 0)
	v := New(Options{Settings: config.JWT{Issuer: "https://i.example", Audience: "a", NameClaim: "sub", Tier: "read",
		Algorithms: []string{"ES256", "RS256", "EdDSA"}}, Now: func() time.Time { return now }, Notice: func(string) {}})
	v.keys.fetch = func(context.Context) ([]key, error) {
		return []key{{"k", []string{"EdDSA"}, signer.Public()}}, nil
	}
	sign := func(claims jose.MapClaims) string {
		signed, err := jose.NewWithClaims(jose.SigningMethodEdDSA, claims).SignedString(signer)
		if err != nil {
			f.Fatal(err)
		}
		return signed
	}
	good := []string{sign(jose.MapClaims{"iss": "https://i.example", "aud": "a", "sub": "s", "exp": now.Unix()})}
	for _, seed := range []string{good[0], sign(jose.MapClaims{"exp": 1e300, "nbf": -1e300}), "a.b.c", "..", "e30.e30.",
		b64([]byte(`{"alg":"ES256","kid":{},"typ":null}`)) + "." + b64([]byte(`{"iss":[],"aud":{},"exp":"x"}`)) + ".AA",
		b64([]byte(`{"alg":"none"}`)) + "." + b64([]byte(`null`)) + "."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		p, err := v.Principal(t.Context(), token)
		refused, isRefused := errors.AsType[*gateway.TokenError](err)
		switch {
		case (p == nil) != isRefused:
			t.Fatalf("%+v, %v", p, err)
		case p != nil && !slices.Contains(good, strings.NewReplacer("\r", "", "\n", "").Replace(token)): // base64 skips them
			t.Fatalf("%+v for %s", p, token)
		case isRefused && strings.ContainsFunc(refused.Reason, func(c rune) bool { return c < ' ' || c > '~' || c == '"' }):
			t.Errorf("%q does not fit into a header", refused.Reason)
		}
	})
}
