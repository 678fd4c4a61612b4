package auth

import (
	"context"
	"github.com/mcp-launchpad/mcpl/pkg/auth/login"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/authtest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// The authorization server's answers, as the browser brings them back.
func TestResponses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options authtest.Options
		typ     fault.Type // "" for none
		message string
	}{
		"the right issuer":             {authtest.Options{}, "", ""},
		"no issuer, none announced":    {authtest.Options{Iss: "none"}, "", ""},
		"no issuer, though announced":  {authtest.Options{Iss: "none", Edit: set("server", "authorization_response_iss_parameter_supported", true)}, fault.Protocol, "does not say which authorization server it comes from"},
		"another issuer":               {authtest.Options{Iss: "https://evil.example.com"}, fault.Protocol, "comes from another authorization server, https://evil.example.com"},
		"denied":                       {authtest.Options{Deny: "access_denied"}, fault.AuthRequired, "the login to s was refused"},
		"unknown scopes":               {authtest.Options{Deny: "invalid_scope"}, fault.Usage, "does not know the scopes"},
		"another error":                {authtest.Options{Deny: "server_error"}, fault.ServerConnection, "ended the login: server_error"},
		"an error of another issuer":   {authtest.Options{Deny: "server_error", Iss: "https://evil.example.com"}, fault.Protocol, "comes from another authorization server"},
		"a code that is not taken":     {authtest.Options{TokenError: "invalid_grant"}, fault.ServerConnection, "gave no token for the login"},
		"a token endpoint that is off": {authtest.Options{TokenError: "down"}, fault.ServerConnection, "gave no token for the login"},
		"one that tells secrets":       {authtest.Options{TokenError: "echo", Method: "client_secret_post"}, fault.ServerConnection, "gave no token for the login"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := newServer(t, tt.options)
			m, s := newManager(t.TempDir(), 0), entryFor(t, as.URL(), "")
			_, p, err := logIn(t, m, s)
			if tt.typ == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			f := wantFault(t, err, tt.typ, tt.message)
			if !strings.Contains(p.page, "The login failed") || strings.Contains(p.page, "<b>") {
				t.Errorf("page %s", p.page)
			}
			noSecrets(t, as, f.Message, f.Traceback, helpOf(f), p.page)
			if h, err := m.Header(t.Context(), s); h != "" || err != nil {
				t.Errorf("there is a token: %v", err)
			}
			if tt.typ == fault.Protocol && as.Count("token")+as.Count("refused") > 0 {
				t.Errorf("the code was sent: %v", as.Events())
			}
		})
	}
}

// What else comes to the port changes nothing, and a login is answered once.
func TestStrangers(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{})
	m, s := newManager(t.TempDir(), 0), entryFor(t, as.URL(), "")
	_, err := m.Login(t.Context(), s,
		login.Options{Timeout: patience, Notice: func(text string) { t.Error(text) }, Show: func(address string) {
			u, err := url.Parse(address)
			if err != nil {
				t.Error(err)
				return
			}
			back := u.Query().Get("redirect_uri")
			for query, status := range map[string]int{"?code=x&state=wrong": 400, "?code=x": 400, "": 400,
				"?iss=" + url.QueryEscape(as.Issuer()) + "&state=" + u.Query().Get("state"): 400,
				"/more?code=x": 404} {
				resp, err := http.Get(back + query)
				if err != nil {
					t.Error(err)
					continue
				}
				page, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != status || resp.Header.Get("Content-Security-Policy") == "" || strings.Contains(string(page), "wrong") {
					t.Errorf("%s: %d\n%s", query, resp.StatusCode, page)
				}
			}
			resp, err := http.Post(back+"?code=x&state="+u.Query().Get("state"), "text/plain", nil)
			if err != nil || resp.StatusCode != http.StatusNotFound {
				t.Errorf("%v %v", resp, err)
			} else {
				resp.Body.Close()
			}
			go func() { _, _, _ = authtest.Browse(context.Background(), address) }() // the login ends when it comes
		}})
	if err != nil {
		t.Error(err)
	}
}

