package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	ring "github.com/zalando/go-keyring"

	"github.com/mcp-launchpad/mcpl/internal/authtest"
	"github.com/mcp-launchpad/mcpl/pkg/auth/login"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// fakeRing is a keyring in memory. The system's own would ask the person at the machine.
type fakeRing struct {
	fails error
	hangs chan struct{} // when not nil, each use waits for it

	mu   sync.Mutex
	kept map[string]string
	gets int
}

func (r *fakeRing) Get(service, user string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gets++
	text, ok := r.kept[service+" "+user]
	if !ok && r.fails == nil {
		return "", ring.ErrNotFound
	}
	return text, r.fails
}

func (r *fakeRing) Set(service, user, secret string) error {
	if r.hangs != nil {
		<-r.hangs
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails != nil {
		return r.fails
	}
	if r.kept == nil {
		r.kept = map[string]string{}
	}
	r.kept[service+" "+user] = secret
	return nil
}

func (r *fakeRing) Delete(service, user string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.kept[service+" "+user]; !ok && r.fails == nil {
		return ring.ErrNotFound
	}
	delete(r.kept, service+" "+user)
	return r.fails
}

// withRing returns a manager with a keyring.
func withRing(dir string, place config.Credentials, k *fakeRing) *Manager {
	m := newManager(dir, 0)
	m.store.place = place
	if k != nil {
		m.store.ring = &keyring{k.Get, k.Set, k.Delete}
	}
	return m
}

// fileOf returns the file of a login, which only its owner may read.
func fileOf(t *testing.T, m *Manager, s *config.Server) string {
	t.Helper()
	path := m.store.path(bindingOf(s))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Dir(path)} {
		if info, err := os.Stat(p); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", p, info.Mode(), err)
		}
	}
	return string(data)
}

// The keyring holds the secrets, the file the rest.
func TestKeyring(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{Method: "client_secret_basic"})
	dir, k := t.TempDir(), &fakeRing{}
	s, m := entryFor(t, as.URL(), ""), withRing(dir, config.AutoCredentials, k)
	if st := mustLogIn(t, m, s); st.Kept != config.InKeyring {
		t.Errorf("%+v", st)
	}
	noSecrets(t, as, fileOf(t, m, s))
	other := withRing(dir, config.InKeyring, k)
	h := wantHeader(t, other, s)
	for range 3 {
		wantHeader(t, other, s)
	}
	if k.gets > 2 {
		t.Errorf("the keyring was asked %d times", k.gets)
	}
	if again, err := other.Renew(t.Context(), s, h, nil); err != nil || again == h || wantHeader(t, m, s) != again {
		t.Errorf("%q %v", again, err)
	}
	if out, err := m.Logout(t.Context(), s); err != nil || !out.Revoked || len(k.kept) > 0 {
		t.Errorf("%+v %v, left %v", out, err, k.kept)
	}
}

// A keyring that is not there is passed over, and so is one that fails, which the person who logs in hears of,
// unless it is the only place.
func TestNoKeyring(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{})
	s := entryFor(t, as.URL(), "")
	for name, k := range map[string]*fakeRing{"none": nil, "too small": {fails: ring.ErrSetDataTooBig}} {
		m := withRing(t.TempDir(), config.AutoCredentials, k)
		st, p, err := logIn(t, m, s)
		if told := strings.Contains(strings.Join(p.notices, "\n"), "the keyring did not take the login"); err != nil ||
			st.Kept != config.InFiles || told != (k != nil) {
			t.Errorf("%s: %+v %v, notices %q", name, st, err, p.notices)
		}
		wantHeader(t, m, s)
		_, _, err = logIn(t, withRing(t.TempDir(), config.InKeyring, k), s)
		f := wantFault(t, err, fault.Config, "cannot be kept in the keyring")
		if !strings.Contains(f.Help, `credentials = "file"`) {
			t.Error(f.Help)
		}
	}
}

// A login moves where the settings say at its next renewal, and what is in the keyring is used till then.
func TestMovedToFiles(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{})
	dir, k := t.TempDir(), &fakeRing{}
	s := entryFor(t, as.URL(), "")
	mustLogIn(t, withRing(dir, config.AutoCredentials, k), s)
	m := withRing(dir, config.InFiles, k)
	if _, err := m.Renew(t.Context(), s, wantHeader(t, m, s), nil); err != nil {
		t.Fatal(err)
	}
	wantHeader(t, newManager(dir, 0), s)
	if len(k.kept) > 0 {
		t.Errorf("the keyring still has %d", len(k.kept))
	}
}

