package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/fixture"
	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// noArguments builds the arguments of a call.
func noArguments([]byte) (json.RawMessage, error) { return json.RawMessage(`{}`), nil }

// TestThousandAtOnce: a thousand requests of all sorts use one engine, while servers are listed anew and another
// process replaces the index. Each gets its own answer.
func TestThousandAtOnce(t *testing.T) {
	t.Parallel()
	const servers = 10
	var names []string
	for i := range servers {
		names = append(names, fmt.Sprintf("s%d", i))
	}
	w := newWorld(t, names...)
	w.down["s0"] = fault.New(fault.ServerConnection, "s0 is down", "wait")
	e, other := w.engine(), w.engine()
	requests := []func(server string) error{
		func(server string) error { // the servers have to be listed first
			request := SearchRequest{Query: search.Query{Text: server}, Servers: []string{server}, Definitions: true}
			r, err := e.Search(t.Context(), request)
			if err == nil && (len(r.Found) != 1 || r.Found[0].Definition.Name != server+"_tool") {
				return fmt.Errorf("found %+v", r.Found)
			}
			return err
		},
		func(server string) error {
			ref, _, err := e.Resolve([]string{server + "." + server + "_tool"}, tool.Tool)
			if err != nil {
				return err
			}
			p, err := e.Plan(t.Context(), ref, noArguments, true)
			if err != nil {
				return err
			}
			res, err := e.Call(t.Context(), p, tool.CallOptions{})
			if want := fmt.Sprintf(`{"ref":"%[1]s/%[1]s_tool","args":{}}`, server); err == nil && string(res.Raw) != want {
				return fmt.Errorf("result %s", res.Raw)
			}
			return err
		},
		func(server string) error {
			def, _, err := e.Inspect(t.Context(), tool.Ref{Server: server, Name: server + "_tool"})
			if err == nil && def.Name != server+"_tool" {
				return fmt.Errorf("inspected %s", def.Name)
			}
			return err
		},
		func(server string) error { // of a server that is down all get the same fault, which each may complete
			_, _, err := e.Inspect(t.Context(), tool.Ref{Server: "s0", Name: "any"})
			if f := fault.From(err); f == nil || f.Message != "s0 is down" || f.Tool != "" {
				return fmt.Errorf("of a server that is down: %w", err)
			} else {
				f.On(server, "mine")
			}
			return nil
		},
		func(string) error {
			list, err := e.List(t.Context(), false)
			if err == nil && len(list.Servers) != servers {
				return fmt.Errorf("listed %d", len(list.Servers))
			}
			return err
		},
	}
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			if err := requests[i%len(requests)](names[1+i%(servers-1)]); err != nil {
				t.Errorf("request %d: %v", i, err)
			}
		})
		if i%100 != 0 {
			continue
		}
		wg.Go(func() {
			if _, err := e.ListServer(t.Context(), "s1", true); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if err := other.Catalog().Read(t.Context(), catalog.Need{List: catalog.ListAll}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(e.Close(), other.Close()); err != nil {
		t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opened != 2 || w.closed != 2 {
		t.Errorf("%d callers opened, %d closed", w.opened, w.closed)
	}
}

// TestChanged: what the caller says of changes reaches the catalog, which lists the server on the same caller.
func TestChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.search("a", "a/a_tool")
	asked := w.with(func(e *Engine) error {
		p, err := e.Plan(t.Context(), tool.Ref{Server: "a", Name: "a_tool"}, noArguments, true)
		if err != nil {
			return err
		}
		if _, err := e.Call(t.Context(), p, tool.CallOptions{}); err != nil {
			return err
		}
		w.servers["a"] = fixture.Listing(t, "a_new")
		w.changed("a")
		return e.Catalog().Settle(t.Context())
	})
	if !slices.Equal(asked, []string{"a"}) || w.opened != 2 {
		t.Errorf("asked %v on %d callers", asked, w.opened)
	}
	w.search("", "a/a_new")
}

// TestWarm: an engine without a way to servers makes calls on the caller that it is given for that.
func TestWarm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.search("a", "a/a_tool")
	opened := 0
	opt := w.options()
	opt.NewCaller = nil
	opt.Warm = func(sources *config.Sources) Caller {
		if opened++; !strings.HasSuffix(sources.Configs[0].Path, ".mcp.json") {
			t.Errorf("opened for %+v", sources)
		}
		return w
	}
	e := New(opt)
	for range 2 {
		if _, err := e.Call(t.Context(), &Plan{Ref: tool.Ref{Server: "a", Name: "a_tool"}}, tool.CallOptions{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := e.List(t.Context(), true); !errors.Is(err, ErrNotFresh) || opened != 1 {
		t.Errorf("refresh: %v, %d callers opened", err, opened)
	}
	w.closed = 0
	if err := e.Close(); err != nil || w.closed != 1 {
		t.Errorf("close: %v, %d callers closed", err, w.closed)
	}
	if _, err := e.Call(t.Context(), &Plan{}, tool.CallOptions{}); err == nil {
		t.Error("a closed engine makes a call")
	}
	if _, err := e.callers.get(func() Caller { t.Error("a closed engine opens a caller"); return w }); err == nil {
		t.Error("a closed engine has a caller")
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "good", "bad", "off")
	w.configure("good", "bad", "off", `unset: {"command": "${NONE}"}`, `odd: {"args": 1}`)
	w.down["bad"] = fault.New(fault.ServerConnection, "bad is down", "wait")
	w.switches.Disabled = []string{"off"}
	for name, test := range map[string]struct {
		names []string
		want  string
	}{
		"all":   {nil, "good, bad ServerConnectionError, off off, unset MissingVariableError, odd ConfigError"},
		"some":  {[]string{"odd", "good"}, "odd ConfigError, good"},
		"wrong": {[]string{"none"}, ""},
	} {
		w.with(func(e *Engine) error {
			probes, err := e.Probe(t.Context(), test.names)
			if test.want == "" && !fault.Is(err, fault.ServerNotFound) || test.want != "" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			var got []string
			for _, p := range probes {
				text := p.Server.Name
				if p.Failure != nil {
					text += " " + string(p.Failure.Type)
				}
				if p.Off {
					text += " off"
				}
				got = append(got, text)
			}
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("%s: got %q, want %q", name, got, test.want)
			}
			return nil
		})
	}
}
