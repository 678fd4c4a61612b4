package jwt

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

const (
	// maxKeys bounds the keys of an issuer. Real ones have fewer than ten.
	maxKeys = 100
	// minRSA and maxRSA bound the modulus of an RSA key, in bits: the least that RFC 7518, 3.3, allows, and what is
	// checked in a few hundred microseconds.
	minRSA, maxRSA = 2048, 8192
	// maxExponent bounds the public exponent of an RSA key, in bytes. The usual one has three.
	maxExponent = 4
)

// key is a public key of an issuer.
type key struct {
	id         string
	algorithms []string
	public     any // as the library takes it: *rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey
}

// jwk is a key as issuers write it (RFC 7517, 4; RFC 7518, 6; RFC 8037, 2).
type jwk struct {
	Kty    string   `json:"kty"`
	Use    string   `json:"use"`
	KeyOps []string `json:"key_ops"`
	Alg    string   `json:"alg"`
	Kid    string   `json:"kid"`
	Crv    string   `json:"crv"`
	N      string   `json:"n"`
	E      string   `json:"e"`
	X      string   `json:"x"`
	Y      string   `json:"y"`
}

// parseKeys returns the keys of a JWK set that can check signatures. It passes over others: "Implementations SHOULD
// ignore JWKs within a JWK Set that use "kty" values that are not understood by them, that are missing required
// members, or for which values are out of the supported ranges" (RFC 7517, 5).
func parseKeys(data []byte) (keys []key, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(data, &set) != nil || set.Keys == nil {
		return nil, errors.New("they are no JSON with a list of keys")
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("there are more than %d", maxKeys)
	}
	for _, text := range set.Keys {
		var k jwk
		if json.Unmarshal(text, &k) != nil || k.Use != "" && k.Use != "sig" ||
			len(k.KeyOps) > 0 && !slices.Contains(k.KeyOps, "verify") {
			continue
		}
		public, algorithms := k.public()
		if k.Alg != "" {
			algorithms = slices.DeleteFunc(algorithms, func(name string) bool { return name != k.Alg })
		}
		if len(algorithms) > 0 {
			keys = append(keys, key{k.Kid, algorithms, public})
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("none of them can check a signature")
	}
	return keys, nil
}

// public returns the key, and the algorithms that it is for; none if it cannot be used.
func (k jwk) public() (public any, algorithms []string) {
	switch k.Kty {
	case "RSA":
		return k.rsa()
	case "EC":
		return k.ec()
	case "OKP":
		if x, err := octets(k.X); err == nil && k.Crv == "Ed25519" && len(x) == ed25519.PublicKeySize {
			return ed25519.PublicKey(x), []string{"EdDSA"}
		}
	}
	return nil, nil
}

func (k jwk) rsa() (public any, algorithms []string) {
	n, errN := octets(k.N)
	e, errE := octets(k.E)
	if errN != nil || errE != nil || len(n) > maxRSA/8 || len(e) > maxExponent {
		return nil, nil
	}
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
	if key.N.BitLen() < minRSA || key.N.Bit(0) == 0 || key.E < 3 || key.E%2 == 0 {
		return nil, nil
	}
	return key, []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
}

func (k jwk) ec() (public any, algorithms []string) {
	var curve elliptic.Curve
	switch k.Crv {
	case "P-256":
		curve, algorithms = elliptic.P256(), []string{"ES256"}
	case "P-384":
		curve, algorithms = elliptic.P384(), []string{"ES384"}
	case "P-521":
		curve, algorithms = elliptic.P521(), []string{"ES512"}
	default:
		return nil, nil
	}
	x, errX := octets(k.X)
	y, errY := octets(k.Y)
	if size := (curve.Params().BitSize + 7) / 8; errX != nil || errY != nil || len(x) != size || len(y) != size {
		return nil, nil
	}
	// It fails for a point off the curve.
	point, err := ecdsa.ParseUncompressedPublicKey(curve, slices.Concat([]byte{4}, x, y))
	if err != nil {
		return nil, nil
	}
	return point, algorithms
}

// octets decodes base64url without padding, which is not empty.
func octets(text string) ([]byte, error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err == nil && len(data) == 0 {
		err = errors.New("it is empty")
	}
	return data, err
}
