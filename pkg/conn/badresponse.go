package conn

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// badResponse is an HTTP response without the message that was due.
type badResponse struct {
	status     int
	mediaType  string
	challenges []string // WWW-Authenticate
	location   string   // where a redirect points
	retryAfter string
	loggedIn   bool        // the request had an Authorization header
	byLogin    bool        // the header was that of a login, not of the entry
	step       *fault.Step // by which a person logs in; nil if the server does not offer a login
	maybe      bool        // a person may be able to log in all the same
	body       []byte
}

// readBadResponse reads and closes a response.
func readBadResponse(resp *http.Response) *badResponse {
	defer resp.Body.Close()
	b := &badResponse{status: resp.StatusCode, mediaType: mediaType(resp),
		challenges: resp.Header.Values("WWW-Authenticate"), retryAfter: resp.Header.Get("Retry-After"),
		loggedIn: resp.Request != nil && resp.Request.Header.Get("Authorization") != ""}
	if to, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
		b.location = to.String()
	}
	if !isEvents(resp) { // those need not end
		b.body, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // on an error, the part that came
	}
	return b
}

// Error returns the status, as in "HTTP 404 Not Found".
func (b *badResponse) Error() string {
	return strings.TrimSpace("HTTP " + strconv.Itoa(b.status) + " " + http.StatusText(b.status))
}

// serverError is the JSON-RPC code with which servers made after the example of the TypeScript SDK refuse, as HTTP
// 400, a session that they do not know. It may mean other things too.
const serverError = -32000

// codeIn returns the code of the JSON-RPC error in a body. It is 0 if there is none.
func codeIn(body []byte) int {
	var m struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &m) != nil {
		return 0
	}
	return m.Error.Code
}

// respondedBadly returns the fault of an HTTP response without the message that was due.
func (r *remote) respondedBadly(b *badResponse, ph phase) *fault.Fault {
	name := r.server.Name
	status := strings.TrimPrefix(b.Error(), "HTTP ")
	message := fmt.Sprintf("%s answered %s with HTTP %s", name, ph.name, status)
	f := fault.New(fault.ServerConnection, message, "").On(name, "")
	switch {
	case b.status == http.StatusUnauthorized || b.status == http.StatusForbidden:
		f.Type = fault.AuthRequired
		r.loginRequired(f, b, status)
	case b.status == http.StatusNotFound:
		f.Message = fmt.Sprintf("%s has nothing at this path: HTTP %s", name, status)
		f.Help = r.correct("url") +
			" Most servers answer at a path of their own, such as /mcp, or /sse with \"type\": \"sse\"."
	case b.status == http.StatusMethodNotAllowed || b.status == http.StatusNotAcceptable:
		f.Help = r.correct("url") + " That server speaks another transport, or is not an MCP server. " +
			"Omit \"type\" to have both transports tried."
	case b.location != "":
		f.Message = fmt.Sprintf("%s has moved: HTTP %s", name, status)
		f.Help = fmt.Sprintf("mcpl follows a redirect only within the same host and port, so that headers reach no other "+
			"host. If you trust it, set \"url\" of %s in %s, to %s", name, r.server.Place(), b.location)
	case b.status == http.StatusTooManyRequests || b.status == http.StatusServiceUnavailable && b.retryAfter != "":
		f.Help = "The server asks its clients to wait. Type the command again " + later(b.retryAfter) + "."
	case b.status >= 500:
		f.Help = "The server, or a proxy before it, failed. Type the command again later; " +
			"if it fails again, tell whoever runs " + r.url.Hostname() + "."
	case b.status/100 == 2:
		f.Type = fault.Protocol
		f.Message = fmt.Sprintf("%s answered %s with %s instead of an MCP message", name, ph.name, kindOf(b))
		f.Help = r.correct("url") + " It may be the address of a web page, or of a login in front of the server."
	default:
		f.Help = r.correct("url")
		f.Then(seeAll(r.server))
	}
	f.Message, f.Help = r.server.Mask(f.Message), r.server.Mask(f.Help)
	// Mask it before it is cut, or half a secret stays.
	if text := fault.Excerpt(r.server.Mask(string(b.body)), maxTraced); text != "" {
		f.Trace("body: " + text)
	}
	return f
}

