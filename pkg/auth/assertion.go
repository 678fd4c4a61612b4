package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// assertionLife is how long the proof of a client is valid: enough for the way to the server and for clocks that
// differ.
const assertionLife = 2 * time.Minute

// maxKey bounds how much of a key file is read, in bytes.
const maxKey = 64 << 10

// keyedClient returns the client of an entry that has a private key.
func keyedClient(s *config.Server, st *site) (client, error) {
	c := client{ID: oauthOf(s).ClientID, Method: methodKey, Origin: fromEntry}
	if len(st.AuthMethods) > 0 && !slices.Contains(st.AuthMethods, methodKey) {
		return c, newFault(s, fault.Config, fmt.Sprintf("the authorization server of %s takes no private key, only %s",
			s.Name, quoted(s, strings.Join(st.AuthMethods, ", "))),
			fmt.Sprintf(`Take "privateKey" out of "oauth" in %s, or ask whoever runs %s for a private_key_jwt client.`,
				s.Place(), hostOf(s)))
	}
	if err := c.takeKey(s, st.Issuer); err != nil {
		return c, err
	}
	can := algorithms(c.key)
	i := slices.IndexFunc(can, func(a string) bool {
		return len(st.SigningAlgorithms) == 0 || slices.Contains(st.SigningAlgorithms, a)
	})
	if i < 0 {
		return c, newFault(s, fault.Config,
			fmt.Sprintf("the authorization server of %s takes no signatures of this kind of key, only %s", s.Name,
				quoted(s, strings.Join(st.SigningAlgorithms, ", "))),
			"Register a key of another kind for the client, and name it in \"oauth\" in "+s.Place()+".")
	}
	c.Algorithm = can[i]
	return c, nil
}

// takeKey reads the key of the entry, if the client has one, and records the issuer that it signs for.
func (c *client) takeKey(s *config.Server, issuer string) error {
	if c.Method != methodKey {
		return nil
	}
	key, err := readKey(oauthOf(s).PrivateKey)
	if err != nil {
		return newFault(s, fault.Config, fmt.Sprintf("the private key of %s cannot be used: %s", s.Name, s.Mask(err.Error())),
			fmt.Sprintf(`Correct "privateKey" of "oauth" in %s: a key in PEM, without a passphrase, or the path of its file.`,
				s.Place()))
	}
	c.key, c.audience = key, issuer
	return nil
}

// readKey returns a key from its PEM, or from the file at a path. It passes over blocks that are not private keys.
// Its errors quote nothing of the key.
func readKey(text string) (crypto.Signer, error) {
	data := []byte(text)
	if !config.IsPEM(text) {
		file, err := os.Open(text)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if data, err = io.ReadAll(io.LimitReader(file, maxKey)); err != nil {
			return nil, err
		}
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasPrefix(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "" {
			return nil, errors.New("it has a passphrase")
		}
		var key any
		var err error
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		default:
			continue
		}
		signer, ok := key.(crypto.Signer)
		if err != nil || !ok || algorithms(signer) == nil {
			return nil, errors.New("it is damaged, or of a kind that mcpl does not know")
		}
		return signer, nil
	}
	return nil, errors.New("there is no private key in PEM")
}

// algorithms returns the ways in which a key can sign, the usual one first (RFC 7518, 3.1; RFC 8037, 3.1). It is nil
// for a key of an unknown kind.
func algorithms(key crypto.Signer) []string {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return []string{"RS256", "PS256"}
	case ed25519.PrivateKey:
		return []string{"EdDSA"}
	case *ecdsa.PrivateKey:
		return map[int][]string{256: {"ES256"}, 384: {"ES384"}, 521: {"ES512"}}[k.Curve.Params().BitSize]
	}
	return nil
}

// prove adds the client's proof of who it is to a request (RFC 7523, 2.2 and 3). The audience is the issuer alone:
// with an endpoint as audience, one server could use the proof at another (draft-ietf-oauth-rfc7523bis).
func (c client) prove(form url.Values, now time.Time) error {
	claims := jwt.MapClaims{"iss": c.ID, "sub": c.ID, "aud": c.audience, "jti": rand.Text(), "iat": now.Unix(),
		"exp": now.Add(assertionLife).Unix()}
	method := jwt.GetSigningMethod(c.Algorithm)
	if method == nil {
		return errors.New("the signing algorithm of the private key is unknown")
	}
	signed, err := jwt.NewWithClaims(method, claims).SignedString(c.key)
	if err != nil {
		return errors.New("the private key cannot sign as " + c.Algorithm)
	}
	form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
	form.Set("client_assertion", signed)
	return nil
}
