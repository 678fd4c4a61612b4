package engine

import (
	"context"
	"encoding/json"
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

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/state"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// world is the surroundings of engines: a home with files, a clock, variables, and servers. The
// clock is why servers are a stand-in here; that real ones do the same is for the scripts of
// cmd/mcpl to show.
type world struct {
	t        *testing.T
	dir      string
	now      time.Time
	env      map[string]string
	settings config.Settings
	switches state.Tools
	early    bool // without a way to live servers

	mu        sync.Mutex
	servers   map[string]tool.Listing
	down      map[string]error
	asked     []string
	notices   []string
	options   tool.CallOptions // of the last call
	known     tool.Known       // that the last list was asked with
	refreshes int              // in the background
	changed   func(string)     // tells the last engine that a server offers something else
}

func newWorld(t *testing.T, servers ...string) *world {
	w := &world{t: t, dir: t.TempDir(), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), env: map[string]string{},
		settings: config.Settings{TTL: 24 * time.Hour, Grace: time.Hour, Limit: 5},
		servers:  map[string]tool.Listing{}, down: map[string]error{}}
	for _, name := range servers {
		w.servers[name] = listing(t, name+"_tool")
	}
	w.configure(servers...)
	return w
}

func listing(t *testing.T, names ...string) tool.Listing {
	var l tool.Listing
	for _, name := range names {
		def, err := tool.ParseDef([]byte(fmt.Sprintf(`{"name":%q,"description":"Does %s","inputSchema":{"type":"object"}}`, name, name)))
		if err != nil {
			t.Fatal(err)
		}
		l.Tools = append(l.Tools, def)
	}
	return l
}

// configure writes a configuration whose entries are names, or "name: JSON".
func (w *world) configure(entries ...string) {
	var lines []string
	for _, e := range entries {
		name, body, ok := strings.Cut(e, ": ")
		if !ok {
			body = fmt.Sprintf(`{"command": %q}`, "run-"+name)
		}
		lines = append(lines, fmt.Sprintf("%q: %s", name, body))
	}
	w.write(".mcp.json", `{"mcpServers": {`+strings.Join(lines, ",\n")+`}}`)
}

// write replaces a file; its time is the world's and moves on, as it does between two edits.
func (w *world) write(name, content string) {
	w.t.Helper()
	w.now = w.now.Add(time.Second)
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chtimes(path, w.now, w.now); err != nil {
		w.t.Fatal(err)
	}
}

// Tools implements [Caller].
func (w *world) List(ctx context.Context, server string, opt tool.CallOptions) (tool.Listing, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil && w.down[server] == nil {
		return tool.Listing{}, err
	}
	w.asked = append(w.asked, server)
	w.known = opt.Known
	return w.servers[server], w.down[server]
}

// Call implements [Caller].
func (w *world) Call(_ context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions) (*tool.Result, error) {
	w.options = opt
	if ref.Kind != tool.Tool {
		return &tool.Result{Raw: json.RawMessage(fmt.Sprintf(`{"kind":%q,"name":%q,"args":%q}`, ref.Kind, ref.Name, args))}, nil
	}
	return &tool.Result{Raw: json.RawMessage(fmt.Sprintf(`{"ref":%q,"args":%s}`, ref, args))}, nil
}

// Close implements [Caller].
func (w *world) Close() error { return nil }

// Notice implements [Events].
func (w *world) Notice(format string, args ...any) {
	w.notices = append(w.notices, fmt.Sprintf(format, args...))
}

// Status implements [Events].
func (w *world) Status(string) {}

// Verbose implements [Events].
func (w *world) Verbose(string, string) {}

// engine returns a new engine, as a new process has one.
func (w *world) engine() *Engine {
	opt := Options{
		Env: config.Env{Dir: w.dir, Home: w.dir, GOOS: "linux", Lookup: func(name string) (string, bool) {
			value, ok := w.env[name]
			return value, ok
		}},
		Settings: w.settings, Switches: w.switches, Events: w, Now: func() time.Time { return w.now },
		Background: func(*config.Sources) error { w.refreshes++; return nil },
	}
	if !w.early {
		opt.NewCaller = func(_ *config.Config, changed func(string)) Caller {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.changed = changed
			return w
		}
	}
	return New(opt)
}

