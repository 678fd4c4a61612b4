package verb

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/auth/login"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// logins stand for pkg/auth's: what they know of each server, and what becomes of a login and a logout.
type logins struct {
	t      *testing.T
	states map[string]login.State
	failed map[string]*fault.Fault // instead of a state
	login  func(opt login.Options) (login.State, error)
	logout func() (login.Ended, error)
}

func (l *logins) State(_ context.Context, s *config.Server) (login.State, error) {
	l.t.Helper()
	if s.Transport == config.Stdio {
		l.t.Errorf("%s is not a server over HTTP", s.Name)
	}
	if f := l.failed[s.Name]; f != nil {
		return login.State{}, f
	}
	if st, ok := l.states[s.Name]; ok {
		return st, nil
	}
	return login.State{Kind: login.NotLoggedIn}, nil
}

func (l *logins) Login(_ context.Context, _ *config.Server, opt login.Options) (login.State, error) {
	return l.login(opt)
}

func (l *logins) Logout(context.Context, *config.Server) (login.Ended, error) { return l.logout() }

// loggedIn returns a world with three servers over HTTP: one with a login, one that can log in, one whose
// login cannot be read.
func loggedIn(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, `{"mcpServers": {
  "web": {"url": "https://web.example/mcp"},
  "notes": {"url": "https://notes.example/mcp"},
  "broken": {"url": "https://broken.example/mcp"},
  "demo": {"command": "demo"}
}}`, map[string]*server{
		"web":    offering(t, "", `{"name":"look","inputSchema":{"type":"object"}}`),
		"notes":  {down: fault.New(fault.AuthRequired, "notes wants a login", "Log in first.").On("notes", "")},
		"broken": offering(t, ""), "demo": offering(t, ""),
	})
	state := login.State{Kind: login.LoggedIn, Issuer: "https://issuer.example", Scopes: []string{"read", "write"},
		Obtained: noon.Add(-time.Hour), Expires: noon.Add(90*time.Minute + 300*time.Millisecond), Kept: config.InKeyring}
	w.app.Logins = &logins{
		t: t, states: map[string]login.State{"web": state},
		failed: map[string]*fault.Fault{"broken": fault.New(fault.Config, "the login of broken cannot be read", "Log in again.")},
		login: func(opt login.Options) (login.State, error) {
			opt.Notice("the keyring did not take it")
			opt.Show("https://issuer.example/authorize?x=1")
			return login.State{Kind: login.LoggedIn, Issuer: "https://issuer.example", Scopes: opt.Scopes,
				Expires: noon.Add(72 * time.Hour), Renewable: true, Kept: config.InFiles, File: "/state/auth"}, nil
		},
		logout: func() (login.Ended, error) { return login.Ended{Was: true, Revoked: true}, nil },
	}
	return w.built()
}

func TestAuthOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "auth", map[string]options{
		"the state of all": {want: &authVerb{action: "status", servers: []string{}}},
		"of one":           {args: []string{"status", "a"}, want: &authVerb{action: "status", servers: []string{"a"}}},
		"a login": {args: []string{"login", "a", "--scope", "x", "--no-browser", "--timeout", "30"}, want: &authVerb{
			Scopes: []string{"x"}, NoBrowser: true, Timeout: 30 * time.Second, action: "login", servers: []string{"a"}}},
		"a login to the only one": {args: []string{"login"}, want: &authVerb{action: "login", servers: []string{}}},
		"a logout":                {args: []string{"logout", "a"}, want: &authVerb{action: "logout", servers: []string{"a"}}},
		"a logout of nothing":     {args: []string{"logout"}, says: "which server do you want to log out of?"},
		"two servers":             {args: []string{"login", "a", "b"}, says: `auth login takes one server, "b" is too much`},
		"an unknown command":      {args: []string{"a"}, says: `unknown auth command "a"`},
	})
}

