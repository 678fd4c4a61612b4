package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/authtest"
	"github.com/mcp-launchpad/mcpl/pkg/auth/login"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// patience is how long tests wait for what has to happen.
const patience = time.Minute

// entryFor returns a server "s" as a configuration file has it, its URL and what more its entry says.
func entryFor(t *testing.T, url, more string) *config.Server {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, ".mcp.json")
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"mcpServers": {"s": {"url": %q%s}}}`, url, more), 0o600); err != nil {
		t.Fatal(err)
	}
	env := config.Env{Dir: dir, Home: dir, GOOS: "linux", Lookup: func(string) (string, bool) { return "", false }}
	src, err := env.Locate(config.Selection{Configs: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := env.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	s, err := cfg.Server("s")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newServer starts a server of authorization that ends with the test.
func newServer(t *testing.T, o authtest.Options) *authtest.Server {
	t.Helper()
	s := authtest.New(o)
	t.Cleanup(s.Close)
	return s
}

// newManager returns a manager that keeps tokens in files of a folder; later is how far its clock is ahead.
func newManager(dir string, later time.Duration) *Manager {
	return New(Options{StateDir: dir, Credentials: config.InFiles, Version: "test",
		Lookup: func(string) (string, bool) { return "", false },
		Now:    func() time.Time { return time.Now().Add(later) }})
}

// person is who logs in.
type person struct {
	page    string
	notices []string
}

// logIn logs in to a server with a browser that approves.
func logIn(t *testing.T, m *Manager, s *config.Server, scopes ...string) (login.State, *person, error) {
	t.Helper()
	p := &person{}
	opt := login.Options{Scopes: scopes, Timeout: patience,
		Notice: func(text string) { p.notices = append(p.notices, text) }}
	var browsed chan struct{}
	opt.Show = func(address string) {
		browsed = make(chan struct{})
		go func() {
			defer close(browsed)
			var err error
			if p.page, _, err = authtest.Browse(t.Context(), address); err != nil {
				t.Error(err)
			}
		}()
	}
	st, err := m.Login(t.Context(), s, opt)
	if browsed != nil {
		<-browsed
	}
	return st, p, err
}

// mustLogIn is logIn for what has to work.
func mustLogIn(t *testing.T, m *Manager, s *config.Server, scopes ...string) login.State {
	t.Helper()
	st, p, err := logIn(t, m, s, scopes...)
	if err != nil {
		f := fault.From(err)
		t.Fatalf("%s: %s\n%s\n%s", f.Type, f.Message, f.Traceback, helpOf(f))
	}
	if len(p.notices) > 0 || p.page != "" && !strings.Contains(p.page, "You are logged in") {
		t.Errorf("notices %q, page %q", p.notices, p.page)
	}
	return st
}

// wantFault holds an error to a type and a piece of its message.
func wantFault(t *testing.T, err error, typ fault.Type, message string) *fault.Fault {
	t.Helper()
	f := new(fault.Fault)
	if !errors.As(err, &f) || f.Type != typ || !strings.Contains(f.Message, message) {
		t.Fatalf("got %+v (%v)\nwant %s with %q", f, err, typ, message)
	}
	if helpOf(f) == "" || f.Server != "s" {
		t.Errorf("no help or no server: %+v", f)
	}
	return f
}

// helpOf returns a fault's help and its steps, as a terminal shows them.
func helpOf(f *fault.Fault) string {
	texts := []string{f.Help}
	for _, next := range f.Next {
		texts = append(texts, next.Why, strings.Join(next.Step.Words(), " "))
	}
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), " ")
}

// use makes a request to the server with a header, and returns the status.
func use(t *testing.T, s *config.Server, header string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", header)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// wantHeader checks that there is a header, and that the server takes it.
func wantHeader(t *testing.T, m *Manager, s *config.Server) string {
	t.Helper()
	h, err := m.Header(t.Context(), s)
	if err != nil || h == "" {
		t.Fatalf("header %q, %v", h, err)
	}
	if status := use(t, s, h); status != http.StatusOK {
		t.Errorf("the server answers %d", status)
	}
	return h
}

// noSecrets checks that no secret of a server is in a text.
func noSecrets(t *testing.T, as *authtest.Server, texts ...string) {
	t.Helper()
	for _, secret := range as.Secrets() {
		for _, text := range texts {
			if strings.Contains(text, secret) {
				t.Errorf("a secret is in\n%s", text)
			}
		}
	}
}

// set returns an Edit that sets a member of a document; nil takes it away.
func set(kind, key string, value any) func(string, map[string]any) {
	return func(k string, doc map[string]any) {
		if k != kind {
			return
		}
		if doc[key] = value; value == nil {
			delete(doc, key)
		}
	}
}

// The ways to where one logs in.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]authtest.Options{
		"as its refusal says":                {},
		"at the place with the path":         {Silent: true},
		"at the root":                        {Silent: true, ResourcePath: "/.well-known/oauth-protected-resource"},
		"anywhere":                           {ResourcePath: "/custom/place.json"},
		"OpenID":                             {MetadataPath: "/.well-known/openid-configuration"},
		"tenant":                             {Prefix: "/tenant1"},
		"tenant, OpenID with the path in":    {Prefix: "/tenant1", MetadataPath: "/.well-known/openid-configuration/tenant1"},
		"tenant, OpenID with the path first": {Prefix: "/tenant1", MetadataPath: "/tenant1/.well-known/openid-configuration"},
		"no resource metadata (2025-03-26)":  {Silent: true, NoResource: true},
		"no metadata at all (2025-03-26)":    {Silent: true, NoResource: true, NoMetadata: true},
		"no authorization server named":      {Edit: set("resource", "authorization_servers", nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := newServer(t, o)
			s, m := entryFor(t, as.URL(), ""), newManager(t.TempDir(), 0)
			st := mustLogIn(t, m, s)
			if st.Kind != login.LoggedIn || st.Issuer != as.Issuer() || !st.Renewable || st.Kept != config.InFiles {
				t.Errorf("%+v", st)
			}
			wantHeader(t, m, s)
		})
	}
}

// Metadata that lies brings no person to a page, and nothing to a server.
func TestLies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit          func(string, map[string]any)
		message, more string
	}{
		"another resource":             {set("resource", "resource", "https://evil.example.com/mcp"), "another resource, https://evil.example.com/mcp", "oauth-protected-resource/mcp"},
		"no resource":                  {set("resource", "resource", nil), "names no resource", "oauth-protected-resource/mcp"},
		"a plain authorization server": {set("resource", "authorization_servers", []string{"http://as.example.com"}), "cannot be used", "it is plain http://"},
		"a script for one":             {set("resource", "authorization_servers", []string{"javascript:alert(1)"}), "cannot be used", "it is not an https:// URL"},
		"an issuer with a query":       {set("resource", "authorization_servers", []string{"https://as.example.com/?x=1"}), "cannot be used", "no query"},
		"another issuer":               {set("server", "issuer", "https://attacker.example.com"), "another issuer, https://attacker.example.com", "oauth-authorization-server"},
		"no issuer":                    {set("server", "issuer", nil), "another issuer", "oauth-authorization-server"},
		"a plain token endpoint":       {set("server", "token_endpoint", "http://as.example.com/token"), "its token_endpoint, http://as.example.com/token: it is plain http://", ""},
		"no token endpoint":            {set("server", "token_endpoint", nil), "it has no token_endpoint", ""},
		"no page":                      {set("server", "authorization_endpoint", nil), "it has no authorization_endpoint", ""},
		"a page that is a script":      {set("server", "authorization_endpoint", "javascript:alert(1)"), "its authorization_endpoint", ""},
		"a plain registration":         {set("server", "registration_endpoint", "http://as.example.com/r"), "its registration_endpoint", ""},
		"a plain revocation":           {set("server", "revocation_endpoint", "http://as.example.com/r"), "its revocation_endpoint", ""},
		"no code challenges":           {set("server", "code_challenge_methods_supported", nil), "code challenges", ""},
		"only plain ones":              {set("server", "code_challenge_methods_supported", []string{"plain"}), "code challenges", ""},
		"no page, for machines": {func(k string, doc map[string]any) {
			set("server", "authorization_endpoint", nil)(k, doc)
			set("server", "grant_types_supported", []string{"client_credentials"})(k, doc)
		}, "no page to log in at", ""},
		"not there": {set("resource", "authorization_servers", []string{"http://127.0.0.1:1/nobody"}), "cannot be read", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := newServer(t, authtest.Options{Edit: tt.edit})
			dir := t.TempDir()
			_, _, err := logIn(t, newManager(dir, 0), entryFor(t, as.URL(), ""))
			f := new(fault.Fault)
			if !errors.As(err, &f) || !strings.Contains(f.Message, tt.message) ||
				!strings.Contains(f.Message+"\n"+f.Traceback, tt.more) || helpOf(f) == "" {
				t.Errorf("%+v (%v)", f, err)
			}
			if as.Count("authorize")+as.Count("register")+as.Count("token") > 0 {
				t.Errorf("it went on: %v", as.Events())
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "auth", "*.json")); len(files) > 0 {
				t.Errorf("something is kept: %v", files)
			}
		})
	}
}

// An authorization server that has no metadata where the resource has some is none.
func TestNoMetadataOfNamedServer(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{NoMetadata: true})
	_, _, err := logIn(t, newManager(t.TempDir(), 0), entryFor(t, as.URL(), ""))
	wantFault(t, err, fault.Protocol, "its authorization server has no metadata")
}

// Who mcpl is to an authorization server, and how it proves that.
func TestClients(t *testing.T) {
	t.Parallel()
	const document = "https://example.com/mcpl.json"
	methods := func(list ...string) func(string, map[string]any) {
		return set("server", "token_endpoint_auth_methods_supported", list)
	}
	for name, tt := range map[string]struct {
		options    authtest.Options
		more       string
		registered int
	}{
		"registers":                         {authtest.Options{}, "", 1},
		"registers, basic":                  {authtest.Options{Method: "client_secret_basic"}, "", 1},
		"registers, post":                   {authtest.Options{Method: "client_secret_post"}, "", 1},
		"registers as the server takes it":  {authtest.Options{Edit: methods("client_secret_post")}, "", 1},
		"registers as it says nothing":      {authtest.Options{Edit: methods()}, "", 1},
		"registered by hand":                {authtest.Options{Clients: map[string]string{"me": ""}}, `, "oauth": {"clientId": "me"}`, 0},
		"registered by hand, with a secret": {authtest.Options{Clients: map[string]string{"me": "a secret/with=+"}}, `, "oauth": {"clientId": "me", "clientSecret": "a secret/with=+"}`, 0},
		"a document":                        {authtest.Options{Edit: set("server", "client_id_metadata_document_supported", true)}, `, "oauth": {"clientMetadataUrl": "` + document + `"}`, 0},
		"a document that is not supported":  {authtest.Options{}, `, "oauth": {"clientMetadataUrl": "` + document + `"}`, 1},
		"a document, and one of its own":    {authtest.Options{Clients: map[string]string{"me": ""}, Edit: set("server", "client_id_metadata_document_supported", true)}, `, "oauth": {"clientId": "me", "clientMetadataUrl": "` + document + `"}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := newServer(t, tt.options)
			dir := t.TempDir()
			s, m := entryFor(t, as.URL(), tt.more), newManager(dir, 0)
			mustLogIn(t, m, s)
			h := wantHeader(t, m, s)
			if n := as.Count("register"); n != tt.registered {
				t.Errorf("registered %d times, want %d", n, tt.registered)
			}
			again, err := newManager(dir, 0).Renew(t.Context(), s, h, nil) // a renewal proves it in the same way
			if err != nil || again == "" || again == h || use(t, s, again) != http.StatusOK {
				t.Errorf("renewed to %q, %v", again, err)
			}
			out, err := newManager(dir, 0).Logout(t.Context(), s)
			if want := (login.Ended{Was: true, Revoked: true}); err != nil || out != want ||
				use(t, s, again) != http.StatusUnauthorized {
				t.Errorf("%+v %v", out, err)
			}
		})
	}
}

