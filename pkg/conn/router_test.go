package conn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// inFlight enters calls into a new router, without waiting.
func inFlight(t *testing.T, calls ...*call) *router {
	t.Helper()
	r := newRouter()
	for _, c := range calls {
		if err := r.enter(t.Context(), c, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func unshared(t *testing.T) func() {
	return func() { t.Error("a question of one client was taken for a shared one") }
}

func TestRouterFindsTheCall(t *testing.T) {
	t.Parallel()
	listing := &call{client: "b"}
	silent := &call{client: "a", askable: true}
	first := &call{client: "a", askable: true, audience: &audience{}}
	second := &call{client: "a", askable: true, audience: &audience{}}
	other := &call{client: "b", askable: true, audience: &audience{}}
	for name, c := range map[string]struct {
		calls         []*call
		request, task string
		asked         *call // already
		want          *call
		err           error
	}{
		"no call":                        {},
		"a listing alone":                {calls: []*call{listing}},
		"one call":                       {calls: []*call{listing, first}, want: first},
		"one call without an audience":   {calls: []*call{silent}, want: silent},
		"calls of one client":            {calls: []*call{silent, first, second}, want: first},
		"the first is being asked":       {calls: []*call{first, second}, asked: first, want: second},
		"all are being asked":            {calls: []*call{silent, first}, asked: first, want: first},
		"calls of two clients":           {calls: []*call{first, other}, err: errShared},
		"and one of them cannot answer":  {calls: []*call{silent, other}, err: errShared},
		"the stream says it":             {calls: []*call{first, other}, request: "7", want: other},
		"the stream of a dead request":   {calls: []*call{first}, request: "9", err: errWhose},
		"a dead task":                    {calls: []*call{first}, task: "dead", err: errWhose},
		"the task says it":               {calls: []*call{first, other}, task: "t", want: other},
		"the stream counts before tasks": {calls: []*call{first, other}, request: "6", task: "t", want: first},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: the cases share the calls
			r := inFlight(t, c.calls...)
			r.expect(6, first)
			r.expect(7, other)
			r.became("t", other)
			r.ask(c.asked)
			defer r.replied(c.asked)
			got, err := r.find(c.request, c.task)
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || got != c.want {
				t.Errorf("got %+v, %v", got, err)
			}
			if owner := r.owner(c.request); c.task == "" && owner != c.want {
				t.Errorf("a message is for %+v", owner)
			}
		})
	}
}

// A call that has left is forgotten with its requests and tasks, and one that has answered is asked again.
func TestRouterForgets(t *testing.T) {
	t.Parallel()
	a, b := &call{askable: true, audience: &audience{}}, &call{askable: true, audience: &audience{}}
	r := inFlight(t, a, b)
	r.replied(nil)
	r.expect(1, b)
	r.became("t", b)
	for i, want := range []*call{a, b, a} {
		if got, err := r.assign(t.Context(), "", "", unshared(t)); got != want || err != nil {
			t.Errorf("question %d is for another call: %v", i, err)
		}
	}
	r.replied(b)
	if got, _ := r.assign(t.Context(), "", "", unshared(t)); got != b {
		t.Error("a call that has answered is not asked again")
	}
	r.leave(b, true)
	if got, _ := r.assign(t.Context(), "", "", unshared(t)); got != a || len(r.requests)+len(r.tasks)+len(r.calls) != 1 {
		t.Error("a call that has left is asked")
	}
	if got, err := r.assign(t.Context(), "1", "t", unshared(t)); got != nil || !errors.Is(err, errWhose) {
		t.Errorf("a question of a call that has left is for %+v, %v", got, err)
	}
	if got := taskOf([]byte(`{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}`)); got != "t" || taskOf([]byte("7")) != "" {
		t.Errorf("task %q", got)
	}
}

// A question of which nothing says whose it is waits for the calls of the other clients to end.
func TestRouterHoldsQuestions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		during func(r *router, a, b *call, giveUp func()) // one second after the question came
		want   string                                     // who is asked; else the error
		after  time.Duration
	}{
		"the other ends":        {during: func(r *router, a, _ *call, _ func()) { r.leave(a, true) }, want: "b", after: time.Second},
		"it ends itself":        {during: func(r *router, _, b *call, _ func()) { r.leave(b, true) }, want: "a", after: time.Second},
		"the other is given up": {during: func(r *router, a, _ *call, _ func()) { r.leave(a, false) }, want: errWhose.Error(), after: time.Second},
		"neither ends":          {during: func(*router, *call, *call, func()) {}, want: errWhose.Error(), after: holdLimit},
		"the server withdraws it": {during: func(_ *router, _, _ *call, giveUp func()) { giveUp() },
			want: context.Canceled.Error(), after: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &call{client: "a", askable: true, audience: &audience{}}
				b := &call{client: "b", askable: true, audience: &audience{}}
				r := inFlight(t, a, b)
				ctx, giveUp := context.WithCancel(t.Context())
				began := time.Now()
				time.AfterFunc(time.Second, func() { c.during(r, a, b, giveUp) })
				shared := 0
				got, err := r.assign(ctx, "", "", func() { shared++ })
				who := map[*call]string{a: "a", b: "b"}[got]
				if err != nil {
					who = err.Error()
				}
				if who != c.want || time.Since(began) != c.after {
					t.Errorf("%s after %s", who, time.Since(began))
				}
				if shared != 1 || !r.turns.Load() {
					t.Errorf("it was remembered %d times; turns %v", shared, r.turns.Load())
				}
				giveUp()
				synctest.Wait()
			})
		})
	}
}

