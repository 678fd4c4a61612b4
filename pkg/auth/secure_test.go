package auth

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/authtest"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// A server elsewhere cannot send us to this machine under another name either: what a name stands for is
// known when it is connected to.
func TestOwnMachineByOtherNames(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	srv := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer srv.Close()
	m := newManager(t.TempDir(), 0)
	for _, way := range []http.RoundTripper{m.net.open, m.net.strict} {
		trust := srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		trust.ServerName = "127.0.0.1"
		way.(*http.Transport).TLSClientConfig = trust
	}
	other := strings.Replace(srv.URL, "127.0.0.1", "0.0.0.0", 1)
	var v map[string]any
	away := entryFor(t, "https://mcp.example.com/mcp", "")
	_, err := m.discover(t.Context(), away, challenge{metadata: other + "/metadata"})
	wantFault(t, err, fault.Protocol, "the metadata of s is at an address that cannot be used")
	_, err = m.redeem(t.Context(), away, other+"/token", client{ID: "x"}, url.Values{})
	if _, forbidden := errors.AsType[forbiddenError](err); !forbidden {
		t.Error(err)
	}
	select {
	case path := <-asked:
		t.Errorf("%s was asked for", path)
	default:
	}
	// A server of this machine may, and one may send us to its own host.
	for _, own := range []string{"http://127.0.0.1:1/mcp", strings.Replace(other, "https", "http", 1) + "/mcp"} {
		s := entryFor(t, own, `, "allowHTTP": true`)
		if err := m.document(t.Context(), s, other+"/fine", &v); !errors.As(err, new(absentError)) {
			t.Errorf("%s: %v", own, err)
		}
	}
}

// What cannot be the address of a page to log in at.
func TestLoginPages(t *testing.T) {
	t.Parallel()
	for end, want := range map[string]string{
		"#x":                                  "it has a fragment",
		"?state=mine":                         `it has a parameter "state" of its own`,
		"?redirect_uri=x":                     `it has a parameter "redirect_uri" of its own`,
		"?a=\u202e":                           "it has characters that no URL has",
		"?a b":                                "it has characters that no URL has",
		"?" + strings.Repeat("a", maxAddress): "the address to log in at is longer than",
	} {
		as := newServer(t, authtest.Options{})
		page := as.Issuer() + "/authorize" + end
		as.Change(func(o *authtest.Options) { o.Edit = set("server", "authorization_endpoint", page) })
		_, _, err := logIn(t, newManager(t.TempDir(), 0), entryFor(t, as.URL(), ""))
		if f := wantFault(t, err, fault.Protocol, want); len(f.Message+f.Traceback) > 2000 {
			t.Errorf("%d bytes", len(f.Message))
		}
		if as.Count("authorize") > 0 {
			t.Errorf("%s: %v", end, as.Events())
		}
	}
}

// A notice names a token endpoint on another host than the page: the person sees only the page.
func TestTwoSites(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{Iss: "none"})
	tokens := strings.Replace(as.Issuer(), "127.0.0.1", "localhost", 1) + "/token"
	as.Change(func(o *authtest.Options) { o.Edit = set("server", "token_endpoint", tokens) })
	s := entryFor(t, as.URL(), "")
	_, p, err := logIn(t, newManager(t.TempDir(), 0), s)
	if want := "the answer of the page at 127.0.0.1 goes to localhost, for a token"; err != nil || !slices.Contains(p.notices, want) {
		t.Errorf("%v, notices %q", err, p.notices)
	}
}

