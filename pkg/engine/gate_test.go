package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/fixture"
	"github.com/mcp-launchpad/mcpl/pkg/approval"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// gated is a world with rules, and a caller that counts the calls that reach it.
type gated struct {
	*world
	rules policy.Rules
	calls atomic.Int32
}

// Call implements [Caller].
func (g *gated) Call(ctx context.Context, ref tool.Ref, args json.RawMessage,
	opt tool.CallOptions) (*tool.Result, error) {
	g.calls.Add(1)
	return g.world.Call(ctx, ref, args, opt)
}

// newGated returns a world with a bank: pay, and list, which is read-only; a resource and a prompt.
func newGated(t *testing.T, rules ...policy.Rule) *gated {
	t.Helper()
	w := newWorld(t, "bank")
	w.configure(`bank: {"command": "run-bank", "env": {"BANK_TOKEN": "CANARY-token"}}`)
	l := fixture.Listing(t, "pay")
	l.Tools = append(l.Tools, fixture.Tools(t,
		`{"name":"list","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`).Tools...)
	w.servers["bank"] = fixture.Offers(t, l, `resource {"uri":"bank://vault","name":"vault"}`, `prompt {"name":"advice"}`)
	g := &gated{world: w, rules: rules}
	for i := range g.rules {
		g.rules[i].Source = "config.toml:3"
	}
	return g
}

func (g *gated) store() approval.Store {
	return approval.Store{Dir: filepath.Join(g.dir, "state"), Now: func() time.Time { return g.now }}
}

func (g *gated) options() Options {
	opt := g.world.options()
	opt.Policy, opt.Approvals = g.rules, g.store()
	opt.NewCaller = func(*config.Config, func(string)) Caller { return g }
	return opt
}

// engine returns an engine that closes with the test.
func (g *gated) engine(t *testing.T) *Engine {
	t.Helper()
	return closing(t, New(g.options()))
}

func closing(t *testing.T, e *Engine) *Engine {
	t.Helper()
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func plan(t *testing.T, e *Engine, ref tool.Ref, args string) *Plan {
	t.Helper()
	build := func([]byte) (json.RawMessage, error) { return json.RawMessage(args), nil }
	p, err := e.Plan(t.Context(), ref, build, true)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ask(match string, by ...policy.Way) policy.Rule {
	return policy.Rule{Match: policy.Glob(match), Action: policy.Ask, By: by}
}

// stopped wants a fault of a call that did not reach the caller.
func (g *gated) stopped(t *testing.T, err error, says string) *fault.Approval {
	t.Helper()
	f := fault.From(err)
	if !fault.Is(err, fault.ApprovalRequired) || !strings.Contains(f.Message, says) ||
		f.Approval == nil || f.Approval.Kind != "policy" {
		t.Fatalf("%+v, want %q", f, says)
	}
	if n := g.calls.Load(); n != 0 {
		t.Fatalf("%d calls reached the server", n)
	}
	return f.Approval
}

// refuse makes a call that the gate stops.
func (g *gated) refuse(t *testing.T, e *Engine, p *Plan, says string) *fault.Approval {
	t.Helper()
	_, err := e.Call(t.Context(), p, tool.CallOptions{})
	return g.stopped(t, err, says)
}

// decide decides on a request, by its ID or token.
func (g *gated) decide(t *testing.T, id string, d approval.Decision) {
	t.Helper()
	if _, err := g.store().Decide(t.Context(), id, d); err != nil {
		t.Fatal(err)
	}
}

// newApproved returns a world that asks about all calls, an engine, and a call that was approved.
func newApproved(t *testing.T) (*gated, *Engine, *Plan) {
	t.Helper()
	g := newGated(t, ask("*"))
	e := g.engine(t)
	p := plan(t, e, payRef, `{}`)
	g.decide(t, g.refuse(t, e, p, "needs an approval").Token, approval.Decision{Approve: true})
	return g, e, p
}

// early returns an engine of the early path, which only has warm servers. It closes with the test.
func (g *gated) early(t *testing.T) *Engine {
	t.Helper()
	opt := g.options()
	opt.NewCaller, opt.Warm = nil, func(*config.Sources) Caller { return g }
	return closing(t, New(opt))
}

var (
	payRef  = tool.Ref{Server: "bank", Name: "pay"}
	listRef = tool.Ref{Server: "bank", Name: "list"}
)

func TestGateAllows(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string][]policy.Rule{
		"no rules":    nil,
		"other tools": {{Match: "bank/other", Action: policy.Deny}},
		"first match": {{Match: "bank/*", Action: policy.Allow}, {Match: "*", Action: policy.Deny}},
		"annotations": {{Annotations: []policy.Annotation{policy.Writes}, Match: "bank/l*", Action: policy.Deny}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGated(t, rules...)
			e := g.engine(t)
			for _, ref := range []tool.Ref{payRef, listRef} {
				p := plan(t, e, ref, `{}`)
				if v, err := e.Verdict(p, ""); err != nil || v.Action != policy.Allow {
					t.Errorf("verdict on %s: %+v, %v", ref, v, err)
				}
				if _, err := e.Call(t.Context(), p, tool.CallOptions{}); err != nil {
					t.Errorf("%s: %v", ref, err)
				}
			}
			if _, err := os.Stat(g.store().Dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("calls that nothing asks about made a state folder: %v", err)
			}
		})
	}
}

