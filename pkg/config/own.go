package config

import (
	"slices"
	"strings"
)

// Variables with secrets of the gateway, which no server gets: the keys that replicas seal with, and where their Redis
// is, with its password.
const (
	SessionKeys = "MCPL_SESSION_KEYS"
	RedisURL    = "MCPL_REDIS_URL"
)

// withoutOwn returns an environment without the secrets of the gateway.
func withoutOwn(base []string) []string {
	isOwn := func(assignment string) bool {
		name, _, _ := strings.Cut(assignment, "=")
		return sameVariable(name, SessionKeys) || sameVariable(name, RedisURL)
	}
	if !slices.ContainsFunc(base, isOwn) {
		return base
	}
	return slices.DeleteFunc(slices.Clone(base), isOwn)
}
