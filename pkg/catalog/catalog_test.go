package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/mcp-launchpad/mcpl/internal/fixture"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/state"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is what catalogs work with: a home with files, a clock, variables, and servers. The
// clock is why servers are a stand-in here; that real ones do the same is for the scripts of
// cmd/mcpl to show.
type world struct {
	t        testing.TB
	dir      string
	env      map[string]string
	settings config.Settings
	switches state.Tools
	early    bool      // without a way to live servers
	held     chan held // of servers in hold

	mu        sync.Mutex
	now       time.Time
	servers   map[string]tool.Listing
	down      map[string]error
	hold      map[string]bool
	asked     []string
	notices   []string
	known     tool.Known // that the last listing was asked with
	refreshes int        // in the background
	refused   error      // what a background refresh fails with
}

// held is a listing that has begun and waits for its answer.
type held struct {
	server string
	answer chan answer
	ended  <-chan struct{} // closed when no request wants the answer any more
}

func newWorld(t testing.TB, servers ...string) *world {
	w := &world{t: t, dir: t.TempDir(), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), env: map[string]string{},
		settings: config.Settings{TTL: 24 * time.Hour, Grace: time.Hour, Limit: 5}, held: make(chan held, 100),
		servers: map[string]tool.Listing{}, down: map[string]error{}, hold: map[string]bool{}}
	for _, name := range servers {
		w.servers[name] = fixture.Listing(t, name+"_tool")
	}
	w.configure(servers...)
	return w
}

// configure writes a configuration.
func (w *world) configure(entries ...string) {
	w.t.Helper()
	w.write(".mcp.json", fixture.Configuration(entries...))
}

// write replaces a file; its time is the world's and moves on, as it does between two edits.
func (w *world) write(name, content string) {
	w.t.Helper()
	fixture.Write(w.t, w.dir, name, content, w.pass(time.Second))
}

// pass lets time pass.
func (w *world) pass(d time.Duration) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
	return w.now
}

func (w *world) clock() time.Time { return w.pass(0) }

// list is the [Lister].
func (w *world) list(
	ctx context.Context, _ *config.Config, server string, opt tool.CallOptions) (tool.Listing, error) {
	w.mu.Lock()
	w.asked = append(w.asked, server)
	w.known = opt.Known
	a, hold := answer{listing: w.servers[server], err: w.down[server]}, w.hold[server]
	w.mu.Unlock()
	if hold {
		h := held{server, make(chan answer), ctx.Done()}
		w.held <- h
		select {
		case a = <-h.answer:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return tool.Listing{}, ctx.Err()
	}
	return a.listing, a.err
}

// Notice implements [Events].
func (w *world) Notice(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notices = append(w.notices, fmt.Sprintf(format, args...))
}

// Status implements [Events].
func (w *world) Status(string) {}

// Verbose implements [Events].
func (w *world) Verbose(string, string) {}

// options are those of a new catalog.
func (w *world) options() Options {
	opt := Options{
		Env: config.Env{Dir: w.dir, Home: w.dir, GOOS: "linux", Lookup: func(name string) (string, bool) {
			value, ok := w.env[name]
			return value, ok
		}, Approver: fixture.Approver{}},
		Settings: w.settings, Allows: w.switches.AllowsServer, Events: w, Now: w.clock,
		Background: func(*config.Sources) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.refreshes++
			return w.refused
		},
	}
	if !w.early {
		opt.Lister = w.list
	}
	return opt
}

// catalog returns a new catalog, as a new process has one. It is closed with the test.
func (w *world) catalog() *Catalog {
	c := New(w.options())
	w.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return c
}

// with runs f on a new catalog, settles that, and returns the servers that were listed, sorted.
func (w *world) with(f func(*Catalog) error) string {
	w.t.Helper()
	w.asked, w.notices, w.refreshes = nil, nil, 0
	c := w.catalog()
	if err := f(c); err != nil {
		w.t.Error(err)
	}
	if err := c.Settle(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	if err := c.Close(); err != nil {
		w.t.Error(err)
	}
	return w.requests()
}

// requests returns the servers that were listed so far, sorted.
func (w *world) requests() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.asked)
	return strings.Join(w.asked, " ")
}

