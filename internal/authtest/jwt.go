package authtest

import (
	"crypto/ecdsa"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// keyID names the key that the server signs with.
const keyID = "authtest"

// signed returns an access token for a grant that its reader can check by itself (RFC 9068). The caller holds the lock.
func (s *Server) signed(g grant) string {
	until := g.until
	if until.IsZero() {
		until = time.Now().Add(time.Hour)
	}
	audience := s.opt.Audience
	if audience == "" {
		audience = g.resource
	}
	text := SignJWT(s.opt.Signs, map[string]any{"iss": s.http.URL + s.opt.Prefix, "aud": audience, "sub": g.client,
		"client_id": g.client, "scope": g.scope, "iat": time.Now().Unix(), "exp": until.Unix(), "jti": s.secret("jti")})
	s.secrets = append(s.secrets, text)
	return text
}

// SignJWT returns claims signed with a key, as a server signs that has the key.
func SignJWT(key *ecdsa.PrivateKey, claims map[string]any) string {
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims(claims))
	token.Header["typ"], token.Header["kid"] = "at+jwt", keyID
	text, err := token.SignedString(key)
	if err != nil {
		return "" // no server takes it
	}
	return text
}

// keys answers with the key that tokens are checked by (RFC 7517).
func (s *Server) keys(w http.ResponseWriter) {
	point, err := s.opt.Signs.PublicKey.Bytes()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	encode := base64.RawURLEncoding.EncodeToString
	s.note("keys")
	answer(w, http.StatusOK, map[string]any{"keys": []any{map[string]string{"kty": "EC", "crv": "P-256", "kid": keyID,
		"use": "sig", "x": encode(point[1:33]), "y": encode(point[33:])}}})
}
