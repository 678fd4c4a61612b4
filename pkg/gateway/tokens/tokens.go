// Package tokens keeps the tokens that let clients use a gateway over HTTP: one file with a hash of each, which only
// its owner can read.
//
// Make a token with [Store.Add], which returns it once, and ask [Store.Find] whose a token is and what it may do.
package tokens

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Store is a file of tokens, which need not exist. Several processes may use it at once.
type Store struct {
	Path string
	Now  func() time.Time
	// Fixed says that somebody else writes the file: it cannot be changed here, and has to be there.
	Fixed bool
	// Read, if not nil, remembers what was read of the file for as long as it stays as it is.
	Read *Memo
}

// Memo remembers the tokens of a file. The zero value is ready for use.
type Memo = atomicfile.Memo[[]Token]

// Token is what is kept of a token.
type Token struct {
	Name    string    `json:"name"`
	Hash    string    `json:"hash"` // SHA-256 of the token, in hexadecimal digits
	Created time.Time `json:"created"`
	// Expires is when the token counts no more; zero if it always does.
	Expires time.Time `json:"expires,omitzero"`
	// Servers are globs of the servers that it opens. If empty, it opens all.
	Servers []string `json:"servers,omitempty"`
	// Tier is the most that tools may do which are called with it: "read", "write" or "destructive". If empty, anything.
	Tier string `json:"tier,omitempty"`
	// Profile is the only profile that it opens. If empty, it opens all.
	Profile string `json:"profile,omitempty"`
	// PerMinute bounds the calls with it in a minute, and AtOnce those at the same time. Zero means that nothing does.
	PerMinute int `json:"per_minute,omitempty"`
	AtOnce    int `json:"at_once,omitempty"`
}

// version is that of the file's layout, {"version": 2, "tokens": [...]}. In version 1 a token had only a name, a hash
// and a time.
const version = 2

type layout struct {
	Version int     `json:"version"`
	Tokens  []Token `json:"tokens"`
}

const (
	// maxFile bounds the file, in bytes.
	maxFile = 1 << 20
	// lockWait is how long a change waits for that of another process.
	lockWait = 10 * time.Second
)

// List returns the tokens. A file that cannot be read, or that someone else could have written, is a fault.
func (s Store) List() ([]Token, error) {
	list, err := s.Read.Get(s.Path, s.read)
	return slices.Clone(list), err
}

func (s Store) read() ([]Token, error) {
	data, _, err := atomicfile.ReadOwn(s.Path, maxFile)
	if errors.Is(err, fs.ErrNotExist) && !s.Fixed {
		return nil, nil
	}
	var l layout
	line := 0
	if err == nil {
		line, err = atomicfile.ParseJSON(data, &l)
	}
	if err == nil && (l.Version < 1 || l.Version > version) {
		err = fmt.Errorf("its version is %d, and this mcpl knows versions 1 to %d", l.Version, version)
	}
	if err == nil {
		err = check(l.Tokens)
	}
	if err != nil {
		return nil, fault.New(fault.Config, fmt.Sprintf("%s: no token in this file counts: %s",
			atomicfile.At(s.Path, line), atomicfile.Reason(err)),
			"Mend the file, or delete it and make the tokens anew. No one else may be able to write it.")
	}
	return l.Tokens, nil
}

// tiers returns the tiers that a token may have.
func tiers() []string { return []string{"", "read", "write", "destructive"} }

// reserved begins the names of principals that have a token of an issuer (pkg/gateway/jwt).
const reserved = "jwt:"

// check fails for a token that says something of itself that mcpl would not hold it to.
func check(list []Token) error {
	for _, t := range list {
		switch {
		case t.Name == "":
			return errors.New("a token has no name")
		case strings.HasPrefix(t.Name, reserved):
			return fmt.Errorf("the name %q begins with %s, as those of tokens of an issuer do", t.Name, reserved)
		case !slices.Contains(tiers(), t.Tier):
			return fmt.Errorf("the tier %q of the token %q is none: write read, write or destructive", t.Tier, t.Name)
		case t.PerMinute < 0 || t.AtOnce < 0:
			return fmt.Errorf("a limit of the token %q is less than 0", t.Name)
		}
	}
	return nil
}

// Add makes a token with this name and these limits, and returns it. It cannot be had again. A name that is taken is a
// fault.
func (s Store) Add(ctx context.Context, t Token) (token string, err error) {
	if err := check([]Token{t}); err != nil {
		return "", fault.New(fault.Usage, err.Error(), "")
	}
	token = rand.Text() // 26 letters and digits, 130 bits
	t.Hash, t.Created = hash(token), s.Now().UTC().Truncate(time.Second)
	err = s.update(ctx, func(list []Token) ([]Token, error) {
		if slices.ContainsFunc(list, func(other Token) bool { return other.Name == t.Name }) {
			return nil, fault.New(fault.Usage, fmt.Sprintf("there is a token %q already", t.Name),
				"Give this one another name, or revoke the other first.")
		}
		return append(list, t), nil
	})
	return token, err
}

// Revoke removes the token of that name, and reports whether there was one.
func (s Store) Revoke(ctx context.Context, name string) (revoked bool, err error) {
	err = s.update(ctx, func(list []Token) ([]Token, error) {
		kept := slices.DeleteFunc(slices.Clone(list), func(t Token) bool { return t.Name == name })
		revoked = len(kept) < len(list)
		return kept, nil
	})
	return revoked, err
}

// Find returns what is kept of a token; nil if it is none, or has expired.
func (s Store) Find(token string) (found *Token, err error) {
	list, err := s.Read.Get(s.Path, s.read)
	if err != nil {
		return nil, err
	}
	given := []byte(hash(token))
	for _, t := range list {
		if subtle.ConstantTimeCompare([]byte(t.Hash), given) == 1 && !t.Expired(s.Now()) {
			found = &t // a copy: others have the list, too
		}
	}
	return found, nil
}

// ID tells the token from all others, also from one that gets its name later.
func (t Token) ID() string { return t.Name + "@" + t.Hash[:min(len(t.Hash), idDigits)] }

// idDigits is how many digits of the hash are in an ID.
const idDigits = 16

// Expired reports whether the token counts no more.
func (t Token) Expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// update changes the file by edit, which adds or removes a token: one locked read, edit and replacement.
func (s Store) update(ctx context.Context, edit func([]Token) ([]Token, error)) error {
	if s.Fixed {
		return fault.New(fault.Usage, "the tokens in "+s.Path+" cannot be changed here",
			"Whoever provides the file changes it: its form is that of gateway-tokens.json in mcpl's state folder.")
	}
	return atomicfile.Edit(ctx, s.Path, lockWait, func() ([]byte, error) {
		list, err := s.List()
		if err != nil {
			return nil, err
		}
		edited, err := edit(list)
		if err != nil || len(edited) == len(list) {
			return nil, err
		}
		data, err := json.MarshalIndent(layout{version, edited}, "", "  ")
		return append(data, '\n'), err
	})
}
