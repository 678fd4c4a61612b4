package verb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/auth/login"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Logins are the logins to servers over HTTP, a pkg/auth.Manager. Errors of its methods are faults.
type Logins interface {
	Login(ctx context.Context, server *config.Server, opt login.Options) (login.State, error)
	Logout(ctx context.Context, server *config.Server) (login.Ended, error)
	// State asks no server.
	State(ctx context.Context, server *config.Server) (login.State, error)
}

// loginTimeout is how long a person has for a login.
const loginTimeout = 5 * time.Minute

func authSpec() Spec {
	return Spec{
		Name: "auth", Group: Setup, New: func() Verb { return new(authVerb) },
		Aliases: []Alias{
			{Words: "login signin sign-in log-in authenticate authorize oauth", Args: "login"},
			{Words: "logout signout sign-out log-out", Args: "logout"},
		},
		Complete: completeAuth,
		Use:      "auth [login|logout|status] [SERVER]", Short: "Log in to servers, and out again",
		Long: `Servers over HTTP may want a login (OAuth). A call to such a server says so,
with the command to type; only auth login opens a browser.

  login   log in by the browser; without SERVER, to the only one that wants it
  logout  forget the login, and revoke it if the server can do that
  status  show what is known of each login (default)

mcpl renews a login for as long as the server allows. It keeps the login in the
system's keyring or, without one, in a file that only you can read.

With --no-browser the address is printed on stderr. Open it anywhere; the
browser ends at an address of this machine. On another machine that page does
not load: paste its address here.`,
		Example: `  mcpl auth login notes
  mcpl auth login notes --no-browser
  mcpl auth login notes --scope "read write"
  mcpl auth login notes --as ada
  mcpl --json auth status`,
	}
}

// authVerb looks after the logins: mcpl auth login|logout|status [SERVER].
type authVerb struct {
	Scopes    []string
	NoBrowser bool
	Timeout   time.Duration
	// As is the principal of a gateway whose login it is.
	As string

	action  string
	servers []string // at most one
}

// completeAuth completes an action and then a server.
func completeAuth(n *Names, args []string) ([]string, bool) {
	if len(args) == 0 {
		return []string{"login", "logout", "status"}, false
	}
	return completeServer(n, args[1:])
}

func (v *authVerb) Flags(fs *pflag.FlagSet) {
	fs.StringArrayVar(&v.Scopes, "scope", nil, "with login: ask for these `SCOPES`; repeatable")
	fs.BoolVar(&v.NoBrowser, "no-browser", false, "with login: only print the address, on stderr")
	fs.StringVar(&v.As, "as", "", "the login of the token `NAME` of mcpl serve")
	fs.Var((*durationValue)(&v.Timeout), "timeout", "with login: limit for the whole login (default 5m)")
}

// authUsage shows how to type the verb.
const authUsage = "Type: mcpl auth login SERVER   or: mcpl auth logout SERVER   or: mcpl auth status"

func (v *authVerb) Parse(words []string) error {
	v.action = "status"
	if len(words) > 0 {
		v.action, words = words[0], words[1:]
	}
	v.servers = words
	switch {
	case len(words) > 1:
		return fault.New(fault.Usage, fmt.Sprintf("auth %s takes one server, %q is too much", v.action, words[1]), authUsage)
	case v.action == "logout" && len(words) == 0:
		return fault.New(fault.Usage, "which server do you want to log out of?", "").
			Then("See the logins with", fault.Step{Verb: "auth status"})
	case v.action == "login" || v.action == "logout" || v.action == "status":
		return nil
	}
	return fault.New(fault.Usage, fmt.Sprintf("unknown auth command %q", v.action), authUsage)
}

func (v *authVerb) Run(ctx context.Context, s *Session) (err error) {
	if v.As, err = s.principalOf(v.As); err != nil {
		return err
	}
	switch v.action {
	case "login":
		return v.login(ctx, s)
	case "logout":
		return v.logout(ctx, s)
	default:
		return v.status(ctx, s)
	}
}

// usable returns the server of that name, if it can be used.
func (v *authVerb) usable(s *Session, name string) (*config.Server, error) {
	server, err := s.server(name)
	if err != nil {
		return nil, err
	}
	if v.As != "" && server.Credentials != config.OfUser {
		return nil, fault.New(fault.Usage, name+" gets the same login whoever uses the gateway",
			`For a login of each user its entry has to have "credentials": "user".`).On(name, "")
	}
	server = server.For(v.As, nil)
	return server, server.Usable()
}