// A server may still ask for a call that was given up. No other client answers that.
func TestRouterGivenUp(t *testing.T) {
	t.Parallel()
	of := func(client string) *call { return &call{client: client, askable: true, audience: &audience{}} }
	gone, other, again := of("a"), of("b"), of("a")
	r := inFlight(t, gone)
	r.leave(gone, false)
	for name, c := range map[string]struct {
		call   *call
		shared int
	}{"another client": {other, 1}, "the same client": {again, 0}} {
		if err := r.enter(t.Context(), c.call, time.Second); err != nil {
			t.Fatal(err)
		}
		r.turns.Store(false)
		shared := 0
		got, err := r.assign(t.Context(), "", "", func() { shared++ })
		if (got == c.call) != (err == nil) || errors.Is(err, errWhose) != (c.call == other) || shared != c.shared {
			t.Errorf("%s is asked: %v, %v; noted %d times", name, got == c.call, err, shared)
		}
		r.turns.Store(true)
		if spoiled := r.spoiled(c.call); spoiled != (c.call == other) {
			t.Errorf("for %s it is spoiled: %v", name, spoiled)
		}
		r.leave(c.call, true)
	}
	for range 3 { // however many are given up
		r.calls = append(r.calls, of("c"))
		r.leave(r.calls[0], false)
	}
	if len(r.lost) != 2 || !r.lostByOther("a") || !r.lostByOther("c") {
		t.Errorf("given up by %v", r.lost)
	}
}

// A server that asks for a call that was given up gets no answer of another client. Then that client gets another
// process, where the server cannot ask for it any more.
func TestQuestionOfAGivenUpCall(t *testing.T) {
	t.Parallel()
	starts := t.TempDir() + "/starts"
	late := asking("late", askName)
	late.Delay = mcptest.Duration(time.Second)
	p := newPool(t, scripts{"s": {Starts: starts, IgnoreCancel: true, Tools: []mcptest.Tool{
		late, {Name: "slow", Text: "done", Behaviour: mcptest.Behaviour{Delay: mcptest.Duration(2 * time.Second)}},
	}}}, func(o *Options) { o.Changed = func(string) {} })
	if _, err := p.List(t.Context(), "s", tool.CallOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := p.Call(ctx, tool.Ref{Server: "s", Name: "late"}, nil, tool.CallOptions{Client: "alice", Audience: answering("alice")})
		if err == nil {
			t.Error("it was not given up")
		}
	})
	underWay(t, p, 1)
	giveUp()
	wg.Wait()
	bob := answering("bob")
	if got, err := callFor(t, p, "slow", tool.CallOptions{Client: "bob", Audience: bob}); got != "done" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got := bob.said(); got != "" {
		t.Errorf("another client heard: %s", got)
	}
	if got, err := callFor(t, p, "slow", tool.CallOptions{Client: "bob", Audience: answering("bob")}); got != "done" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if n := len(mcptest.Lines(t, starts)); n != 2 {
		t.Errorf("%d processes were started", n)
	}
}