// A login that the keyring has lost has ended; a keyring that fails is a fault.
func TestLostInKeyring(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{})
	dir, k := t.TempDir(), &fakeRing{}
	s := entryFor(t, as.URL(), "")
	mustLogIn(t, withRing(dir, config.AutoCredentials, k), s)
	for key := range k.kept {
		k.kept[key] = "no JSON"
	}
	if st, err := withRing(dir, config.AutoCredentials, k).State(t.Context(), s); err != nil ||
		st.Kind != login.NotLoggedIn {
		t.Errorf("%+v %v", st, err)
	}
	clear(k.kept)
	if h, err := withRing(dir, config.AutoCredentials, k).Header(t.Context(), s); err != nil || h != "" {
		t.Errorf("%q %v", h, err)
	}
	k.fails = errors.New("locked")
	_, err := withRing(dir, config.AutoCredentials, k).Header(t.Context(), s)
	wantFault(t, err, fault.Config, "cannot be kept in the keyring, or read from it")
	_, err = withRing(dir, config.AutoCredentials, nil).Header(t.Context(), s)
	wantFault(t, err, fault.Config, "cannot be kept in the keyring, or read from it")
	_, err = withRing(dir, config.AutoCredentials, k).Logout(t.Context(), s)
	wantFault(t, err, fault.Config, "keyring")
}

// A keyring that hangs holds no caller up for ever, and two callers never ask it at once.
func TestHangingKeyring(t *testing.T) {
	t.Parallel()
	k := &fakeRing{hangs: make(chan struct{})}
	st := withRing(t.TempDir(), config.AutoCredentials, k).store
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := &record{Secrets: &secrets{}}
	if err := st.toRing(ctx, r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if len(st.ringTurn) == 1 { // the first one may have given up before its turn
		if err := st.toRing(ctx, r); err == nil || !strings.Contains(err.Error(), "busy") {
			t.Error(err)
		}
	}
	close(k.hangs)
}

// A damaged file is an error that says so, and is not lost by what is done about it.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{})
	dir := t.TempDir()
	s, m := entryFor(t, as.URL(), ""), newManager(dir, 0)
	mustLogIn(t, m, s)
	path, good := m.store.path(bindingOf(s)), fileOf(t, m, s)
	spoil := func(key string, value any) string {
		doc := map[string]any{}
		if err := json.Unmarshal([]byte(good), &doc); err != nil {
			t.Fatal(err)
		}
		doc[key] = value
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for bad, why := range map[string]string{
		good[:len(good)/2]:          "it is not the JSON of a login",
		"":                          "it is not the JSON of a login",
		"null":                      "it is of version 0",
		spoil("version", 2):         "it is of version 2, and this mcpl knows 1",
		spoil("token_endpoint", ""): "something is missing in it",
		spoil("kept", "elsewhere"):  "it does not say where the tokens are",
		spoil("secrets", nil):       "it does not say where the tokens are",
		spoil("secrets", map[string]string{"access_token": "a\r\nX: y"}): "its token is not a bearer token",
	} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := m.Header(t.Context(), s)
		f := wantFault(t, err, fault.Config, why)
		if h != "" || !strings.Contains(f.Message, path) || !strings.HasSuffix(helpOf(f), "auth login s") {
			t.Errorf("%q %+v", h, f)
		}
		noSecrets(t, as, f.Message, f.Traceback, helpOf(f))
		if now, _ := os.ReadFile(path); string(now) != bad {
			t.Error("the file was changed")
		}
	}
	last, _ := os.ReadFile(path)
	_, p, err := logIn(t, m, s)
	if err != nil || len(p.notices) != 1 || !strings.Contains(p.notices[0], "is damaged") {
		t.Errorf("%v %q", err, p.notices)
	}
	wantHeader(t, m, s)
	if kept, err := os.ReadFile(path + ".bak"); err != nil || string(kept) != string(last) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := m.Logout(t.Context(), s); err != nil || out.Was {
		t.Errorf("%+v %v", out, err)
	}
}

// A folder that cannot be written is said.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	as := newServer(t, authtest.Options{})
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := logIn(t, newManager(dir, 0), entryFor(t, as.URL(), ""))
	f := new(fault.Fault)
	if !errors.As(err, &f) || f.Type != fault.Config || !strings.Contains(f.Message, "cannot ") {
		t.Errorf("%+v %v", f, err)
	}
}

