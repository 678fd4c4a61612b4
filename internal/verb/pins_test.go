package verb

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
)

const (
	pays     = `{"name":"pay","description":"Pays.","inputSchema":{"type":"object"}}`
	destroys = `{"name":"pay","description":"Pays.","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}`
	tells    = `{"name":"balance","description":"Tells the balance of an account.","inputSchema":{"type":"object"}}`
	tellsAll = `{"name":"balance","description":"Tells the balance of every account.","inputSchema":{"type":"object"}}`
	renamed  = `{"name":"funds","description":"Tells the balance of an account.","inputSchema":{"type":"object"}}`
)

// bank returns a world whose server offered one thing when it was first listed, and offers another now.
func bank(t *testing.T, before, now []string) *world {
	t.Helper()
	w := newWorld(t, `{"mcpServers": {"bank": {"command": "bank"}}}`, map[string]*server{"bank": offering(t, "", before...)}).built()
	w.servers["bank"] = offering(t, "", now...)
	w.servers["bank"].call = answering(map[string]string{"balance": `{"content":[{"type":"text","text":"42"}]}`})
	return w.built()
}

func changedBank(t *testing.T) *world {
	t.Helper()
	return bank(t, []string{pays, tells}, []string{destroys, tellsAll})
}

func TestF6AnswersSayWhatChanged(t *testing.T) {
	t.Parallel()
	const held = `"changed":{"since":"2026-03-01","kind":["annotations"],"held":true}`
	checkAnswers(t, changedBank, map[string]answer{
		"search": {args: []string{"search", "pays"}, text: `bank/pay  0.71  changed since 2026-03-01: annotations (held: the old definition counts)
  Pays.

Read one: mcpl inspect bank pay
`, json: `{"query":"pays","method":"bm25","results":[{"server":"bank","tool":"pay","score":0.714,"description":"Pays.",` +
			`"signature":"","required":[],"matched_in":["name","description"],` + held + `}]}`},
		"list": {args: []string{"list", "bank"}, text: `pay  changed since 2026-03-01: annotations (held: the old definition counts)
  Pays.

balance  changed since 2026-03-01: words
  Tells the balance of every account.

bank has 2 tools, about 43 tokens.
`, json: `{"server":"bank","tools":[{"name":"pay","description":"Pays.",` + held + `},{"name":"balance",` +
			`"description":"Tells the balance of every account.","changed":{"since":"2026-03-01","kind":["words"]}}]}`},
		"inspect": {args: []string{"inspect", "bank", "pay"}, text: `bank/pay

  Pays.

  Changed since 2026-03-01: annotations (held: the old definition counts).
  + annotations.destructiveHint: true

Signature
  pay()

Call it
  mcpl call bank pay '{}'
`, json: `{"server":"bank","tool":"pay","description":"Pays.","inputSchema":{"type":"object"},` + held + `}`},
		"call": {args: []string{"call", "bank", "balance"}, asked: []string{"bank"}, text: `42
note: bank/balance has changed since 2026-03-01: words. A person reads the difference with: mcpl trust --diff bank/balance
`, json: `{"success":true,"result":"42","changed":{"since":"2026-03-01","kind":["words"]}}`},
		"held": {args: []string{"call", "bank", "pay"}, code: 6, text: `error: bank/pay has changed since 2026-03-01: annotations
  + annotations.destructiveHint: true
hint: Do not approve it yourself: show your user what has changed. A person reads it with: mcpl trust --diff bank/pay. A person approves it with: mcpl trust bank/pay --yes a0cf736b631e
`},
	})
}

// TestInspectAtATerminalHasSeen: a change that a person has read is not shown again. An agent's inspect, and one of
// what is held, change nothing.
func TestInspectAtATerminalHasSeen(t *testing.T) {
	t.Parallel()
	w := changedBank(t)
	says := func() bool {
		return strings.Contains(w.run(t.Context(), "--json", "search", "balance").stdout, `"changed"`)
	}
	w.run(t.Context(), "--json", "inspect", "bank", "balance")
	w.app.OutTTY.Is = false
	w.run(t.Context(), "inspect", "bank", "balance")
	if !says() {
		t.Error("an agent has seen it")
	}
	w.app.OutTTY.Is = true
	if got := w.run(t.Context(), "inspect", "bank", "balance"); !strings.Contains(got.stdout, `- description: "Tells the balance of an account."`) {
		t.Errorf("%+v", got)
	}
	w.run(t.Context(), "inspect", "bank", "pay")
	if says() {
		t.Error("a person has seen it")
	}
	if got := w.run(t.Context(), "call", "bank", "pay"); got.code != 6 {
		t.Errorf("what was held is called: %+v", got)
	}
}

