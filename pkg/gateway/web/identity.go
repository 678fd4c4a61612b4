package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/mcp"
)

// token returns the token of a request, in its Authorization header (RFC 6750) or its path; "" if it has none.
func token(r *http.Request) string {
	if scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(given)
	}
	return r.PathValue("token")
}

// authorized returns whose the token of a request is, and answers a request without a good one.
func (s *Server) authorized(w http.ResponseWriter, r *http.Request) (principal gateway.Principal, ok bool) {
	if s.opt.Principal == nil {
		return principal, true
	}
	owner, err := s.opt.Principal(r.Context(), token(r))
	refused, isRefused := errors.AsType[*gateway.TokenError](err)
	switch {
	case isRefused:
		s.refuseToken(w, r, refused)
	case err != nil:
		// The error names files of this machine, and the client may be anyone.
		s.opt.Gateway.Notice(err.Error())
		refuse(w, http.StatusInternalServerError, nil, mcp.InternalError,
			"the gateway cannot read its tokens; its log says why")
	case owner == nil:
		s.refuseToken(w, r, &gateway.TokenError{Code: gateway.InvalidToken})
	default:
		return *owner, true
	}
	return principal, false
}

// identity returns whose a request is, and what its path asks to see. wrong says that there is no such path for it.
func (s *Server) identity(r *http.Request, principal gateway.Principal) (who gateway.Identity, wrong string) {
	asked := r.PathValue("profile")
	who = gateway.Identity{Principal: principal, Profile: cmp.Or(asked, principal.Profile), Expose: s.opt.Expose}
	if who.Profile != "" {
		expose, known := s.opt.Gateway.Profile(who.Profile)
		if !known || asked != "" && principal.Profile != "" && asked != principal.Profile {
			return who, fmt.Sprintf("there is no profile %q for this client", who.Profile)
		}
		who.Expose = expose
	}
	if expose := gateway.Exposure(r.PathValue("expose")); expose != "" {
		if !slices.Contains(gateway.Exposures(), expose) {
			return who, fmt.Sprintf("there is no %s: use /mcp, or /mcp/search, /mcp/activate or /mcp/all", r.URL.Path)
		}
		who.Expose = expose
	}
	return who, ""
}
