package catalog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// cache returns the folder of the world's one index.
func (w *world) cache() string {
	w.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(w.dir, ".cache", "mcpl", "*"))
	if err != nil || len(dirs) != 1 {
		w.t.Fatalf("cache folders %v, %v", dirs, err)
	}
	return dirs[0]
}

// definition reads the definition of a tool.
func definition(v *View, server, name string) (tool.Def, error) {
	rec, ok, err := v.Find(tool.Ref{Server: server, Name: name})
	if err != nil || !ok {
		return tool.Def{}, fmt.Errorf("find: %v, %w", ok, err)
	}
	return v.Definition(rec)
}

// TestDamage: whatever happens to the cache, the answer is right, after at most a notice.
func TestDamage(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"search.idx", "tool_index.json", "index_metadata.json"} {
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
				w.read("a b", "a/a_tool", "b/b_tool")
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
					w.with(func(c *Catalog) error { return readAll(t.Context(), c) })
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

// readAll reads every part of the index of the servers a and b.
func readAll(ctx context.Context, c *Catalog) error {
	return c.Read(ctx, Need{}, func(v *View) error {
		hits, err := v.Search(search.Query{Text: "tool"}, tool.Tool)
		if err != nil || len(hits) != 2 {
			return fmt.Errorf("search: %d hits, %w", len(hits), err)
		}
		def, err := definition(v, "b", "b_tool")
		if err != nil || def.Description != "Does b_tool" {
			return fmt.Errorf("definition: %+v, %w", def, err)
		}
		got, err := tools(v)
		if err != nil || strings.Join(got, " ") != "a/a_tool b/b_tool" {
			return fmt.Errorf("tools: %q, %w", got, err)
		}
		return nil
	})
}

// TestDamageOfDefinitions: bytes that change without the file's size and time are noticed when
// they are read.
func TestDamageOfDefinitions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.read("a", "a/a_tool")
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
	asked := w.with(func(c *Catalog) error {
		return c.Read(t.Context(), Need{}, func(v *View) error {
			def, err := definition(v, "a", "a_tool")
			if err == nil && def.Name != "a_tool" {
				t.Errorf("got %+v", def)
			}
			return err
		})
	})
	if asked != "a" || len(w.notices) == 0 {
		t.Errorf("asked %q, notices %q", asked, w.notices)
	}
}

// TestDamageForEver: what cannot be mended is an error in the end.
func TestDamageForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	reads := 0
	w.with(func(c *Catalog) error {
		err := c.Read(t.Context(), Need{}, func(*View) error { reads++; return fmt.Errorf("again: %w", index.ErrDamaged) })
		if err == nil || reads != maxReads {
			t.Errorf("after %d reads: %v", reads, err)
		}
		return nil
	})
}

// TestNoCache: if nothing can be kept the answer is still given, with one notice.
func TestNoCache(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a", "b")
	if err := os.WriteFile(filepath.Join(w.dir, ".cache"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.read("a b", "a/a_tool", "b/b_tool")
		if len(w.notices) != 1 || !strings.Contains(w.notices[0], "cannot be kept") {
			t.Errorf("notices: %q", w.notices)
		}
	}
	// One process keeps it in memory.
	asked := w.with(func(c *Catalog) error {
		for _, servers := range [][]string{{"a"}, {"b"}, {"a"}, nil} {
			if err := c.Read(t.Context(), Need{Servers: servers}, nil); err != nil {
				return err
			}
			w.pass(time.Minute)
		}
		err := c.Read(t.Context(), Need{Servers: []string{"a"}, List: ListChanged}, nil)
		if err == nil {
			t.Error("what changed was listed, though it cannot be kept")
		}
		return readAll(t.Context(), c)
	})
	if asked != "a b" {
		t.Errorf("asked %q", asked)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	unlock := w.lock()
	for _, need := range []Need{{}, {Servers: []string{"a"}, List: ListChanged}} {
		w.with(func(c *Catalog) error { // while it waits for another writer
			if err := c.Read(ctx, need, nil); !fault.Is(err, fault.Interrupted) {
				t.Errorf("got %v", err)
			}
			return nil
		})
	}
	unlock()
	w.hold["a"] = true
	w.with(func(c *Catalog) error { // while it waits for a server
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-w.held
			cancel(context.DeadlineExceeded)
		}()
		err := c.Read(ctx, Need{}, nil)
		if f := fault.From(err); f == nil || f.Type != fault.Interrupted || f.Traceback == "" {
			t.Errorf("got %+v", f)
		}
		return nil
	})
	delete(w.hold, "a")
	w.read("a", "a/a_tool") // nothing of it was kept
}

// TestKnownServer: how a server was reached is remembered until its entry changes.
func TestKnownServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "books", "plain")
	want := tool.Known{Protocol: "2025-06-18", Transport: "stdio"}
	l := w.servers["books"]
	l.Known = want
	w.servers["books"] = l
	list := func() tool.Known {
		w.known = tool.Known{Protocol: "unasked"}
		w.with(func(c *Catalog) error {
			return c.Read(t.Context(), Need{Servers: []string{"books"}, List: ListAll}, nil)
		})
		return w.known
	}
	if got := list(); got != (tool.Known{}) {
		t.Errorf("at first %+v is known", got)
	}
	if got := list(); got != want {
		t.Errorf("then %+v is known", got)
	}
	w.configure(`books: {"command": "other"}`, "plain")
	if got := list(); got != (tool.Known{}) {
		t.Errorf("of another entry %+v is known", got)
	}
}

// TestWarnings: what is wrong with the configuration is kept with the index.
func TestWarnings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a")
	w.configure("a", `odd: {"args": []}`)
	for range 2 {
		w.with(func(c *Catalog) error {
			return c.Read(t.Context(), Need{}, func(v *View) error {
				if warnings := v.Warnings(); len(warnings) != 1 || !strings.Contains(warnings[0], ".mcp.json:2") {
					t.Errorf("warnings: %q", warnings)
				}
				return nil
			})
		})
	}
}
