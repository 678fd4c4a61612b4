package approval

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-launchpad/mcpl/pkg/canonical"
)

// key signs the tokens of one user. It is kept in the file of the requests.
type key []byte

// keySize is the size of a key in bytes.
const keySize = 32

// id names the key. It distinguishes a token of another key from a token that was changed.
func (k key) id() [4]byte {
	sum := k.mac("mcpl approval key 1")
	return [4]byte(sum[:4])
}

// mac returns the HMAC-SHA-256 of texts, each with its length before it, so that no two lists of texts are alike.
func (k key) mac(texts ...string) []byte {
	h := hmac.New(sha256.New, k)
	for _, text := range texts {
		_ = binary.Write(h, binary.BigEndian, uint64(len(text))) // a hash takes everything
		h.Write([]byte(text))
	}
	return h.Sum(nil)
}

// digest identifies a call: 64 hex digits over its scope, principal, kind, server, name and canonical arguments. It
// reveals nothing without the key. Arguments whose canonical form does not show all of them count byte for byte:
// strings that are not Unicode would become equal.
func (k key) digest(c Call) string {
	form, args := "canonical", c.Args
	switch canon, err := canonical.JSON(c.Args); {
	case c.Args == nil:
		form = "none"
	case err != nil || bytes.ContainsRune(canon, utf8.RuneError):
		form = "raw"
	default:
		args = canon
	}
	return hex.EncodeToString(k.mac("mcpl approval of a call 1", c.Scope, string(c.Principal), string(c.Ref.Kind),
		c.Ref.Server, c.Ref.Name, form, string(args)))
}

// sign returns the token of a request. It is bound to the request, its call and its expiry.
func (k key) sign(r Request) string {
	t := token{Key: k.id(), Request: r.ID, Expires: r.Expires}
	t.MAC = [32]byte(k.tag(t, r.Call))
	return t.String()
}

func (k key) tag(t token, call string) []byte {
	return k.mac("mcpl approval token 1", t.Request, fmt.Sprint(t.Expires.Unix()), call)
}

// signed reports whether a token is the one of a request.
func (k key) signed(t token, r Request) bool {
	return t.Key == k.id() && t.Request == r.ID && hmac.Equal(t.MAC[:], k.tag(t, r.Call))
}

// token is a token in its parts.
type token struct {
	Key     [4]byte // names the key that signed it
	Request string  // the id of its request
	Expires time.Time
	MAC     [32]byte
}

// tokenPrefix begins every token of this form. It is there to be recognised, by people and by searches for secrets.
const tokenPrefix = "mcpl-approval-1."

// idSize is the length of an id; idLetters are what it is made of: none that is taken for another.
const (
	idSize    = 8
	idLetters = "abcdefghjkmnpqrstuvwxyz23456789"
)

// tokenSize is the length of a token behind its prefix.
var tokenSize = encoding.EncodedLen(4 + idSize + 8 + 32)

// encoding refuses characters that change nothing, so that a token has one spelling.
var encoding = base64.RawURLEncoding.Strict()

// String writes the token.
func (t token) String() string {
	b := append(t.Key[:], t.Request...)
	b = binary.BigEndian.AppendUint64(b, uint64(t.Expires.Unix()))
	return tokenPrefix + encoding.EncodeToString(append(b, t.MAC[:]...))
}

// IsToken reports whether a text is a token, or was meant to be one, and not an id.
func IsToken(text string) bool { return strings.HasPrefix(text, "mcpl-") || len(text) > 2*idSize }

// parseToken reads a token. Whether it is genuine, the key says.
func parseToken(text string) (token, error) {
	rest, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok {
		return token{}, fmt.Errorf("a token begins with %q", tokenPrefix)
	}
	if n := len(rest); n < tokenSize {
		return token{}, fmt.Errorf("it is cut off: %d of %d characters are missing", tokenSize-n, len(tokenPrefix)+tokenSize)
	} else if n > tokenSize {
		return token{}, fmt.Errorf("it has %d characters too many", n-tokenSize)
	}
	b, err := encoding.DecodeString(rest)
	if err != nil || strings.ContainsAny(rest, "\r\n") { // which the decoder skips
		return token{}, errors.New("it holds characters that no token has")
	}
	seconds := binary.BigEndian.Uint64(b[4+idSize:])
	t := token{Key: [4]byte(b), Request: string(b[4 : 4+idSize]), MAC: [32]byte(b[4+idSize+8:])}
	if !isID(t.Request) || seconds > maxSeconds {
		return token{}, errors.New("it was changed")
	}
	t.Expires = time.Unix(int64(seconds), 0).UTC()
	return t, nil
}

// maxSeconds is the last second of the year 9999, the last one that JSON's times can name.
const maxSeconds = 253402300799

func isID(text string) bool { return len(text) == idSize && strings.Trim(text, idLetters) == "" }
