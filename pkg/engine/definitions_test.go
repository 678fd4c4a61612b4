package engine

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// settle waits until nothing in a folder has changed for so long that its files are remembered.
func settle(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		mcptest.Wait(t, path+" to settle", func() bool {
			state, err := atomicfile.StampOf(path)
			return err == nil && state.Settled()
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bank) plan(e *Engine) *Plan {
	b.t.Helper()
	p, err := e.Plan(b.t.Context(), payRef, func([]byte) (json.RawMessage, error) { return json.RawMessage("{}"), nil }, true)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// TestDefinitionsAreRemembered: the definition of a call is read once, and that of another index, which another process
// has written, holds for the very next call.
func TestDefinitionsAreRemembered(t *testing.T) {
	t.Parallel()
	b := newBank(t, config.WarnPins)
	b.refresh(pays)
	settle(t, b.dir)
	b.use(func(e *Engine) {
		first := b.plan(e)
		narrowed := b.plan(e.Narrowed(Narrowing{}))
		if again := b.plan(e); again.definition != first.definition || narrowed.definition != first.definition {
			t.Error("a definition that has not changed was read again")
		}
		hidden := e.Narrowed(Narrowing{Shows: func(_, name string) bool { return name != "pay" }})
		if _, _, err := hidden.Inspect(t.Context(), payRef); !fault.Is(err, fault.ToolNotFound) {
			t.Errorf("a remembered tool that is not shown: %v", err)
		}
		other := newOther(b)
		other.refresh(otherwise)
		if got := b.plan(e).definition.Description; got != "Pays otherwise." {
			t.Errorf("after another process has written the index: %q", got)
		}
		settle(t, b.dir)
		b.plan(e)
		const reads = `{"name":"pay","description":"Pays.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
		other.refresh(reads)
		if p := b.plan(e); !is(p.Hints.ReadOnly) {
			t.Error("the annotations of a new definition do not count")
		}
		other.refresh(`{"name":"other","inputSchema":{"type":"object"}}`)
		if _, _, err := e.Inspect(t.Context(), payRef); !fault.Is(err, fault.ToolNotFound) {
			t.Errorf("a tool that is gone: %v", err)
		}
	})
}

// newOther returns the same bank as another process has it.
func newOther(b *bank) *bank {
	w := &world{t: b.t, dir: b.dir, now: b.now, settings: b.settings, servers: map[string]tool.Listing{},
		down: map[string]error{}}
	return &bank{world: w}
}

// TestRememberedPins: a change that another process has pinned is held for the very next call of an engine that has
// remembered that there was none, and is not held any more once a person has seen it.
func TestRememberedPins(t *testing.T) {
	t.Parallel()
	b := newBank(t, config.HoldPins)
	b.refresh(pays)
	settle(t, b.dir)
	b.use(func(e *Engine) {
		call := func() error {
			t.Helper()
			_, err := e.Call(t.Context(), b.plan(e), tool.CallOptions{})
			return err
		}
		if err := errors.Join(call(), call()); err != nil {
			t.Fatal(err)
		}
		other := newOther(b)
		other.refresh(destroys)
		if err := call(); !fault.Is(err, fault.ApprovalRequired) {
			t.Fatalf("of what is held: %v", err)
		}
		settle(t, b.dir)
		if err := call(); !fault.Is(err, fault.ApprovalRequired) {
			t.Fatalf("of what is held, as it is remembered: %v", err)
		}
		other.use(func(e *Engine) {
			if seen, err := e.See(t.Context(), "bank", func(pin.Change) bool { return true }); err != nil || seen != 1 {
				t.Fatal(seen, err)
			}
			if _, err := e.List(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		})
		b.has = destroys
		if err := call(); err != nil {
			t.Errorf("after it was seen: %v", err)
		}
	})
}