// login logs in to a server and lists what it offers.
func (v *authVerb) login(ctx context.Context, s *Session) error {
	var name string
	var err error
	if len(v.servers) == 1 {
		name = v.servers[0]
	} else if name, err = v.needy(ctx, s); err != nil {
		return err
	}
	server, err := v.usable(s, name)
	if err != nil {
		return err
	}
	opt := login.Options{Timeout: cmp.Or(v.Timeout, loginTimeout)}
	opt.Notice = func(text string) { s.Printer.Notice("%s", text) }
	if !v.NoBrowser {
		opt.Open = s.App.Browser
	}
	if v.NoBrowser || s.App.InTTY { // else stdin may be the input of a script
		opt.Input = s.App.Stdin
	}
	for _, scope := range v.Scopes {
		opt.Scopes = append(opt.Scopes, strings.Fields(strings.ReplaceAll(scope, ",", " "))...)
	}
	opt.Show = func(address string) { v.show(s, name, address) }
	state, err := s.App.Logins.Login(ctx, server, opt)
	if err != nil {
		return err
	}
	a := &loginAnswer{loginLine: *lineOfLogin(s, server, state)}
	listed, err := v.list(ctx, s, name)
	if err != nil {
		f := output.InWords(fault.From(err))
		a.Warning = fmt.Sprintf("its tools could not be listed: %s. %s", f.Message, f.Help)
	}
	a.Tools = len(listed.Tools)
	return s.Printer.Answer(a)
}

// list lists a server with its new login.
func (v *authVerb) list(ctx context.Context, s *Session, name string) (listed engine.ServerTools, err error) {
	e := s.Engine
	if v.As != "" {
		e = s.engineOver(s.selection(), func(cfg *config.Config, _ func(string)) engine.Caller {
			return s.ownCaller(cfg, tool.CallOptions{Principal: tool.Principal(v.As)})
		})
		defer func() { err = errors.Join(err, e.Close()) }()
	}
	return e.ListServer(ctx, name, true)
}

// show shows the address of a login, also if a browser was asked to open it: that may have failed.
func (v *authVerb) show(s *Session, name, address string) {
	if v.NoBrowser {
		s.Printer.Notice("log in to %s at this address:", name)
	} else {
		s.Printer.Notice("log in to %s in the browser; if none opens, go to:", name)
	}
	s.Printer.Aside(address)
	if s.App.InTTY {
		s.Printer.Notice("if the browser is on another machine, paste the address that it ends at here")
	}
}

// needy returns the only server that has asked for a login or, if none has, the only one over HTTP without a login.
func (v *authVerb) needy(ctx context.Context, s *Session) (string, error) {
	cfg, err := s.catalog().Config()
	if err != nil {
		return "", err
	}
	listed, err := s.Engine.List(ctx, false)
	if err != nil {
		return "", err
	}
	var wanted []string
	for _, l := range listed.Servers {
		if !l.Disabled && l.Error != nil && l.Error.Type == fault.AuthRequired {
			wanted = append(wanted, l.Name)
		}
	}
	if len(wanted) == 0 {
		for _, server := range cfg.Servers {
			if server.Transport == config.Stdio {
				continue
			}
			state, err := s.App.Logins.State(ctx, server) // a login that cannot be read counts as none
			if err != nil || state.Kind == login.NotLoggedIn || state.Kind == login.Expired {
				wanted = append(wanted, server.Name)
			}
		}
	}
	if len(wanted) == 1 {
		return wanted[0], nil
	}
	f := fault.New(fault.Usage, "which server do you want to log in to?", "")
	if len(wanted) == 0 {
		f.Help = "No server needs a login: only servers over HTTP do, and each of them has one."
		return "", f.Then("See them with", fault.Step{Verb: "auth status"})
	}
	f.Suggestions = wanted
	f.Help = "These may want a login: " + strings.Join(wanted, ", ") + "."
	return "", f.Then("Type", fault.Step{Verb: "auth login", Server: wanted[0]})
}

func (v *authVerb) logout(ctx context.Context, s *Session) error {
	server, err := v.usable(s, v.servers[0])
	if err != nil && (server == nil || server.Unapproved == nil) { // what was stored can be forgotten without an approval
		return err
	}
	out, err := s.App.Logins.Logout(ctx, server)
	if err != nil {
		return err
	}
	return s.Printer.Answer(&logoutAnswer{server.Name, out.Was, out.Revoked, out.Problem})
}

// status shows the logins to all servers over HTTP, or to one.
func (v *authVerb) status(ctx context.Context, s *Session) error {
	cfg, err := s.catalog().Config()
	if err != nil {
		return err
	}
	servers := cfg.Servers
	if len(v.servers) == 1 {
		server, err := cfg.Server(v.servers[0])
		if err != nil {
			return err
		}
		if server.Transport == config.Stdio {
			return fault.New(fault.Usage, server.Name+" is not a server over HTTP and has no login", "").
				On(server.Name, "").Then("See the logins that there are with", fault.Step{Verb: "auth status"})
		}
		servers = []*config.Server{server}
	}
	a := &statusAnswer{Servers: []*loginLine{}}
	for _, server := range servers {
		if server.Transport != config.Stdio && (v.As == "" || server.Credentials == config.OfUser) {
			a.Servers = append(a.Servers, loginOf(ctx, s, server.For(v.As, nil)))
		}
	}
	return s.Printer.Answer(a)
}

