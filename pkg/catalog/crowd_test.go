package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcp-launchpad/mcpl/internal/fixture"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// machine is a [Lister] in virtual time: a server answers once it had the processor for long enough, which it shares
// with the others that run and with other work.
type machine struct {
	t     *testing.T
	cores float64
	load  int           // other processes that always run
	limit time.Duration // of a start
	need  map[string]time.Duration
	// reason is why servers are silent in their own words.
	reason string

	mu      sync.Mutex
	running map[string]bool
	most    int      // servers at once
	starts  []string // in their order; " alone" behind those that had the machine for themselves
	options []tool.CallOptions
}

// never is the need of a server that does not answer.
const never = time.Hour

func (m *machine) list(
	ctx context.Context, _ *config.Config, server string, opt tool.CallOptions) (tool.Listing, error) {
	m.mu.Lock()
	m.running[server] = true
	m.most = max(m.most, len(m.running))
	m.starts = append(m.starts, server)
	m.options = append(m.options, opt)
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.running, server)
	}()
	const step = 10 * time.Millisecond
	had, began := time.Duration(0), time.Now()
	for time.Since(began) < m.limit {
		time.Sleep(step) // virtual
		if ctx.Err() != nil {
			return tool.Listing{}, ctx.Err()
		}
		m.mu.Lock()
		had += time.Duration(float64(step) * min(1, m.cores/float64(m.load+len(m.running))))
		m.mu.Unlock()
		if had >= m.need[server] {
			return fixture.Listing(m.t, server+"_tool"), nil
		}
	}
	message := fmt.Sprintf("%s did not answer initialize within %s", server, m.limit)
	f := fault.New(fault.Timeout, message, "Give it more time.").On(server, "")
	f.Reason = m.reason
	return tool.Listing{}, f
}

// states lists all servers of a new catalog on a machine, and returns the faults of those that failed, by name.
func (m *machine) states(w *world, room int, need Need) map[string]*fault.Fault {
	m.t.Helper()
	m.running, m.most, m.starts = make(map[string]bool), 0, nil
	opt := w.options()
	opt.Lister, opt.room = m.list, room
	c := New(opt)
	failed := make(map[string]*fault.Fault)
	err := c.Read(m.t.Context(), need, func(v *View) error {
		for _, s := range v.Servers() {
			if s.State != index.Listed {
				failed[s.Name] = s.Error
			}
		}
		return nil
	})
	if err != nil {
		m.t.Error(err)
	}
	if err := c.Close(); err != nil {
		m.t.Error(err)
	}
	return failed
}

func (m *machine) servers(need time.Duration, n int) (names []string) {
	m.need = make(map[string]time.Duration)
	for i := range n {
		name := fmt.Sprintf("s%02d", i)
		names = append(names, name)
		m.need[name] = need
	}
	return names
}

// servers.md, S1/S2: 45 servers that work were started at once, and 12 to 36 of them "timed out" on two busy cores.
func TestManyServersOnALittleMachine(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ room, most, alone int }{
		"four at a time":                            {4, 4, 0},
		"all at once, each once more alone":         {45, 45, 45},
		"ten at a time, which is too many at first": {10, 10, 0},
	} {
		together(t, name, func(t *testing.T) {
			m := &machine{t: t, cores: 2, load: 20, limit: 30 * time.Second}
			w := newWorld(t, m.servers(1200*time.Millisecond, 45)...)
			if failed := m.states(w, tt.room, Need{}); len(failed) > 0 {
				t.Errorf("%d servers failed: %v", len(failed), failed)
			}
			if m.most != tt.most || len(m.starts) != 45+tt.alone {
				t.Errorf("%d at once, %d starts", m.most, len(m.starts))
			}
		})
	}
}

// The room is at least four, and twice the cores.
func TestRoom(t *testing.T) {
	t.Parallel()
	if room := newCrowd(0).room; room < 4 || room < 2*cores() || room > 4 && room != 2*cores() {
		t.Errorf("room for %d on %d cores", room, cores())
	}
}