// Once a server has asked so, the calls of different clients take turns, in the order in which they came.
func TestRouterTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of := func(client string) *call { return &call{client: client, askable: true} }
		first := of("a")
		r := inFlight(t, first)
		r.turns.Store(true)
		if err := r.enter(t.Context(), of("a"), time.Second); err != nil {
			t.Errorf("a second call of the same client: %v", err)
		}
		r.leave(r.calls[1], true)
		if err := r.enter(t.Context(), &call{client: "z"}, time.Second); err != nil {
			t.Errorf("a listing: %v", err)
		}
		if err := r.enter(t.Context(), of("b"), time.Second); !errors.Is(err, errTurn) {
			t.Errorf("after its limit: %v", err)
		}
		r.ask(first)
		before := time.Now()
		if err := r.enter(t.Context(), of("b"), time.Hour); !errors.Is(err, errPerson) || time.Since(before) != personLimit {
			t.Errorf("while another client is asked: %v after %s", err, time.Since(before))
		}
		r.replied(first)
		if err := r.enter(t.Context(), of("b"), 2*personLimit); !errors.Is(err, errTurn) || errors.Is(err, errPerson) {
			t.Errorf("once that was answered: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.enter(gone, of("b"), time.Second); !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
		var order []string
		var wg sync.WaitGroup
		for _, client := range []string{"b", "a", "a", "c"} {
			c := of(client)
			wg.Go(func() {
				if err := r.enter(t.Context(), c, time.Minute); err != nil {
					t.Error(err)
				}
				r.mu.Lock()
				order = append(order, fmt.Sprintf("%s@%d", client, len(r.calls)))
				r.mu.Unlock()
				time.Sleep(time.Second) // virtual: two of the same client run at the same time
				r.leave(c, true)
			})
			synctest.Wait() // so that they come in this order
		}
		r.leave(first, true)
		wg.Wait()
		if got := strings.Join(order, " "); got != "b@2 a@3 a@3 c@2" { // with the listing
			t.Errorf("order %s", got)
		}
		if len(r.queue) != 0 {
			t.Errorf("%d still wait", len(r.queue))
		}
	})
}

// answering answers each question with its own name.
func answering(name string) *audience {
	return &audience{reply: func(context.Context, tool.Question) (tool.Reply, error) {
		return tool.Reply{Action: tool.Accept, Content: json.RawMessage(fmt.Sprintf(`{"name":%q}`, name))}, nil
	}}
}

// underWay waits until n calls are in flight.
func underWay(t *testing.T, p *Pool, n int) {
	t.Helper()
	mcptest.Wait(t, fmt.Sprintf("%d calls are in flight", n), func() bool {
		r := p.slots["s"].session.router
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.calls) == n
	})
}

// Both forms of the defect: a client that asks nothing shares the server with one that does. The answer that it has
// ready is not given for the other, and if it has none, its own call does not suffer.
func TestQuestionBesideAnotherClient(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]*audience{"with an answer ready": answering("alice"), "without an audience": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := make(chan string, 9)
			p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{
				{Name: "slow", Text: "done", Behaviour: mcptest.Behaviour{Delay: mcptest.Duration(time.Second)}},
				asking("ask", askName),
			}}}, func(o *Options) { o.Changed = func(server string) { changed <- server } })
			if _, err := p.List(t.Context(), "s", tool.CallOptions{}); err != nil {
				t.Fatal(err)
			}
			opt := tool.CallOptions{Client: "alice"}
			if other != nil {
				opt.Audience = other
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				if got, err := callFor(t, p, "slow", opt); got != "done" || err != nil {
					t.Errorf("slow: %q, %v", got, err)
				}
			})
			underWay(t, p, 1)
			got, err := callFor(t, p, "ask", tool.CallOptions{Client: "bob", Audience: answering("bob")})
			if err != nil || !strings.Contains(got, `{"name":"bob"}`) {
				t.Errorf("ask: %q, %v", got, err)
			}
			wg.Wait()
			if other != nil && other.said() != "" {
				t.Errorf("the other client heard: %s", other.said())
			}
			if server := <-changed; server != "s" {
				t.Errorf("%q has changed", server)
			}
			l, err := p.List(t.Context(), "s", tool.CallOptions{})
			if err != nil || !l.Known.Asks {
				t.Errorf("that it asks is not known: %+v, %v", l.Known, err)
			}
		})
	}
}

