package engine

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/internal/fixture"
	"github.com/mcp-launchpad/mcpl/pkg/canonical"
	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// The definitions of the tool pay.
const (
	pays      = `{"name":"pay","description":"Pays.","inputSchema":{"type":"object"}}`
	otherwise = `{"name":"pay","description":"Pays otherwise.","inputSchema":{"type":"object"}}`
	destroys  = `{"name":"pay","description":"Pays.","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}`
)

// bank is a world with pins and a server, which refuses calls that were checked with another definition than it has, as
// pkg/conn does.
type bank struct {
	*world
	has   string // the definition in its connection
	calls int
}

func newBank(t *testing.T, mode config.Pins) *bank {
	t.Helper()
	b := &bank{world: newWorld(t, "bank")}
	b.settings.Pins = mode
	b.offer(pays)
	return b
}

// offer replaces what the server offers.
func (b *bank) offer(definitions ...string) {
	b.t.Helper()
	b.has = definitions[0]
	b.servers["bank"] = fixture.Tools(b.t, definitions...)
}

// Call implements [Caller].
func (b *bank) Call(
	ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions) (*tool.Result, error) {
	hash, err := canonical.Hash([]byte(b.has))
	if err != nil {
		return nil, err
	}
	if opt.Pin != "" && opt.Pin != hash {
		f := fault.New(fault.ApprovalRequired, "another definition", "").On("bank", "pay")
		f.Approval, f.Result = &fault.Approval{Kind: fault.PinApproval}, json.RawMessage(b.has)
		return nil, f
	}
	b.calls++
	return b.world.Call(ctx, ref, args, opt)
}

// use runs f on a new engine.
func (b *bank) use(f func(*Engine)) {
	b.t.Helper()
	b.calls = 0
	opt := b.options()
	none := func(context.Context, string, string, string) error { return nil }
	opt.Catalog.Pins = catalog.Pins{Store: b.store(), Inherit: none}
	opt.NewCaller = func(*config.Config, func(string)) Caller { return b }
	e := New(opt)
	f(e)
	if err := e.Close(); err != nil {
		b.t.Error(err)
	}
}

func (b *bank) store() pin.Store { return pin.StoreIn(filepath.Join(b.dir, "state")) }

// refresh lists the server, with its definition.
func (b *bank) refresh(definitions ...string) {
	b.t.Helper()
	b.offer(definitions...)
	b.use(func(e *Engine) {
		if _, err := e.List(b.t.Context(), true); err != nil {
			b.t.Fatal(err)
		}
	})
}

// call plans and makes a call of pay, and returns what it is said to have changed.
func (b *bank) call() (kinds []string, err error) {
	b.t.Helper()
	b.use(func(e *Engine) {
		build := func([]byte) (json.RawMessage, error) { return json.RawMessage("{}"), nil }
		var p *Plan
		if p, err = e.Plan(b.t.Context(), payRef, build, true); err == nil {
			p.Changed = func(c pin.Change) { kinds = c.Kinds }
			_, err = e.Call(b.t.Context(), p, tool.CallOptions{})
		}
		if late := e.Catalog().Settle(b.t.Context()); late != nil {
			b.t.Error(late)
		}
	})
	return kinds, err
}

func aboutPaying() SearchRequest { return SearchRequest{Query: search.Query{Text: "pays"}} }

// held wants the fault of a call that was not made.
func (b *bank) held(err error, diff ...string) {
	b.t.Helper()
	f := fault.From(err)
	if f == nil || f.Type != fault.ApprovalRequired || f.Approval == nil || f.Approval.Kind != "pin" ||
		f.Approval.Tool != "bank/pay" || !slices.Equal(f.Diff, diff) || len(f.Next) != 2 || b.calls > 0 {
		b.t.Errorf("%+v after %d calls, want %q", f, b.calls, diff)
	}
}

func TestF6HeldCallReachesNoServer(t *testing.T) {
	t.Parallel()
	const words, loose = `- description: "Pays."`, "+ annotations.destructiveHint: true"
	for _, tt := range []struct {
		name  string
		mode  config.Pins
		after string
		diff  []string // of a call that is held
		kinds []string // of one that is made
	}{
		{"looser under warn", config.WarnPins, destroys, []string{loose}, nil},
		{"words under warn", config.WarnPins, otherwise, nil, []string{"words"}},
		{"words under hold", config.HoldPins, otherwise, []string{words, `+ description: "Pays otherwise."`}, nil},
		{"off", config.NoPins, destroys, nil, nil},
		{"the same", config.HoldPins, pays, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			listed, warm := newBank(t, tt.mode), newBank(t, tt.mode)
			listed.refresh(pays)
			listed.refresh(tt.after)
			warm.refresh(pays)
			warm.has = tt.after // in its connection, and not in the index
			for _, b := range []*bank{listed, warm} {
				kinds, err := b.call()
				if tt.diff != nil {
					b.held(err, tt.diff...)
					continue
				}
				if err != nil || b.calls != 1 || !slices.Equal(kinds, tt.kinds) {
					t.Errorf("%v after %d calls, changed %v", err, b.calls, kinds)
				}
			}
		})
	}
}

