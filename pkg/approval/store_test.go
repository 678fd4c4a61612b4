package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// raceDir makes the test binary one of many processes that make the same call with the state of this folder.
const raceDir = "MCPL_TEST_APPROVAL_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(raceDir); dir != "" {
		passed, err := Store{Dir: dir, Now: time.Now}.Pass(context.Background(), pay(5), policy.DefaultWays())
		fmt.Println(passed, err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// clocked is a store with a clock that tests move.
type clocked struct {
	Store
	now *time.Time
}

func newStore(t *testing.T) clocked {
	t.Helper()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	return clocked{Store{Dir: filepath.Join(t.TempDir(), "mcpl"), Now: func() time.Time { return now }}, &now}
}

// pay is a call that costs something.
func pay(amount int) Call {
	args := fmt.Appendf(nil, `{"to":"ada","amount":%d}`, amount)
	return Call{Scope: "s", Ref: tool.Ref{Server: "bank", Name: "pay"}, Args: args}
}

func (s clocked) open(t *testing.T, c Call, by ...policy.Way) Request {
	t.Helper()
	if by == nil {
		by = policy.DefaultWays()
	}
	r, passed, err := s.Open(t.Context(), c, About{Shown: c.Args, Reason: "the rule says so", By: by, Folder: "/app"})
	if err != nil || passed {
		t.Fatalf("open: %v, passed %v", err, passed)
	}
	return r
}

func (s clocked) passes(t *testing.T, c Call, by ...policy.Way) bool {
	t.Helper()
	if by == nil {
		by = policy.DefaultWays()
	}
	passed, err := s.Pass(t.Context(), c, by)
	if err != nil {
		t.Fatal(err)
	}
	return passed
}

func (s clocked) decide(t *testing.T, which string, d Decision) Request {
	t.Helper()
	r, err := s.Decide(t.Context(), which, d)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func yes() Decision { return Decision{Approve: true, Way: policy.Terminal} }

func TestApprovedCallPassesOnce(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"id", "token"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			if s.passes(t, pay(5)) {
				t.Fatal("passes without a request")
			}
			r := s.open(t, pay(5))
			if s.passes(t, pay(5)) {
				t.Fatal("passes without an approval")
			}
			name, way := r.ID, policy.Terminal
			if which == "token" {
				name, way = r.Token, policy.Token
			}
			if got := s.decide(t, name, yes()); got.State != Approved || got.Way != way {
				t.Errorf("%+v", got)
			}
			// Approving twice is harmless, before the use and after.
			s.decide(t, name, yes())
			same := pay(5)
			same.Args = json.RawMessage(`{ "amount": 5.0, "to": "\u0061da" }`)
			if !s.passes(t, same) {
				t.Error("the same call does not pass")
			}
			if s.passes(t, pay(5)) {
				t.Error("passes twice")
			}
			if got := s.decide(t, name, yes()); got.State != Used {
				t.Errorf("after the use: %s", got.State)
			}
			if s.passes(t, pay(5)) {
				t.Error("an approval after the use lets it pass again")
			}
			if again := s.open(t, pay(5)); again.ID == r.ID || again.State != Pending {
				t.Errorf("asked again: %+v", again)
			}
		})
	}
}

// TestOtherCallsDoNotPass: an approval is for one scope, principal, kind, server, name and arguments.
func TestOtherCallsDoNotPass(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.decide(t, s.open(t, pay(5)).ID, yes())
	for name, change := range map[string]func(*Call){
		"amount":         func(c *Call) { c.Args = json.RawMessage(`{"to":"ada","amount":50}`) },
		"one more":       func(c *Call) { c.Args = json.RawMessage(`{"to":"ada","amount":5,"note":""}`) },
		"one less":       func(c *Call) { c.Args = json.RawMessage(`{"to":"ada"}`) },
		"twice":          func(c *Call) { c.Args = json.RawMessage(`{"to":"ada","amount":5,"amount":5}`) },
		"no arguments":   func(c *Call) { c.Args = nil },
		"text":           func(c *Call) { c.Args = json.RawMessage(`{"to":"ada","amount":"5"}`) },
		"server":         func(c *Call) { c.Ref.Server = "bank2" },
		"tool":           func(c *Call) { c.Ref.Name = "pay2" },
		"moved boundary": func(c *Call) { c.Ref.Server, c.Ref.Name = "bankp", "ay" },
		"kind":           func(c *Call) { c.Ref.Kind = tool.Prompt },
		"scope":          func(c *Call) { c.Scope = "other" },
		"principal":      func(c *Call) { c.Principal = "eve" },
	} {
		c := pay(5)
		change(&c)
		if s.passes(t, c) {
			t.Errorf("another %s passes", name)
		}
	}
	if !s.passes(t, pay(5)) {
		t.Error("the call itself does not pass any more")
	}
}

