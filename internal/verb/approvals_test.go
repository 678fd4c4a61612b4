package verb

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/approval"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

func TestApprovalsOptions(t *testing.T) {
	t.Parallel()
	checkOptions(t, "approvals", map[string]options{
		"nothing":          {want: &Approvals{action: "list"}},
		"list":             {args: []string{"list"}, want: &Approvals{action: "list"}},
		"one":              {args: []string{"show", "a"}, want: &Approvals{action: "show", which: "a"}},
		"an approval":      {args: []string{"approve", "a"}, want: &Approvals{action: "approve", which: "a"}},
		"a reason":         {args: []string{"deny", "a", "--reason", "no"}, want: &Approvals{action: "deny", which: "a", Reason: "no"}},
		"revoke":           {args: []string{"revoke", "a"}, want: &Approvals{action: "revoke", which: "a"}},
		"list of one":      {args: []string{"list", "a"}, says: `approvals list takes no arguments, "a" is too much`},
		"which":            {args: []string{"approve"}, says: "which request do you want to approve?"},
		"two":              {args: []string{"deny", "a", "b"}, says: `approvals deny takes one id or token, "b" is too much`},
		"unknown":          {args: []string{"accept", "a"}, says: `unknown approvals command "accept"`},
		"reason to show":   {args: []string{"show", "a", "--reason", "x"}, says: "--reason goes with approve and deny"},
		"reason to revoke": {args: []string{"revoke", "a", "--reason", "x"}, says: "--reason goes with approve and deny"},
	})
}

// gatedConfig denies demo/drop, asks about demo/add, about papers only at a terminal, and lets the model approve web.
const gatedConfig = `[[policy]]
match = "demo/drop"
action = "deny"
[[policy]]
match = "demo/*"
action = "ask"
[[policy]]
match = "papers/*"
action = "ask"
by = ["terminal"]
[[policy]]
match = "web/*"
action = "ask"
by = ["model"]
`

