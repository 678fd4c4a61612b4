package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/authtest"
	"github.com/mcp-launchpad/mcpl/pkg/auth/login"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// processVariable makes the test binary one of many processes that want a header: it holds what they need.
const processVariable = "MCPL_AUTH_TEST_PROCESS"

// process is what such a process needs.
type process struct {
	State, URL, Used string
	Later            time.Duration
}

func TestMain(m *testing.M) {
	if text := os.Getenv(processVariable); text != "" {
		os.Exit(runProcess(text))
	}
	os.Exit(m.Run())
}

// runProcess prints the header that it gets: for a token that is about to expire, or in place of one that was refused.
func runProcess(text string) int {
	var p process
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return 2
	}
	s := &config.Server{Name: "s", Entry: config.Entry{Transport: config.HTTP, URL: p.URL}}
	m := newManager(p.State, p.Later)
	m.net = network{open: signed{m.net.open}, strict: signed{m.net.strict}}
	_, _ = os.Stdout.WriteString("ready\n")
	var line string
	_, _ = fmt.Fscanln(os.Stdin, &line) // all go at once
	var h string
	var err error
	ctx := context.Background()
	if p.Used == "" {
		h, err = m.Header(ctx, s)
	} else {
		h, err = m.Renew(ctx, s, p.Used, nil)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err, fault.From(err).Traceback)
		return 1
	}
	_, _ = os.Stdout.WriteString(h)
	return 0
}

// signed says in each request which process makes it.
type signed struct{ http.RoundTripper }

func (s signed) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("X-Process", fmt.Sprint(os.Getpid()))
	return s.RoundTripper.RoundTrip(req)
}

// together runs n processes at once and returns the headers they got.
func together(t *testing.T, n int, p process) []string {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	gate, open, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	var ready, done sync.WaitGroup
	headers := make([]string, n)
	for i := range n {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), processVariable+"="+string(text), "GORACE=atexit_sleep_ms=0")
		cmd.Stdin, cmd.Stderr = gate, os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ready.Add(1)
		done.Go(func() {
			var line string
			_, err := fmt.Fscanln(out, &line)
			ready.Done()
			if err == nil {
				_, err = fmt.Fscan(out, &line, &headers[i])
			}
			if err = errors.Join(err, cmd.Wait()); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	ready.Wait()
	open.Close() // the end of the input is the signal
	done.Wait()
	return headers
}

// Twelve processes redeem a refresh token once, and all get the new token: before the old one expires, and
// after the server has refused it.
func TestTwelveProcesses(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{Expires: 3600})
	dir := t.TempDir()
	s, m := entryFor(t, as.URL(), ""), newManager(dir, 0)
	mustLogIn(t, m, s)
	old := wantHeader(t, m, s)
	for round, p := range []process{
		{State: dir, URL: as.URL(), Later: time.Hour - 10*time.Second},
		{State: dir, URL: as.URL(), Used: "next"},
	} {
		if p.Used != "" {
			as.Expire()
			p.Used = old
		}
		headers := together(t, 12, p)
		for _, h := range headers {
			if h != headers[0] || "Bearer "+h == old || h == "" {
				t.Errorf("round %d: headers differ, or are the old one", round)
			}
		}
		if n := as.Count("token refresh_token"); n != round+1 || as.Count("reuse") > 0 {
			t.Errorf("round %d: %d redemptions: %v", round, n, as.Events())
		}
		old = wantHeader(t, m, s)
	}
}

