package engine

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/fixture"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// TestSwitches: what is off is found nowhere and not asked.
func TestSwitches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b", "c")
	w.servers["a"] = fixture.Listing(t, "a_one", "a_two")
	w.switches.Disabled = []string{"b", "a/a_one"}
	w.search("a c", "a/a_two", "c/c_tool")
	w.switches.Disabled = nil
	w.search("b", "a/a_one", "a/a_two", "b/b_tool", "c/c_tool")
	w.switches.Enabled = []string{"a/a_one", "c"}
	w.search("", "a/a_one", "c/c_tool")
	w.with(func(e *Engine) error {
		list, err := e.List(t.Context(), true)
		if err != nil {
			return err
		}
		s := list.Servers
		if on := []int{s[0].On, s[1].On, s[2].On}; !slices.Equal(on, []int{1, 0, 1}) || !s[1].Disabled {
			t.Errorf("on: %v", on)
		}
		one, err := e.ListServer(t.Context(), "a", false)
		if err == nil && (len(one.Tools) != 1 || one.Tools[0].Name != "a_one") {
			t.Errorf("tools of a: %+v", one.Tools)
		}
		return err
	})
	if slices.Sort(w.asked); strings.Join(w.asked, " ") != "a c" {
		t.Errorf("a refresh asked %v", w.asked)
	}
	// A tool that is off does not start its server either.
	w.configure("a", "b", `c: {"command": "changed"}`)
	w.switches.Enabled, w.switches.Disabled = nil, []string{"c/c_tool"}
	asked := w.with(func(e *Engine) error {
		if _, _, err := e.Inspect(t.Context(), tool.Ref{Server: "c", Name: "c_tool"}); !fault.Is(err, fault.ToolNotFound) {
			t.Errorf("got %v", err)
		}
		return nil
	})
	if len(asked) > 0 {
		t.Errorf("asked %v for a tool that is off", asked)
	}
}

func TestFiltersAndLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	w.down["b"] = fault.New(fault.ServerConnection, "b is down", "wait").On("b", "")
	asked := w.with(func(e *Engine) error {
		found, err := e.Search(t.Context(), SearchRequest{Query: search.Query{Text: "tool"}, Servers: []string{"a"}})
		if err == nil && (len(found.Found) != 1 || found.Found[0].Server != "a" || found.Unsearched != nil) {
			t.Errorf("found %+v", found)
		}
		return err
	})
	if !slices.Equal(asked, []string{"a"}) {
		t.Errorf("a filter asked %v", asked)
	}
	w.with(func(e *Engine) error {
		all := SearchRequest{Query: search.Query{Text: "tool"}}
		some, wrong := all, all
		some.Servers, wrong.Text, wrong.Method = []string{"x"}, "(", search.Regex
		if _, err := e.Search(t.Context(), some); !fault.Is(err, fault.ServerNotFound) {
			t.Errorf("unknown server: %v", err)
		}
		if _, err := e.ListServer(t.Context(), "x", false); !fault.Is(err, fault.ServerNotFound) {
			t.Errorf("unknown server: %v", err)
		}
		if _, err := e.ListServer(t.Context(), "b", false); !fault.Is(err, fault.ServerConnection) {
			t.Errorf("server that is down: %v", err)
		}
		found, err := e.Search(t.Context(), all)
		if err != nil || len(found.Unsearched) != 1 || found.Unsearched[0].Server != "b" {
			t.Errorf("failed: %+v, %v", found, err)
		}
		var syntax *search.SyntaxError
		if _, err := e.Search(t.Context(), wrong); !errors.As(err, &syntax) {
			t.Errorf("bad pattern: %v", err)
		}
		return nil
	})
	// Warnings of the configuration are kept with the index.
	w.configure("a", `odd: {"args": []}`)
	for range 2 {
		w.with(func(e *Engine) error {
			list, err := e.List(t.Context(), false)
			if err != nil {
				return err
			}
			if warnings := list.Warnings; len(warnings) != 1 || !strings.Contains(warnings[0], ".mcp.json:2") {
				t.Errorf("warnings: %q", warnings)
			}
			return err
		})
	}
	// No configuration is a fault that says where it was looked for.
	if err := os.Remove(filepath.Join(w.dir, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	w.with(func(e *Engine) error {
		if _, err := e.List(t.Context(), false); !fault.Is(err, fault.Config) {
			t.Errorf("got %v", err)
		}
		return nil
	})
}

// TestUse33SearchNamesWhatItLeftOut: a search names every server that was to be searched and was not, with the reason,
// also if others have hits, if the entry cannot be used, and if a whole file is wrong.
func TestUse33SearchNamesWhatItLeftOut(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		configuration string
		servers       []string
		want          []string // the servers, or what the message ends with
	}{
		"a server that is down":  {`{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}}}`, nil, []string{"b"}},
		"an entry that is wrong": {`{"mcpServers":{"a":{"command":"a"},"c":{"comand":"npx"}}}`, nil, []string{"c"}},
		"a file that is wrong":   {`{"mcpServer":{"a":{"command":"a"}}}`, nil, []string{`the file has no "mcpServers"`}},
		"others were asked for":  {`{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"},"c":{}}}`, []string{"a"}, nil},
		"one that is off":        {`{"mcpServers":{"a":{"command":"a"},"b":{"command":"b","disabled":true}}}`, nil, nil},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "a", "b")
			w.down["b"] = fault.New(fault.ServerConnection, "it is down", "wait")
			w.write(".mcp.json", tc.configuration)
			w.with(func(e *Engine) error {
				found, err := e.Search(t.Context(), SearchRequest{Query: search.Query{Text: "tool"}, Servers: tc.servers})
				if err != nil {
					return err
				}
				var got []string
				for _, f := range found.Unsearched {
					_, message, _ := strings.Cut(f.Message, ":1: ")
					got = append(got, cmp.Or(f.Server, message))
				}
				if !slices.Equal(got, tc.want) {
					t.Errorf("left out are %q, want %q", got, tc.want)
				}
				return nil
			})
		})
	}
}
