//go:build unix

package auth

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/authtest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// TestPipe: a pipe in place of a login makes no one wait. A new login moves it away.
func TestPipe(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{})
	s, m := entryFor(t, as.URL(), ""), newManager(t.TempDir(), 0)
	mustLogIn(t, m, s)
	path := m.store.path(bindingOf(s))
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Header(t.Context(), s); !fault.Is(err, fault.Config) || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v", err)
	}
	if _, err := m.Logout(t.Context(), s); !fault.Is(err, fault.Config) || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("logout: %v", err)
	}
	if _, p, err := logIn(t, m, s); err != nil || len(p.notices) != 1 || !strings.Contains(p.notices[0], path) {
		t.Errorf("%v, %q", err, p.notices)
	}
	wantHeader(t, m, s)
}
