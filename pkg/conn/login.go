package conn

import (
	"context"
	"net/http"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// login is the login of one server. A nil one gives nothing.
type login struct {
	server *config.Server
	tokens Tokens
}

// newLogin returns the login of a server, nil where its entry brings one of its own.
func newLogin(server *config.Server, tokens Tokens) *login {
	if tokens == nil || server.OwnLogin() != "" {
		return nil
	}
	return &login{server, tokens}
}

// header returns the Authorization header, "" where there is none.
func (l *login) header(ctx context.Context) (string, error) {
	if l == nil {
		return "", nil
	}
	return l.tokens.Header(ctx, l.server)
}

// renew returns another header than used, "" where there is none.
func (l *login) renew(ctx context.Context, used string, challenges []string) (string, error) {
	return l.tokens.Renew(ctx, l.server, used, challenges)
}

// command returns what to type where a request was refused with bad, "" where that would not help: a
// server that forbids what scopes would not allow either.
func (l *login) command(ctx context.Context, bad *badAnswer) string {
	if l == nil || bad.status == http.StatusForbidden && !strings.Contains(strings.Join(bad.challenges, ","), "insufficient_scope") {
		return ""
	}
	return l.tokens.LoginCommand(ctx, l.server, bad.challenges)
}
