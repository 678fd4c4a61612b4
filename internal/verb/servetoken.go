package verb

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/gateway/tokens"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
)

// tokenAction is what serve token does with a name.
type tokenAction struct {
	action, name string

	// The limits of a token that is added.
	Servers           []string
	Tier, Expires     string
	PerMinute, AtOnce int
	profile           string
	lasts             time.Duration
}

func (a *tokenAction) flags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&a.Servers, "servers", nil, "with token add: open only servers by `GLOB`")
	fs.StringVar(&a.Tier, "tier", "", "with token add: tools of `TIER` read, write")
	fs.StringVar(&a.Expires, "expires", "", "with token add: `TIME`, as 90d or 12h")
	fs.IntVar(&a.PerMinute, "per-minute", 0, "with token add: `N` calls in a minute")
	fs.IntVar(&a.AtOnce, "at-once", 0, "with token add: `N` calls at the same time")
}

// limited reports whether a limit is given.
func (a *tokenAction) limited() bool {
	return len(a.Servers) > 0 || a.Tier != "" || a.Expires != "" || a.PerMinute != 0 || a.AtOnce != 0
}

// completeServe completes the actions of serve token.
func completeServe(_ *Names, args []string) ([]string, bool) {
	switch len(args) {
	case 0:
		return []string{"token"}, false
	case 1:
		return []string{"add", "list", "revoke"}, false
	}
	return nil, false
}

// tokenUsage shows how to type serve token.
const tokenUsage = "Type: mcpl serve token add NAME   or: mcpl serve token revoke NAME   or: mcpl serve token list"

// maxTokenName bounds the name of a token, in bytes.
const maxTokenName = 64

func (a *tokenAction) parse(words []string, profile string) error {
	a.profile = profile
	a.action = "list"
	if len(words) > 0 {
		a.action, words = words[0], words[1:]
	}
	wanted := 1
	switch a.action {
	case "list":
		wanted = 0
	case "add", "revoke":
	default:
		return fault.New(fault.Usage, fmt.Sprintf("unknown token command %q", a.action), tokenUsage)
	}
	if len(words) != wanted {
		return fault.New(fault.Usage, fmt.Sprintf("serve token %s takes %s, and %d are given",
			a.action, humanize.Plural(wanted, "name"), len(words)), tokenUsage)
	}
	if wanted == 1 {
		if a.name = words[0]; a.name == "" || len(a.name) > maxTokenName {
			return fault.New(fault.Usage, fmt.Sprintf("a token's name has 1 to %d bytes", maxTokenName), tokenUsage)
		}
	}
	if a.action != "add" && (a.limited() || profile != "") {
		return fault.New(fault.Usage, "only serve token add takes limits of a token", tokenUsage)
	}
	return a.parseLimits()
}

// parseLimits checks the limits of a token that is added.
func (a *tokenAction) parseLimits() (err error) {
	for _, text := range a.Servers {
		if _, err := config.ParseServerGlob(text); err != nil {
			return fault.New(fault.Usage, "--servers: "+err.Error(), "Name servers, as in --servers github,'mail*'.")
		}
	}
	if a.PerMinute < 0 || a.AtOnce < 0 {
		return fault.New(fault.Usage, "--per-minute and --at-once are at least 1", "Leave them away for no limit.")
	}
	if a.Expires == "" {
		return nil
	}
	days, isDays := strings.CutSuffix(a.Expires, "d")
	if n, wrong := strconv.Atoi(days); isDays && wrong == nil && n <= maxDays {
		a.lasts = time.Duration(n) * 24 * time.Hour
	} else if a.lasts, err = time.ParseDuration(a.Expires); err != nil || a.lasts > maxDays*24*time.Hour {
		a.lasts = 0
	}
	if a.lasts <= 0 {
		return fault.New(fault.Usage, fmt.Sprintf("--expires %s is not a time of at most %d days", a.Expires, maxDays),
			"Write it as in --expires 90d or --expires 12h.")
	}
	return nil
}

// maxDays bounds the time that a token counts for, if it does not count for ever.
const maxDays = 36_500