// The secret of a client from the entry goes to the authorization server that it was used at (MCP 2026-07-28,
// authorization server binding), until the person says that it has moved.
func TestClientOfAnotherIssuer(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"a person":  `, "oauth": {"clientId": "robot", "clientSecret": "robot-secret"}`,
		"a machine": `, "oauth": {"grant": "client_credentials", "clientId": "robot", "clientSecret": "robot-secret"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			robot := authtest.Options{Clients: map[string]string{"robot": "robot-secret"}}
			as, evil := newServer(t, robot), newServer(t, robot)
			m, s := newManager(t.TempDir(), 0), entryFor(t, as.URL(), more)
			mustLogIn(t, m, s)
			h := wantHeader(t, m, s)
			as.Expire()
			moved := set("resource", "authorization_servers", []string{evil.Issuer()})
			as.Change(func(o *authtest.Options) { o.Edit = moved })
			if name == "a machine" {
				_, err := m.Renew(t.Context(), s, h, nil)
				f := wantFault(t, err, fault.Protocol, "has another authorization server than before")
				if help := helpOf(f); !strings.Contains(help, "auth logout s") || !strings.Contains(help, "auth login s") {
					t.Error(help)
				}
			}
			_, _, err := logIn(t, m, s)
			wantFault(t, err, fault.Protocol, "has another authorization server than before")
			if len(evil.Events()) > 0 {
				t.Errorf("it was sent %v", evil.Events())
			}
			if _, err := m.Logout(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			mustLogIn(t, m, s)
		})
	}
}

// The entry's secret of today does not go to a server that knew another client.
func TestLogoutOfAnotherClient(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 10)
	as := newServer(t, authtest.Options{Clients: map[string]string{"old": "old-secret"}})
	revoke := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, secret, _ := r.BasicAuth()
		sent <- secret + r.FormValue("client_secret")
	}))
	defer revoke.Close()
	as.Change(func(o *authtest.Options) { o.Edit = set("server", "revocation_endpoint", revoke.URL) })
	m := newManager(t.TempDir(), 0)
	mustLogIn(t, m, entryFor(t, as.URL(), `, "oauth": {"clientId": "old", "clientSecret": "old-secret"}`))
	if _, err := m.Logout(t.Context(), entryFor(t, as.URL(), `, "oauth": {"clientId": "new", "clientSecret": "new-secret"}`)); err != nil {
		t.Fatal(err)
	}
	if got := <-sent; strings.Contains(got, "new-secret") {
		t.Error("the secret of the new client was sent for the old one")
	}
}

// An entry that would have the token delivered to another host behind the same address has no part in the login.
func TestHostHeader(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{})
	m := newManager(t.TempDir(), 0)
	mustLogIn(t, m, entryFor(t, as.URL(), ""))
	for more, has := range map[string]bool{`, "headers": {"X-A": "b"}`: true, `, "headers": {"host": "evil.example.com"}`: false} {
		if h, err := m.Header(t.Context(), entryFor(t, as.URL(), more)); err != nil || (h != "") != has {
			t.Errorf("%s: header %q, %v", more, h, err)
		}
	}
}

// A parameter that stands twice in an answer makes it invalid (RFC 6749, 3.1).
func TestTwiceInAnswer(t *testing.T) {
	t.Parallel()
	e := expected{state: "s", issuer: "https://as"}
	for query, ok := range map[string]bool{"state=s&code=a": true, "state=s&code=a&code=b": false, "state=s&state=s&code=a": false, "state=s&error=a&error=b": false,
		"state=s&code=a&error=b": true} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := e.read(q); (err == nil) != ok ||
			ok && strings.Contains(query, "error") && r.fault(entryFor(t, "https://h/", ""), &site{}) == nil {
			t.Errorf("%s: %+v %v", query, r, err)
		}
	}
}

// Logins are private, whatever was there before; and what a killed process left is taken away.
func TestPrivateFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes of files are no matter on Windows")
	}
	as := newServer(t, authtest.Options{})
	dir := t.TempDir()
	m, s := newManager(dir, 0), entryFor(t, as.URL(), "")
	folder := filepath.Join(dir, "auth")
	path := m.store.path(bindingOf(s))
	if err := errors.Join(os.Mkdir(folder, 0o755), os.Chmod(folder, 0o755), os.WriteFile(path, []byte("{}"), 0o644),
		os.Chmod(path, 0o644),
		os.WriteFile(filepath.Join(folder, "."+filepath.Base(path)+".12345.mcpl-tmp"),
			[]byte("a token of a process that was killed"), 0o600)); err != nil {
		t.Fatal(err)
	}
	mustLogInWith(t, m, s, 1)
	mustLogInWith(t, m, s, 0)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", e.Name(), info, err)
		}
		names = append(names, strings.TrimPrefix(e.Name(), filepath.Base(path)))
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 ||
		!slices.Equal(names, []string{"", ".bak", ".lock"}) {
		t.Errorf("%v %v %q", info, err, names)
	}
	left := filepath.Join(folder, "."+filepath.Base(path)+".67.mcpl-tmp")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Logout(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left, %v", left, err)
	}
}

// mustLogInWith is mustLogIn where there are notices.
func mustLogInWith(t *testing.T, m *Manager, s *config.Server, notices int) {
	t.Helper()
	if _, p, err := logIn(t, m, s); err != nil || len(p.notices) != notices {
		t.Fatalf("%v, notices %q", err, p.notices)
	}
}

// A server's errors are free of its tokens, also those that it quotes.
func TestTokensAreMasked(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{})
	m, s := newManager(t.TempDir(), 0), entryFor(t, as.URL(), "")
	mustLogIn(t, m, s)
	copied := *s // as the daemon makes them
	for _, secret := range as.Secrets() {
		if strings.HasPrefix(secret, "code") {
			continue
		}
		if got := copied.Mask("you sent " + secret + "!"); got != "you sent ***!" {
			t.Error(got)
		}
	}
	fresh := entryFor(t, as.URL(), "")
	h, err := newManager(m.opt.StateDir, 0).Header(context.Background(), fresh)
	if err != nil || fresh.Mask(h) != "Bearer ***" {
		t.Errorf("%s %v", fresh.Mask(h), err)
	}
}

// TestQuotedIsMaskedFirst: of a secret that the cut divides nothing is left.
func TestQuotedIsMaskedFirst(t *testing.T) {
	t.Parallel()
	s := entryFor(t, "http://127.0.0.1/mcp", `, "oauth": {"clientId": "c", "clientSecret": "CANARY-secret-1234"}`)
	for before := maxQuoted - 20; before < maxQuoted; before++ {
		if got := quoted(s, strings.Repeat("x", before)+"CANARY-secret-1234"); strings.Contains(got, "CA") {
			t.Errorf("%d bytes before: %s", before, got)
		}
	}
}