// One of twelve processes is killed while it renews: before its refresh token is redeemed, or after that, when
// the answer is lost. Its lock goes with it, and the others get a token or learn that the login has ended.
func TestKilledRenewal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process is not found by its number there")
	}
	for name, redeemed := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := newServer(t, authtest.Options{Expires: 3600})
			var kills atomic.Int32
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				pid, err := strconv.Atoi(r.Header.Get("X-Process"))
				first := err == nil && kills.Add(1) == 1
				if !first || redeemed {
					as.ServeHTTP(w, r)
				}
				if process, err := os.FindProcess(pid); first && err == nil {
					_ = process.Kill()                 // nothing of the answer is out yet: it is short
					_, _ = io.Copy(io.Discard, r.Body) // else the end of the connection goes unseen
					<-r.Context().Done()
				}
			}))
			defer front.Close()
			as.Change(func(o *authtest.Options) { o.Edit = set("server", "token_endpoint", front.URL+"/token") })
			dir := t.TempDir()
			s, m := entryFor(t, as.URL(), ""), newManager(dir, 0)
			mustLogIn(t, m, s)
			text, err := json.Marshal(process{State: dir, URL: as.URL(), Later: time.Hour - 10*time.Second})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan string, 12)
			for range 12 {
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), processVariable+"="+string(text), "GORACE=atexit_sleep_ms=0")
				cmd.Stdin = strings.NewReader("\n")
				go func() {
					out, err := cmd.CombinedOutput()
					ended <- fmt.Sprint(string(out), err)
				}()
			}
			killed, told := 0, 0
			for range 12 {
				switch text := <-ended; {
				case strings.Contains(text, "signal: killed"):
					killed++
				case redeemed && strings.Contains(text, "the login of s has ended"), strings.HasPrefix(text, "ready\nBearer access-"):
					told++
				case redeemed && text == "ready\n<nil>": // another process learnt it, and there is no login any more
					told++
				default:
					t.Error(text)
				}
			}
			if killed != 1 || told != 11 {
				t.Errorf("%d killed, %d told", killed, told)
			}
			if redeemed {
				mustLogIn(t, m, s)
			}
			wantHeader(t, m, s)
		})
	}
}

// So do many goroutines of one process.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{Expires: 3600})
	dir := t.TempDir()
	s := entryFor(t, as.URL(), "")
	mustLogIn(t, newManager(dir, 0), s)
	m := newManager(dir, time.Hour-10*time.Second)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if h, err := m.Header(t.Context(), s); err != nil || h == "" {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if as.Count("token refresh_token") != 1 {
		t.Error(as.Events())
	}
}

// The outcomes of a renewal that fails.
func TestRenewalFails(t *testing.T) {
	t.Parallel()
	answer := func(how string) func(*authtest.Server) {
		return func(as *authtest.Server) { as.Change(func(o *authtest.Options) { o.TokenError = how }) }
	}
	const ended, failed = "the login of s has ended", "the login of s could not be renewed"
	const before = time.Hour - 10*time.Second
	for name, tt := range map[string]struct {
		spoil   func(*authtest.Server)
		later   time.Duration
		typ     fault.Type // "" for none
		message string
		after   login.Kind
	}{
		"revoked":            {(*authtest.Server).Revoke, time.Hour, fault.AuthRequired, ended, login.NotLoggedIn},
		"revoked before":     {(*authtest.Server).Revoke, before, fault.AuthRequired, ended, login.NotLoggedIn},
		"the client is gone": {answer("invalid_client"), time.Hour, fault.AuthRequired, ended, login.NotLoggedIn},
		"down":               {answer("down"), time.Hour, fault.ServerConnection, failed, login.CanRenew},
		"unreachable":        {(*authtest.Server).Close, time.Hour, fault.ServerConnection, failed, login.CanRenew},
		"down before":        {answer("down"), before, "", "", login.LoggedIn},
		"it tells secrets":   {answer("echo"), time.Hour, fault.ServerConnection, failed, login.CanRenew},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := newServer(t, authtest.Options{Expires: 3600})
			dir := t.TempDir()
			s := entryFor(t, as.URL(), "")
			mustLogIn(t, newManager(dir, 0), s)
			tt.spoil(as)
			m := newManager(dir, tt.later)
			h, err := m.Header(t.Context(), s)
			if tt.typ == "" {
				if err != nil || h == "" {
					t.Errorf("%q %v", h, err)
				}
			} else if f := wantFault(t, err, tt.typ, tt.message); tt.typ == fault.AuthRequired && helpOf(f) != "auth login s" {
				t.Errorf("help %q", helpOf(f))
			} else {
				noSecrets(t, as, f.Message, f.Traceback, helpOf(f))
			}
			if st, err := m.State(t.Context(), s); err != nil || st.Kind != tt.after {
				t.Errorf("then %+v, %v", st, err)
			}
			if strings.Contains(name, "down") {
				as.Change(func(o *authtest.Options) { o.TokenError = "" })
				wantHeader(t, m, s)
			}
		})
	}
}