func TestAuthAnswers(t *testing.T) {
	t.Parallel()
	checkAnswers(t, loggedIn, map[string]answer{
		"the state of all": {args: []string{"auth"}, text: `SERVER  LOGIN          ENDS        SCOPES      THROUGH                 KEPT IN
web     logged in      in 1h30m0s  read write  https://issuer.example  the keyring
notes   not logged in                          
broken  unknown                                

error broken: the login of broken cannot be read
  Log in again.

A request shows whether a server wants a login: mcpl list --refresh
`,
			json: `{"servers":[{"server":"web","url":"https://web.example/mcp","login":"logged in","issuer":"https://issuer.example","scopes":["read","write"],"obtained_at":"2026-03-01T11:00:00Z","expires_at":"2026-03-01T13:30:00Z","kept_in":"keyring"},{"server":"notes","url":"https://notes.example/mcp","login":"not logged in"},{"server":"broken","url":"https://broken.example/mcp","login":"unknown","error":{"type":"ConfigError","message":"the login of broken cannot be read","traceback":"","help":"Log in again."}}]}`},
		"the state of one": {args: strings.Fields("auth status notes"), text: `SERVER  LOGIN          ENDS  SCOPES  THROUGH  KEPT IN
notes   not logged in                

A request shows whether a server wants a login: mcpl list --refresh
`,
			json: `{"servers":[{"server":"notes","url":"https://notes.example/mcp","login":"not logged in"}]}`},
		"the state of a local server": {args: strings.Fields("auth status demo"), code: 2, text: `error: demo is not a server over HTTP and has no login
hint: See the logins that there are with: mcpl auth status
`,
			json: `{"success":false,"error":{"type":"UsageError","message":"demo is not a server over HTTP and has no login","traceback":"","help":"See the logins that there are with: mcpl auth status","server":"demo"}}`},
		"the state of an unknown server": {args: strings.Fields("auth status nosuch"), code: 3, says: []string{`error: there is no server "nosuch"`}},
		"a logout": {args: strings.Fields("auth logout web"), text: "The login to web is forgotten here, and revoked at its authorization server.\n",
			json: `{"server":"web","logged_out":true,"revoked":true}`},
		"a logout of an unknown server": {args: strings.Fields("auth logout nosuch"), code: 3, says: []string{`error: there is no server "nosuch"`}},
		"a login": {args: strings.Fields("auth login web --scope read,write --scope admin"), asked: []string{"web"}, text: `Logged in to web through https://issuer.example
scopes: read write admin
expires in 3 days
kept in /state/auth
web has 1 tool. See them with: mcpl list web
note: the keyring did not take it
note: log in to web in the browser; if none opens, go to:
https://issuer.example/authorize?x=1
`,
			json: `{"server":"web","url":"https://web.example/mcp","login":"logged in","issuer":"https://issuer.example","scopes":["read","write","admin"],"expires_at":"2026-03-04T12:00:00Z","renewable":true,"kept_in":"file","file":"/state/auth","tools":1}`},
		"a login without a browser": {args: strings.Fields("auth login --no-browser"), asked: []string{"notes"}, text: `Logged in to notes through https://issuer.example
expires in 3 days
kept in /state/auth
warning: its tools could not be listed: notes wants a login. Log in first.
note: the keyring did not take it
note: log in to notes at this address:
https://issuer.example/authorize?x=1
`,
			json: `{"server":"notes","url":"https://notes.example/mcp","login":"logged in","issuer":"https://issuer.example","expires_at":"2026-03-04T12:00:00Z","renewable":true,"kept_in":"file","file":"/state/auth","tools":0,"warning":"its tools could not be listed: notes wants a login. Log in first."}`},
	})
}