// Where no client can be had, the help says what to do.
func TestNoClient(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{NoRegistration: true})
	_, _, err := logIn(t, newManager(t.TempDir(), 0), entryFor(t, as.URL(), ""))
	f := wantFault(t, err, fault.Config, "takes only clients that were registered by hand")
	for _, part := range []string{as.Issuer(), `"oauth": {"clientId": "...", "redirectPort": PORT}`, "http://127.0.0.1:PORT/callback"} {
		if !strings.Contains(f.Help, part) {
			t.Errorf("the help lacks %q: %s", part, f.Help)
		}
	}
	as = newServer(t, authtest.Options{Clients: map[string]string{"me": "hush-hush"}, Edit: set("server", "token_endpoint_auth_methods_supported", []string{"private_key_jwt"})})
	_, _, err = logIn(t, newManager(t.TempDir(), 0), entryFor(t, as.URL(), `, "oauth": {"clientId": "me", "clientSecret": "hush-hush"}`))
	wantFault(t, err, fault.Config, "takes no client secret, only private_key_jwt")
	as = newServer(t, authtest.Options{Edit: set("server", "registration_endpoint", "http://127.0.0.1:1/register")})
	_, _, err = logIn(t, newManager(t.TempDir(), 0), entryFor(t, as.URL(), ""))
	wantFault(t, err, fault.ServerConnection, "does not register mcpl as a client")
}