// TestGateDenies: what a rule denies reaches no server, whatever kind it has and whichever path it comes on.
func TestGateDenies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule policy.Rule
		ref  tool.Ref
	}{
		"tool":        {policy.Rule{Match: "bank/p*", Action: policy.Deny}, payRef},
		"annotations": {policy.Rule{Annotations: []policy.Annotation{policy.Unannotated}, Action: policy.Deny}, payRef},
		"resource":    {policy.Rule{Match: "bank/*vault", Action: policy.Deny}, tool.Ref{Server: "bank", Name: "bank://vault", Kind: tool.Resource}},
		"prompt":      {policy.Rule{Match: "*", Action: policy.Deny}, tool.Ref{Server: "bank", Name: "advice", Kind: tool.Prompt}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGated(t, test.rule)
			e := g.engine(t)
			p := plan(t, e, test.ref, `{}`)
			p.Approve = func(context.Context, approval.About) (bool, error) {
				t.Error("a person is asked")
				return true, nil
			}
			if a := g.refuse(t, e, p, "denied by the policy: the rule with"); a.ID != "" || a.Token != "" || a.Tool != test.ref.String() {
				t.Errorf("%+v", a)
			}
			g.refuse(t, g.early(t), p, "denied by the policy")
		})
	}
}

// TestGateAsks: a call waits for its approval, passes once with it, and carries no secrets into the request.
func TestGateAsks(t *testing.T) {
	t.Parallel()
	g := newGated(t, ask("bank/pay"))
	e := g.engine(t)
	p := plan(t, e, payRef, `{"to":"ada","note":"CANARY-token","password":"CANARY-pass"}`)
	a := g.refuse(t, e, p, `the call of bank/pay needs an approval: the rule with match "bank/pay" in config.toml:3 says "ask"`)
	if a.ID == "" || a.Token == "" || string(a.Arguments) != `{"to":"ada","note":"***","password":"***"}` ||
		!a.Expires.Equal(g.now.Add(24*time.Hour)) || strings.Join(a.By, " ") != "terminal elicitation token" {
		t.Errorf("%+v", a)
	}
	data, err := os.ReadFile(filepath.Join(g.store().Dir, "approvals.json"))
	if err != nil || strings.Contains(string(data), "CANARY") {
		t.Errorf("the file: %s, %v", data, err)
	}
	if again := g.refuse(t, e, p, "needs an approval"); again.ID != a.ID || again.Token != a.Token {
		t.Errorf("asked again: %+v", again)
	}
	g.decide(t, a.Token, approval.Decision{Approve: true})
	for range 2 {
		if v, err := e.Verdict(p, ""); err != nil || !v.Approved || v.Action != policy.Ask {
			t.Errorf("verdict: %+v, %v", v, err)
		}
	}
	other := plan(t, e, payRef, `{"to":"eve","note":"CANARY-token","password":"CANARY-pass"}`)
	g.refuse(t, e, other, "needs an approval")
	_, err = e.Call(t.Context(), p, tool.CallOptions{Principal: "eve"})
	g.stopped(t, err, "needs an approval")
	if _, err := e.Call(t.Context(), p, tool.CallOptions{}); err != nil || g.calls.Load() != 1 {
		t.Errorf("after the approval: %v, %d calls", err, g.calls.Load())
	}
	g.calls.Store(0)
	if next := g.refuse(t, e, p, "needs an approval"); next.ID == a.ID {
		t.Error("the second call has the request of the first")
	}
}