// TestNeedy holds which server a login without a name is for.
func TestNeedy(t *testing.T) {
	t.Parallel()
	in := func(kind login.Kind) login.State { return login.State{Kind: kind} }
	for title, tc := range map[string]struct {
		asks   []string // the servers that have asked for a login
		states map[string]login.State
		code   int
		says   string
	}{
		"one has asked":     {asks: []string{"notes"}, says: "Logged in to notes"},
		"two have asked":    {asks: []string{"web", "notes"}, code: 2, says: "These may want a login: web, notes. Type: mcpl auth login web"},
		"one has none":      {states: map[string]login.State{"web": in(login.LoggedIn), "notes": in(login.Expired)}, says: "Logged in to notes"},
		"none has one":      {code: 2, says: "These may want a login: web, notes."},
		"all have one":      {states: map[string]login.State{"web": in(login.Machine), "notes": in(login.Static)}, code: 2, says: "No server needs a login"},
		"one that was lost": {states: map[string]login.State{"web": in(login.CanRenew), "notes": in(login.NotLoggedIn)}, says: "Logged in to notes"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			web, notes := offering(t, ""), offering(t, "")
			w := newWorld(t, `{"mcpServers": {"web": {"url": "https://web.example/mcp"}, "demo": {"command": "demo"},
				"notes": {"url": "https://notes.example/mcp"}}}`, map[string]*server{"web": web, "notes": notes, "demo": offering(t, "")})
			for _, name := range tc.asks {
				w.servers[name].down = fault.New(fault.AuthRequired, name+" wants a login", "")
			}
			w.built()
			web.down, notes.down = nil, nil
			w.app.Logins = &logins{t: t, states: tc.states, login: func(login.Options) (login.State, error) {
				return login.State{Kind: login.LoggedIn}, nil
			}}
			if got := w.run(t.Context(), "auth", "login"); got.code != tc.code || !strings.Contains(got.stdout+got.stderr, tc.says) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestLogout holds what is said of a login that was forgotten.
func TestLogout(t *testing.T) {
	t.Parallel()
	for want, ended := range map[string]login.Ended{
		"There was no login to web.\n": {},
		"The login to web is forgotten here, and revoked at its authorization server.\n":                             {Was: true, Revoked: true},
		"The login to web is forgotten here. Its authorization server did not revoke it: x.\n":                       {Was: true, Problem: "x"},
		"The login to web is forgotten here. Its authorization server cannot revoke it: the token ends by itself.\n": {Was: true},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			w := loggedIn(t)
			w.app.Logins.(*logins).logout = func() (login.Ended, error) { return ended, nil }
			if got := w.run(t.Context(), "auth", "logout", "web"); got.code != 0 || got.stdout != want {
				t.Errorf("%+v", got)
			}
		})
	}
	t.Run("a failure", func(t *testing.T) {
		t.Parallel()
		w := loggedIn(t)
		w.app.Logins.(*logins).logout = func() (login.Ended, error) {
			return login.Ended{}, fault.New(fault.Config, "the login cannot be removed", "")
		}
		if got := w.run(t.Context(), "auth", "logout", "web"); got.code != 2 || got.stdout != "" {
			t.Errorf("%+v", got)
		}
	})
}

// TestLoginOptions holds what a login gets from the command line and the terminal.
func TestLoginOptions(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		args           string
		terminal       bool
		input, browser bool
		timeout        time.Duration
		says           string
	}{
		"a script":             {args: "auth login web", browser: true, timeout: loginTimeout, says: "in the browser; if none opens"},
		"a person":             {args: "auth login web", terminal: true, input: true, browser: true, timeout: loginTimeout, says: "paste the address"},
		"a script, no browser": {args: "auth login web --no-browser --timeout 9", input: true, timeout: 9 * time.Second, says: "log in to web at this address"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := loggedIn(t)
			w.app.Browser = func(string) error { return nil }
			if tc.terminal {
				w.atTerminal(strings.NewReader(""))
			}
			var got login.Options
			w.app.Logins.(*logins).login = func(opt login.Options) (login.State, error) {
				got = opt
				opt.Show("https://issuer.example/")
				return login.State{}, fault.New(fault.Timeout, "too late", "")
			}
			ran := w.run(t.Context(), strings.Fields(tc.args)...)
			if (got.Input != nil) != tc.input || (got.Open != nil) != tc.browser || got.Timeout != tc.timeout {
				t.Errorf("%+v", got)
			}
			if ran.code != fault.Timeout.ExitCode() || !strings.Contains(ran.stderr, tc.says) {
				t.Errorf("%+v", ran)
			}
		})
	}
}

// TestSummary holds what doctor says of a login.
func TestSummary(t *testing.T) {
	t.Parallel()
	now := noon
	for want, line := range map[string]loginLine{
		"not logged in": {State: login.State{Kind: login.NotLoggedIn}},
		"logged in, ends in 1h0m0s, through i": {
			State: login.State{Kind: login.LoggedIn, Issuer: "i"}, ends: ends(now, now.Add(time.Hour))},
		"can be renewed, ends 2 h ago": {State: login.State{Kind: login.CanRenew}, ends: ends(now, now.Add(-2*time.Hour))},
		"unknown: it is damaged":       {State: login.State{Kind: login.Unknown}, Error: fault.New(fault.Config, "it is damaged", "")},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if got := line.summary(); got != want {
				t.Errorf("got %s", got)
			}
		})
	}
}