// with runs f on a new engine and returns the servers that it asked, sorted.
func (w *world) with(f func(*Engine) error) []string {
	w.t.Helper()
	w.asked, w.notices, w.refreshes = nil, nil, 0
	e := w.engine()
	if err := f(e); err != nil {
		w.t.Error(err)
	}
	if err := e.RefreshBehind(); err != nil {
		w.t.Error(err)
	}
	if err := e.Close(); err != nil {
		w.t.Error(err)
	}
	slices.Sort(w.asked)
	return w.asked
}

// search searches and expects these servers to be asked for it, and these hits.
func (w *world) search(asked string, hits ...string) {
	w.t.Helper()
	var got []string
	who := w.with(func(e *Engine) error {
		found, err := e.Search(w.t.Context(), search.Query{Text: ".", Method: search.Regex}, nil, false)
		for _, f := range found {
			name := f.Server + "/" + f.Name
			if f.Stale {
				name += " stale"
			}
			got = append(got, name)
		}
		return err
	})
	if s := strings.Join(who, " "); s != asked {
		w.t.Errorf("asked %q, want %q", s, asked)
	}
	slices.Sort(got)
	if diff := cmp.Diff(hits, got); diff != "" {
		w.t.Errorf("hits: -want +got\n%s", diff)
	}
}

func TestFreshness(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	w.search("a b", "a/a_tool", "b/b_tool")
	w.search("", "a/a_tool", "b/b_tool")

	// A touched file asks nobody; a changed entry only its server.
	w.configure("a", "b")
	w.search("", "a/a_tool", "b/b_tool")
	w.servers["b"] = listing(t, "b_new")
	w.configure("a", `b: {"command": "run-b", "args": ["--new"]}`)
	w.search("b", "a/a_tool", "b/b_new")
	// Limits and switches are no reason to ask.
	w.configure("a", `b: {"command": "run-b", "args": ["--new"], "callTimeout": "9s"}`)
	w.search("", "a/a_tool", "b/b_new")

	// Added, removed, switched off by the entry, and back.
	w.servers["c"] = listing(t, "c_tool")
	w.configure("c", "a")
	w.search("c", "a/a_tool", "c/c_tool")
	w.configure(`c: {"command": "run-c", "disabled": true}`, "a")
	w.search("", "a/a_tool")
	w.configure("c", "a")
	w.search("", "a/a_tool", "c/c_tool")
}

func TestFreshnessOfVariables(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b", "c")
	w.configure(`a: {"command": "run", "env": {"T": "${TOKEN}"}}`, `b: {"command": "run", "args": ["${DIR:-x}"]}`, "c")
	w.write(".env", "OTHER=1\n")
	w.search("b c", "b/b_tool", "c/c_tool")
	// Not even after the time at which failures are tried again: nothing has changed.
	w.now = w.now.Add(retryAfter + time.Minute)
	w.search("", "b/b_tool", "c/c_tool")
	if w.refreshes != 0 {
		t.Error("a missing variable makes a background refresh")
	}
	w.write(".env", "TOKEN=1\n")
	w.search("a", "a/a_tool", "b/b_tool", "c/c_tool")
	w.write(".env", "TOKEN=2\nUNUSED=3\n")
	w.search("a", "a/a_tool", "b/b_tool", "c/c_tool")
	w.write(".env", "TOKEN=2\n")
	w.search("", "a/a_tool", "b/b_tool", "c/c_tool")
	// The process environment wins over the file.
	w.env["TOKEN"] = "3"
	w.search("a", "a/a_tool", "b/b_tool", "c/c_tool")
	w.env["DIR"] = "/tmp"
	w.search("b", "a/a_tool", "b/b_tool", "c/c_tool")
	w.env["NOBODY_ASKED"] = "x"
	w.search("", "a/a_tool", "b/b_tool", "c/c_tool")
	// Gone again: the tools stay as they were, their server lacks the variable.
	delete(w.env, "TOKEN")
	w.write(".env", "")
	w.search("", "a/a_tool stale", "b/b_tool", "c/c_tool")
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
			w.search("a b", "a/a_tool", "b/b_tool")
			begin := w.now
			w.now = begin.Add(test.ttl - time.Second)
			w.search("", "a/a_tool", "b/b_tool")
			if w.refreshes != 0 {
				t.Error("a background refresh before the time")
			}
			w.now = begin.Add(test.ttl + time.Second)
			w.search("", "a/a_tool", "b/b_tool")
			if w.refreshes != 1 {
				t.Errorf("%d background refreshes in the grace period", w.refreshes)
			}
			w.now = begin.Add(test.ttl + w.settings.Grace + time.Second)
			want := "b"
			if test.ttl == w.settings.TTL {
				want = "a b"
			}
			w.search(want, "a/a_tool", "b/b_tool")
		})
	}
}