// The servers that took longest the last time are started first.
func TestSlowServersFirst(t *testing.T) {
	t.Parallel()
	together(t, "", func(t *testing.T) {
		m := &machine{t: t, cores: 100, limit: time.Minute}
		w := newWorld(t, m.servers(time.Second, 8)...)
		m.need["s05"], m.need["s06"], m.need["s02"] = 3*time.Second, 9*time.Second, 6*time.Second
		m.states(w, 1, Need{})
		m.states(w, 1, Need{List: ListAll})
		if want := "s06 s02 s05 s00 s01 s03 s04 s07"; strings.Join(m.starts, " ") != want {
			t.Errorf("started %v, want %s", m.starts, want)
		}
	})
}

// Silence in a crowd.
func TestSilentServers(t *testing.T) {
	t.Parallel()
	const limit = 30 * time.Second
	plain := "NAME did not answer initialize within 30s: Give it more time."
	busy := fmt.Sprintf("NAME did not answer initialize within 30s while 6 servers were started on %d cores: "+
		"The machine may be too busy for so many.", cores())
	for name, tt := range map[string]struct {
		others time.Duration            // what most servers need; zero means a second
		need   map[string]time.Duration // of some
		load   int
		reason string
		failed map[string]int // by what is said of them
		starts int
		trace  string // of s00
	}{
		"the others are quick, so that the crowd is not to blame": {need: map[string]time.Duration{"s00": never, "s01": never},
			failed: map[string]int{plain: 2}, starts: 6},
		"the others are slow": {others: 2 * time.Second, need: map[string]time.Duration{"s00": 8 * time.Second}, load: 6, starts: 6 + 1},
		"it is silent alone too": {need: map[string]time.Duration{"s00": never, "s01": 2600 * time.Millisecond}, load: 20,
			failed: map[string]int{plain: 1}, starts: 6 + 2,
			trace: fmt.Sprintf("it was silent alone, and before that while 6 servers were started on %d cores", cores())},
		"two are silent alone too, and the others cost no more time": {load: 20,
			need:   map[string]time.Duration{"s00": 2400 * time.Millisecond, "s01": never, "s02": never, "s03": never, "s04": never},
			failed: map[string]int{plain: 2, busy: 2}, starts: 6 + 2},
		"the same, with a reason of their own": {load: 20, reason: "http",
			need:   map[string]time.Duration{"s00": 2400 * time.Millisecond, "s01": never, "s02": never, "s03": never, "s04": never},
			failed: map[string]int{plain: 4}, starts: 6 + 2},
		"none answers, and the first one not alone either": {load: 1000, starts: 6 + 1,
			failed: map[string]int{plain: 1, busy: 5}},
		"none answers among others, and each alone": {others: 4350 * time.Millisecond, load: 12, starts: 6 + 6},
	} {
		together(t, name, func(t *testing.T) {
			m := &machine{t: t, cores: 2, load: tt.load, limit: limit, reason: tt.reason}
			w := newWorld(t, m.servers(max(tt.others, time.Second), 6)...)
			for name, need := range tt.need {
				m.need[name] = need
			}
			failed := m.states(w, 4, Need{})
			got := make(map[string]int)
			for name, f := range failed {
				text := strings.ReplaceAll(f.Message+": "+f.Help, name, "NAME")
				got[text]++
				if again := len(f.Next) == 1 && f.Next[0].Step.Verb == "list"; again != (text == busy) {
					t.Errorf("%s: next %v", name, f.Next)
				}
			}
			if diff := cmp.Diff(tt.failed, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failed: -want +got\n%s", diff)
			}
			if len(m.starts) != tt.starts || m.most != 4 {
				t.Errorf("%d at once, started %v", m.most, m.starts)
			}
			if f := failed["s00"]; tt.trace != "" && !strings.Contains(f.Traceback, tt.trace) {
				t.Errorf("traceback %s", f.Traceback)
			}
		})
	}
}