// loginLine is what is known of the login to one server.
type loginLine struct {
	Server string `json:"server"`
	URL    string `json:"url"`
	login.State
	Error *fault.Fault `json:"error,omitempty"`
	ends  string       // when its token expires; "" if that is not known
}

// summary says in a line how a server is logged in to.
func (l *loginLine) summary() string {
	text := string(l.Kind) + output.Prefixed(", ends ", l.ends) + output.Prefixed(", through ", l.Issuer)
	if l.Error != nil {
		text += ": " + l.Error.Message
	}
	return text
}

// loginOf returns what is known of the login to a server over HTTP, also if that cannot be read.
func loginOf(ctx context.Context, s *Session, server *config.Server) *loginLine {
	state, err := s.App.Logins.State(ctx, server)
	line := lineOfLogin(s, server, state)
	if err != nil {
		line.Kind, line.Error = login.Unknown, output.InWords(fault.From(err))
	}
	return line
}

// lineOfLogin returns what is known of the login to a server. Answers have times in UTC, without fractions of a second.
func lineOfLogin(s *Session, server *config.Server, st login.State) *loginLine {
	l := &loginLine{Server: server.Name, URL: server.Display().URL, State: st, ends: ends(s.App.Now(), st.Expires)}
	l.Obtained, l.Expires = st.Obtained.UTC().Truncate(time.Second), st.Expires.UTC().Truncate(time.Second)
	return l
}

// ends says when a token expires, "" if that is not known.
func ends(now, expires time.Time) string {
	switch d := expires.Sub(now).Round(time.Second); {
	case expires.IsZero():
		return ""
	case d < 0:
		return humanize.Ago(now, expires)
	case d > 48*time.Hour:
		return fmt.Sprintf("in %d days", int(d.Hours()/24))
	default:
		return "in " + d.String()
	}
}

type loginAnswer struct {
	loginLine
	Tools   int    `json:"tools"`
	Warning string `json:"warning,omitempty"`
}

func (a *loginAnswer) WriteText(t *output.Text) {
	t.Line(output.Green("Logged in"), " to ", output.Bold(a.Server), " through ", a.Issuer)
	if len(a.Scopes) > 0 {
		t.Line("scopes: ", strings.Join(a.Scopes, " "))
	}
	if a.ends != "" {
		t.Line("expires ", a.ends)
	}
	if !a.Renewable {
		t.Line("It cannot be renewed: log in again when it has expired.")
	}
	t.Line("kept in ", a.where())
	if a.Warning != "" {
		t.Line(output.Yellow("warning: "), a.Warning)
		return
	}
	t.Line(a.Server, " has ", humanize.Plural(a.Tools, "tool"), ". See them with: mcpl list ", fault.Quote(a.Server))
}

func (l *loginLine) where() string {
	if l.Kept == config.InKeyring {
		return "the keyring"
	}
	return l.File
}

type logoutAnswer struct {
	Server    string `json:"server"`
	LoggedOut bool   `json:"logged_out"`
	Revoked   bool   `json:"revoked"`
	Problem   string `json:"problem,omitempty"`
}

func (a *logoutAnswer) WriteText(t *output.Text) {
	if !a.LoggedOut {
		t.Line("There was no login to ", output.Bold(a.Server), ".")
		return
	}
	revoked := ". Its authorization server cannot revoke it: the token ends by itself."
	switch {
	case a.Revoked:
		revoked = ", and revoked at its authorization server."
	case a.Problem != "":
		revoked = ". Its authorization server did not revoke it: " + a.Problem + "."
	}
	t.Line("The login to ", output.Bold(a.Server), " is forgotten here", revoked)
}

type statusAnswer struct {
	Servers []*loginLine `json:"servers"`
}

func (a *statusAnswer) WriteText(t *output.Text) {
	if len(a.Servers) == 0 {
		t.Line("No server over HTTP is configured, and only those have logins.")
		return
	}
	rows := [][]any{dim("SERVER", "LOGIN", "ENDS", "SCOPES", "THROUGH", "KEPT IN")}
	none := false
	for _, l := range a.Servers {
		kind := stateSpan(string(l.Kind))
		if l.Error != nil {
			kind = output.Red(string(l.Kind))
		}
		rows = append(rows, []any{output.Bold(l.Server), kind, l.ends, strings.Join(l.Scopes, " "), l.Issuer, l.where()})
		none = none || l.Kind == login.NotLoggedIn
	}
	t.Table("", rows)
	for _, l := range a.Servers {
		if l.Error != nil {
			t.Line()
			t.Line(output.Red("error "), output.Bold(l.Server), ": ", l.Error.Message)
			t.Wrap("  ", l.Error.Help)
		}
	}
	if none {
		t.Line()
		t.Wrap("", "A request shows whether a server wants a login: mcpl list --refresh")
	}
}