// TestExpiryChangedInTheEntry: a new ttl counts from when it is written, without asking.
func TestExpiryChangedInTheEntry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.search("a", "a/a_tool")
	w.configure(`a: {"command": "run-a", "ttl": "1h"}`)
	w.search("", "a/a_tool")
	w.now = w.now.Add(2*time.Hour + time.Minute)
	w.search("a", "a/a_tool")
}

func TestClockSetBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.search("a", "a/a_tool")
	w.now = w.now.Add(-48 * time.Hour)
	w.search("a", "a/a_tool")
}

func TestRefreshLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	w.configure("a", `b: {"command": "run-b", "ttl": "2h"}`)
	w.search("a b", "a/a_tool", "b/b_tool")
	late := func(e *Engine) error { return e.RefreshLate(t.Context()) }
	if asked := w.with(late); len(asked) > 0 {
		t.Errorf("asked %v though all is fresh", asked)
	}
	w.now = w.now.Add(2*time.Hour + time.Minute)
	if asked := w.with(late); !slices.Equal(asked, []string{"b"}) {
		t.Errorf("asked %v, want b", asked)
	}
	w.search("", "a/a_tool", "b/b_tool")
	if w.refreshes != 0 {
		t.Error("the refresh did not make it fresh")
	}
	// While somebody else is writing there is nothing to do.
	w.now = w.now.Add(2*time.Hour + time.Minute)
	e := w.engine()
	if err := e.locate(); err != nil {
		t.Fatal(err)
	}
	unlock, err := e.store.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if asked := w.with(late); len(asked) > 0 {
		t.Errorf("asked %v behind the back of another writer", asked)
	}
	w.search("", "a/a_tool", "b/b_tool")
	if w.refreshes != 0 {
		t.Error("a background refresh beside another")
	}
	unlock()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "good", "bad")
	down := fault.New(fault.ServerConnection, "bad is down", "wait").On("bad", "")
	w.down["bad"] = down
	w.search("bad good", "good/good_tool")
	w.search("", "good/good_tool")
	// Named, it is asked again, once for each request.
	bad := tool.Ref{Server: "bad", Name: "bad_tool"}
	for range 2 {
		asked := w.with(func(e *Engine) error {
			if _, err := e.Inspect(t.Context(), bad); !fault.Is(err, fault.ServerConnection) {
				t.Errorf("inspect: %v", err)
			}
			return nil
		})
		if !slices.Equal(asked, []string{"bad"}) {
			t.Errorf("asked %v, want bad", asked)
		}
	}
	// Otherwise it is left alone for ten minutes, and then asked behind an answer.
	w.now = w.now.Add(retryAfter + time.Second)
	w.search("", "good/good_tool")
	if w.refreshes != 1 {
		t.Errorf("%d background refreshes", w.refreshes)
	}
	delete(w.down, "bad")
	if asked := w.with(func(e *Engine) error { return e.RefreshLate(t.Context()) }); !slices.Equal(asked, []string{"bad"}) {
		t.Errorf("asked %v, want bad", asked)
	}
	w.search("", "bad/bad_tool", "good/good_tool")

	// Failing now, it keeps its last good tools, marked stale, with a notice and the fault.
	w.now = w.now.Add(time.Minute)
	w.down["bad"] = down
	w.with(func(e *Engine) error {
		list, err := e.List(t.Context(), true)
		if err != nil {
			return err
		}
		got := list[1]
		if got.State != index.Failed || got.Tools != 1 || got.Error == nil || got.Error.Message != "bad is down" || got.Error.Help != "wait" {
			t.Errorf("listed as %+v", got)
		}
		if !got.ListedAt.Before(got.TriedAt) {
			t.Errorf("listed at %v, tried at %v", got.ListedAt, got.TriedAt)
		}
		return nil
	})
	if len(w.notices) != 1 || !strings.Contains(w.notices[0], "bad could not be asked") {
		t.Errorf("notices: %q", w.notices)
	}
	w.search("", "bad/bad_tool stale", "good/good_tool")
	// Its tools can still be read and called.
	if asked := w.with(func(e *Engine) error { _, err := e.Inspect(t.Context(), bad); return err }); len(asked) > 0 {
		t.Errorf("asked %v", asked)
	}
}