// Few servers do not make a crowd: a silent one is not tried again.
func TestFewServers(t *testing.T) {
	t.Parallel()
	together(t, "", func(t *testing.T) {
		m := &machine{t: t, cores: 2, limit: 30 * time.Second}
		w := newWorld(t, m.servers(never, 2)...)
		if failed := m.states(w, 4, Need{}); len(failed) != 2 || len(m.starts) != 2 {
			t.Errorf("%d failed, started %v", len(failed), m.starts)
		}
	})
}

// Servers on other machines, those that run already, and those that a call waits for need no room.
func TestServersThatAreNotStarted(t *testing.T) {
	t.Parallel()
	together(t, "", func(t *testing.T) {
		w := newWorld(t)
		m := &machine{t: t, cores: 2, limit: 30 * time.Second}
		names := m.servers(time.Second, 6)
		var entries []string
		for _, name := range names {
			entries = append(entries, name+`: {"type": "http", "url": "https://example.com/"}`)
		}
		w.configure(entries...)
		if m.states(w, 1, Need{}); m.most != 6 {
			t.Errorf("%d at once", m.most)
		}
	})
	for name, need := range map[string]Need{"changed": {List: ListChanged}, "called": {List: ListAll, Keep: true}} {
		together(t, name, func(t *testing.T) {
			m := &machine{t: t, cores: 2, limit: 30 * time.Second}
			w := newWorld(t, m.servers(time.Second, 6)...)
			if m.states(w, 1, Need{}); m.most != 1 {
				t.Errorf("%d at once", m.most)
			}
			if m.states(w, 1, need); m.most != 6 {
				t.Errorf("%s: %d at once", name, m.most)
			}
		})
	}
}

// A request that is cancelled leaves the queue, and others get its place.
func TestQueueIsLeft(t *testing.T) {
	t.Parallel()
	together(t, "", func(t *testing.T) {
		w := newWorld(t, "a", "b")
		w.hold["a"] = true
		opt := w.options()
		opt.room = 1
		c := New(opt)
		defer c.Close()
		first := w.ensure(c, Need{Servers: []string{"a"}})
		h := <-w.held
		second := w.ensure(c, Need{Servers: []string{"b"}})
		synctest.Wait()
		second.cancel()
		<-second.done
		if !fault.Is(second.err, fault.Interrupted) || w.requests() != "a" {
			t.Errorf("%v, asked %s", second.err, w.requests())
		}
		third := w.ensure(c, Need{Servers: []string{"b"}})
		synctest.Wait()
		if w.requests() != "a" {
			t.Errorf("asked %s", w.requests())
		}
		h.answer <- answer{listing: w.servers["a"]}
		if got := third.tools(t); got != "a/a_tool b/b_tool" {
			t.Errorf("tools %s", got)
		}
		first.tools(t)
	})
}

// servers.md, S2: a list left 32 servers running, for 15 minutes in the daemon. Only a server that is called next
// stays.
func TestListedBriefly(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		need  Need
		brief bool
	}{
		"listed":                  {Need{List: ListAll}, true},
		"searched":                {Need{}, true},
		"called next":             {Need{Keep: true}, false},
		"listed behind a call":    {Need{List: ListChanged}, false},
		"refreshed behind a call": {Need{List: ListDue}, true},
	} {
		together(t, name, func(t *testing.T) {
			m := &machine{t: t, cores: 2, limit: time.Minute}
			w := newWorld(t, m.servers(time.Second, 2)...)
			m.states(w, 4, tt.need)
			wrong := func(o tool.CallOptions) bool { return o.Brief != tt.brief }
			if len(m.options) != 2 || slices.ContainsFunc(m.options, wrong) {
				t.Errorf("options %+v", m.options)
			}
		})
	}
}
