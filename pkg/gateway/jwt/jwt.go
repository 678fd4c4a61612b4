// Package jwt judges the JSON Web Tokens (RFC 7519, RFC 9068) with which clients use a gateway over HTTP: whether an
// issuer has signed them for this gateway, whose they are, and what they open.
//
// Make one [Verifier] with [New], ask its [Verifier.Principal] about tokens, and close it at the end. It fetches the
// issuer's keys when it needs them. Nothing of a token goes into an error or a notice.
package jwt

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	jose "github.com/golang-jwt/jwt/v5"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

const (
	// leeway is how much the clock of the issuer may differ from ours.
	leeway = time.Minute
	// maxToken bounds a token, in bytes. Those of real issuers have 1 to 4 kB.
	maxToken = 16 << 10
	// maxName bounds the claim that names a principal, in bytes. A "sub" of OpenID Connect has at most 255.
	maxName = 255
)

// Options make a [Verifier].
type Options struct {
	// Settings say whose tokens count. They are those of a loaded configuration, which has checked them.
	Settings config.JWT
	// Version is that of mcpl, which the issuer hears.
	Version string
	Now     func() time.Time
	// Notice tells the person who runs the gateway that keys cannot be fetched, and why.
	Notice func(text string)
}

// Verifier judges the tokens of one issuer. It may be used by several goroutines.
type Verifier struct {
	opt    Options
	keys   *keySet
	parser *jose.Parser
	claims *jose.Validator
}

// New returns a verifier. It fetches nothing yet, so that an issuer that is down does not keep a gateway from starting.
func New(opt Options) *Verifier {
	s := opt.Settings
	checks := []jose.ParserOption{jose.WithValidMethods(s.Algorithms), jose.WithIssuer(s.Issuer),
		jose.WithAudience(s.Audience), jose.WithExpirationRequired(), jose.WithLeeway(leeway), jose.WithTimeFunc(opt.Now),
		jose.WithStrictDecoding()}
	return &Verifier{opt: opt, keys: newKeySet(opt), parser: jose.NewParser(checks...),
		claims: jose.NewValidator(checks...)}
}

// Close ends fetches that run, and returns when they have.
func (v *Verifier) Close() { v.keys.close() }

// Principal returns whose a token is. The error is a [gateway.TokenError]: the token is not good, is good for nothing
// here, or cannot be judged because the keys of its issuer cannot be had.
//
// The claims are looked at before the signature: a token that would be refused anyway makes mcpl fetch nothing.
func (v *Verifier) Principal(ctx context.Context, token string) (*gateway.Principal, error) {
	if len(token) > maxToken {
		return nil, invalid("it is too long")
	}
	claimed := jose.MapClaims{}
	unverified, _, err := v.parser.ParseUnverified(token, claimed)
	if err == nil {
		err = v.checkHeader(unverified.Header)
	}
	if err == nil {
		err = v.claims.Validate(claimed)
	}
	if err != nil {
		return nil, reasonOf(err)
	}
	kid, _ := unverified.Header["kid"].(string)
	keys, err := v.keys.find(ctx, kid, unverified.Method.Alg())
	if err != nil {
		return nil, err
	}
	signed := jose.MapClaims{}
	if _, err = v.parser.ParseWithClaims(token, signed, func(*jose.Token) (any, error) { return keys, nil }); err != nil {
		return nil, reasonOf(err)
	}
	return v.principal(signed)
}

// checkHeader checks what the library does not: the algorithm, before a key is looked for; the type, since an issuer
// signs other things than access tokens with the same key (RFC 8725, 3.11; RFC 9068, 4); and that nothing is critical
// (RFC 7515, 4.1.11), since mcpl knows no extension.
func (v *Verifier) checkHeader(header map[string]any) error {
	if alg, _ := header["alg"].(string); !slices.Contains(v.opt.Settings.Algorithms, alg) {
		return invalid("it is signed in a way that is not taken here")
	}
	if _, critical := header["crit"]; critical {
		return invalid("it has critical extensions")
	}
	kind, isText := header["typ"].(string)
	if _, given := header["typ"]; !given {
		return nil
	}
	kind = strings.TrimPrefix(strings.ToLower(kind), "application/")
	if !isText || kind != "jwt" && kind != "at+jwt" {
		return invalid("it is not an access token")
	}
	return nil
}

