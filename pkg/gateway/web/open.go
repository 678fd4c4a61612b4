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

// opened is what a token has opened: requests, and what outlasts them in the shares that it was the last to come for.
type opened struct {
	requests []*openRequest
	shares   []*holding
}

// checkTokens judges the tokens of open requests again, each once, and ends the requests of those that do not count any
// more or count for something else. So it does with the sessions of principals, and their calls that wait, by the last
// token that came for each. It ends none while tokens cannot be judged.
func (s *Server) checkTokens(ctx context.Context) {
	if s.opt.Principal == nil {
		return
	}
	byToken := s.opened()
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	for token, has := range byToken {
		owner, err := s.opt.Principal(ctx, token)
		refused, isRefused := errors.AsType[*gateway.TokenError](err)
		if err != nil && (!isRefused || refused.Code == gateway.CannotJudge) {
			continue
		}
		for _, o := range has.requests {
			if owner == nil || !owner.Equal(o.principal) {
				o.cancel(errTokenEnded)
			}
		}
		for _, own := range has.shares {
			if owner == nil || !owner.Equal(own.principal) {
				s.endHolding(own, token, isRefused && refused.HasExpired)
			}
		}
	}
}

// opened returns what each token has opened. It forgets shares without anything in them.
func (s *Server) opened() map[string]*opened {
	waiting := make(map[string]bool)
	for _, principal := range s.opt.Gateway.Waiting() {
		waiting[keyOf(principal)] = true
	}
	byToken := make(map[string]*opened)
	of := func(token string) *opened {
		if byToken[token] == nil {
			byToken[token] = new(opened)
		}
		return byToken[token]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for o := range s.requests {
		has := of(o.token)
		has.requests = append(has.requests, o)
	}
	for key, own := range s.shares {
		if own.open == 0 && own.sessions == 0 && !waiting[key] {
			delete(s.shares, key)
			continue
		}
		has := of(own.token)
		has.shares = append(has.shares, own)
	}
	return byToken
}

// endHolding ends the sessions of a principal, and its calls that wait, since its token does not count any more. After
// it has expired, its client may come back with a newer one, for as long as its calls would wait for an answer.
func (s *Server) endHolding(own *holding, token string, hasExpired bool) {
	now := s.opt.Now()
	s.mu.Lock()
	if own.token != token || s.closed { // a newer one has come
		s.mu.Unlock()
		return
	}
	if own.expired.IsZero() {
		own.expired = now
	}
	if hasExpired && now.Sub(own.expired) < gateway.Suspension {
		s.mu.Unlock()
		return
	}
	for _, session := range s.sessions {
		if session.share == own {
			s.remove(session)
			s.retire(session)
		}
	}
	s.mu.Unlock()
	s.opt.Gateway.EndWaiting(own.principal, errTokenEnded)
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