// paste logs in with an address or a code that is pasted.
func paste(t *testing.T, as *authtest.Server, of func(last string) string) ([]string, error) {
	t.Helper()
	in, typed := io.Pipe()
	defer in.Close()
	var notices []string
	said := make(chan string, 10)
	_, err := newManager(t.TempDir(), 0).Login(t.Context(), entryFor(t, as.URL(), ""),
		login.Options{Timeout: patience, Input: in,
			Notice: func(text string) { said <- text },
			Show: func(address string) {
				last, err := authtest.Redirect(t.Context(), address)
				if err != nil {
					t.Error(err)
				}
				go func() { _, _ = io.WriteString(typed, of(last)) }() // ends with the pipe
			}})
	close(said)
	for text := range said {
		notices = append(notices, text)
	}
	return notices, err
}

// A browser on another machine ends at an address that does not load there. It is pasted.
func TestPasted(t *testing.T) {
	t.Parallel()
	query := func(last string) string { _, q, _ := strings.Cut(last, "?"); return q }
	code := func(last string) string {
		v, _ := url.ParseQuery(query(last))
		return v.Get("code")
	}
	for name, tt := range map[string]struct {
		options authtest.Options
		of      func(last string) string
		notices int
	}{
		"the address":          {authtest.Options{}, func(last string) string { return last + "\n" }, 0},
		"in quotes, after air": {authtest.Options{}, func(last string) string { return "\n  '" + last + "' \r\n" }, 0},
		"no line break":        {authtest.Options{}, nil, 0},
		"its query":            {authtest.Options{}, func(last string) string { return "?" + query(last) + "\n" }, 0},
		"the code alone":       {authtest.Options{Iss: "none"}, func(last string) string { return code(last) + "\n" }, 0},
		"mistakes before": {authtest.Options{}, func(last string) string {
			return "http://x/?code=a&state=b\ncode=%zz\n" + code(last) + "\nhttp://[/\n" + last + "\n"
		}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := newServer(t, tt.options)
			if tt.of == nil {
				tt.of = func(last string) string { return last + "\n" }
			}
			notices, err := paste(t, as, tt.of)
			if err != nil || len(notices) != tt.notices {
				t.Errorf("%v, notices %q", err, notices)
			}
			noSecrets(t, as, notices...)
		})
	}
}

// The browser never comes, or the person gives up: nothing is left open.
func TestNobodyComes(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{})
	s := entryFor(t, as.URL(), "")
	port := ""
	show := func(address string) {
		u, _ := url.Parse(address)
		back, _ := url.Parse(u.Query().Get("redirect_uri"))
		port = back.Host
	}
	_, err := newManager(t.TempDir(), 0).Login(t.Context(), s, login.Options{Timeout: 500 * time.Millisecond, Show: show})
	f := wantFault(t, err, fault.Timeout, "the login to s was not completed within 500ms")
	if !strings.Contains(helpOf(f), "--timeout 1s") {
		t.Error(helpOf(f))
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = newManager(t.TempDir(), 0).Login(ctx, s,
		login.Options{Timeout: patience, Show: func(address string) { show(address); cancel() }})
	wantFault(t, err, fault.Interrupted, "interrupted")
	if c, err := net.Dial("tcp", port); err == nil {
		c.Close()
		t.Error("the port is open")
	}
}