// After the client is gone, another is registered.
func TestClientIsGone(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{})
	dir := t.TempDir()
	s, m := entryFor(t, as.URL(), ""), newManager(dir, 0)
	mustLogIn(t, m, s)
	as.Change(func(o *authtest.Options) { o.TokenError = "invalid_client" })
	_, err := m.Renew(t.Context(), s, wantHeader(t, m, s), nil)
	wantFault(t, err, fault.AuthRequired, "has ended")
	as.Change(func(o *authtest.Options) { o.TokenError = "" })
	mustLogIn(t, m, s)
	if n := as.Count("register"); n != 2 {
		t.Errorf("registered %d times", n)
	}
}

// Without a refresh token there is nothing to renew.
func TestNoRefreshToken(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{Expires: 3600, NoRefresh: true})
	dir := t.TempDir()
	s := entryFor(t, as.URL(), "")
	if st := mustLogIn(t, newManager(dir, 0), s); st.Renewable {
		t.Errorf("%+v", st)
	}
	m := newManager(dir, 2*time.Hour)
	if h, err := m.Header(t.Context(), s); h != "" || err != nil {
		t.Errorf("%q %v", h, err)
	}
	if st, err := m.State(t.Context(), s); err != nil || st.Kind != login.Expired {
		t.Errorf("%+v %v", st, err)
	}
}

// A token goes to the server it was made for, and to no other.
func TestBinding(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{})
	dir := t.TempDir()
	s, m := entryFor(t, as.URL(), ""), newManager(dir, 0)
	mustLogIn(t, m, s)
	for _, other := range []*config.Server{
		entryFor(t, as.URL()+"/", ""), entryFor(t, as.URL()+"?x=1", ""), entryFor(t, "http://localhost:1/mcp", ""),
		{Name: "another", Entry: config.Entry{Transport: config.HTTP, URL: as.URL()}},
		entryFor(t, as.URL(), `, "oauth": {"clientId": "another"}`),
		entryFor(t, as.URL(), `, "oauth": {"grant": "client_credentials", "clientId": "x", "clientSecret": "y"}`),
	} {
		if h, err := m.Header(t.Context(), other); h != "" || err != nil {
			t.Errorf("%s %s: %q %v", other.Name, other.URL, h, err)
		}
	}
	// Nor does a file that was put in another's place.
	other := entryFor(t, "http://localhost:1/mcp", "")
	data, err := os.ReadFile(m.store.path(bindingOf(s)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.store.path(bindingOf(other)), data, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := m.Header(t.Context(), other)
	wantFault(t, err, fault.Config, "it belongs to another server")
	if h != "" {
		t.Error("a token is sent elsewhere")
	}
}

// Machines log in by themselves.
func TestClientCredentials(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{Clients: map[string]string{"robot": "a-robots-secret"}, Expires: 3600})
	const entry = `, "oauth": {"grant": "client_credentials", "clientId": "robot", "clientSecret": "a-robots-secret"%s}`
	dir := t.TempDir()
	s, m := entryFor(t, as.URL(), fmt.Sprintf(entry, "")), newManager(dir, 0)
	if h, err := m.Header(t.Context(), s); h != "" || err != nil {
		t.Errorf("%q %v", h, err)
	}
	h, err := m.Renew(t.Context(), s, "", []string{`Bearer scope="base"`})
	if err != nil || wantHeader(t, m, s) != h {
		t.Fatalf("%q %v", h, err)
	}
	if st, err := m.State(t.Context(), s); err != nil || st.Kind != login.Machine || !st.Renewable ||
		strings.Join(st.Scopes, " ") != "base" {
		t.Errorf("%+v %v", st, err)
	}
	if again, err := newManager(dir, time.Hour).Header(t.Context(), s); err != nil || again == h || again == "" {
		t.Errorf("not fetched anew: %v", err)
	}
	if st := mustLogIn(t, m, s); st.Kind != login.Machine || as.Count("token client_credentials") != 3 {
		t.Errorf("%+v", as.Events())
	}
	s = entryFor(t, as.URL(), fmt.Sprintf(entry, `, "scopes": ["other"]`))
	if h, err := m.Header(t.Context(), s); h != "" || err != nil {
		t.Errorf("a token of other scopes is used: %v", err)
	}
	data, err := os.ReadFile(m.store.path(bindingOf(s)))
	if err != nil || strings.Contains(string(data), "a-robots-secret") {
		t.Errorf("the entry's secret is kept: %v", err)
	}
	s = entryFor(t, as.URL(), `, "oauth": {"grant": "client_credentials", "clientId": "robot", "clientSecret": "a-wrong-secret"}`)
	_, err = newManager(t.TempDir(), 0).Renew(t.Context(), s, "", nil)
	f := wantFault(t, err, fault.AuthRequired, "gave no token for the client of its entry")
	if strings.Contains(f.Message+helpOf(f)+f.Traceback, "a-wrong-secret") {
		t.Errorf("%+v", f)
	}
	as.Change(func(o *authtest.Options) { o.TokenError = "down" })
	_, err = newManager(t.TempDir(), 0).Renew(t.Context(), s, "", nil)
	wantFault(t, err, fault.ServerConnection, "gave no token")
	h = wantHeader(t, m, s)
	as.Close()
	_, err = m.Renew(t.Context(), s, h, nil)
	wantFault(t, err, fault.ServerConnection, "cannot be read")
}