// tools returns what a view holds, as "server/tool", and " stale" if the server failed.
func tools(v *View) (names []string, err error) {
	for _, s := range v.Servers() {
		recs, err := v.Records(s.Name, tool.Tool)
		if err != nil {
			return nil, err
		}
		for _, r := range recs {
			name := s.Name + "/" + r.Name
			if s.State == index.Failed {
				name += " stale"
			}
			if !s.Off {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// read reads the index in a new catalog, and expects these servers to be listed for it, and these tools.
func (w *world) read(asked string, want ...string) {
	w.t.Helper()
	var got []string
	who := w.with(func(c *Catalog) error {
		return c.Read(w.t.Context(), Need{}, func(v *View) (err error) {
			got, err = tools(v)
			return err
		})
	})
	if who != asked {
		w.t.Errorf("asked %q, want %q", who, asked)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("tools: -want +got\n%s", diff)
	}
}

// lock locks the index as another process does.
func (w *world) lock() (unlock func()) {
	w.t.Helper()
	dir, err := w.catalog().Folder()
	if err != nil {
		w.t.Fatal(err)
	}
	unlock, err = index.Store{Dir: dir}.Lock(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return unlock
}

func TestFreshness(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	w.read("a b", "a/a_tool", "b/b_tool")
	w.read("", "a/a_tool", "b/b_tool")

	// A touched file lists no server, a changed entry only its own.
	w.configure("a", "b")
	w.read("", "a/a_tool", "b/b_tool")
	w.servers["b"] = fixture.Listing(t, "b_new")
	w.configure("a", `b: {"command": "run-b", "args": ["--new"]}`)
	w.read("b", "a/a_tool", "b/b_new")
	// Limits do not enter.
	w.configure("a", `b: {"command": "run-b", "args": ["--new"], "callTimeout": "9s"}`)
	w.read("", "a/a_tool", "b/b_new")

	// Added, removed, switched off by the entry, and back.
	w.servers["c"] = fixture.Listing(t, "c_tool")
	w.configure("c", "a")
	w.read("c", "a/a_tool", "c/c_tool")
	w.configure(`c: {"command": "run-c", "disabled": true}`, "a")
	w.read("", "a/a_tool")
	w.configure("c", "a")
	w.read("", "a/a_tool", "c/c_tool")

	// Switched off by choice, and back.
	w.configure("a", `c: {"command": "new"}`)
	w.switches.Disabled = []string{"c"}
	w.read("", "a/a_tool", "c/c_tool")
	w.switches.Disabled = nil
	w.read("c", "a/a_tool", "c/c_tool")
}

func TestFreshnessOfVariables(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b", "c")
	w.configure(`a: {"command": "run", "env": {"T": "${TOKEN}"}}`, `b: {"command": "run", "args": ["${DIR:-x}"]}`, "c")
	w.write(".env", "OTHER=1\n")
	w.read("b c", "b/b_tool", "c/c_tool")
	// Not even after the time at which failures are tried again: nothing has changed.
	w.pass(retryAfter + time.Minute)
	w.read("", "b/b_tool", "c/c_tool")
	if w.refreshes != 0 {
		t.Error("a missing variable makes a background refresh")
	}
	w.write(".env", "TOKEN=1\n")
	w.read("a", "a/a_tool", "b/b_tool", "c/c_tool")
	w.write(".env", "TOKEN=2\nUNUSED=3\n")
	w.read("a", "a/a_tool", "b/b_tool", "c/c_tool")
	w.write(".env", "TOKEN=2\n")
	w.read("", "a/a_tool", "b/b_tool", "c/c_tool")
	// The process environment wins over the file.
	w.env["TOKEN"] = "3"
	w.read("a", "a/a_tool", "b/b_tool", "c/c_tool")
	w.env["DIR"] = "/tmp"
	w.read("b", "a/a_tool", "b/b_tool", "c/c_tool")
	w.env["NOBODY_ASKED"] = "x"
	w.read("", "a/a_tool", "b/b_tool", "c/c_tool")
	// Gone again: the tools stay as they were, their server lacks the variable.
	delete(w.env, "TOKEN")
	w.write(".env", "")
	w.read("", "a/a_tool stale", "b/b_tool", "c/c_tool")
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		entry string        // of server b
		said  time.Duration // by server b
		ttl   time.Duration // what then holds for b; a has 24 h
	}{
		"setting":               {"b", 0, 24 * time.Hour},
		"entry":                 {`b: {"command": "run-b", "ttl": "2h"}`, 0, 2 * time.Hour},
		"server":                {"b", 3 * time.Hour, 3 * time.Hour},
		"server beats entry":    {`b: {"command": "run-b", "ttl": "2h"}`, 3 * time.Hour, 3 * time.Hour},
		"no less than a minute": {"b", time.Millisecond, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "a", "b")
			w.configure("a", test.entry)
			b := w.servers["b"]
			b.TTL = test.said
			w.servers["b"] = b
			w.read("a b", "a/a_tool", "b/b_tool")
			w.pass(test.ttl - time.Second)
			w.read("", "a/a_tool", "b/b_tool")
			if w.refreshes != 0 {
				t.Error("a background refresh before the time")
			}
			w.pass(2 * time.Second)
			w.read("", "a/a_tool", "b/b_tool")
			if w.refreshes != 1 {
				t.Errorf("%d background refreshes in the grace period", w.refreshes)
			}
			w.pass(w.settings.Grace)
			want := "b"
			if test.ttl == w.settings.TTL {
				want = "a b"
			}
			w.read(want, "a/a_tool", "b/b_tool")
		})
	}
}

// TestExpiryChangedInTheEntry: a new ttl counts from when it is written, without asking.
func TestExpiryChangedInTheEntry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.read("a", "a/a_tool")
	w.configure(`a: {"command": "run-a", "ttl": "1h"}`)
	w.read("", "a/a_tool")
	w.pass(2*time.Hour + time.Minute)
	w.read("a", "a/a_tool")
}

func TestClockSetBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.read("a", "a/a_tool")
	w.pass(-48 * time.Hour)
	w.read("a", "a/a_tool")
}

func TestListDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	w.configure("a", `b: {"command": "run-b", "ttl": "2h"}`)
	w.read("a b", "a/a_tool", "b/b_tool")
	due := func(c *Catalog) error { return c.Read(t.Context(), Need{List: ListDue}, nil) }
	if asked := w.with(due); asked != "" {
		t.Errorf("asked %q though all is fresh", asked)
	}
	w.pass(2*time.Hour + time.Minute)
	if asked := w.with(due); asked != "b" {
		t.Errorf("asked %q, want b", asked)
	}
	w.read("", "a/a_tool", "b/b_tool")
	if w.refreshes != 0 {
		t.Error("the refresh did not make it fresh")
	}
	// While somebody else is writing there is nothing to do.
	w.pass(2*time.Hour + time.Minute)
	unlock := w.lock()
	if asked := w.with(func(c *Catalog) error {
		if err := due(c); !errors.Is(err, ErrBusy) {
			t.Errorf("beside another writer: %v", err)
		}
		return nil
	}); asked != "" {
		t.Errorf("asked %q behind the back of another writer", asked)
	}
	w.read("", "a/a_tool", "b/b_tool")
	if w.refreshes != 0 {
		t.Error("a background refresh beside another")
	}
	unlock()
	w.read("", "a/a_tool", "b/b_tool")
	if w.refreshes != 1 {
		t.Errorf("%d background refreshes", w.refreshes)
	}
}