// loginRequired says in f that the server wants other credentials, and where to put them.
func (r *remote) loginRequired(f *fault.Fault, b *badResponse, status string) {
	name, scheme := r.server.Name, schemeOf(b)
	f.Message = fmt.Sprintf("%s wants a login: HTTP %s", name, status)
	if len(b.challenges) > 0 {
		f.Message += " (" + scheme + ")"
	}
	switch {
	case b.step != nil:
		f.Then("", *b.step)
		if b.status == http.StatusForbidden {
			f.Message = fmt.Sprintf("%s wants more scopes than its login has: HTTP %s", name, status)
		} else if b.byLogin {
			f.Message = fmt.Sprintf("%s does not accept its login any more: HTTP %s", name, status)
		}
	case b.byLogin:
		f.Message = fmt.Sprintf("%s does not allow this with its login: HTTP %s", name, status)
		f.Help = "The account may lack a permission."
		f.Then("See the login with", fault.Step{Verb: "auth status", Server: name})
	case b.loggedIn:
		f.Message = fmt.Sprintf("%s does not accept the login of its entry: HTTP %s", name, status)
		what, why := "Authorization header", "the token may be wrong, expired, or lack a permission"
		if !r.hasHeader("Authorization") {
			what, why = "user and password in the \"url\"", "one may be wrong, or the server may want a header instead"
		}
		f.Help = fmt.Sprintf("Check the %s of %s in %s: %s.", what, name, r.server.Place(), why)
	default:
		f.Help = r.tokenHelp(scheme)
		if b.maybe && strings.EqualFold(scheme, "Bearer") {
			// "For servers that do not implement OAuth 2.0 Authorization Server Metadata, clients MUST use the following
			// default endpoint paths" (MCP 2025-03-26, authorization): whether they exist shows only at a login.
			f.Then("If people can log in to it, though it does not say so", fault.Step{Verb: "auth login", Server: name})
		}
	}
}

// hasHeader reports whether the entry of the server has a header.
func (r *remote) hasHeader(name string) bool {
	return slices.ContainsFunc(r.server.Headers, func(h config.KeyValue) bool { return strings.EqualFold(h.Name, name) })
}

// tokenHelp returns where to put a token, and where to get one.
func (r *remote) tokenHelp(scheme string) string {
	name := r.server.Name
	variable := variableOf(name)
	help := fmt.Sprintf("Put \"headers\": {\"Authorization\": \"%s ${%s}\"} into the entry of %s in %s, "+
		"and %s=... into %s.", scheme, variable, name, r.server.Place(), variable, r.envFile)
	if where := config.WhereToGet(variable); where != "" {
		help += " Get a token at " + where + "."
	}
	return help
}

// schemeOf returns the scheme that a server asks for (RFC 9110, 11.6.1); by default it is Bearer, the protocol's own.
func schemeOf(b *badResponse) string {
	if len(b.challenges) > 0 {
		scheme, _, _ := strings.Cut(strings.TrimSpace(b.challenges[0]), " ")
		if scheme = strings.TrimRight(scheme, ","); config.IsHeaderName(scheme) {
			return scheme
		}
	}
	return "Bearer"
}

// variableOf returns the name of a variable for the token of a server, as in GITHUB_TOKEN.
func variableOf(server string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(server)) + "_TOKEN"
	if name[0] >= '0' && name[0] <= '9' {
		return "_" + name
	}
	return name
}

// later returns when to try again, from a Retry-After header (RFC 9110, 10.2.3).
func later(retryAfter string) string {
	switch {
	case retryAfter == "":
		return "in a minute"
	case strings.Trim(retryAfter, "0123456789") == "":
		return "in " + retryAfter + " seconds"
	}
	return "after " + retryAfter
}

// kindOf returns what was in a response.
func kindOf(b *badResponse) string {
	switch {
	case b.mediaType == "text/html" || b.mediaType == "application/xhtml+xml":
		return "a web page"
	case b.status == http.StatusAccepted || b.status == http.StatusNoContent || b.mediaType == "":
		return "nothing (" + b.Error() + ")"
	}
	return b.mediaType
}
