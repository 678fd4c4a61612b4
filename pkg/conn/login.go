package conn

import (
	"context"
	"net/http"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// login is the login of one server. A nil login has no headers.
type login struct {
	server *config.Server
	tokens Tokens
}

// newLogin returns the login of a server. It is nil if the entry brings its own.
func newLogin(server *config.Server, tokens Tokens) *login {
	if tokens == nil || server.OwnLogin() != "" {
		return nil
	}
	return &login{server, tokens}
}

// header returns the Authorization header, or "".
func (l *login) header(ctx context.Context) (string, error) {
	if l == nil {
		return "", nil
	}
	header, err := l.tokens.Header(ctx, l.server)
	if key := l.server.APIKey(); header == "" && err == nil && key != "" {
		header = "Bearer " + key
	}
	return header, err
}

// step returns the login that helps after bad, or nil: a server may forbid what no scope allows.
func (l *login) step(ctx context.Context, bad *badResponse) *fault.Step {
	lacksScope := strings.Contains(strings.Join(bad.challenges, ","), "insufficient_scope")
	if l == nil || bad.status == http.StatusForbidden && !lacksScope {
		return nil
	}
	return l.tokens.LoginStep(ctx, l.server, bad.challenges)
}