// The port of the entry, the one that was registered, and none.
func TestPorts(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	s := entryFor(t, "http://127.0.0.1:1/mcp", `, "oauth": {"redirectPort": `+port+`}`)
	_, _, err = listen(s, nil)
	if f := wantFault(t, err, fault.Config, "no port to come back to"); !strings.Contains(f.Help, "Another program has port "+port) {
		t.Error(f.Help)
	}
	plain := entryFor(t, "http://127.0.0.1:1/mcp", "")
	taken := &record{Client: client{Redirect: "http://127.0.0.1:" + port + callbackPath}}
	other, redirect, err := listen(plain, taken)
	if err != nil || redirect == taken.Client.Redirect {
		t.Fatalf("%s %v", redirect, err)
	}
	other.Close()
	for range 20 { // a port that was just let go may be had by another test
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		s := entryFor(t, "http://127.0.0.1:1/mcp", `, "oauth": {"redirectPort": `+port+`}`)
		l.Close()
		again, redirect, err := listen(s, nil)
		if err != nil {
			continue
		}
		again.Close()
		if redirect != "http://127.0.0.1:"+port+callbackPath {
			t.Error(redirect)
		}
		return
	}
	t.Error("the port of the entry is never had")
}

// A notice names a browser that cannot be opened, and the login goes on.
func TestNoBrowser(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{})
	said := make(chan string, 1)
	address := make(chan string, 1)
	_, err := newManager(t.TempDir(), 0).Login(t.Context(), entryFor(t, as.URL(), ""), login.Options{Timeout: patience,
		Show: func(a string) { address <- a }, Notice: func(text string) { said <- text },
		Open: func(a string) error {
			defer func() { go func() { _, _, _ = authtest.Browse(context.Background(), <-address) }() }()
			return http.ErrNotSupported
		}})
	if err != nil || !strings.Contains(<-said, "no browser could be opened") {
		t.Error(err)
	}
}

func FuzzPasted(f *testing.F) {
	for _, seed := range []string{"", "abc", "http://127.0.0.1:1/callback?code=x&state=s", "?error=e&state=s", "code=x&state=s&iss=i", "http://[/", "code=%zz"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, required bool) {
		r, err := expected{state: "s", issuer: "i", issuerRequired: required}.pasted(text)
		if err != nil {
			return
		}
		if r.code == "" && r.errorCode == "" && r.wrong == "" {
			t.Errorf("%q gives nothing and no error", text)
		}
		if required && r.wrong == "" && !strings.Contains(text, "iss") && !strings.Contains(text, "%") {
			t.Errorf("%q is taken without an issuer", text)
		}
	})
}

func FuzzChallenges(f *testing.F) {
	for _, seed := range []string{`Bearer`, `Bearer realm="x", scope="a b", resource_metadata="https://x/y"`, `Basic realm=x, Bearer error=insufficient_scope`,
		`Negotiate abc==, Bearer scope=a`, `bearer  scope = "a\"b" , x`, `"`, `,,=,`, `Bearer scope="a`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := parseChallenges([]string{text})
		if !strings.Contains(strings.ToLower(text), "bearer") && (c.metadata != "" || c.scopes != nil || c.code != "") {
			t.Errorf("%q: %+v", text, c)
		}
		for _, scope := range c.scopes {
			if !config.IsScope(scope) {
				t.Errorf("%q: %q is no scope", text, scope)
			}
		}
	})
}

func TestChallenges(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]challenge{
		``:       {},
		`Bearer`: {},
		`Bearer realm="x", scope="a b", resource_metadata="https://x/y?z=1,2"`: {metadata: "https://x/y?z=1,2", scopes: []string{"a", "b"}},
		`Basic realm="Bearer scope=no", BEARER Error=insufficient_scope`:       {code: "insufficient_scope"},
		`Negotiate abc==, Bearer scope=a`:                                      {scopes: []string{"a"}},
		`bearer  scope = "a\"b c" , error="x\\y"`:                              {scopes: []string{"c"}, code: `x\y`},
		`scope="a", Bearer`:        {},
		`Bearer scope=a scope=b`:   {scopes: []string{"a"}},
		`Bearer scope="never ends`: {scopes: []string{"never", "ends"}},
		`;;;, Bearer error=e`:      {code: "e"},
		`DPoP algs="ES256"`:        {},
	} {
		got := parseChallenges([]string{"Basic", header})
		if got.metadata != want.metadata || got.code != want.code ||
			!slices.Equal(got.scopes, want.scopes) {
			t.Errorf("%s: %+v, want %+v", header, got, want)
		}
	}
}