// TestGateAsksWithoutToken: a rule whose by leaves out the token gives none.
func TestGateAsksWithoutToken(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		by   []policy.Way
		help string
	}{
		"terminal":    {[]policy.Way{policy.Terminal}, "A person approves it at a terminal with"},
		"model":       {[]policy.Way{policy.Model}, "Approve it with"},
		"elicitation": {[]policy.Way{policy.Elicitation}, "only by elicitation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGated(t, ask("*", test.by...))
			e := g.engine(t)
			_, err := e.Call(t.Context(), plan(t, e, listRef, `{}`), tool.CallOptions{})
			a := g.stopped(t, err, "needs an approval")
			said := fault.From(err).Help
			for _, n := range fault.From(err).Next {
				said += " " + n.Why
			}
			if a.Token != "" || a.ID == "" || !strings.Contains(said, test.help) {
				t.Errorf("%+v: %s", a, said)
			}
		})
	}
}

func TestGateAsksThePerson(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		by     []policy.Way
		answer func(context.Context, approval.About) (bool, error)
		calls  int32
		says   string
	}{
		"yes":           {nil, func(context.Context, approval.About) (bool, error) { return true, nil }, 1, ""},
		"no":            {nil, func(context.Context, approval.About) (bool, error) { return false, nil }, 0, "was not approved"},
		"given up":      {nil, func(context.Context, approval.About) (bool, error) { return false, context.Canceled }, 0, "canceled"},
		"not by person": {[]policy.Way{policy.Token}, nil, 0, "needs an approval"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGated(t, ask("*", test.by...))
			e := g.engine(t)
			p := plan(t, e, payRef, `{"password":"CANARY"}`)
			p.Approve = func(ctx context.Context, about approval.About) (bool, error) {
				if test.answer == nil {
					t.Error("a person is asked who may not approve")
					return true, nil
				}
				if string(about.Shown) != `{"password":"***"}` || !strings.Contains(about.Reason, "config.toml:3") {
					t.Errorf("%+v", about)
				}
				return test.answer(ctx, about)
			}
			_, err := e.Call(t.Context(), p, tool.CallOptions{})
			says := ""
			if err != nil {
				says = err.Error()
			}
			if g.calls.Load() != test.calls || (err == nil) != (test.says == "") || !strings.Contains(says, test.says) {
				t.Errorf("%v, %d calls", err, g.calls.Load())
			}
		})
	}
}