// principal returns whose the claims of a verified token are.
func (v *Verifier) principal(claims jose.MapClaims) (*gateway.Principal, error) {
	s := v.opt.Settings
	name, _ := claims[s.NameClaim].(string)
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return nil, invalid("it does not say whose it is")
	}
	p := &gateway.Principal{Name: Prefix + name + "@" + strings.TrimPrefix(s.Issuer, "https://"), Tier: v.tier(claims)}
	if p.Tier == "" {
		return nil, &gateway.TokenError{Code: gateway.InsufficientScope, Reason: "the token has no scope of this gateway"}
	}
	if s.ServersClaim == "" {
		return p, nil
	}
	p.Servers = texts(claims[s.ServersClaim])
	for _, glob := range p.Servers {
		if _, err := config.ParseServerGlob(glob); err != nil {
			return nil, invalid("it names servers in a way that cannot be understood")
		}
	}
	if len(p.Servers) == 0 { // which would mean all of them
		return nil, &gateway.TokenError{Code: gateway.InsufficientScope, Reason: "the token names no server"}
	}
	return p, nil
}

// Prefix begins the names of principals of tokens of an issuer. A token of the gateway's own has no such name.
const Prefix = "jwt:"

// tier returns the highest tier that a scope of the token stands for, else the one of tokens without such scopes.
// Issuers write scopes as a text (RFC 9068, 2.2.3) or as a list, some as "scp".
func (v *Verifier) tier(claims jose.MapClaims) gateway.Tier {
	highest := gateway.Tier(v.opt.Settings.Tier)
	order := []gateway.Tier{"", gateway.TierRead, gateway.TierWrite, gateway.TierDestructive}
	for _, scope := range slices.Concat(texts(claims["scope"]), texts(claims["scp"])) {
		if tier := gateway.Tier(v.opt.Settings.Scopes[scope]); slices.Index(order, tier) > slices.Index(order, highest) {
			highest = tier
		}
	}
	return highest
}

// texts returns the texts of a claim: the words of a text, or the texts of a list.
func texts(claim any) (list []string) {
	switch claim := claim.(type) {
	case string:
		return strings.Fields(claim)
	case []any:
		for _, element := range claim {
			if text, ok := element.(string); ok {
				list = append(list, text)
			}
		}
	}
	return list
}

// invalid is the error of a token that does not count.
func invalid(why string) error {
	return &gateway.TokenError{Code: gateway.InvalidToken, Reason: "the token does not count: " + why}
}

// reasonOf returns the error of the library in words that quote nothing of the token.
func reasonOf(err error) error {
	if own, ok := errors.AsType[*gateway.TokenError](err); ok {
		return own
	}
	if errors.Is(err, jose.ErrTokenExpired) {
		return &gateway.TokenError{Code: gateway.InvalidToken, Reason: "the token does not count: it has expired",
			HasExpired: true}
	}
	for _, known := range []struct {
		err  error
		text string
	}{
		{jose.ErrTokenNotValidYet, "its time has not come"},
		{jose.ErrTokenInvalidIssuer, "it is of another issuer"},
		{jose.ErrTokenInvalidAudience, "it is for another audience"},
		{jose.ErrTokenRequiredClaimMissing, "it lacks one of exp, iss and aud"},
		{jose.ErrTokenSignatureInvalid, "its signature is wrong"},
		{jose.ErrTokenUnverifiable, "its signature is wrong"},
	} {
		if errors.Is(err, known.err) {
			return invalid(known.text)
		}
	}
	return invalid("it is not a token that can be read")
}