func TestF6RenamedToolStaysDisabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{"mcpServers": {"bank": {"command": "bank"}}}`, map[string]*server{"bank": offering(t, "", pays, tells)}).built()
	w.run(t.Context(), "disable", "bank/balance")
	w.servers["bank"] = offering(t, "", pays, renamed)
	// The call itself lists the server, and must not slip through before the file says so.
	got := w.run(t.Context(), "--json", "list", "bank", "--refresh")
	if want := "note: bank/funds is balance under another name, so it is disabled too\n"; got.stderr != want ||
		strings.Contains(got.stdout, "funds") {
		t.Errorf("%+v", got)
	}
	if got := w.run(t.Context(), "call", "bank", "funds"); got.code != 3 || !strings.Contains(got.stderr, "bank/funds is disabled") {
		t.Errorf("%+v", got)
	}
	w.run(t.Context(), "enable", "bank/funds")
	w.built()
	if got := w.run(t.Context(), "--json", "list", "bank"); !strings.Contains(got.stdout, "funds") {
		t.Errorf("a person has enabled it: %+v", got)
	}
}

// TestRenamedInStepsStaysDisabled: a tool that is renamed and reworded a little at a time stays disabled.
func TestRenamedInStepsStaysDisabled(t *testing.T) {
	t.Parallel()
	words := strings.Fields("tells the balance of an account of the person who asks and of no one else in the whole bank")
	def := func(step int) string {
		return fmt.Sprintf(`{"name":"tool%d","description":"%s","inputSchema":{"type":"object"}}`, step, strings.Join(words, " "))
	}
	w := newWorld(t, `{"mcpServers": {"bank": {"command": "bank"}}}`, map[string]*server{"bank": offering(t, "", pays, def(0))}).built()
	w.run(t.Context(), "disable", "bank/tool0")
	for step := range len(words) {
		words[step] = fmt.Sprint("other", step)
		w.servers["bank"] = offering(t, "", pays, def(step+1))
		name := fmt.Sprintf("bank/tool%d", step+1)
		if got := w.run(t.Context(), "list", "bank", "--refresh"); !strings.Contains(got.stderr, "note: "+name+" is ") {
			t.Fatalf("%s: %+v", name, got)
		}
	}
	if got := w.run(t.Context(), "--json", "list", "bank"); strings.Contains(got.stdout, `"name":"tool`) {
		t.Error(got.stdout)
	}
}

// TestDryRunSaysWhatThePinSays: a dry run tells of a change as the call would, before anything is called.
func TestDryRunSaysWhatThePinSays(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"pay": {`"changed":{"since":"2026-03-01","kind":["annotations"],"held":true}`,
			"pin        deny: changed since 2026-03-01: annotations (held: the old definition counts)\n"},
		"balance": {`"changed":{"since":"2026-03-01","kind":["words"]}`, "pin        allow: changed since 2026-03-01: words\n"},
	} {
		w := changedBank(t)
		for i, args := range [][]string{{"--json", "call", "bank", name, "--dry-run"}, {"call", "bank", name, "--dry-run"}} {
			if got := w.run(t.Context(), args...); got.code != 0 || !strings.Contains(got.stdout, want[i]) {
				t.Errorf("%s: %+v, want %s", name, got, want[i])
			}
		}
	}
	w := newWorld(t, `{"mcpServers": {"bank": {"command": "bank", "pin": "hold"}}}`,
		map[string]*server{"bank": offering(t, "", tells)}).built()
	w.servers["bank"] = offering(t, "", tells, pays)
	w.built()
	if got := w.run(t.Context(), "--json", "call", "bank", "pay", "--dry-run"); got.code != 6 ||
		!strings.Contains(got.stdout, `"kind":"pin"`) {
		t.Errorf("a new tool that is held: %+v", got)
	}
}

