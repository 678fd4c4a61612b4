package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// cache returns the files of the world's one index.
func (w *world) cache() string {
	w.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(w.dir, ".cache", "mcpl", "*"))
	if err != nil || len(dirs) != 1 {
		w.t.Fatalf("cache folders %v, %v", dirs, err)
	}
	return dirs[0]
}

// TestDamage: whatever happens to the cache, the answer is right, after at most a notice.
func TestDamage(t *testing.T) {
	t.Parallel()
	files := []string{"search.idx", "tool_index.json", "index_metadata.json"}
	for _, file := range files {
		for name, damage := range map[string]func([]byte) []byte{
			"gone":      func([]byte) []byte { return nil },
			"empty":     func([]byte) []byte { return []byte{} },
			"half":      func(b []byte) []byte { return b[:len(b)/2] },
			"cut":       func(b []byte) []byte { return b[:len(b)-1] },
			"foreign":   func([]byte) []byte { return []byte(`{"version":1,"hello":"world"}`) },
			"future":    func(b []byte) []byte { return []byte(strings.Replace(string(b), `"version":1`, `"version":99`, 1)) },
			"future 2":  func(b []byte) []byte { return []byte(strings.Replace(string(b), `"version": 1`, `"version": 99`, 1)) },
			"noise":     func(b []byte) []byte { return slices.Repeat([]byte{0xa5, 0, 255}, len(b)) },
			"early bit": func(b []byte) []byte { b[min(40, len(b)-1)] ^= 1; return b },
			"late bit":  func(b []byte) []byte { b[len(b)-9] ^= 1; return b },
			"middle":    func(b []byte) []byte { b[len(b)/2] ^= 0x10; return b },
			"longer":    func(b []byte) []byte { return append(b, b...) },
		} {
			t.Run(file+" "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "a", "b")
				w.search("a b", "a/a_tool", "b/b_tool")
				path := filepath.Join(w.cache(), file)
				old, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if now := damage(slices.Clone(old)); now == nil {
					err = os.Remove(path)
				} else {
					err = os.WriteFile(path, now, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				for range 2 { // and the second time nothing is left of it
					w.with(func(e *Engine) error {
						found, err := e.Search(t.Context(), search.Query{Text: "tool"}, nil, false)
						if err != nil || len(found) != 2 {
							t.Errorf("search: %d hits, %v", len(found), err)
						}
						def, err := e.Inspect(t.Context(), tool.Ref{Server: "b", Name: "b_tool"})
						if err != nil || def.Description != "Does b_tool" {
							t.Errorf("inspect: %+v, %v", def, err)
						}
						list, err := e.List(t.Context(), false)
						if err != nil || len(list) != 2 || list[0].Tools != 1 {
							t.Errorf("list: %+v, %v", list, err)
						}
						return nil
					})
					if len(w.notices) > 1 {
						t.Errorf("notices: %q", w.notices)
					}
				}
				if len(w.notices) > 0 {
					t.Errorf("still a notice: %q", w.notices)
				}
			})
		}
	}
}

// TestDamageOfDefinitions: bytes that change without the file's size and time are noticed when
// they are read.
func TestDamageOfDefinitions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.search("a", "a/a_tool")
	path := filepath.Join(w.cache(), "tool_index.json")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), "a_tool", "x_tool", 1))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	asked := w.with(func(e *Engine) error {
		def, err := e.Inspect(t.Context(), tool.Ref{Server: "a", Name: "a_tool"})
		if err == nil && def.Name != "a_tool" {
			t.Errorf("got %+v", def)
		}
		return err
	})
	if !slices.Equal(asked, []string{"a"}) {
		t.Errorf("asked %v, want a", asked)
	}
}