// What an authorization server was given by another is not shown to it (MCP 2026-07-28, authorization server
// migration), and a client that can serve again does.
func TestRegistrationIsKept(t *testing.T) {
	t.Parallel()
	as, other := newServer(t, authtest.Options{}), newServer(t, authtest.Options{})
	dir := t.TempDir()
	s, m := entryFor(t, as.URL(), ""), newManager(dir, 0)
	mustLogIn(t, m, s)
	mustLogIn(t, newManager(dir, 0), s)
	if n := as.Count("register"); n != 1 {
		t.Errorf("registered %d times", n)
	}
	mustLogIn(t, m, s, "more") // it was not registered for
	if n := as.Count("register"); n != 2 {
		t.Errorf("registered %d times", n)
	}
	as.Change(func(o *authtest.Options) { o.Edit = set("resource", "authorization_servers", []string{other.Issuer()}) })
	if st := mustLogIn(t, m, s); st.Issuer != other.Issuer() || other.Count("register") != 1 {
		t.Errorf("%+v, asked %v", st, other.Events())
	}
	noSecrets(t, as, strings.Join(other.Secrets(), " "))
}

// Which scopes are asked for.
func TestScopes(t *testing.T) {
	t.Parallel()
	listed := set("resource", "scopes_supported", []string{"read", "write", "read", "no good"})
	both := func(k string, doc map[string]any) {
		listed(k, doc)
		set("server", "scopes_supported", []string{"read", "offline_access"})(k, doc)
	}
	for name, tt := range map[string]struct {
		options authtest.Options
		more    string
		flag    []string
		want    string
	}{
		"none":                          {authtest.Options{}, "", nil, ""},
		"those of the refusal":          {authtest.Options{Scopes: map[string]string{"": "base extra"}, Edit: listed}, "", nil, "base extra"},
		"those that the resource lists": {authtest.Options{Edit: listed}, "", nil, "read write"},
		"offline access":                {authtest.Options{Edit: both}, "", nil, "read write offline_access"},
		"offline access alone":          {authtest.Options{Edit: set("server", "scopes_supported", []string{"offline_access"})}, "", nil, ""},
		"those of the entry":            {authtest.Options{Edit: listed}, `, "oauth": {"scopes": ["mine"]}`, nil, "mine"},
		"those of the flag":             {authtest.Options{Edit: listed}, `, "oauth": {"scopes": ["mine"]}`, []string{"this", "that"}, "this that"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := newServer(t, tt.options)
			st := mustLogIn(t, newManager(t.TempDir(), 0), entryFor(t, as.URL(), tt.more), tt.flag...)
			if !slices.Contains(as.Events(), "authorize "+tt.want) || strings.Join(st.Scopes, " ") != tt.want {
				t.Errorf("asked %v, granted %v", as.Events(), st.Scopes)
			}
		})
	}
}

