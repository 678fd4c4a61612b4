package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// JWT says whose JSON Web Tokens (RFC 7519, RFC 9068) let clients use a gateway over HTTP, and what they may do.
type JWT struct {
	// Issuer is the issuer's identifier, as the "iss" of its tokens has it.
	Issuer string
	// Audience is what the "aud" of a token has to name.
	Audience string
	// JWKSURL is where the issuer's keys are (RFC 7517). If empty, the issuer's metadata says so.
	JWKSURL string
	// Algorithms are those that a token may be signed with. All are asymmetric.
	Algorithms []string
	// NameClaim is the claim that tells principals apart. ServersClaim has globs of the servers that a principal sees; if
	// it is empty, principals see all.
	NameClaim, ServersClaim string
	// Scopes are the tiers that scopes of a token stand for: "read", "write" or "destructive". The highest counts.
	Scopes map[string]string
	// Tier is that of a token without any of these scopes. If empty, it is refused.
	Tier string
}

// jwtTable is the [gateway.jwt] of the settings file.
type jwtTable struct {
	Issuer       string            `toml:"issuer"`
	Audience     string            `toml:"audience"`
	JWKSURL      string            `toml:"jwks_url"`
	Algorithms   []string          `toml:"algorithms"`
	NameClaim    string            `toml:"name_claim"`
	ServersClaim string            `toml:"servers_claim"`
	Scopes       map[string]string `toml:"scopes"`
	Tier         string            `toml:"tier"`
}

// gatewayTable is the [gateway] of the settings file.
type gatewayTable struct {
	JWT *jwtTable `toml:"jwt"`
}

// jwtExample is the table as a help shows it.
const jwtExample = `Write it as in:
  [gateway.jwt]
  issuer = "https://login.example.com"
  audience = "https://mcp.example.com/mcp"`

// signatures returns the algorithms that tokens may be signed with (RFC 7518, 3.1; RFC 8037, 3.1). Those with a shared
// secret are none of them: who may check such a token could make one.
func signatures() []string {
	return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
}

// tiers returns the tiers that a scope may stand for.
func tiers() []string { return []string{"read", "write", "destructive"} }

// defaultScopes returns the scopes of a gateway whose settings name none.
func defaultScopes() map[string]string {
	return map[string]string{"mcpl:read": "read", "mcpl:write": "write", "mcpl:destructive": "destructive"}
}

// jwt returns whose tokens a gateway takes; nil if there is no issuer. MCPL_JWT_ISSUER and MCPL_JWT_AUDIENCE win over
// the file. The settings are those to show. Errors are a fault.Config.
func (f *settingsFile) jwt(e Env, public string) (*JWT, []Setting, error) {
	var t jwtTable
	if f.values.Gateway.JWT != nil {
		t = *f.values.Gateway.JWT
	} else if e.get("MCPL_JWT_ISSUER") == "" && e.get("MCPL_JWT_AUDIENCE") == "" {
		return nil, nil, nil
	}
	j := &JWT{t.Issuer, t.Audience, t.JWKSURL, t.Algorithms, t.NameClaim, t.ServersClaim, t.Scopes, t.Tier}
	from := make(map[string]string)
	for key, at := range map[string]*string{"issuer": &j.Issuer, "audience": &j.Audience} {
		from[key] = fmt.Sprintf("%s:%d", f.path, f.jwtLine(key))
		if variable := "MCPL_JWT_" + strings.ToUpper(key); e.get(variable) != "" {
			*at, from[key] = e.get(variable), variable
		}
	}
	if f.values.Gateway.JWT == nil && j.Issuer == "" {
		from["issuer"] = "MCPL_JWT_AUDIENCE" // which alone says nothing
	}
	if j.Audience == "" && public != "" {
		j.Audience, from["audience"] = public+"/mcp", "public_url"
	}
	key, err := j.complete()
	if err != nil {
		where := from[key]
		if where == "" {
			where = fmt.Sprintf("%s:%d", f.path, f.jwtLine(key))
		}
		return nil, nil, fault.New(fault.Config, where+": gateway.jwt: "+key+": "+err.Error(), jwtExample)
	}
	return j, []Setting{{"gateway.jwt.issuer", j.Issuer, from["issuer"]},
		{"gateway.jwt.audience", j.Audience, from["audience"]}}, nil
}