func TestFindKeyring(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		t.Skip("there is always one on " + runtime.GOOS)
	}
	with, without := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(with, "bus"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"}, true},
		{map[string]string{"DBUS_SESSION_BUS_ADDRESS": "autolaunch:"}, false},
		{map[string]string{"XDG_RUNTIME_DIR": with}, true},
		{map[string]string{"XDG_RUNTIME_DIR": without}, false},
	} {
		k := findKeyring(func(name string) (string, bool) { value, ok := tt.env[name]; return value, ok })
		if (k != nil) != tt.want {
			t.Errorf("%v: %v", tt.env, k)
		}
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		resource, url string
		want          bool
	}{
		{"https://h/mcp", "https://h/mcp", true},
		{"https://H:443/mcp/", "https://h/mcp", true},
		{"https://h", "https://h/mcp", true},
		{"https://h/", "https://h/mcp?x=1", true},
		{"https://h/a", "https://h/a/b", true},
		{"https://h/a", "https://h/ab", false},
		{"https://h/a/b", "https://h/a", false},
		{"https://h/mcp?x=1", "https://h/mcp?x=1", true},
		{"https://h/mcp?x=1", "https://h/mcp", false},
		{"https://h:444/mcp", "https://h/mcp", false},
		{"http://h/mcp", "https://h/mcp", false},
		{"https://h/mcp#f", "https://h/mcp", false},
		{"https://me@h/mcp", "https://h/mcp", false},
		{"://", "https://h/mcp", false},
		{"mcp", "https://h/mcp", false},
	} {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := covers(tt.resource, u); got != tt.want {
			t.Errorf("%s covers %s: %v", tt.resource, tt.url, got)
		}
	}
}

func TestEndpointCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		server, url, why string
	}{
		{"https://h/mcp", "https://as.example.com/x", ""},
		{"https://h/mcp", "http://as.example.com/x", "plain http"},
		{"https://h/mcp", "http://127.0.0.1:8/x", "this machine"},
		{"https://h/mcp", "https://localhost/x", "this machine"},
		{"https://h/mcp", "https://127.0.0.1.:443/", "this machine"}, // F21
		{"https://h/mcp", "https://LOCALHOST./x", "this machine"},
		{"http://127.0.0.1.:9/mcp", "http://localhost.:8/x", ""},
		{"http://127.0.0.1:9/mcp", "http://[::1]:8/x", ""},
		{"http://10.0.0.7:9/mcp", "http://10.0.0.7:9/x", ""},
		{"http://10.0.0.7:9/mcp", "http://10.0.0.7:8/x", "plain http"},
		{"https://h/mcp", "https://me:pw@h/x", "not an https"},
		{"https://h/mcp", "file:///etc/passwd", "not an https"},
		{"https://h/mcp", "javascript:x", "not an https"},
		{"https://h/mcp", "", "not an https"},
		{"https://h/mcp", "https://", "not an https"},
	} {
		err := allowed(&config.Server{Entry: config.Entry{URL: tt.server}}, tt.url)
		if (err == nil) != (tt.why == "") || err != nil && !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s for %s: %v, want %q", tt.url, tt.server, err, tt.why)
		}
	}
	if err := allowed(&config.Server{Entry: config.Entry{URL: "http://[/"}}, "https://h/"); err == nil {
		t.Error("no URL is one")
	}
}

// TestVersion1 reads a login of version 1, and no other version.
func TestVersion1(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "login.v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := parseRecord(data, "b")
	if err != nil {
		t.Fatal(err)
	}
	want := &record{Version: 1, Server: "notes", URL: "https://notes.example.com/mcp", Binding: "b", Serial: "7",
		Kept: config.InFiles, Grant: config.AuthorizationCode, Issuer: "https://login.example.com",
		Resource: "https://notes.example.com/mcp", Token: "https://login.example.com/token",
		Revoke: "https://login.example.com/revoke",
		Client: client{ID: "c", Method: methodBasic, Origin: registered,
			Redirect: "http://127.0.0.1:8765/callback", Scopes: []string{"read"}},
		Asked: []string{"read", "write"}, Granted: []string{"read"}, Obtained: time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC),
		Expires: time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC), Renewable: true,
		Secrets: &secrets{Access: "a", Refresh: "r", Client: "s"}}
	if diff := cmp.Diff(want, r, cmpopts.IgnoreUnexported(client{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	later := strings.Replace(string(data), `"version": 1`, `"version": 2`, 1)
	if _, err := parseRecord([]byte(later), "b"); err == nil || !strings.Contains(err.Error(), "of version 2") {
		t.Errorf("a later version: %v", err)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"version":1,"binding":"b","issuer":"i","resource":"r","token_endpoint":"t","kept":"file","client":{"id":"x","method":"none"},"secrets":{"access_token":"a"}}`))
	f.Add([]byte(`{"version":1,"binding":"b","issuer":"i","resource":"r","token_endpoint":"t","kept":"keyring","client":{"id":"x"},"expires":"2026-01-01T00:00:00Z"}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"version":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecord(data, "b")
		if err != nil {
			if r != nil {
				t.Error("both a record and an error")
			}
			return
		}
		if h := r.header(); strings.ContainsAny(h, "\r\n") {
			t.Errorf("%q cannot be a header", h)
		}
		r.fits(&config.Server{Name: "s", Entry: config.Entry{URL: "https://h/"}})
	})
}