// TestColdCall: on a cold cache only the server that is called is asked.
func TestColdCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b", "c")
	ref := tool.Ref{Server: "b", Name: "b_tool"}
	asked := w.with(func(e *Engine) error {
		plan, err := e.Plan(t.Context(), ref, func([]byte) (json.RawMessage, error) { return json.RawMessage(`{"x":1}`), nil }, true)
		if err != nil {
			return err
		}
		res, err := e.Call(t.Context(), plan, tool.CallOptions{})
		if err == nil && string(res.Raw) != `{"ref":"b/b_tool","args":{"x":1}}` {
			t.Errorf("result %s", res.Raw)
		}
		return err
	})
	if !slices.Equal(asked, []string{"b"}) {
		t.Errorf("asked %v, want b", asked)
	}
	w.search("a c", "a/a_tool", "b/b_tool", "c/c_tool")
}

// TestKnown: what a dry run needs is answered without asking anybody.
func TestKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	ref := tool.Ref{Server: "a", Name: "a_tool"}
	known := func(ref tool.Ref) (found bool, problem error) {
		asked := w.with(func(e *Engine) error {
			_, found, problem = e.Known(t.Context(), ref)
			return nil
		})
		if len(asked) > 0 {
			t.Errorf("asked %v", asked)
		}
		return found, problem
	}
	if found, err := known(ref); found || err != nil {
		t.Errorf("on a cold cache: %v, %v", found, err)
	}
	w.search("a", "a/a_tool")
	w.now = w.now.Add(1000 * time.Hour)
	if found, err := known(ref); !found || err != nil {
		t.Errorf("on an old cache: %v, %v", found, err)
	}
	if _, err := known(tool.Ref{Server: "a", Name: "none"}); !fault.Is(err, fault.ToolNotFound) {
		t.Errorf("of no tool: %v", err)
	}
	w.switches.Disabled = []string{"a/a_tool"}
	if _, err := known(ref); !fault.Is(err, fault.ToolNotFound) {
		t.Errorf("of a disabled tool: %v", err)
	}
}

// TestEarly: without a way to servers an engine answers from a fresh index or not at all.
func TestEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	ref := tool.Ref{Server: "a", Name: "a_tool"}
	requests := map[string]func(*Engine) error{
		"search": func(e *Engine) error {
			_, err := e.Search(t.Context(), search.Query{Text: "a"}, nil, false)
			return err
		},
		"inspect": func(e *Engine) error { _, err := e.Inspect(t.Context(), ref); return err },
		"list":    func(e *Engine) error { _, err := e.List(t.Context(), false); return err },
		"resolve": func(e *Engine) error { _, _, err := e.Resolve([]string{"a", "a_tool"}); return err },
		"server":  func(e *Engine) error { return e.CheckServer("a") },
	}
	try := func(name string) error {
		w.early = true
		defer func() { w.early = false }()
		var got error
		w.with(func(e *Engine) error { got = requests[name](e); return nil })
		return got
	}
	for name := range requests {
		if err := try(name); !errors.Is(err, ErrNotFresh) {
			t.Errorf("%s on a cold cache: %v", name, err)
		}
	}
	w.search("a", "a/a_tool")
	for name := range requests {
		if err := try(name); err != nil {
			t.Errorf("%s on a fresh cache: %v", name, err)
		}
	}
	requests["refresh"] = func(e *Engine) error { _, err := e.List(t.Context(), true); return err }
	requests["call"] = func(e *Engine) error { _, err := e.Call(t.Context(), &Plan{Ref: ref}, tool.CallOptions{}); return err }
	for _, name := range []string{"refresh", "call"} {
		if err := try(name); !errors.Is(err, ErrNotFresh) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.now = w.now.Add(1000 * time.Hour)
	if err := try("search"); !errors.Is(err, ErrNotFresh) {
		t.Errorf("search on an old cache: %v", err)
	}
}
