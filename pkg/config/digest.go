package config

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// field writes one text to h so that no two lists of texts give the same bytes.
func field(h hash.Hash, text string) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(text)))
	h.Write(size[:])
	h.Write([]byte(text))
}

// digest returns the hex SHA-256 of a list of texts.
func digest(texts []string) string {
	h := sha256.New()
	for _, text := range texts {
		field(h, text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// EnvDigest identifies the values that process environment variables have now. names is in a fixed order
// ([Config.EnvNames]). A later process recognises the values that the configuration was read with, without reading it
// again. Values of environment files do not enter: the times of those files tell of changes there.
//
// The digest is 64 bits of a SHA-256 over all names and values together. A reader of the cache that keeps it cannot
// recover a token from it, but could confirm a guess of the whole set.
func (e Env) EnvDigest(names []string) uint64 {
	h := sha256.New()
	field(h, "mcpl environment 1")
	for _, name := range names {
		field(h, name)
		value, set := e.Lookup(name)
		if !set {
			h.Write([]byte{0})
			continue
		}
		h.Write([]byte{1})
		field(h, value)
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}
