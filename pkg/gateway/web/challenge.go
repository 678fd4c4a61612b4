package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/mcp"
)

// Resource is the gateway as a protected resource (RFC 9728), for clients that look for where they get a token.
type Resource struct {
	// ID is its identifier. If empty, it is the URL of the path /mcp at PublicURL.
	ID string
	// PublicURL is where clients find the gateway, without a slash at its end. If empty, it is the Host of each request:
	// X-Forwarded-* could be any client's word.
	PublicURL string
	// Issuer is the authorization server.
	Issuer string
	// Scopes are what clients ask for.
	Scopes []string
}

// metadataPath is the path of the metadata of a resource without a path; that of a resource follows it (RFC 9728, 3).
const metadataPath = "/.well-known/oauth-protected-resource"

// public returns where the client of a request finds the gateway.
func (o *Resource) public(r *http.Request) string { return cmp.Or(o.PublicURL, "http://"+r.Host) }

// metadataURL returns where the metadata of the path /mcp is: "by inserting a well-known URI string into the
// protected resource's resource identifier between the host component and the path" (RFC 9728, 3.1).
func (o *Resource) metadataURL(r *http.Request) string {
	public := o.public(r)
	u, err := url.Parse(public)
	if err != nil {
		return public + metadataPath + "/mcp"
	}
	return u.Scheme + "://" + u.Host + metadataPath + u.EscapedPath() + "/mcp"
}

// metadata answers with what the gateway is and who gives out tokens for it. All its paths are one resource.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	o := s.opt.Resource
	document, err := json.Marshal(map[string]any{"resource": cmp.Or(o.ID, o.public(r)+"/mcp"),
		"authorization_servers": []string{o.Issuer}, "bearer_methods_supported": []string{"header"},
		"scopes_supported": o.Scopes})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document) // a client that has gone reads nothing
}

// refuseToken answers a request whose token does not count, or that has none (RFC 6750, 3; MCP 2025-11-25,
// authorization).
func (s *Server) refuseToken(w http.ResponseWriter, r *http.Request, why *gateway.TokenError) {
	if why.Code == gateway.CannotJudge {
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, nil, mcp.InternalError, why.Reason)
		return
	}
	status, text := http.StatusUnauthorized, "a token is needed: a person makes one with mcpl serve token add NAME"
	challenge := []string{`Bearer realm="mcpl"`}
	if given := token(r) != ""; given { // "the resource server SHOULD NOT include an error code" else (RFC 6750, 3.1)
		challenge = append(challenge, `error="`+string(why.Code)+`"`)
		if why.Reason != "" {
			challenge = append(challenge, `error_description="`+why.Reason+`"`)
			text = why.Reason
		}
		if why.Code == gateway.InsufficientScope {
			status = http.StatusForbidden
		}
	}
	if o := s.opt.Resource; o != nil {
		if len(o.Scopes) > 0 {
			challenge = append(challenge, `scope="`+strings.Join(o.Scopes, " ")+`"`)
		}
		challenge = append(challenge, `resource_metadata="`+o.metadataURL(r)+`"`)
		text += "; " + o.Issuer + " gives out tokens, too"
	}
	w.Header().Set("WWW-Authenticate", strings.Join(challenge, ", "))
	refuse(w, status, nil, mcp.InvalidRequest, text)
}
