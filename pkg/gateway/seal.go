package gateway

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"
)

// sealer seals what a client keeps for the gateway, so that it can neither be read nor changed there.
type sealer struct {
	aead cipher.AEAD
	now  func() time.Time
}

// newSealer returns a sealer with a new key.
func newSealer(now func() time.Time) (*sealer, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails (crypto/rand)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &sealer{aead, now}, nil
}

// sealed is what a seal holds.
type sealed struct {
	Expires time.Time       `json:"e"`
	Value   json.RawMessage `json:"v"`
}

// seal returns a value as a text that opens for the same purpose until it expires.
func (s *sealer) seal(purpose string, value any, lasts time.Duration) (string, error) {
	raw, err := json.Marshal(value)
	if err == nil {
		raw, err = json.Marshal(sealed{s.now().Add(lasts), raw})
	}
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, raw, []byte(purpose))), nil
}

// errSeal says that a text is not what the gateway has sealed, or has expired.
var errSeal = errors.New("it was not made here, was changed, or has expired")

// open opens a sealed text.
func (s *sealer) open(purpose, text string, into any) error {
	box, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return errSeal
	}
	raw, err := s.aead.Open(nil, nil, box, []byte(purpose))
	var inside sealed
	if err != nil || json.Unmarshal(raw, &inside) != nil || s.now().After(inside.Expires) {
		return errSeal
	}
	return json.Unmarshal(inside.Value, into)
}