// TestChangeOfACallIsInTheIndex: what a call has met is said by the next search, though no one has listed the server.
func TestChangeOfACallIsInTheIndex(t *testing.T) {
	t.Parallel()
	b := newBank(t, config.HoldPins)
	b.refresh(pays)
	b.offer(otherwise)
	if _, err := b.call(); !fault.Is(err, fault.ApprovalRequired) {
		t.Fatal(err)
	}
	b.use(func(e *Engine) {
		found, err := e.Search(t.Context(), aboutPaying())
		if err != nil || len(found.Found) != 1 || found.Found[0].Changed == nil {
			t.Errorf("search: %+v, %v", found, err)
		}
		if _, change, err := e.Inspect(t.Context(), payRef); change == nil || err != nil {
			t.Errorf("inspect: %+v, %v", change, err)
		}
	})
}

// TestHeldBeforeArguments: that a tool is held is said before what is wrong with the arguments for the definition that
// counts.
func TestHeldBeforeArguments(t *testing.T) {
	t.Parallel()
	const noted = `{"name":"pay","inputSchema":{"type":"object","properties":{"note":{"type":"string"}},"required":["note"]}}`
	b := newBank(t, config.HoldPins)
	b.refresh(noted)
	b.refresh(pays)
	_, err := b.call()
	if f := fault.From(err); f == nil || f.Type != fault.ApprovalRequired || f.Diff == nil || b.calls > 0 {
		t.Errorf("%+v after %d calls", f, b.calls)
	}
}

func TestApprovedChangeIsCalled(t *testing.T) {
	t.Parallel()
	b := newBank(t, config.WarnPins)
	b.refresh(pays)
	b.refresh(destroys)
	_, err := b.call()
	b.held(err, "+ annotations.destructiveHint: true")
	b.use(func(e *Engine) {
		unseen, err := e.Unseen(t.Context(), []string{"bank"})
		if err != nil || len(unseen) != 1 || len(unseen[0].Changes) != 1 || !unseen[0].Changes[0].Held {
			t.Fatalf("%+v, %v", unseen, err)
		}
		diff, err := e.Diff("bank")
		if err != nil {
			t.Fatal(err)
		}
		if lines, whole := diff(unseen[0].Changes[0], true); len(lines) != 1 || !whole {
			t.Errorf("%q", lines)
		}
		if n, err := e.See(t.Context(), "bank", func(c pin.Change) bool { return c.Name == "pay" }); n != 1 || err != nil {
			t.Errorf("%d seen, %v", n, err)
		}
	})
	// The index still has the old definition, the connection the new one.
	if kinds, err := b.call(); err != nil || b.calls != 1 || kinds != nil {
		t.Errorf("%v after %d calls, changed %v", err, b.calls, kinds)
	}
}

func TestAnswersSayWhatChanged(t *testing.T) {
	t.Parallel()
	b := newBank(t, config.WarnPins)
	b.refresh(pays)
	b.refresh(otherwise)
	b.use(func(e *Engine) {
		found, err := e.Search(t.Context(), aboutPaying())
		if err != nil || len(found.Found) != 1 || found.Found[0].Changed == nil || found.Found[0].Changed.Held {
			t.Errorf("search: %+v, %v", found, err)
		}
		def, change, err := e.Inspect(t.Context(), payRef)
		if err != nil || change == nil || def.Description != "Pays otherwise." {
			t.Errorf("inspect: %+v, %v", change, err)
		}
		list, err := e.List(t.Context(), false)
		if err != nil || len(list.Servers[0].Changes) != 1 {
			t.Errorf("list: %+v, %v", list, err)
		}
		one, err := e.ListServer(t.Context(), "bank", false)
		if err != nil || len(one.Changes) != 1 {
			t.Errorf("list bank: %+v, %v", one, err)
		}
	})
}