// A server wants more scopes: the step names them, with those that were asked for before.
func TestStepUp(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{Scopes: map[string]string{"": "base"}})
	s, m := entryFor(t, as.URL(), ""), newManager(t.TempDir(), 0)
	refusal := []string{`Bearer error="insufficient_scope", scope="write admin"`}
	wantScopes := func(scopes string) {
		t.Helper()
		want := fault.Step{Verb: "auth login", Server: "s", Args: []string{"--scope", scopes}}
		if got := m.LoginStep(t.Context(), s, refusal); got == nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	wantScopes("admin write")
	mustLogIn(t, m, s)
	wantScopes("admin base write")
}

// A refused request gives the step to log in, if the server offers a login.
func TestLoginStep(t *testing.T) {
	t.Parallel()
	as, silent, none := newServer(t, authtest.Options{}), newServer(t, authtest.Options{Silent: true}),
		newServer(t, authtest.Options{NoResource: true, NoMetadata: true})
	m := newManager(t.TempDir(), 0)
	for _, tt := range []struct {
		url, more, challenge string
		want                 bool
	}{
		{as.URL(), "", `Bearer resource_metadata="x"`, true},
		{silent.URL(), "", "Bearer", true},
		{none.URL(), "", "Bearer", false},
		{none.URL(), `, "oauth": {"clientId": "x"}`, "Bearer", true},
		{as.URL(), `, "oauth": {"grant": "client_credentials", "clientId": "x", "clientSecret": "y"}`, `Bearer resource_metadata="x"`, false},
	} {
		got := m.LoginStep(t.Context(), entryFor(t, tt.url, tt.more), []string{tt.challenge})
		if (got != nil) != tt.want || got != nil && !reflect.DeepEqual(*got, fault.Step{Verb: "auth login", Server: "s"}) {
			t.Errorf("%s%s: %v, want one: %t", tt.challenge, tt.more, got, tt.want)
		}
	}
}