// TestFailures: a server that fails is left alone for ten minutes, and keeps its last good list.
func TestFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "good", "bad")
	down := fault.New(fault.ServerConnection, "bad is down", "wait").On("bad", "")
	w.down["bad"] = down
	w.read("bad good", "good/good_tool")
	w.read("", "good/good_tool")
	failed := Need{Servers: []string{"bad"}, List: ListFailed}
	for range 2 { // named, it is asked again, once for each request
		if asked := w.with(func(c *Catalog) error { return c.Read(t.Context(), failed, nil) }); asked != "bad" {
			t.Errorf("asked %q, want bad", asked)
		}
	}
	w.pass(retryAfter + time.Second)
	w.read("", "good/good_tool")
	if w.refreshes != 1 {
		t.Errorf("%d background refreshes", w.refreshes)
	}
	delete(w.down, "bad")
	if asked := w.with(func(c *Catalog) error { return c.Read(t.Context(), Need{List: ListDue}, nil) }); asked != "bad" {
		t.Errorf("asked %q, want bad", asked)
	}
	w.read("", "bad/bad_tool", "good/good_tool")
	// Failing now, it keeps its last good tools, with a notice and the fault.
	w.pass(time.Minute)
	w.down["bad"] = down
	asked := w.with(func(c *Catalog) error {
		return c.Read(t.Context(), Need{List: ListAll}, func(v *View) error {
			got, _ := v.Server("bad")
			if got.State != index.Failed || got.Tools != 1 || got.Error == nil || got.Error.Message != "bad is down" || got.Error.Help != "wait" {
				t.Errorf("listed as %+v", got)
			}
			if !got.ListedAt.Before(got.TriedAt) || !v.Tried("bad") {
				t.Errorf("listed at %v, tried at %v", got.ListedAt, got.TriedAt)
			}
			return nil
		})
	})
	if asked != "bad good" || len(w.notices) != 1 || !strings.Contains(w.notices[0], "bad could not be asked") {
		t.Errorf("asked %q, notices: %q", asked, w.notices)
	}
	w.read("", "bad/bad_tool stale", "good/good_tool")
}

// TestServers: only the servers that a request needs are listed.
func TestServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	for _, test := range []struct {
		servers []string
		want    string
	}{{[]string{}, ""}, {[]string{"b"}, "b"}, {nil, "a"}} {
		asked := w.with(func(c *Catalog) error {
			return c.Read(t.Context(), Need{Servers: test.servers}, func(v *View) error {
				if len(v.Servers()) != 2 || v.Tried("b") != (test.want == "b") {
					t.Errorf("%q: %+v", test.servers, v.Servers())
				}
				return nil
			})
		})
		if asked != test.want {
			t.Errorf("%q: asked %q", test.servers, asked)
		}
	}
}

// TestEarly: without a way to servers a catalog answers from a fresh index or not at all.
func TestEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	try := func(f func(*Catalog) error) (err error) {
		w.early = true
		defer func() { w.early = false }()
		w.with(func(c *Catalog) error { err = f(c); return nil })
		return err
	}
	read := func(need Need) func(*Catalog) error {
		return func(c *Catalog) error { return c.Read(t.Context(), need, nil) }
	}
	if err := try(read(Need{})); !errors.Is(err, ErrNotFresh) {
		t.Errorf("cold: %v", err)
	}
	if err := try(func(c *Catalog) error {
		v, err := c.Current()
		if v != nil {
			t.Error("cold: there is an index")
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	w.read("a", "a/a_tool")
	if err := try(read(Need{})); err != nil {
		t.Error(err)
	}
	for name, f := range map[string]func(*Catalog) error{
		"refresh":       read(Need{List: ListAll}),
		"changed":       read(Need{Servers: []string{"a"}, List: ListChanged}),
		"configuration": func(c *Catalog) error { _, err := c.Config(); return err },
		"damage": func(c *Catalog) error {
			return c.Read(t.Context(), Need{}, func(*View) error { return index.ErrDamaged })
		},
	} {
		if err := try(f); !errors.Is(err, ErrNotFresh) || len(w.notices) > 0 {
			t.Errorf("%s: %v, notices %q", name, err, w.notices)
		}
	}
	w.pass(1000 * time.Hour)
	if err := try(read(Need{})); !errors.Is(err, ErrNotFresh) {
		t.Errorf("expired: %v", err)
	}
	if err := os.Remove(filepath.Join(w.dir, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(*Catalog) error{
		"read":    read(Need{}),
		"config":  func(c *Catalog) error { _, err := c.Config(); return err },
		"sources": func(c *Catalog) error { _, err := c.Sources(); return err },
		"folder":  func(c *Catalog) error { _, err := c.Folder(); return err },
		"current": func(c *Catalog) error { _, err := c.Current(); return err },
	} {
		if err := try(f); !fault.Is(err, fault.Config) {
			t.Errorf("%s without a configuration: %v", name, err)
		}
	}
}