// TestNoCache: where nothing can be kept the answer is still given, with one notice.
func TestNoCache(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	if err := os.WriteFile(filepath.Join(w.dir, ".cache"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.search("a", "a/a_tool")
		if len(w.notices) != 1 || !strings.Contains(w.notices[0], "cannot be kept") {
			t.Errorf("notices: %q", w.notices)
		}
	}
	w.with(func(e *Engine) error {
		_, err := e.Inspect(t.Context(), tool.Ref{Server: "a", Name: "a_tool"})
		return err
	})
}

// TestAtOnce: twenty requests on a cold cache ask each server once, and all get the answer.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b", "c")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			e := w.engine()
			found, err := e.Search(t.Context(), search.Query{Text: "tool"}, nil, false)
			if err != nil || len(found) != 3 {
				t.Errorf("%d hits, %v", len(found), err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if slices.Sort(w.asked); strings.Join(w.asked, " ") != "a b c" {
		t.Errorf("asked %v", w.asked)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.down["a"] = context.Canceled
	w.with(func(e *Engine) error {
		if _, err := e.List(ctx, false); !fault.Is(err, fault.Interrupted) {
			t.Errorf("got %v", err)
		}
		return nil
	})
	// Also while it waits for another writer.
	delete(w.down, "a")
	e := w.engine()
	if err := e.locate(); err != nil {
		t.Fatal(err)
	}
	unlock, err := e.store.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.with(func(e *Engine) error {
		if _, err := e.List(ctx, false); !fault.Is(err, fault.Interrupted) {
			t.Errorf("got %v", err)
		}
		return nil
	})
	unlock()
	// Nothing of it was recorded.
	w.search("a", "a/a_tool")
}

// TestSwitches: what is off is found nowhere and not asked.
func TestSwitches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b", "c")
	w.servers["a"] = listing(t, "a_one", "a_two")
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
		if on := []int{list[0].On, list[1].On, list[2].On}; !slices.Equal(on, []int{1, 0, 1}) || !list[1].Disabled {
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
		if _, err := e.Inspect(t.Context(), tool.Ref{Server: "c", Name: "c_tool"}); !fault.Is(err, fault.ToolNotFound) {
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
		found, err := e.Search(t.Context(), search.Query{Text: "tool"}, []string{"a"}, false)
		if err == nil && (len(found) != 1 || found[0].Server != "a") {
			t.Errorf("found %+v", found)
		}
		return err
	})
	if !slices.Equal(asked, []string{"a"}) {
		t.Errorf("a filter asked %v", asked)
	}
	w.with(func(e *Engine) error {
		if e.FailedServers() != nil || e.Warnings() != nil {
			t.Error("something is known before anything was read")
		}
		if _, err := e.Search(t.Context(), search.Query{Text: "tool"}, []string{"x"}, false); !fault.Is(err, fault.ServerNotFound) {
			t.Errorf("unknown server: %v", err)
		}
		if _, err := e.ListServer(t.Context(), "x", false); !fault.Is(err, fault.ServerNotFound) {
			t.Errorf("unknown server: %v", err)
		}
		if _, err := e.ListServer(t.Context(), "b", false); !fault.Is(err, fault.ServerConnection) {
			t.Errorf("server that is down: %v", err)
		}
		if failed := e.FailedServers(); !slices.Equal(failed, []string{"b"}) {
			t.Errorf("failed: %v", failed)
		}
		var syntax *search.SyntaxError
		if _, err := e.Search(t.Context(), search.Query{Text: "(", Method: search.Regex}, nil, false); !errors.As(err, &syntax) {
			t.Errorf("bad pattern: %v", err)
		}
		dir, err := e.CacheFolder()
		if err == nil && dir != w.cache() {
			t.Errorf("cache folder %s", dir)
		}
		return err
	})
	// Warnings of the configuration are kept with the index.
	w.configure("a", `odd: {"args": []}`)
	for range 2 {
		w.with(func(e *Engine) error {
			_, err := e.List(t.Context(), false)
			if warnings := e.Warnings(); len(warnings) != 1 || !strings.Contains(warnings[0], ".mcp.json:2") {
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