// To what there is no login.
func TestNothingToLogInTo(t *testing.T) {
	t.Parallel()
	open := newServer(t, authtest.Options{})
	m := newManager(t.TempDir(), 0)
	try := func(s *config.Server) error {
		_, err := m.Login(t.Context(), s,
			login.Options{Timeout: patience, Show: func(string) { t.Error("there is a page") }, Notice: func(string) {}})
		return err
	}
	wantFault(t, try(&config.Server{Name: "s", Entry: config.Entry{Transport: config.Stdio}}), fault.Usage, "not a server over HTTP")
	wantFault(t, try(entryFor(t, open.URL(), `, "headers": {"authorization": "Bearer x"}`)), fault.Usage, "brings its own login, the header Authorization")
	wantFault(t, try(entryFor(t, strings.Replace(open.URL(), "http://", "http://me:pass-word@", 1), "")), fault.Usage, "brings its own login, a user in its URL")
	wantFault(t, try(entryFor(t, "http://127.0.0.1:1/mcp", "")), fault.ServerConnection, "s cannot be reached")
	open.Change(func(o *authtest.Options) { o.NoResource, o.NoMetadata = true, true })
	wantFault(t, try(entryFor(t, strings.TrimSuffix(open.URL(), "/mcp")+"/nothing", `, "type": "sse"`)), fault.Usage, "s does not ask for a login, and offers none")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Login(ctx, entryFor(t, open.URL(), ""), login.Options{Timeout: patience})
	wantFault(t, err, fault.Interrupted, "interrupted during the login to s")
}
