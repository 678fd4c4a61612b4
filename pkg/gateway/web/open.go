package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/mcp"
)

// openRequest is a request that is being answered, maybe for hours. Its token is judged again as long as that lasts.
type openRequest struct {
	token     string
	principal gateway.Principal
	cancel    context.CancelCauseFunc
}

// errTokenEnded is why a request is cancelled whose token counts no more, or for something else.
var errTokenEnded = errors.New("the token of the request does not count any more")

// watched returns the request with a context that ends when its token counts no more. end has to be called when it has
// been answered.
func (s *Server) watched(r *http.Request, principal gateway.Principal) (watched *http.Request, end func()) {
	if s.opt.Principal == nil {
		return r, func() {}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	o := &openRequest{token(r), principal, cancel}
	s.mu.Lock()
	s.requests[o] = struct{}{}
	s.mu.Unlock()
	return r.WithContext(ctx), func() {
		s.mu.Lock()
		delete(s.requests, o)
		s.mu.Unlock()
		cancel(nil)
	}
}

// checkTokens judges the tokens of open requests again, each once, and ends the requests of those that do not count any
// more or count for something else. It ends none while tokens cannot be judged.
func (s *Server) checkTokens(ctx context.Context) {
	byToken := make(map[string][]*openRequest)
	s.mu.Lock()
	for o := range s.requests {
		byToken[o.token] = append(byToken[o.token], o)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	for token, requests := range byToken {
		owner, err := s.opt.Principal(ctx, token)
		refused, isRefused := errors.AsType[*gateway.TokenError](err)
		if err != nil && (!isRefused || refused.Code == gateway.CannotJudge) {
			continue
		}
		for _, o := range requests {
			if owner == nil || !owner.Equal(o.principal) {
				o.cancel(errTokenEnded)
			}
		}
	}
}

// refuseLate answers a request whose token has ended before anything was answered. It reports whether it has.
func refuseLate(w http.ResponseWriter, r *http.Request) bool {
	if !errors.Is(context.Cause(r.Context()), errTokenEnded) {
		return false
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="mcpl", error="`+string(gateway.InvalidToken)+`"`)
	refuse(w, http.StatusUnauthorized, nil, mcp.InvalidRequest, errTokenEnded.Error())
	return true
}