// TestGateDeniedByPerson: what a person has denied is not asked for again until the decision is revoked.
func TestGateDeniedByPerson(t *testing.T) {
	t.Parallel()
	g := newGated(t, ask("*"))
	e := g.engine(t)
	p := plan(t, e, payRef, `{}`)
	a := g.refuse(t, e, p, "needs an approval")
	g.decide(t, a.ID, approval.Decision{Note: "never"})
	_, err := e.Call(t.Context(), p, tool.CallOptions{})
	if after := g.stopped(t, err, "was denied at"); after.Token != "" || !strings.Contains(err.Error(), ": never") {
		t.Errorf("%+v, %v", after, err)
	}
	var said string
	p.Approve = func(_ context.Context, about approval.About) (bool, error) {
		said = about.Denied
		return false, nil
	}
	if _, err := e.Call(t.Context(), p, tool.CallOptions{}); err == nil || !strings.HasSuffix(said, "UTC: never") {
		t.Errorf("the person at the terminal hears of the denial: %q, %v", said, err)
	}
	if _, err := g.store().Revoke(t.Context(), a.ID, policy.Terminal); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Call(t.Context(), p, tool.CallOptions{}); err == nil || said != "" {
		t.Errorf("after it was revoked: %q, %v", said, err)
	}
	p.Approve = nil
	g.refuse(t, e, p, "needs an approval")
}

// TestGateOfManyOnePasses: of many engines that make one approved call at once, one makes it.
func TestGateOfManyOnePasses(t *testing.T) {
	t.Parallel()
	g, _, p := newApproved(t)
	var wg sync.WaitGroup
	for range 20 {
		one := g.engine(t)
		wg.Go(func() {
			if _, err := one.Call(t.Context(), p, tool.CallOptions{}); err != nil && !fault.Is(err, fault.ApprovalRequired) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if g.calls.Load() != 1 {
		t.Errorf("%d calls reached the server", g.calls.Load())
	}
}

// TestGateOfTheEarlyPath: it may have to leave the call to main, so it uses no approval up.
func TestGateOfTheEarlyPath(t *testing.T) {
	t.Parallel()
	g, e, p := newApproved(t)
	if _, err := g.early(t).Call(t.Context(), p, tool.CallOptions{}); !errors.Is(err, ErrNotFresh) {
		t.Errorf("%v", err)
	}
	if _, err := e.Call(t.Context(), p, tool.CallOptions{}); err != nil || g.calls.Load() != 1 {
		t.Errorf("then: %v, %d calls", err, g.calls.Load())
	}
}

// TestGateOfSwitches: what was switched off since the call was planned is not called.
func TestGateOfSwitches(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	p := plan(t, g.engine(t), payRef, `{}`)
	read := plan(t, g.engine(t), tool.Ref{Server: "bank", Name: "bank://vault", Kind: tool.Resource}, "")
	for off, test := range map[string]struct {
		p    *Plan
		want fault.Type
	}{"bank/pay": {p, fault.ToolNotFound}, "bank": {read, fault.ServerNotFound}} {
		g.switches.Disabled = []string{off}
		_, err := g.engine(t).Call(t.Context(), test.p, tool.CallOptions{})
		if !fault.Is(err, test.want) || g.calls.Load() != 0 {
			t.Errorf("%s: %v, %d calls", off, err, g.calls.Load())
		}
	}
}

// TestGateWithADamagedFile: nothing that has to be approved passes, and everything else does.
func TestGateWithADamagedFile(t *testing.T) {
	t.Parallel()
	g := newGated(t, ask("bank/pay"))
	if err := os.MkdirAll(g.store().Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(g.store().Dir, "approvals.json"), []byte("{\n,"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := g.engine(t)
	p := plan(t, e, payRef, `{}`)
	_, err := e.Call(t.Context(), p, tool.CallOptions{})
	if !fault.Is(err, fault.Config) || !strings.Contains(err.Error(), "approvals.json:2") || g.calls.Load() != 0 {
		t.Errorf("%v, %d calls", err, g.calls.Load())
	}
	if _, err := e.Verdict(p, ""); !fault.Is(err, fault.Config) {
		t.Errorf("verdict: %v", err)
	}
	if _, err := e.Call(t.Context(), plan(t, e, listRef, `{}`), tool.CallOptions{}); err != nil || g.calls.Load() != 1 {
		t.Errorf("another call: %v", err)
	}
}
