package gateway

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"
)

// KeySize is the size of a key that seals, in bytes (AES-256).
const KeySize = 32

// sealer seals what a client keeps for the gateway, so that it can neither be read nor changed there.
type sealer struct {
	keys []cipher.AEAD // the first one seals, all of them open
	macs [][]byte      // the keys of marks, as many
	now  func() time.Time
}

// newSealer returns a sealer with these keys of KeySize bytes; without one, with a new key that no one else has.
func newSealer(keys [][]byte, now func() time.Time) (*sealer, error) {
	if len(keys) == 0 {
		key := make([]byte, KeySize)
		_, _ = rand.Read(key) // it never fails (crypto/rand)
		keys = [][]byte{key}
	}
	s := &sealer{now: now}
	for _, key := range keys {
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, aead)
		s.macs = append(s.macs, mark(key, "mcpl marks", nil))
	}
	return s, nil
}

// sealed is what a seal holds.
type sealed struct {
	Expires time.Time       `json:"e,omitzero"`
	Value   json.RawMessage `json:"v"`
}

// seal returns a value as a text that opens for the same purpose until it expires. If lasts is zero, it does not.
func (s *sealer) seal(purpose string, value any, lasts time.Duration) (string, error) {
	raw, err := json.Marshal(value)
	if err == nil {
		box := sealed{Value: raw}
		if lasts > 0 {
			box.Expires = s.now().Add(lasts)
		}
		raw, err = json.Marshal(box)
	}
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.keys[0].Seal(nil, nil, raw, []byte(purpose))), nil
}

// errSeal says that a text is not what the gateway has sealed, or has expired.
var errSeal = errors.New("it was not made here, was changed, or has expired")

// open opens a sealed text.
func (s *sealer) open(purpose, text string, into any) error {
	box, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return errSeal
	}
	var raw []byte
	for _, key := range s.keys {
		if raw, err = key.Open(nil, nil, box, []byte(purpose)); err == nil {
			break
		}
	}
	var inside sealed
	if err != nil || json.Unmarshal(raw, &inside) != nil {
		return errSeal
	}
	if !inside.Expires.IsZero() && s.now().After(inside.Expires) {
		return errSeal
	}
	return json.Unmarshal(inside.Value, into)
}

// markSize is the length of a mark, in bytes.
const markSize = 16

func mark(key []byte, purpose string, text []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(purpose + "\x00"))
	mac.Write(text)
	return mac.Sum(nil)
}

// marked returns a text that can be read but not made by others, for a purpose. It does not expire, and is always the
// same for the same text.
func (s *sealer) marked(purpose, text string) string {
	return base64.RawURLEncoding.EncodeToString(append(mark(s.macs[0], purpose, []byte(text))[:markSize], text...))
}

// unmarked returns the text in what marked has returned for the same purpose.
func (s *sealer) unmarked(purpose, given string) (text string, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(given)
	if err != nil || len(raw) < markSize {
		return "", errSeal
	}
	for _, key := range s.macs {
		if hmac.Equal(raw[:markSize], mark(key, purpose, raw[markSize:])[:markSize]) {
			return string(raw[markSize:]), nil
		}
	}
	return "", errSeal
}