// Logging out if the authorization server cannot be reached.
func TestLogoutAlone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options authtest.Options
		spoil   func(*authtest.Server)
		problem bool
	}{
		"it has no such service": {authtest.Options{Edit: set("server", "revocation_endpoint", nil)}, func(*authtest.Server) {}, false},
		"it cannot be reached":   {authtest.Options{}, (*authtest.Server).Close, true},
		"it does not take it": {authtest.Options{Edit: func(kind string, doc map[string]any) {
			if kind == "server" {
				doc["revocation_endpoint"] = strings.Replace(doc["revocation_endpoint"].(string), "/revoke", "/nothing", 1)
			}
		}}, func(*authtest.Server) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := newServer(t, tt.options)
			dir := t.TempDir()
			s, m := entryFor(t, as.URL(), ""), newManager(dir, 0)
			mustLogIn(t, m, s)
			tt.spoil(as)
			out, err := m.Logout(t.Context(), s)
			if err != nil || !out.Was || out.Revoked || (out.Problem != "") != tt.problem {
				t.Errorf("%+v %v", out, err)
			}
			noSecrets(t, as, out.Problem)
			if files, _ := filepath.Glob(filepath.Join(dir, "auth", "*.json")); len(files) > 0 {
				t.Errorf("%v is left", files)
			}
			if out, err := m.Logout(t.Context(), s); err != nil || out.Was {
				t.Errorf("twice: %+v %v", out, err)
			}
		})
	}
}

// owner approves a server with logins of one project.
type owner string

func (o owner) Approve(*config.Server) (config.Allowed, error) {
	return config.Allowed{LoginOwner: string(o)}, nil
}

func (owner) Adopt(*config.Server) error { return nil }

func (owner) Stamp() string { return "" }

// TestF1ProjectGetsNoLoginOfOthers: an entry of a project with the name and the address of the user's own, or of
// another project's, is not given that one's login. It has to log in, and has a login of its own then.
func TestF1ProjectGetsNoLoginOfOthers(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{})
	m, own := newManager(t.TempDir(), 0), entryFor(t, as.URL(), "")
	mustLogIn(t, m, own)
	of := func(project string) *config.Server {
		dir := t.TempDir()
		path := filepath.Join(dir, ".mcp.json")
		if err := os.WriteFile(path, fmt.Appendf(nil, `{"mcpServers": {"s": {"url": %q}}}`, as.URL()), 0o600); err != nil {
			t.Fatal(err)
		}
		env := config.Env{Dir: dir, Home: t.TempDir(), GOOS: "linux", Approver: owner(project),
			Lookup: func(string) (string, bool) { return "", false }}
		cfg, err := env.Load(&config.Sources{Configs: []config.Source{{Path: path, Found: true}}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := cfg.Server("s")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	none := func(who string, s *config.Server) {
		t.Helper()
		if h, err := m.Header(t.Context(), s); h != "" || err != nil {
			t.Errorf("%s is given %q, %v", who, h, err)
		}
	}
	first, second := of("/home/ada/first"), of("/home/ada/second")
	none("a project", first)
	mustLogIn(t, m, first)
	if wantHeader(t, m, first) == wantHeader(t, m, own) {
		t.Error("a project has the token of the user's own server")
	}
	none("another project", second)
	if _, err := m.Logout(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	wantHeader(t, m, own)
}