// TestNewToolIsHeld: a tool that came after the first listing does not exist for those who want to see every change,
// and a call of it says why.
func TestNewToolIsHeld(t *testing.T) {
	t.Parallel()
	b := newBank(t, config.HoldPins)
	b.refresh(`{"name":"other"}`)
	b.refresh(pays, `{"name":"other"}`)
	b.use(func(e *Engine) {
		if found, err := e.Search(t.Context(), aboutPaying()); err != nil || len(found.Found) != 0 {
			t.Errorf("%+v, %v", found, err)
		}
	})
	_, err := b.call()
	b.held(err, `+ name: "pay"`, `+ description: "Pays."`, `+ inputSchema.type: "object"`)
}

// TestDamagedPinsRefuseCalls: what cannot be read approves nothing. Answers that only show go on.
func TestDamagedPinsRefuseCalls(t *testing.T) {
	t.Parallel()
	b := newBank(t, config.WarnPins)
	b.refresh(pays)
	b.refresh(otherwise)
	files, err := filepath.Glob(filepath.Join(b.store().Dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.call(); !fault.Is(err, fault.Config) || b.calls > 0 || !strings.Contains(err.Error(), files[0]) {
		t.Errorf("%v after %d calls", err, b.calls)
	}
	b.use(func(e *Engine) {
		if found, err := e.Search(t.Context(), aboutPaying()); err != nil || len(found.Found) != 1 {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

// TestRestlessServer: a server that changes a definition whenever it is asked gets no call, and no endless loop.
func TestRestlessServer(t *testing.T) {
	t.Parallel()
	b := newBank(t, config.WarnPins)
	b.refresh(pays)
	asked := 0
	restless := restlessCaller{b, &asked}
	opt := b.options()
	opt.Catalog.Pins = catalog.Pins{Store: b.store()}
	opt.NewCaller = func(*config.Config, func(string)) Caller { return restless }
	e := New(opt)
	defer e.Close()
	p := plan(t, e, payRef, "{}")
	_, err := e.Call(t.Context(), p, tool.CallOptions{})
	if !fault.Is(err, fault.ApprovalRequired) || asked != maxRedefined {
		t.Errorf("%v after %d", err, asked)
	}
}

type restlessCaller struct {
	*bank
	asked *int
}

// Call implements [Caller].
func (c restlessCaller) Call(
	ctx context.Context, ref tool.Ref, args json.RawMessage, opt tool.CallOptions) (*tool.Result, error) {
	*c.asked++
	c.has = `{"name":"pay","description":"` + strings.Repeat("x", *c.asked) + `"}`
	return c.bank.Call(ctx, ref, args, opt)
}

// TestGateDecidesOnTheNewDefinition: a rule for tools that promise nothing stops a call whose tool has just withdrawn
// its promise.
func TestGateDecidesOnTheNewDefinition(t *testing.T) {
	t.Parallel()
	b := newBank(t, config.WarnPins)
	b.refresh(destroys)
	b.has = otherwise // no annotations any more, which no pin holds
	opt := b.options()
	opt.Catalog.Pins = catalog.Pins{Store: b.store()}
	opt.NewCaller = func(*config.Config, func(string)) Caller { return b }
	opt.Policy = policy.Rules{{Annotations: []policy.Annotation{policy.Unannotated}, Match: "*", Action: policy.Deny}}
	e := New(opt)
	defer e.Close()
	p := plan(t, e, payRef, "{}")
	_, err := e.Call(t.Context(), p, tool.CallOptions{})
	if !fault.Is(err, fault.ApprovalRequired) || fault.From(err).Approval.Kind != policyKind || b.calls > 0 {
		t.Errorf("%v after %d calls", err, b.calls)
	}
}

// TestOptionsFollowTheNewDefinition: a call is made as the definition in the connection wants it, not as the one in the
// index did.
func TestOptionsFollowTheNewDefinition(t *testing.T) {
	t.Parallel()
	const beginning = `{"name":"pay","description":"Pays.","inputSchema":{"type":"object"`
	const tasked = beginning + `},"execution":{"taskSupport":"required"}}`
	const routed = beginning + `,"properties":{"to":{"type":"string","x-mcp-header":"To"}}}}`
	for after, want := range map[string]tool.CallOptions{pays: {}, tasked: {Task: true}, routed: {HeaderSchema: "some"}} {
		b := newBank(t, config.WarnPins)
		b.refresh(pays)
		b.has = after
		if _, err := b.call(); err != nil || b.calls != 1 {
			t.Fatalf("%v after %d calls", err, b.calls)
		}
		if b.called.Task != want.Task || (b.called.HeaderSchema != "") != (want.HeaderSchema != "") {
			t.Errorf("%s is called with %+v", after, b.called)
		}
	}
}
