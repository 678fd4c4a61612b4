// Package tokens keeps the tokens that let clients use a gateway over HTTP: one file with a hash of each, which only
// its owner can read.
//
// Make a token with [Store.Add], which returns it once, and ask [Store.Owner] whose a token is.
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
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Store is a file of tokens, which need not exist. Several processes may use it at once.
type Store struct {
	Path string
	Now  func() time.Time
}

// Token is what is kept of a token.
type Token struct {
	Name    string    `json:"name"`
	Hash    string    `json:"hash"` // SHA-256 of the token, in hexadecimal digits
	Created time.Time `json:"created"`
}

// version is that of the file's layout. The file with version 1 is {"version": 1, "tokens": [...]}.
const version = 1

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
	data, _, err := atomicfile.ReadOwn(s.Path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var l layout
	line := 0
	if err == nil {
		line, err = atomicfile.ParseJSON(data, &l)
	}
	if err == nil && l.Version != version {
		err = fmt.Errorf("its version is %d, and this mcpl knows version %d", l.Version, version)
	}
	if err != nil {
		return nil, fault.New(fault.Config, fmt.Sprintf("%s: no token in this file counts: %s",
			atomicfile.At(s.Path, line), atomicfile.Reason(err)),
			"Mend the file, or delete it and make the tokens anew. No one else may be able to write it.")
	}
	return l.Tokens, nil
}

// Add makes a token and returns it. It cannot be had again. A name that is taken is a fault.
func (s Store) Add(ctx context.Context, name string) (token string, err error) {
	token = rand.Text() // 26 letters and digits, 130 bits
	err = s.update(ctx, func(list []Token) ([]Token, error) {
		if slices.ContainsFunc(list, func(t Token) bool { return t.Name == name }) {
			return nil, fault.New(fault.Usage, fmt.Sprintf("there is a token %q already", name),
				"Give this one another name, or revoke the other first.")
		}
		return append(list, Token{name, hash(token), s.Now().UTC().Truncate(time.Second)}), nil
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

// Owner returns the name of a token; "" if it is none.
func (s Store) Owner(token string) (name string, err error) {
	list, err := s.List()
	if err != nil {
		return "", err
	}
	given := []byte(hash(token))
	for _, t := range list {
		if subtle.ConstantTimeCompare([]byte(t.Hash), given) == 1 {
			name = t.Name
		}
	}
	return name, nil
}

func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// update changes the file by edit, which adds or removes a token: one locked read, edit and replacement.
func (s Store) update(ctx context.Context, edit func([]Token) ([]Token, error)) error {
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