// Fifty clients use one server at once, each asks and answers by its own name.
func TestFiftyClients(t *testing.T) {
	t.Parallel()
	p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{asking("ask", askName)}}})
	var wg sync.WaitGroup
	for i := range 50 {
		name := fmt.Sprintf("client-%d", i)
		wg.Go(func() {
			got, err := callFor(t, p, "ask", tool.CallOptions{Client: name, Audience: answering(name), Known: tool.Known{Asks: true}})
			if err != nil || !strings.Contains(got, fmt.Sprintf(`{"name":%q}`, name)) {
				t.Errorf("%s got %q, %v", name, got, err)
			}
		})
	}
	wg.Wait()
}

// A log message that names no call goes to no client while several use the server.
func TestMessageBesideAnotherClient(t *testing.T) {
	t.Parallel()
	p := newPool(t, scripts{"s": {Tools: []mcptest.Tool{
		{Name: "slow", Text: "done", Behaviour: mcptest.Behaviour{Delay: mcptest.Duration(time.Second)}},
		{Name: "loud", Text: "said", Behaviour: mcptest.Behaviour{
			Noise: []string{`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"secret of bob"}}`}}},
	}}})
	alice, bob := &audience{}, &audience{}
	if _, err := p.List(t.Context(), "s", tool.CallOptions{}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := callFor(t, p, "slow", tool.CallOptions{Client: "alice", Audience: alice}); err != nil {
			t.Error(err)
		}
	})
	underWay(t, p, 1)
	if _, err := callFor(t, p, "loud", tool.CallOptions{Client: "bob", Audience: bob}); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if got := cmp.Or(alice.said(), bob.said()); got != "" {
		t.Errorf("heard: %s", got)
	}
}

// A slow audience loses the oldest of what is queued for it, and hears nothing after the end.
func TestSlowAudience(t *testing.T) {
	t.Parallel()
	c := &call{audience: &audience{}, told: make(chan struct{})}
	c.more.L = &c.mu
	for i := range maxQueued + 10 {
		c.enqueue(func(a tool.Audience) { a.Progress(tool.Progress{Done: float64(i)}) })
	}
	go c.tell() // ends with the call
	c.end(false)
	c.enqueue(func(a tool.Audience) { a.Progress(tool.Progress{Done: 9999}) })
	heard := c.audience.(*audience).said()
	if strings.Count(heard, "\n") != maxQueued-1 || !strings.HasPrefix(heard, "progress 10/0") || strings.Contains(heard, "9999") {
		t.Errorf("heard:\n%s", heard)
	}
	if err := c.ask(t.Context(), nil); !errors.Is(err, errOver) {
		t.Errorf("asked after the end: %v", err)
	}
}

// However many calls of other clients are given up before it, a call that was not sent is made.
func TestManyGivenUp(t *testing.T) {
	t.Parallel()
	loud := mcptest.Behaviour{Delay: mcptest.Duration(time.Minute),
		Noise: []string{`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`}}
	p := newPool(t, scripts{"s": {IgnoreCancel: true, Tools: []mcptest.Tool{
		{Name: "hang", Behaviour: loud}, {Name: "greet", Text: "hello"}}}})
	known := tool.Known{Asks: true}
	var wg sync.WaitGroup
	for i := range 30 {
		opt := tool.CallOptions{Client: fmt.Sprintf("client-%d", i), Known: known}
		if i%3 > 0 {
			wg.Go(func() {
				ctx, giveUp := context.WithCancel(t.Context())
				opt.Audience = &rawAudience{take: func(json.RawMessage) { giveUp() }} // it is under way
				_, err := p.Call(ctx, tool.Ref{Server: "s", Name: "hang"}, nil, opt)
				wantFault(t, err, fault.Interrupted, "")
			})
			continue
		}
		wg.Go(func() {
			if got, err := callFor(t, p, "greet", opt); got != "hello" || err != nil {
				t.Errorf("%s got %q, %v", opt.Client, got, err)
			}
			if _, err := p.List(t.Context(), "s", opt); err != nil {
				t.Errorf("%s lists: %v", opt.Client, err)
			}
		})
	}
	wg.Wait()
}