// jwtLine returns the line of a key of [gateway.jwt], or of the table.
func (f *settingsFile) jwtLine(key string) int {
	at := 0
	if lines := headings(f.data, "gateway.jwt"); len(lines) > 0 {
		at = lines[0]
	}
	rest := strings.Join(strings.Split(string(f.data), "\n")[at:], "\n")
	return max(1, at+lineOf([]byte(rest), key))
}

// unknownInGateway is the fault of a key of [gateway] that there is not.
func (f *settingsFile) unknownInGateway(line int, key string) *fault.Fault {
	known := []string{"issuer", "audience", "jwks_url", "algorithms", "name_claim", "servers_claim", "scopes", "tier"}
	inner, ofJWT := strings.CutPrefix(key, "jwt.")
	fix := "[gateway.jwt] has " + strings.Join(known, ", ") + ". " + jwtExample
	near := nearest(inner, known)
	if ofJWT && len(near) > 0 {
		fix = fmt.Sprintf("Did you mean %s? %s", near[0], fix)
	}
	unknown := fault.New(fault.Config, fmt.Sprintf("%s:%d: gateway: there is no setting %q", f.path, line, key), fix)
	unknown.Suggestions = near
	return unknown
}

// complete checks the values and fills in the defaults. key is that of the value that is wrong.
func (j *JWT) complete() (key string, err error) {
	if j.Issuer == "" {
		return "issuer", errors.New("it is missing")
	}
	if err := checkIssuer(j.Issuer); err != nil {
		return "issuer", err
	}
	if j.Audience == "" {
		return "audience", errors.New("it is missing, and public_url, of which it would be made, is too")
	}
	if j.JWKSURL != "" {
		if _, err := webAddress(j.JWKSURL); err != nil {
			return "jwks_url", err
		}
	}
	if len(j.Algorithms) == 0 {
		j.Algorithms = signatures()
	}
	for _, name := range j.Algorithms {
		if err := oneOf(name, signatures()...); err != nil {
			return "algorithms", fmt.Errorf("%q: %w", name, err)
		}
	}
	if j.NameClaim == "" {
		j.NameClaim = "sub"
	}
	return j.completeScopes()
}

// completeScopes checks scopes and tiers, and fills in the defaults.
func (j *JWT) completeScopes() (key string, err error) {
	if j.Tier != "" {
		if err := oneOf(j.Tier, tiers()...); err != nil {
			return "tier", err
		}
	}
	if j.Scopes == nil {
		j.Scopes = defaultScopes()
	}
	odd := func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }
	for _, scope := range slices.Sorted(maps.Keys(j.Scopes)) {
		if scope == "" || strings.ContainsFunc(scope, odd) { // RFC 6749, 3.3
			return "scopes", fmt.Errorf("%q has characters that no scope has", scope)
		}
		if err := oneOf(j.Scopes[scope], tiers()...); err != nil {
			return "scopes", fmt.Errorf("%s: %w", scope, err)
		}
	}
	return "", nil
}

// checkIssuer fails for what is not the identifier of an issuer (RFC 8414, 2). An @ in it could make the names of
// different principals one: they are SUBJECT@ISSUER.
func checkIssuer(text string) error {
	u, err := webAddress(text)
	if err == nil && strings.Contains(u.Path, "@") {
		err = errors.New("it has an @ in its path")
	}
	return err
}

// webAddress parses an https:// URL, or the http:// URL of this machine, without a query and a fragment.
func webAddress(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("it is not an https:// URL")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return nil, errors.New("it has more than a host and a path")
	case u.Scheme == "http" && !IsLoopback(u.Hostname()):
		return nil, errors.New("it is plain http://, which others can read: use https://")
	}
	return u, nil
}

// Resource returns the identifier of a gateway as a protected resource (RFC 9728, 1.2): the audience if that is a URL
// of the public address, else the URL of its path /mcp. It is empty if nothing says what that is.
func (s Settings) Resource() string {
	audience, err := url.Parse(s.JWT.Audience)
	isURL := err == nil && audience.Hostname() != "" && (audience.Scheme == "https" || audience.Scheme == "http")
	if s.PublicURL == "" {
		if isURL {
			return s.JWT.Audience
		}
		return ""
	}
	if public, err := url.Parse(string(s.PublicURL)); err == nil && isURL && public.Host == audience.Host &&
		public.Scheme == audience.Scheme {
		return s.JWT.Audience
	}
	return string(s.PublicURL) + "/mcp"
}