// wanted returns the token to be added.
func (a *tokenAction) wanted(now time.Time) tokens.Token {
	t := tokens.Token{Name: a.name, Servers: a.Servers, Tier: a.Tier, Profile: a.profile, PerMinute: a.PerMinute,
		AtOnce: a.AtOnce}
	if a.lasts > 0 {
		t.Expires = now.Add(a.lasts).UTC().Truncate(time.Second)
	}
	return t
}

// tokens returns the tokens of the gateway over HTTP: those of the file that MCPL_TOKENS_FILE names, else its own.
func (s *Session) tokens() tokens.Store {
	store := tokens.Store{Path: filepath.Join(s.App.Env.StateDir(), "gateway-tokens.json"), Now: s.App.Now,
		Read: &s.tokenMemo}
	if path, _ := s.App.Env.Lookup("MCPL_TOKENS_FILE"); path != "" {
		store.Path, store.Fixed = path, true
	}
	return store
}

// principal returns whose a token is; nil if it is none, or was revoked. revoked may be nil.
func (s *Session) principal(ctx context.Context, token string, revoked *revocations) (*gateway.Principal, error) {
	t, err := s.tokens().Find(token)
	if t == nil || err != nil || revoked != nil && revoked.revoked(ctx, t.ID()) {
		return nil, err
	}
	return &gateway.Principal{Name: t.Name, ID: t.ID(), Servers: t.Servers, Tier: gateway.Tier(t.Tier), Profile: t.Profile,
		PerMinute: t.PerMinute, AtOnce: t.AtOnce}, nil
}

// authenticate says in opt whose tokens count: those of the gateway, and those of the issuer of the settings. end has
// to be called when none is to be judged any more. shared is what replicas have in common; nil if they have nothing.
func (s *Session) authenticate(ctx context.Context, opt *HTTPOptions, shared gateway.Shared) (end func(), err error) {
	var revoked *revocations
	if shared != nil && s.sharesTokens() {
		revoked = &revocations{shared: shared, now: s.App.Now}
		revoked.look(ctx)
	}
	own := func(ctx context.Context, token string) (*gateway.Principal, error) {
		return s.principal(ctx, token, revoked)
	}
	issuer := s.Settings.JWT
	if issuer == nil {
		opt.Principal = own
		return func() {}, s.needToken(ctx)
	}
	// No token is made: clients get theirs from the issuer.
	jwt, end := s.App.JWT(*issuer, func(text string) { s.Printer.Notice("%s", text) })
	opt.JWT, opt.Resource, opt.PublicURL = issuer, s.Settings.Resource(), string(s.Settings.PublicURL)
	opt.Principal = func(ctx context.Context, token string) (*gateway.Principal, error) {
		found, err := own(ctx, token)
		if found != nil || err != nil || strings.Count(token, ".") != 2 {
			return found, err
		}
		return jwt(ctx, token)
	}
	return end, nil
}

// principalOf returns the ID of the principal that a person means: that of the token of this name, else the text.
func (s *Session) principalOf(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	list, err := s.tokens().List()
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(list, func(t tokens.Token) bool { return t.Name == name }); i >= 0 {
		return list[i].ID(), nil
	}
	return name, nil
}

// needToken makes the first token, if there is none, and shows it once.
func (s *Session) needToken(ctx context.Context) error {
	list, err := s.tokens().List()
	if err != nil || len(list) > 0 || s.tokens().Fixed {
		return err
	}
	token, err := s.tokens().Add(ctx, tokens.Token{Name: "default"})
	if err != nil {
		return err
	}
	s.Printer.Notice("clients need this token; it is not shown again")
	s.Printer.Aside(token)
	return nil
}

