package config

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// sum returns the SHA-256 of a list of texts. No two lists give the same bytes to it.
func sum(texts []string) []byte {
	h := sha256.New()
	for _, text := range texts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		h.Write([]byte(text))
	}
	return h.Sum(nil)
}

// digest returns the hex SHA-256 of a list of texts.
func digest(texts []string) string { return hex.EncodeToString(sum(texts)) }

// EnvDigest identifies the values that process environment variables have now. names is in a fixed order
// ([Config.EnvNames]). A later process recognises the values that the configuration was read with, without reading it
// again. Values of environment files do not enter: the times of those files tell of changes there.
//
// The digest is 64 bits of a SHA-256 over all names and values together. A reader of the cache that keeps it cannot
// recover a token from it, but could confirm a guess of the whole set.
func (e Env) EnvDigest(names []string) uint64 {
	texts := []string{"mcpl environment 1"}
	for _, name := range names {
		texts = append(texts, name)
		if value, set := e.Lookup(name); set {
			texts = append(texts, "="+value)
		}
	}
	return binary.BigEndian.Uint64(sum(texts))
}
