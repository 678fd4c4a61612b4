package config

import (
	"slices"
	"testing"
)

// TestOwnSecrets: a server gets the environment of mcpl without the secrets of the gateway.
func TestOwnSecrets(t *testing.T) {
	t.Parallel()
	base := []string{"A=1", "MCPL_SESSION_KEYS=k", "MCPL_REDIS_URL=redis://:p@h", "MCPL_LIMIT=3"}
	s := &Server{}
	if got := s.Environ(base); !slices.Equal(got, []string{"A=1", "MCPL_LIMIT=3"}) {
		t.Errorf("%q", got)
	}
	if len(base) != 4 || base[1] != "MCPL_SESSION_KEYS=k" {
		t.Errorf("the environment was changed: %q", base)
	}
}
