package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/results"
	choice "github.com/mcp-launchpad/mcpl/pkg/state"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// quiet takes events and says nothing.
type quiet struct{}

func (quiet) Notice(string, ...any)  {}
func (quiet) Status(string)          {}
func (quiet) Verbose(string, string) {}

// answers takes the answers to requests.
type answers chan []byte

func (answers) Tell([]byte)       {}
func (answers) Send([]byte) bool  { return true }
func (answers) Cancelled([]byte)  {}
func (a answers) Answer(r []byte) { a <- r }

// empty returns a gateway without servers.
func empty(t testing.TB) *Gateway {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, ".mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() (Opened, error) {
		env := config.Env{Dir: dir, Home: dir, GOOS: runtime.GOOS, Lookup: func(string) (string, bool) { return "", false }}
		index := catalog.Options{Env: env, Events: quiet{}, Now: time.Now,
			Selection: config.Selection{Configs: []string{file}}}
		return Opened{Narrow: narrowNothing, Engine: engine.New(engine.Options{Switches: choice.All{}, Catalog: index,
			NewCaller: func(*config.Config, func(string)) engine.Caller { return nil }})}, nil
	}
	g, err := New(Options{Open: open, Stamp: func() string { return "" }, Now: time.Now,
		Results: func(string) results.Store { return results.Store{Dir: dir, Now: time.Now} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func message(t *testing.T, text string) mcp.Message {
	t.Helper()
	m, wrong := mcp.Parse([]byte(text))
	if wrong != nil {
		t.Fatal(wrong)
	}
	return m
}

// TestClosedClientsAreForgotten has clients gone while their first request is answered.
func TestClosedClientsAreForgotten(t *testing.T) {
	t.Parallel()
	g := empty(t)
	hello := message(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`)
	for range 200 {
		out := make(answers, 1)
		c := g.Connect("x", Identity{Expose: All}, out)
		c.Receive(t.Context(), hello, nil, out)
		c.Close()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.clients) > 0 {
		t.Errorf("%d of 200 are kept", len(g.clients))
	}
}

// asking is an outlet that looks at its client before it takes an answer, as a session does.
type asking struct {
	answers
	client *Client
}

func (a asking) Answer(r []byte) {
	a.client.IsBusy()
	a.answers.Answer(r)
}

// TestSameID answers a request with the id of another one, which ends what waits for its answer.
func TestSameID(t *testing.T) {
	t.Parallel()
	c := empty(t).Connect("x", Identity{Expose: All}, nil)
	defer c.Close()
	c.mu.Lock()
	c.requests["5"] = &request{cancel: func(error) {}}
	c.mu.Unlock()
	out := asking{make(answers, 1), c}
	c.Receive(t.Context(), message(t, `{"jsonrpc":"2.0","id":5,"method":"ping"}`), nil, out)
	select {
	case answer := <-out.answers:
		if !strings.Contains(string(answer), "a request with the id 5 is being answered") {
			t.Errorf("%s", answer)
		}
	default:
		t.Error("it is not answered")
	}
}

// TestSubscriptionsAreBounded counts the subscriptions of a client, and of all.
func TestSubscriptionsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSubscriptions(nil)
	add := adder(s)
	var clients []*Client
	for i := range maxSubscriptions / maxOwnSubscriptions {
		c := new(Client)
		clients = append(clients, c)
		for k := range maxOwnSubscriptions {
			for range 2 { // the second time it is the same
				if err := add(c, fmt.Sprint(i, "/", k)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := add(c, fmt.Sprint(i, "/more")); err == nil {
			t.Fatal("a client has one more")
		}
	}
	late := new(Client)
	if err := add(late, "new"); err == nil {
		t.Error("all have one more")
	}
	if err := add(late, "0/0"); err != nil {
		t.Errorf("it is subscribed to already: %v", err)
	}
	for _, c := range append(clients, late) {
		s.leave(c)
	}
	if len(s.byTopic) > 0 || len(s.of) > 0 {
		t.Errorf("%d resources and %d clients are left", len(s.byTopic), len(s.of))
	}
	if err := add(clients[0], "new"); err != nil {
		t.Error(err)
	}
}

// adder returns what subscribes a client to a resource, if there is room.
func adder(s *subscriptions) func(c *Client, uri string) error {
	return func(c *Client, uri string) error {
		ref := topic{Ref: tool.Ref{Server: "s", Kind: tool.Resource, Name: uri}}
		s.mu.Lock()
		defer s.mu.Unlock()
		err := s.isRoom(ref, subscriber{c, uri})
		if err == nil {
			s.enter(ref, subscriber{c, uri})
		}
		return err
	}
}

// TestSubscriptionShares: the clients of one principal leave room for those of others.
func TestSubscriptionShares(t *testing.T) {
	t.Parallel()
	s := newSubscriptions(nil)
	add := adder(s)
	of := func(name string) *Client { return &Client{who: Identity{Principal: Principal{Name: name}}} }
	var eves []*Client
	for i := range maxPrincipalSubscriptions {
		if i%maxOwnSubscriptions == 0 {
			eves = append(eves, of("eve"))
		}
		if err := add(eves[len(eves)-1], fmt.Sprint(i)); err != nil {
			t.Fatal(i, err)
		}
	}
	late := of("eve")
	if err := add(late, "0"); err == nil {
		t.Error("eve has one more")
	}
	if err := add(of("ada"), "new"); err != nil {
		t.Error(err)
	}
	s.leave(eves[0])
	if err := add(late, "new"); err != nil {
		t.Error(err)
	}
	s.leave(eves[1])
	s.leave(late)
	if s.by["eve"] > 0 || s.by["ada"] != 1 {
		t.Errorf("%v are left", s.by)
	}
}

// TestLongWordIsUnknown looks for no name that is longer than any: as a glob it would cost its length for each entry.
func TestLongWordIsUnknown(t *testing.T) {
	t.Parallel()
	c := oddCatalogue(t)
	if found := c.named("*"); found == nil {
		t.Error("* means nothing")
	}
	if found := c.named(strings.Repeat("*", fault.MaxName+1)); found != nil {
		t.Errorf("it means %d entries", len(found))
	}
}

// TestCrowdedQueue has a client that reads nothing miss news, and not answers.
func TestCrowdedQueue(t *testing.T) {
	t.Parallel()
	q := newQueue()
	r := &request{client: &Client{}, out: q}
	note := tool.JoinObject([]tool.Field{{Key: "data", Value: tool.Quote(strings.Repeat("x", 1<<20))}})
	for range 2 * maxQueued >> 20 {
		r.Message(tool.Message{Level: "error", Raw: note})
	}
	q.Answer(json.RawMessage(`{}`))
	select {
	case <-q.full:
		t.Fatal("the client is given up")
	default:
	}
	if last := q.waiting[len(q.waiting)-1]; string(last) != "{}" {
		t.Errorf("the answer is missing after %d messages", len(q.waiting))
	}
}

// TestSuspendedAreBounded: the calls of one owner that wait for answers leave room for those of others.
func TestSuspendedAreBounded(t *testing.T) {
	t.Parallel()
	g := empty(t)
	add := func(owner string) error {
		_, err := g.suspend(Principal{Name: owner}, &suspended{cancel: func(error) {}}, question{})
		return err
	}
	for i := range maxSuspended / maxOwnSuspended {
		for range maxOwnSuspended {
			if err := add(fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		if add(fmt.Sprint(i)) == nil {
			t.Fatal("an owner has one more")
		}
	}
	if add("new") == nil {
		t.Error("all have one more")
	}
}

// silent is an outlet of a client that reads nothing.
type silent struct{ answers }

func (silent) Send([]byte) bool { return false }

// TestQuestionToSlowClient fails at once if the client cannot be sent it.
func TestQuestionToSlowClient(t *testing.T) {
	t.Parallel()
	c := empty(t).Connect("x", Identity{Expose: All}, nil)
	defer c.Close()
	if _, err := c.ask(t.Context(), silent{}, "roots/list", nil); !errors.Is(err, errSlow) {
		t.Error(err)
	}
	if len(c.asked) > 0 {
		t.Error("an answer is waited for")
	}
}

// mute is an outlet of a client that is sent messages and answers nothing.
type mute struct {
	answers
	sent chan []byte
}

func (m mute) Send(message []byte) bool {
	m.sent <- message
	return true
}

// TestQuestionIsNotAnswered: a question does not hold its call, and what that holds, for ever.
func TestQuestionIsNotAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := (&Gateway{}).Connect("x", Identity{Expose: All}, nil)
		began, out := time.Now(), mute{sent: make(chan []byte, 2)}
		ctx, cancel := context.WithCancelCause(t.Context())
		r := &request{client: c, out: out, cancel: cancel}
		if _, err := r.askClient(ctx, "elicitation/create", nil); !errors.Is(err, errLate) {
			t.Error(err)
		}
		if !errors.Is(context.Cause(ctx), errLate) {
			t.Error("its request goes on")
		}
		if took := time.Since(began); took != Suspension {
			t.Errorf("it took %s", took)
		}
		<-out.sent
		if note := string(<-out.sent); !strings.Contains(note, "notifications/cancelled") ||
			!strings.Contains(note, "no answer came within 10m0s") {
			t.Error(note)
		}
		if len(c.asked) > 0 {
			t.Error("an answer is waited for")
		}
	})
}

// TestCancelledIsSilent answers no request that its client has cancelled, over stdin and stdout.
func TestCancelledIsSilent(t *testing.T) {
	t.Parallel()
	g := empty(t)
	in, client := io.Pipe()
	told, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- g.Serve(t.Context(), Identity{}, in, out)
		out.Close()
	}()
	say := func(text string) {
		if _, err := io.WriteString(client, text+"\n"); err != nil {
			t.Error(err)
		}
	}
	say(`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	lines := bufio.NewScanner(told)
	if !lines.Scan() || !strings.Contains(lines.Text(), "acknowledged") {
		t.Fatal(lines.Text())
	}
	say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	client.Close()
	for lines.Scan() {
		t.Errorf("it said %s", lines.Text())
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// narrowNothing takes nothing away.
func narrowNothing(context.Context, Principal, string) (n engine.Narrowing, err error) { return n, nil }