// TestBigNumbersStayDistinct: RFC 8785 alone would take these for equal.
func TestBigNumbersStayDistinct(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.decide(t, s.open(t, pay(9007199254740993)).ID, yes())
	if s.passes(t, pay(9007199254740992)) {
		t.Error("another account passes")
	}
	if !s.passes(t, pay(9007199254740993)) {
		t.Error("the account does not pass")
	}
}

// TestArgumentsWithoutCanonicalForm: what the canonical form does not tell apart counts byte for byte.
func TestArgumentsWithoutCanonicalForm(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string][2]string{
		"a name twice":    {`{"a":1,"a":2}`, `{"a":2,"a":1}`},
		"not Unicode":     {`{"a":"\ud800"}`, `{"a":"\ud801"}`},
		"beyond a double": {`{"a":1e400}`, `{"a":1e500}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			one, other := pay(5), pay(5)
			one.Args, other.Args = json.RawMessage(pair[0]), json.RawMessage(pair[1])
			s.decide(t, s.open(t, one).ID, yes())
			if s.passes(t, other) {
				t.Error("the other passes")
			}
			if !s.passes(t, one) {
				t.Error("the call itself does not")
			}
		})
	}
}

func TestOpenIsTheSameRequest(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	first := s.open(t, pay(5))
	*s.now = s.now.Add(time.Hour)
	if again := s.open(t, pay(5)); again.ID != first.ID || again.Token != first.Token || again.Token == "" {
		t.Errorf("%+v, then %+v", first, again)
	}
	if other := s.open(t, pay(6)); other.ID == first.ID || other.Token == first.Token {
		t.Errorf("another call has the same request: %+v", other)
	}
	list, err := s.List()
	if err != nil || len(list) != 2 || list[0].ID == first.ID {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestWays(t *testing.T) {
	t.Parallel()
	t.Run("no token", func(t *testing.T) {
		t.Parallel()
		s := newStore(t)
		r := s.open(t, pay(5), policy.Terminal)
		if r.Token != "" {
			t.Errorf("a token %s that may not approve", r.Token)
		}
		_, err := s.Decide(t.Context(), r.ID, Decision{Approve: true, Way: policy.Model})
		if !fault.Is(err, fault.ApprovalRequired) {
			t.Errorf("the caller approves: %v", err)
		}
		s.decide(t, r.ID, yes())
		if s.passes(t, pay(5), policy.Token) {
			t.Error("passes by a rule that does not take the terminal any more")
		}
		if !s.passes(t, pay(5), policy.Terminal) {
			t.Error("does not pass")
		}
	})
	t.Run("a token from before the rule", func(t *testing.T) {
		t.Parallel()
		s := newStore(t)
		token := s.open(t, pay(5)).Token
		s.open(t, pay(5), policy.Terminal) // by the new rule
		if _, err := s.Decide(t.Context(), token, yes()); !fault.Is(err, fault.ApprovalRequired) ||
			!strings.Contains(err.Error(), "cannot be approved by token, only by terminal") {
			t.Errorf("the old token: %v", err)
		}
	})
}

func TestDeniedAndRevoked(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	r := s.open(t, pay(5))
	s.decide(t, r.ID, Decision{Note: "too much"})
	s.decide(t, r.ID, Decision{Note: "again"}) // harmless
	if got := s.open(t, pay(5)); got.ID != r.ID || got.State != Denied || got.Note != "too much" || got.Token != "" {
		t.Errorf("asked again: %+v", got)
	}
	if _, err := s.Decide(t.Context(), r.Token, yes()); !fault.Is(err, fault.ApprovalRequired) ||
		!strings.Contains(err.Error(), "was denied at 2026-11-22 12:00 UTC: too much") {
		t.Errorf("its token approves: %v", err)
	}
	if _, err := s.Revoke(t.Context(), r.ID, policy.Model); !fault.Is(err, fault.ApprovalRequired) ||
		!strings.Contains(err.Error(), "cannot be revoked by model, only by terminal, elicitation or token") {
		t.Errorf("revoked by the model: %v", err)
	}
	for range 2 { // twice is harmless
		if got, err := s.Revoke(t.Context(), r.ID, policy.Terminal); err != nil || got.State != Revoked || got.Note != "" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	_, err := s.Decide(t.Context(), r.Token, yes())
	if f := fault.From(err); f.Type != fault.ApprovalRequired || !strings.Contains(f.Help, "Make the call again") || f.Next != nil {
		t.Errorf("the token of a revoked request: %+v", f)
	}
	fresh := s.open(t, pay(5))
	s.decide(t, fresh.Token, yes())
	if _, err := s.Revoke(t.Context(), fresh.Token, policy.Terminal); err != nil {
		t.Error(err)
	}
	if s.passes(t, pay(5)) {
		t.Error("a revoked approval passes")
	}
	// An approval can still be denied, a use can neither be denied nor revoked.
	last := s.open(t, pay(5))
	s.decide(t, last.ID, yes())
	s.decide(t, last.ID, Decision{})
	if s.passes(t, pay(5)) {
		t.Error("a denied approval passes")
	}
	used := s.open(t, pay(7))
	s.decide(t, used.ID, yes())
	s.passes(t, pay(7))
	if _, err := s.Decide(t.Context(), used.ID, Decision{}); !fault.Is(err, fault.Usage) {
		t.Errorf("denied after the use: %v", err)
	}
	if _, err := s.Revoke(t.Context(), used.ID, policy.Terminal); !fault.Is(err, fault.Usage) {
		t.Errorf("revoked after the use: %v", err)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	r, kept := s.open(t, pay(5)), s.open(t, pay(6))
	s.decide(t, kept.ID, yes())
	*s.now = s.now.Add(Lifetime - time.Second)
	if _, _, err := s.Find(r.Token); err != nil {
		t.Errorf("before the expiry: %v", err)
	}
	*s.now = s.now.Add(time.Second)
	if _, err := s.Decide(t.Context(), r.Token, yes()); !fault.Is(err, fault.ApprovalRequired) ||
		!strings.Contains(err.Error(), "expired at 2026-11-23 12:00 UTC") {
		t.Errorf("after it: %v", err)
	}
	if _, err := s.Decide(t.Context(), r.ID, yes()); !fault.Is(err, fault.Usage) {
		t.Errorf("by id after it: %v", err)
	}
	if s.passes(t, pay(6)) {
		t.Error("an expired approval passes")
	}
	if has, err := s.Has(pay(6), []policy.Way{policy.Terminal}); has || err != nil {
		t.Errorf("an expired approval is said to pass: %v", err)
	}
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if again := s.open(t, pay(5)); again.ID == r.ID {
		t.Error("the expired request is asked again")
	}
}

// TestBadTokens: each token that is not as it was made gets an error that says how.
func TestBadTokens(t *testing.T) {
	t.Parallel()
	s, elsewhere := newStore(t), newStore(t)
	r, other := s.open(t, pay(5)), s.open(t, pay(6))
	foreign := elsewhere.open(t, pay(5))
	swapped, _ := parseToken(r.Token)
	swapped.Request = other.ID
	later, _ := parseToken(r.Token)
	later.Expires = later.Expires.Add(time.Hour)
	flipped, _ := parseToken(r.Token)
	flipped.MAC[31] ^= 1
	unknown, _ := parseToken(r.Token)
	unknown.Request = "aaaaaaaa"
	for name, test := range map[string]struct{ token, says string }{
		"truncated":     {r.Token[:len(r.Token)-5], "it is cut off: 5 of"},
		"prefix only":   {tokenPrefix, "it is cut off"},
		"longer":        {r.Token + "x", "1 characters too many"},
		"two":           {r.Token + r.Token, "characters too many"},
		"letters":       {tokenPrefix + strings.Repeat("!", tokenSize), "characters that no token has"},
		"garbage":       {"hello-this-is-not-a-token", "a token begins with"},
		"version":       {"mcpl-approval-2." + r.Token[len(tokenPrefix):], "a token begins with"},
		"mac":           {flipped.String(), "its signature does not fit"},
		"later":         {later.String(), "its signature does not fit"},
		"other request": {swapped.String(), "its signature does not fit"},
		"foreign":       {foreign.Token, "another key signed it"},
		"unknown":       {unknown.String(), "there is no request"},
		"no id":         {"abcdefgh", "there is no request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, err := range []error{
				func() error { _, _, err := s.Find(test.token); return err }(),
				func() error { _, err := s.Decide(t.Context(), test.token, yes()); return err }(),
				func() error { _, err := s.Revoke(t.Context(), test.token, policy.Terminal); return err }(),
			} {
				if !fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%v, want %q", err, test.says)
				}
			}
		})
	}
	t.Cleanup(func() {
		if s.passes(t, pay(5)) || s.passes(t, pay(6)) {
			t.Error("one of them approved a call")
		}
	})
}

// TestNothingIsMadeToLook: asking about approvals makes no folder and no file.
func TestNothingIsMadeToLook(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if s.passes(t, pay(5)) {
		t.Error("passes")
	}
	if _, err := s.Decide(t.Context(), "abcdefgh", yes()); !fault.Is(err, fault.Usage) {
		t.Error(err)
	}
	if _, err := s.List(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
}

// TestOneOfManyPasses: of goroutines and of processes that race for one approval, exactly one passes.
func TestOneOfManyPasses(t *testing.T) {
	t.Parallel()
	const racers = 20
	t.Run("goroutines", func(t *testing.T) {
		t.Parallel()
		s := newStore(t)
		s.decide(t, s.open(t, pay(5)).ID, yes())
		var passed atomic.Int32
		var wg sync.WaitGroup
		for i := range racers {
			wg.Go(func() {
				ok, err := s.Pass(t.Context(), pay(5), policy.DefaultWays())
				if i%2 == 0 && !ok { // Open passes a call that is approved too
					var r Request
					if r, ok, err = s.Open(t.Context(), pay(5), About{By: policy.DefaultWays()}); !ok && r.State != Pending {
						t.Errorf("asked anew: %+v", r)
					}
				}
				if err != nil {
					t.Error(err)
				}
				if ok {
					passed.Add(1)
				}
			})
		}
		wg.Wait()
		if passed.Load() != 1 {
			t.Errorf("%d calls passed", passed.Load())
		}
	})
	t.Run("processes", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := clocked{Store: Store{Dir: dir, Now: time.Now}}
		s.decide(t, s.open(t, pay(5)).Token, yes())
		var outputs [racers]bytes.Buffer
		var wg sync.WaitGroup
		for i := range racers {
			wg.Go(func() {
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), raceDir+"="+dir)
				cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
				if err := cmd.Run(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		passed := 0
		for i := range outputs {
			switch out := outputs[i].String(); out {
			case "true <nil>\n":
				passed++
			case "false <nil>\n":
			default:
				t.Errorf("process %d said %q", i, out)
			}
		}
		if passed != 1 {
			t.Errorf("%d processes passed", passed)
		}
	})
}

// TestConcurrentRequestsAreKept: many ask and decide at once, and nothing is lost.
func TestConcurrentRequestsAreKept(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			r := s.open(t, pay(i))
			s.decide(t, r.ID, yes())
		})
	}
	wg.Wait()
	list, err := s.List()
	if err != nil || len(list) != 30 {
		t.Errorf("%d requests, %v", len(list), err)
	}
	for i := range 30 {
		if !s.passes(t, pay(i)) {
			t.Errorf("call %d does not pass", i)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	big := pay(5)
	big.Args = json.RawMessage(`{"a":"` + strings.Repeat("x", maxArguments) + `"}`)
	_, _, err := s.Open(t.Context(), big, About{Shown: big.Args})
	if !fault.Is(err, fault.ApprovalRequired) || !strings.Contains(err.Error(), "cannot be shown") {
		t.Errorf("arguments that no one can read: %v", err)
	}
	c := content{Key: make(key, keySize)}
	for i := range maxRequests {
		if _, err := c.ask(pay(i), About{}, s.Now()); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	if _, err := c.ask(pay(maxRequests), About{}, s.Now()); !fault.Is(err, fault.ApprovalRequired) {
		t.Errorf("one request too many: %v", err)
	}
	// Used and revoked requests make room, the oldest first and no more than is needed; denied ones do not.
	c.Requests[3].State, c.Requests[5].State, c.Requests[7].State = Denied, Used, Revoked
	used, revoked := c.Requests[5].ID, c.Requests[7].ID
	for i, gone := range []string{used, revoked} {
		if _, err := c.ask(pay(maxRequests+i), About{}, s.Now()); err != nil {
			t.Errorf("%d beyond the bound: %v", i, err)
		}
		has := func(id string) bool {
			return slices.ContainsFunc(c.Requests, func(r Request) bool { return r.ID == id })
		}
		if has(gone) || i == 0 && !has(revoked) || len(c.Requests) != maxRequests || c.Requests[3].State != Denied {
			t.Errorf("%d requests are kept", len(c.Requests))
		}
	}
	if _, err := c.ask(pay(maxRequests+2), About{}, s.Now()); !fault.Is(err, fault.ApprovalRequired) {
		t.Errorf("one request too many again: %v", err)
	}
	c.Requests = c.Requests[:17]
	for i := range c.Requests {
		c.Requests[i].Arguments = make(json.RawMessage, maxArguments)
	}
	if _, err := c.ask(pay(maxRequests+2), About{}, s.Now()); !fault.Is(err, fault.ApprovalRequired) {
		t.Errorf("too much in all: %v", err)
	}
	c.Requests[0].State = Used
	if _, err := c.ask(pay(maxRequests+2), About{}, s.Now()); err != nil || len(c.Requests) != 17 {
		t.Errorf("%d requests, %v", len(c.Requests), err)
	}
}

// TestShares: what one principal asks for leaves room for others, and for the person.
func TestShares(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := content{Key: make(key, keySize)}
	as := func(who tool.Principal, amount int) Call {
		call := pay(amount)
		call.Principal = who
		return call
	}
	refused := func(who tool.Principal, amount, size int) bool {
		t.Helper()
		_, err := c.ask(as(who, amount), About{Shown: make(json.RawMessage, size)}, s.Now())
		if err != nil && (!fault.Is(err, fault.ApprovalRequired) || !strings.Contains(err.Error(), "this client")) {
			t.Error(err)
		}
		return err != nil
	}
	for i := range maxOwnRequests {
		if refused("eve", i, 0) {
			t.Fatalf("request %d is refused", i)
		}
	}
	if !refused("eve", maxOwnRequests, 0) {
		t.Error("one request too many")
	}
	if refused("eve", 0, 0) {
		t.Error("it has been asked for already")
	}
	for i := range 2 * maxOwnRequests {
		if refused("", i, 0) {
			t.Fatalf("request %d of the person is refused", i)
		}
	}
	c.Requests[0].State, c.Requests[1].State = Denied, Used
	if refused("eve", maxOwnRequests, 0) {
		t.Error("a request that was used counts")
	}
	if !refused("eve", maxOwnRequests+1, 0) {
		t.Error("a request that was denied does not count")
	}
	for i := range maxOwnSize / maxArguments {
		if refused("mallory", i, maxArguments) {
			t.Fatalf("request %d of 1 MB is refused", i)
		}
	}
	if !refused("mallory", 99, 1) || refused("ada", 1, maxArguments) {
		t.Error("what the arguments of a principal take up is not bounded, or is for others")
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.decide(t, s.open(t, pay(5)).ID, yes())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if passed, err := s.Pass(ctx, pay(5), policy.DefaultWays()); passed || !fault.Is(err, fault.Interrupted) {
		t.Errorf("%v, %v", passed, err)
	}
	if !s.passes(t, pay(5)) {
		t.Error("the approval is gone")
	}
}

// TestFileIsPrivate: the file and its folder are for the user alone, and exact arguments are not in it.
func TestFileIsPrivate(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := pay(5)
	c.Args = json.RawMessage(`{"password":"CANARY-1234"}`)
	r, _, err := s.Open(t.Context(), c, About{Shown: json.RawMessage(`{"password":"***"}`), By: policy.DefaultWays()})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.path())
	if err != nil || bytes.Contains(data, []byte("CANARY")) || bytes.Contains(data, []byte(r.Token)) {
		t.Errorf("the file: %s, %v", data, err)
	}
	if runtime.GOOS == "windows" {
		return // which has no such modes
	}
	for path, want := range map[string]os.FileMode{s.Dir: 0o700, s.path(): 0o600, s.path() + ".lock": 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if err := os.Chmod(s.path(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Pass(t.Context(), c, r.By); !fault.Is(err, fault.Config) || !strings.Contains(err.Error(), "0644") {
		t.Errorf("a file that others can read: %v", err)
	}
	if err := errors.Join(os.Chmod(s.path(), 0o600), os.Chown(s.path(), 4242, 4242)); err != nil {
		t.Skip("files cannot be given to another user here")
	}
	if _, err := s.List(); !fault.Is(err, fault.Config) || !strings.HasSuffix(err.Error(), "it belongs to another user (uid 4242)") {
		t.Errorf("a file of another user: %v", err)
	}
}

// TestDamagedFileApprovesNothing: it is a fault that names the line, and the file stays as it is.
func TestDamagedFileApprovesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.decide(t, s.open(t, pay(5)).ID, yes())
	sound, err := os.ReadFile(s.path())
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old, new string) []byte {
		if !bytes.Contains(sound, []byte(old)) {
			t.Fatalf("no %s in %s", old, sound)
		}
		return bytes.Replace(sound, []byte(old), []byte(new), 1)
	}
	for name, test := range map[string]struct {
		data []byte
		says string
	}{
		"empty":         {nil, ":1:"},
		"cut off":       {sound[:len(sound)-4], ":2:"},
		"a comma":       {edit(`"server":`, `,"server":`), ":2:"},
		"more":          {append(bytes.Clone(sound), "{}"...), "more behind its end"},
		"other version": {edit(`"version": 1`, `"version": 2`), "version 2"},
		"no version":    {edit(`"version": 1, `, ``), "version 0"},
		"no key":        {edit(`"key": "`, `"key": "AAAA", "was": "`), "was"},
		"short key":     {[]byte(`{"version":1,"key":"AAAA","requests":[]}`), "key has 3 bytes"},
		"null":          {[]byte("null"), "version 0"},
		"unknown":       {edit(`"reason"`, `"excuse"`), ":2: "},
		"a time":        {edit(`"asked":"20`, `"asked":"x20`), ":2: "},
		"state":         {edit(`"state":"approved"`, `"state":"aproved"`), `:2: no approval in this file counts: request 1: there is no state "aproved"`},
		"way":           {edit(`"way":"terminal"`, `"way":"model"`), ":2: "},
		"type":          {edit(`"server":"bank"`, `"server":7`), ":2: "},
		"twice":         {edit("\n]}", ","+strings.Split(string(sound), "\n")[1]+"\n]}"), ":2: no approval in this file counts: request 2: there is another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			if err := os.MkdirAll(s.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.path(), test.data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, passErr := s.Pass(t.Context(), pay(5), policy.DefaultWays())
			_, _, openErr := s.Open(t.Context(), pay(5), About{By: policy.DefaultWays()})
			_, listErr := s.List()
			_, revokeErr := s.Revoke(t.Context(), "abcdefgh", policy.Terminal)
			for _, err := range []error{passErr, openErr, listErr, revokeErr} {
				if f := fault.From(err); f == nil || f.Type != fault.Config || !strings.Contains(f.Message, test.says) {
					t.Errorf("%v, want %q", err, test.says)
				}
			}
			if after, err := os.ReadFile(s.path()); err != nil || !bytes.Equal(after, test.data) {
				t.Errorf("the file became %s, %v", after, err)
			}
		})
	}
	t.Run("not a file", func(t *testing.T) {
		t.Parallel()
		s := newStore(t)
		if err := os.MkdirAll(s.path(), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Pass(t.Context(), pay(5), policy.DefaultWays()); !fault.Is(err, fault.Config) {
			t.Error(err)
		}
	})
}

// TestVersion1 reads the file of the first version. A later version must read it too.
func TestVersion1(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/version1.json")
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path(), data, 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]State{}
	for _, r := range list {
		states[r.ID] = r.State
	}
	want := map[string]State{"aaaaaaaa": Pending, "bbbbbbbb": Approved, "cccccccc": Used, "dddddddd": Denied, "eeeeeeee": Revoked}
	if !reflect.DeepEqual(states, want) {
		t.Errorf("%v, want %v", states, want)
	}
	// The token and the approval that belong to the file still count.
	token, err := os.ReadFile("testdata/version1.token")
	if err != nil {
		t.Fatal(err)
	}
	if r, genuine, err := s.Find(strings.TrimSpace(string(token))); err != nil || !genuine || r.ID != "aaaaaaaa" {
		t.Errorf("its token: %+v, %v, %v", r, genuine, err)
	}
	if !s.passes(t, pay(2)) {
		t.Error("its approval does not count")
	}
}
