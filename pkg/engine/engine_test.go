package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/internal/fixture"
	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
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
	settings config.Settings
	switches state.Tools
	early    bool // without a way to live servers

	mu      sync.Mutex
	servers map[string]tool.Listing
	down    map[string]error
	asked   []string
	notices []string
	called  tool.CallOptions // of the last call
	opened  int              // callers
	closed  int              // callers
	changed func(string)     // tells the last engine that a server offers something else
}

func newWorld(t *testing.T, servers ...string) *world {
	w := &world{t: t, dir: t.TempDir(), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		settings: config.Settings{TTL: 24 * time.Hour, Grace: time.Hour, Limit: 5},
		servers:  map[string]tool.Listing{}, down: map[string]error{}}
	for _, name := range servers {
		w.servers[name] = fixture.Listing(t, name+"_tool")
	}
	w.configure(servers...)
	return w
}

// configure writes a configuration.
func (w *world) configure(entries ...string) { w.write(".mcp.json", fixture.Configuration(entries...)) }

// write replaces a file; its time is the world's and moves on, as it does between two edits.
func (w *world) write(name, content string) {
	w.t.Helper()
	w.now = w.now.Add(time.Second)
	fixture.Write(w.t, w.dir, name, content, w.now)
}

// Tools implements [Caller].
func (w *world) List(ctx context.Context, server string, opt tool.CallOptions) (tool.Listing, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil && w.down[server] == nil {
		return tool.Listing{}, err
	}
	w.asked = append(w.asked, server)
	return w.servers[server], w.down[server]
}

// Call implements [Caller].
func (w *world) Call(
	_ context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions) (*tool.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.called = opt
	if ref.Kind != tool.Tool {
		return &tool.Result{Raw: json.RawMessage(fmt.Sprintf(`{"kind":%q,"name":%q,"args":%q}`, ref.Kind, ref.Name, args))}, nil
	}
	return &tool.Result{Raw: json.RawMessage(fmt.Sprintf(`{"ref":%q,"args":%s}`, ref, args))}, nil
}

// Close implements [Caller].
func (w *world) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed++
	return nil
}

func (w *world) Request(context.Context, string, string, json.RawMessage, tool.CallOptions) (json.RawMessage, error) {
	return nil, nil
}

func (w *world) Watch(context.Context, string, tool.CallOptions, func(tool.Event)) (func(), error) {
	return func() {}, nil
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

// options are those of a new engine.
func (w *world) options() Options {
	return Options{Switches: state.All{w.switches}, Catalog: catalog.Options{
		Env: config.Env{Dir: w.dir, Home: w.dir, GOOS: "linux", Lookup: func(string) (string, bool) { return "", false },
			Approver: fixture.Approver{}},
		Settings: w.settings, Events: w, Now: func() time.Time { return w.now },
	}, NewCaller: func(_ *config.Config, changed func(string)) Caller {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changed = changed
		w.opened++
		return w
	}}
}

// engine returns a new engine, as a new process has one.
func (w *world) engine() *Engine {
	opt := w.options()
	if w.early {
		opt.NewCaller = nil
	}
	return New(opt)
}

// with runs f on a new engine and returns the servers that it asked, sorted.
func (w *world) with(f func(*Engine) error) []string {
	w.t.Helper()
	w.asked, w.notices = nil, nil
	e := w.engine()
	if err := f(e); err != nil {
		w.t.Error(err)
	}
	if err := e.Catalog().Settle(w.t.Context()); err != nil {
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
		result, err := e.Search(w.t.Context(), SearchRequest{Query: search.Query{Text: ".", Method: search.Regex}})
		if err != nil {
			return err
		}
		for _, f := range result.Found {
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
			if _, _, err := e.Inspect(t.Context(), bad); !fault.Is(err, fault.ServerConnection) {
				t.Errorf("inspect: %v", err)
			}
			return nil
		})
		if !slices.Equal(asked, []string{"bad"}) {
			t.Errorf("asked %v, want bad", asked)
		}
	}
	// A server with tools of an earlier listing is not asked again: they can be read and called, and are marked stale.
	delete(w.down, "bad")
	list := func(e *Engine) error { _, err := e.List(t.Context(), true); return err }
	w.with(list)
	w.down["bad"] = down
	w.with(list)
	w.search("", "bad/bad_tool stale", "good/good_tool")
	if asked := w.with(func(e *Engine) error { _, _, err := e.Inspect(t.Context(), bad); return err }); len(asked) > 0 {
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
			_, err := e.Search(t.Context(), SearchRequest{Query: search.Query{Text: "a"}})
			return err
		},
		"inspect": func(e *Engine) error { _, _, err := e.Inspect(t.Context(), ref); return err },
		"list":    func(e *Engine) error { _, err := e.List(t.Context(), false); return err },
		"resolve": func(e *Engine) error { _, _, err := e.Resolve([]string{"a", "a_tool"}, tool.Tool); return err },
		"server":  func(e *Engine) error { return e.CheckServers([]string{"a"}) },
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

func TestProgress(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		count   int
		waiting []string
		want    string
	}{
		{1, []string{"a"}, "trying a"},
		{3, []string{"a", "b"}, "trying 3 servers: 1 answered, waiting for a, b"},
	} {
		if got := progress(test.count, test.waiting); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