// TestTrustListShowsPins: the list names the tools that have changed beside their server.
func TestTrustListShowsPins(t *testing.T) {
	t.Parallel()
	w := changedBank(t)
	got := w.run(t.Context(), "trust", "--list")
	_, lines, _ := strings.Cut(got.stdout, "hash: ")
	_, lines, _ = strings.Cut(lines, "\n")
	if diff := cmp.Diff(`  bank/pay  changed since 2026-03-01: annotations (held: the old definition counts)
  bank/balance  changed since 2026-03-01: words
`, lines); diff != "" {
		t.Error(got.stdout, diff)
	}
	for range 2 { // whoever lists has not seen the difference
		got = w.run(t.Context(), "--json", "trust", "--list")
		for _, text := range []string{`"definitions":[{"server":"bank","name":"pay","since":"2026-03-01","kind":["annotations"],"held":true,`,
			`{"server":"bank","name":"balance","since":"2026-03-01","kind":["words"],`} {
			if !strings.Contains(got.stdout, text) {
				t.Errorf("%s: no %s", got.stdout, text)
			}
		}
	}
}

func TestDoctorLocked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{"mcpServers": {"bank": {"command": "bank"}}}`, map[string]*server{"bank": offering(t, "", pays, tells)}).built()
	if got := w.run(t.Context(), "doctor", "--locked"); got.code != 2 || !strings.Contains(got.stderr, "there is no DIR/mcpl.lock") {
		t.Errorf("without a lock: %+v", got)
	}
	lock := pin.NewLock()
	if err := errors.Join(lock.Add("bank", w.servers["bank"].listing), lock.Write(filepath.Join(w.dir, pin.LockFile))); err != nil {
		t.Fatal(err)
	}
	if got := w.run(t.Context(), "doctor", "--locked"); got.code != 0 || !strings.Contains(got.stdout, "All is as mcpl.lock says.\n") {
		t.Errorf("%+v", got)
	}
	w.servers["bank"] = offering(t, "", destroys, renamed)
	got := w.run(t.Context(), "doctor", "--locked")
	_, end, _ := strings.Cut(got.stdout, "fine.\n")
	if diff := cmp.Diff(`not locked bank/balance is in the lock, but not there
not locked bank/pay is not as it was locked
not locked bank/funds is not in the lock
See what you have not seen yet with: mcpl trust --diff. If your team agrees, lock what is there now with: mcpl trust
--lock
MCPL_TRUST=all is set: servers of every project are used without an approval, with your own logins.
`, end); got.code != 6 || diff != "" {
		t.Errorf("code %d\n%s", got.code, diff)
	}
	got = w.run(t.Context(), "--json", "doctor", "--locked")
	if !strings.Contains(got.stdout, `"locked":false,"mismatches":[{"server":"bank","name":"balance","problem":"missing"},`) {
		t.Errorf("%s", got.stdout)
	}
}

// TestDoctorLockedComparesOrSays: a server that does not answer, or is off, is not as the lock says.
func TestDoctorLockedComparesOrSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{"mcpServers": {"bank": {"command": "bank"}, "shop": {"command": "shop"}}}`,
		map[string]*server{"bank": offering(t, "", pays), "shop": offering(t, "", tells)}).built()
	if got := w.run(t.Context(), "trust", "--lock"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	w.run(t.Context(), "disable", "shop")
	check := func(code int, mismatches string) {
		t.Helper()
		got := w.run(t.Context(), "--json", "doctor", "--locked")
		if want := `"locked":false,"mismatches":[` + mismatches + "]}\n"; got.code != code || !strings.HasSuffix(got.stdout, want) {
			t.Errorf("code %d, %s", got.code, got.stdout)
		}
	}
	const shop = `{"server":"shop","of":"server","problem":"not compared"}`
	check(6, shop)
	w.servers["bank"].down = fault.New(fault.ServerConnection, "bank is down", "")
	check(4, shop+`,{"server":"bank","of":"server","problem":"not compared"}`)
	if got := w.run(t.Context(), "doctor", "--locked"); !strings.Contains(got.stdout, "not locked server bank was not compared\n") {
		t.Errorf("%+v", got)
	}
}