func (a *tokenAction) run(ctx context.Context, s *Session) error {
	store := s.tokens()
	switch a.action {
	case "add":
		if _, known := s.Settings.Profiles[a.profile]; a.profile != "" && !known {
			return s.noProfile(a.profile)
		}
		token, err := store.Add(ctx, a.wanted(s.App.Now()))
		if err != nil {
			return err
		}
		return s.Printer.Answer(&tokenAnswer{Name: a.name, Token: token})
	case "revoke":
		revoke := store.Revoke
		if s.sharesTokens() {
			revoke = func(ctx context.Context, name string) (bool, error) { return s.revokeShared(ctx, store, name) }
		}
		revoked, err := revoke(ctx, a.name)
		if err != nil {
			return err
		}
		if !revoked {
			return fault.New(fault.Usage, fmt.Sprintf("there is no token %q", a.name), "").
				Then("See the tokens with", fault.Step{Verb: "serve", Args: []string{"token", "list"}})
		}
		return s.Printer.Answer(&tokenAnswer{Name: a.name, Revoked: true})
	}
	list, err := store.List()
	if err != nil {
		return err
	}
	revoked, err := s.revokedTokens(ctx)
	if err != nil {
		return err
	}
	lines := make([]tokenLine, len(list))
	for i, t := range list {
		lines[i] = tokenLine{t.Name, t.Created, t.Expires, t.Expired(s.App.Now()), revoked[t.ID()] != "",
			t.Servers, t.Tier, t.Profile, t.PerMinute, t.AtOnce}
	}
	return s.Printer.Answer(&tokenAnswer{Tokens: &lines, now: s.App.Now()})
}

// tokenAnswer is the answer of serve token.
type tokenAnswer struct {
	Name    string       `json:"name,omitempty"`
	Token   string       `json:"token,omitempty"`
	Revoked bool         `json:"revoked,omitempty"`
	Tokens  *[]tokenLine `json:"tokens,omitempty"`

	now time.Time
}

type tokenLine struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`

	Expires   time.Time `json:"expires,omitzero"`
	Expired   bool      `json:"expired,omitempty"`
	Revoked   bool      `json:"revoked,omitempty"` // at all replicas; the file has it still
	Servers   []string  `json:"servers,omitempty"`
	Tier      string    `json:"tier,omitempty"`
	Profile   string    `json:"profile,omitempty"`
	PerMinute int       `json:"per_minute,omitempty"`
	AtOnce    int       `json:"at_once,omitempty"`
}

// limits says in a few words what the token is limited to.
func (l tokenLine) limits() string {
	var parts []string
	if len(l.Servers) > 0 {
		parts = append(parts, "servers "+strings.Join(l.Servers, ", "))
	}
	for _, named := range []struct{ name, value string }{{"tier", l.Tier}, {"profile", l.Profile}} {
		if named.value != "" {
			parts = append(parts, named.name+" "+named.value)
		}
	}
	if l.PerMinute > 0 {
		parts = append(parts, fmt.Sprintf("%d calls a minute", l.PerMinute))
	}
	if l.AtOnce > 0 {
		parts = append(parts, fmt.Sprintf("%d at once", l.AtOnce))
	}
	return strings.Join(parts, "; ")
}

// ends says when the token counts no more.
func (l tokenLine) ends() string {
	switch {
	case l.Revoked:
		return "revoked"
	case l.Expires.IsZero():
		return "never"
	case l.Expired:
		return "expired"
	}
	return l.Expires.Format(time.DateOnly)
}

// WriteText implements [output.Document].
func (a *tokenAnswer) WriteText(t *output.Text) {
	switch {
	case a.Token != "":
		t.Line(a.Token)
		t.Line()
		t.Wrap("", `It is not shown again. Clients send it as "Authorization: Bearer TOKEN", or use the path /api/mcp/TOKEN.`)
	case a.Revoked:
		t.Line("The token ", output.Bold(a.Name), " is revoked: the next request with it is refused.")
	case len(*a.Tokens) == 0:
		t.Wrap("", "There is no token. Make one with: mcpl serve token add NAME")
	default:
		rows := [][]any{dim("NAME", "CREATED", "EXPIRES", "LIMITS")}
		for _, line := range *a.Tokens {
			rows = append(rows, []any{output.Bold(line.Name), humanize.Ago(a.now, line.Created), line.ends(), line.limits()})
		}
		t.Table("", rows)
	}
}