// gated returns the fixture with rules.
func gated(t *testing.T) *world {
	t.Helper()
	w := fixture(t)
	settings := w.app.Env.SettingsFile()
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(gatedConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// requested makes a call that has to be stopped and returns what the error says of its approval.
func (w *world) requested(args ...string) fault.Approval {
	w.t.Helper()
	got := w.run(w.t.Context(), append([]string{"--json"}, args...)...)
	var failure struct {
		Error struct {
			Type     fault.Type
			Approval fault.Approval
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &failure); err != nil || got.code != 6 ||
		failure.Error.Type != fault.ApprovalRequired || failure.Error.Approval.Kind != "policy" {
		w.t.Fatalf("mcpl %q: %+v, %v", args, got, err)
	}
	return failure.Error.Approval
}

func TestApprovalsNothing(t *testing.T) {
	t.Parallel()
	checkAnswers(t, gated, map[string]answer{
		"the list": {args: []string{"approvals"}, text: "Nothing was asked for.\n", json: `{"approvals":[]}`},
		"unknown": {args: []string{"approvals", "approve", "k7m2q9xd"}, code: 2, text: `error: there is no request "k7m2q9xd"
hint: It may have expired: then make the call again. See the open ones with: mcpl approvals list
`},
		"no token": {args: []string{"approvals", "approve", "mcpl-approval-1.abc"}, code: 2,
			text: "error: this token cannot be used: it is cut off: 67 of 86 characters are missing\nhint: Copy the whole token.\n"},
	})
}

// TestApprovals goes the way of a request: asked, approved by its token, passed once, asked anew, denied, revoked.
func TestApprovals(t *testing.T) {
	t.Parallel()
	w := gated(t)
	first := w.requested("call", "demo", "add", "a=1")
	if len(w.asked) > 0 || string(first.Arguments) != `{"a":1}` || first.Tool != "demo/add" || first.Token == "" {
		t.Fatalf("asked %q, %+v", w.asked, first)
	}
	run := func(code int, says string, args ...string) {
		t.Helper()
		got := w.run(t.Context(), args...)
		text := strings.NewReplacer(first.ID, "ID", first.Token, "TOKEN").Replace(got.stdout + got.stderr)
		if got.code != code || !strings.Contains(text, says) {
			t.Errorf("mcpl %q: %d, want %d and %q:\n%s", args, got.code, code, says, text)
		}
	}
	run(0, "ID  pending  demo/add  just now  {\"a\":1}\n", "approvals")
	run(0, `id           ID
state        pending
call         demo/add
arguments    {"a":1}
why          the rule with match "demo/*" in HOME/.config/mcpl/config.toml:4 says "ask"
approved by  terminal, elicitation, token
folder       DIR
asked        just now
expires      2026-03-02T12:00:00Z
`, "approvals", "show", first.ID)
	run(6, "error: there is no terminal here to ask a person whether to approve ID\n"+
		"hint: Without a terminal, give the token of the request", "approvals", "approve", first.ID)
	run(0, "ask: the rule with match", "call", "demo", "add", "a=1", "--dry-run")
	run(0, "ID (demo/add) is approved: the same call passes once.\n", "approvals", "approve", first.Token)
	run(0, "ID (demo/add) is approved", "approvals", "approve", first.ID) // harmless
	run(0, "; it has been", "call", "demo", "add", "a=1", "--dry-run")
	if other := w.requested("call", "demo", "add", "a=2"); other.ID == first.ID {
		t.Error("another call has the same request")
	}
	w.asked = nil
	run(0, "3", "call", "demo", "add", "a=1")
	run(0, "ID (demo/add) is used: the call has been made.\n", "approvals", "approve", first.ID)
	second := w.requested("call", "demo", "add", "a=1")
	if second.ID == first.ID || strings.Join(w.asked, " ") != "demo" {
		t.Errorf("asked anew: %+v, servers asked %q", second, w.asked)
	}
	run(0, " (demo/add) is denied: the call does not pass before 2026-03-02T12:00:00Z.\n", "approvals", "deny", second.ID, "--reason", "no")
	run(6, "error: the call of demo/add was denied at 2026-03-01 12:00 UTC: no", "call", "demo", "add", "a=1")
	run(6, "was denied at 2026-03-01 12:00 UTC: no", "approvals", "approve", second.Token)
	run(6, "A person has it asked for anew with: mcpl approvals revoke", "call", "demo", "add", "a=1")
	run(6, "there is no terminal here to ask a person whether to revoke", "approvals", "revoke", second.ID)
	run(0, "is revoked: the call is asked for anew", "approvals", "revoke", second.Token)
	w.requested("call", "demo", "add", "a=1")
	run(6, `error: the call of demo/drop is denied by the policy: the rule with match "demo/drop"`, "call", "demo", "drop")
	run(0, "Policy\n  deny: the rule with match \"demo/drop\"", "inspect", "demo", "drop")
	if strings.Join(w.asked, " ") != "demo" {
		t.Errorf("servers asked: %q", w.asked)
	}
}

// TestApprovalsAtATerminal: a person is asked there by the call, and by approvals approve.
func TestApprovalsAtATerminal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args  []string
		typed string
		code  int
		asked string
		says  []string
	}{
		"a call, yes": {[]string{"call", "papers", "cite"}, "maybe\nYes\n", 0, "papers",
			[]string{`papers/cite wants your approval: the rule with match "papers/*"`, "arguments  {}", "folder     DIR", "again: type one of the words"}},
		"a call, no":         {[]string{"call", "papers", "cite"}, "no\n", 6, "", []string{"Make this call? yes, no: ", "error: the call of papers/cite was not approved"}},
		"a call, no answer":  {[]string{"call", "papers", "cite"}, "", 6, "", []string{"was not approved"}},
		"--elicit is none":   {[]string{"call", "papers", "cite", "--elicit", "accept"}, "n\n", 6, "", []string{"was not approved"}},
		"a prompt":           {[]string{"prompt", "papers", "review", "topic=rain"}, "y\n", 0, "papers", []string{`arguments  {"topic":"rain"}`}},
		"a resource":         {[]string{"read", "papers", "paper://report"}, "y\n", 0, "papers", []string{"papers/paper://report wants your approval"}},
		"not to be approved": {[]string{"call", "demo", "drop"}, "yes\n", 6, "", []string{"is denied by the policy"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := gated(t)
			w.atTerminal(strings.NewReader(test.typed))
			got := w.run(t.Context(), test.args...)
			for _, part := range test.says {
				if !strings.Contains(got.stdout+got.stderr, part) {
					t.Errorf("does not say %q:\n%s%s", part, got.stdout, got.stderr)
				}
			}
			if got.code != test.code || strings.Join(w.asked, " ") != test.asked {
				t.Errorf("exit code %d, servers asked %q\n%s", got.code, w.asked, got.stderr)
			}
		})
	}
	t.Run("approve", func(t *testing.T) {
		t.Parallel()
		w := gated(t)
		r := w.requested("call", "papers", "cite")
		if r.Token != "" || strings.Join(r.By, " ") != "terminal" {
			t.Errorf("%+v", r)
		}
		for _, step := range []struct {
			typed string
			json  bool
			code  int
			says  string
		}{
			{"yes\n", true, 6, "only from a person at a terminal"},
			{"n\n", false, 6, "was not approved"},
			{"y\n", false, 0, "is approved: the same call passes once"},
			{"", false, 0, "is approved"}, // asks no more
		} {
			w.atTerminal(strings.NewReader(step.typed))
			args := []string{"approvals", "approve", r.ID}
			if step.json {
				args = append(args, "--json")
			}
			if got := w.run(t.Context(), args...); got.code != step.code || !strings.Contains(got.stdout+got.stderr, step.says) {
				t.Errorf("%q typed: %+v, want %q", step.typed, got, step.says)
			}
		}
		w.app.InTTY = false
		if got := w.run(t.Context(), "call", "papers", "cite"); got.code != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// TestRevokeADenial: what a person has denied, only a person at a terminal can have asked for anew, if the rule takes
// no other approval.
func TestRevokeADenial(t *testing.T) {
	t.Parallel()
	w := gated(t)
	r := w.requested("call", "papers", "cite")
	run := func(code int, says string, args ...string) {
		t.Helper()
		if got := w.run(t.Context(), args...); got.code != code || !strings.Contains(got.stdout+got.stderr, says) {
			t.Errorf("mcpl %q: %d, want %d and %q:\n%s", args, got.code, code, says, got.stdout+got.stderr)
		}
	}
	run(0, "is denied", "approvals", "deny", r.ID, "--reason", "no")
	run(6, "only from a person at a terminal", "approvals", "revoke", r.ID)
	run(6, "only from a person at a terminal", "approvals", "revoke", r.ID, "--json")
	w.atTerminal(strings.NewReader("no\n"))
	run(6, r.ID+" stays denied", "approvals", "revoke", r.ID)
	w.atTerminal(strings.NewReader("yes\n"))
	run(0, "is revoked", "approvals", "revoke", r.ID)
	w.app.InTTY = false
	if again := w.requested("call", "papers", "cite"); again.ID == r.ID {
		t.Error("the call is not asked for anew")
	}
	pending := w.requested("call", "papers", "cite")
	run(0, "is revoked", "approvals", "revoke", pending.ID) // no call passes for that
}

// TestApprovalsReadOn: a person can read the arguments that are cut off before the question.
func TestApprovalsReadOn(t *testing.T) {
	t.Parallel()
	w := gated(t)
	w.atTerminal(strings.NewReader("all\nno\n"))
	got := w.run(t.Context(), "call", "papers", "cite", `{"a":"`+strings.Repeat("x ", maxShown)+`the end"}`, "--no-validate")
	cut, rest, asked := strings.Cut(got.stderr, "Make this call? yes, no: ")
	if !asked || strings.Contains(cut, "the end") || !strings.Contains(cut, "type all to read them") ||
		!strings.Contains(rest, "the end") || got.code != 6 {
		t.Errorf("%d: %d bytes before the question, %d after it", got.code, len(cut), len(rest))
	}
}

// TestApprovalsByTheModel: only a rule that names the model lets the caller approve its call by the id.
func TestApprovalsByTheModel(t *testing.T) {
	t.Parallel()
	w := gated(t)
	r := w.requested("call", "web", "look")
	if got := w.run(t.Context(), "--json", "approvals", "approve", r.ID); got.code != 0 || !strings.Contains(got.stdout, `"approved_by":"model"`) {
		t.Errorf("%+v", got)
	}
	w.servers["web"].call = answering(map[string]string{"look": `{"content":[]}`})
	if got := w.run(t.Context(), "call", "web", "look"); got.code != 0 {
		t.Errorf("%+v", got)
	}
}

// TestApprovalsAreClean: what a caller puts into arguments cannot drive the terminal of whoever decides.
func TestApprovalsAreClean(t *testing.T) {
	t.Parallel()
	w := gated(t)
	r := w.requested("call", "demo", "add", "{\"a\":1,\n\n\"b\":\"\\u001b[2J\u202e\"}", "--no-validate")
	w.atTerminal(strings.NewReader("no\n"))
	for _, args := range [][]string{{"approvals"}, {"approvals", "show", r.ID}, {"approvals", "approve", r.ID}} {
		got := w.run(t.Context(), args...)
		if text := got.stdout + got.stderr; strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, `{"a":1,"b"`) {
			t.Errorf("mcpl %q: %q", args, text)
		}
	}
}

// TestApprovalsExpire: after a day a request can no longer be approved.
func TestApprovalsExpire(t *testing.T) {
	t.Parallel()
	w := gated(t)
	r := w.requested("call", "demo", "add", "a=1")
	w.app.Now = func() time.Time { return noon.Add(approval.Lifetime) }
	if got := w.run(t.Context(), "approvals", "approve", r.Token); got.code != 6 || !strings.Contains(got.stderr, "this token expired at 2026-03-02 12:00 UTC") {
		t.Errorf("%+v", got)
	}
	if got := w.run(t.Context(), "approvals"); got.stdout != "Nothing was asked for.\n" {
		t.Errorf("%+v", got)
	}
}

// TestApproveFollowsTheRule: an approval in a way that the rule does not take any more does not pass, and so is none.
func TestApproveFollowsTheRule(t *testing.T) {
	t.Parallel()
	w := gated(t)
	pending, approved := w.requested("call", "demo", "add", "a=1"), w.requested("call", "demo", "add", "a=2")
	if got := w.run(t.Context(), "approvals", "approve", approved.Token); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	rules := func(text string) {
		t.Helper()
		if err := os.WriteFile(w.app.Env.SettingsFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says := func(code int, text string, args ...string) {
		t.Helper()
		if got := w.run(t.Context(), args...); got.code != code || !strings.Contains(got.stdout+got.stderr, text) {
			t.Errorf("mcpl %q: %+v, want %d and %q", args, got, code, text)
		}
	}
	rules("[[policy]]\nmatch = \"demo/*\"\naction = \"ask\"\nby = [\"terminal\"]\n")
	for _, r := range []fault.Approval{pending, approved} {
		says(6, r.ID+" cannot be approved by token, only by terminal", "approvals", "approve", r.Token)
		says(6, "there is no terminal here", "approvals", "approve", r.ID)
	}
	w.atTerminal(strings.NewReader("no\nyes\n"))
	says(6, "was not approved", "approvals", "approve", approved.ID)
	w.atTerminal(strings.NewReader("yes\n"))
	says(0, "is approved: the same call passes once", "approvals", "approve", approved.ID)
	says(0, "3", "call", "demo", "add", "a=2")
	rules("[[policy]]\nmatch = \"demo/*\"\naction = \"deny\"\n")
	says(6, "is denied by the policy", "approvals", "approve", pending.Token)
}
