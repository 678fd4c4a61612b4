package verb

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/trust"
)

// doing is a verb made of a function, to test the parts that a verb is made of.
type doing func(context.Context, *Session) error

func (doing) Flags(*pflag.FlagSet)                        {}
func (doing) Parse([]string) error                        { return nil }
func (d doing) Run(ctx context.Context, s *Session) error { return d(ctx, s) }

// do runs a function in a session, and returns its exit code and all that it printed.
func (w *world) do(f func(context.Context, *Session) error, args ...string) (code int, printed string) {
	w.t.Helper()
	var out bytes.Buffer
	app := *w.app
	app.Stdout, app.Stderr = &out, &out
	code, err := app.Run(w.t.Context(), Spec{Name: "doing"}, doing(f), Globals{NoDaemon: true}, args)
	if err != nil {
		w.t.Error(err)
	}
	return code, strings.ReplaceAll(out.String(), w.dir, "DIR")
}

func TestLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{"mcpServers": {"bank": {"command": "bank"}}}`, map[string]*server{"bank": offering(t, "", pays, tells)}).built()
	lock := func(ctx context.Context, s *Session) error { return s.lock(ctx, nil) }
	if code, out := w.do(lock); code != 0 || out != "Locked 2 definitions of 1 server in DIR/mcpl.lock.\nCheck it with: mcpl doctor --locked\n" {
		t.Errorf("%d, %s", code, out)
	}
	if got := w.run(t.Context(), "doctor", "--locked"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	w.servers["bank"] = offering(t, "", destroys, tells)
	w.built()
	if code, out := w.do(lock); code != 6 || !strings.Contains(out, "bank/pay has changed since 2026-03-01: annotations (held") {
		t.Errorf("what is held is locked: %d, %s", code, out)
	}
}

func TestDefinitionsAreApproved(t *testing.T) {
	t.Parallel()
	w := changedBank(t)
	var list []*definition
	read := func(words ...string) {
		t.Helper()
		if code, out := w.do(func(ctx context.Context, s *Session) (err error) {
			servers, tools, err := s.splitNames(words)
			if err == nil {
				list, err = s.definitions(ctx, servers, tools)
			}
			return err
		}); code != 0 {
			t.Fatal(out)
		}
	}
	read()
	if len(list) != 2 || list[0].ref() != "bank/pay" || !list[0].Held || list[1].Held || len(list[1].Diff) != 2 {
		t.Fatalf("%+v", list)
	}
	if _, err := approveHash(list, "bank/pay", "0123456789ab"); !fault.Is(err, fault.ApprovalRequired) {
		t.Errorf("any hash: %v", err)
	}
	if read("bank/balance"); len(list) != 1 {
		t.Errorf("one tool: %+v", list)
	}
	if read("bank"); len(list) != 2 {
		t.Errorf("one server: %+v", list)
	}
	see := func(approved bool) {
		t.Helper()
		look := func(ctx context.Context, s *Session) error { return s.seeDefinitions(ctx, list, approved) }
		if code, out := w.do(look); code != 0 {
			t.Fatal(out)
		}
	}
	see(false)
	if read(); len(list) != 1 || list[0].ref() != "bank/pay" {
		t.Fatalf("after a look: %+v", list)
	}
	approved, err := approveHash(list, "bank/pay", list[0].Hash[:trust.Short])
	if err != nil || len(approved) != 1 {
		t.Fatalf("%+v, %v", approved, err)
	}
	see(true)
	if read(); len(list) != 0 {
		t.Errorf("approved: %+v", list)
	}
	if got := w.run(t.Context(), "--json", "inspect", "bank", "pay"); !strings.Contains(got.stdout, "destructiveHint") {
		t.Errorf("the new definition does not count: %+v", got)
	}
}

// TestF3ManyChangesAreReadOnce: to show and note the changes of a server takes work in proportion to them. Its file was
// read, and then written, for each of them: 1,000 changes took 48 s.
func TestF3ManyChangesAreReadOnce(t *testing.T) {
	t.Parallel()
	cost := func(n int) time.Duration {
		before, after := make([]string, n), make([]string, n)
		for i := range n {
			before[i] = fmt.Sprintf(`{"name":"t%d","description":"It does one thing.","inputSchema":{"type":"object"}}`, i)
			after[i] = strings.Replace(before[i], "one thing", "another thing", 1)
		}
		w := bank(t, before, after)
		began := time.Now()
		diff := func(ctx context.Context, s *Session) error {
			return s.trustShow(ctx, &trustVerb{Diff: true}, nil, nil, nil)
		}
		code, out := w.do(diff)
		took := time.Since(began)
		if got := strings.Count(out, "changed since"); code != 0 || got != n {
			t.Fatalf("exit code %d, %d changes of %d are shown", code, got, n)
		}
		if code, out = w.do(diff); strings.Contains(out, "changed since") {
			t.Fatalf("exit code %d, they were not seen:\n%.300s", code, out)
		}
		return took
	}
	best := math.Inf(1)
	for range 3 {
		if best = min(best, float64(cost(1200))/float64(cost(300))); best <= 2.5*2.5 {
			return
		}
	}
	t.Errorf("4 times the changes take %.1f times as long", best)
}
