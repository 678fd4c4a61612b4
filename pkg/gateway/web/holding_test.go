package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

// guarded serves a gateway without servers, with tokens that only the test judges again. Its calls of enable_tools last
// until they are cancelled, and say on began and ended that they do.
func guarded(t *testing.T, tokens *register) (s *Server, url string, clock *clock, began, ended chan string) {
	t.Helper()
	began, ended = make(chan string, 500), make(chan string, 500)
	made, _, clock := start(t, func(opt *gateway.Options) {
		opt.Switch = func(ctx context.Context, principal string, _, _ []string) (gateway.Switched, error) {
			began <- principal
			<-ctx.Done()
			ended <- principal
			return gateway.Switched{}, ctx.Err()
		}
	})
	s = New(Options{Gateway: made.opt.Gateway, Expose: gateway.All, Now: clock.time, Principal: tokens.principal})
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		h.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s, h.URL + "/mcp", clock, began, ended
}

// begin begins a session of a token, and returns its id.
func begin(t *testing.T, url, token string) string {
	t.Helper()
	begun := send(t, http.MethodPost, url, token, strings.NewReader(initialize))
	if begun.status != http.StatusOK {
		t.Fatalf("%s: %d", token, begun.status)
	}
	return begun.header.Get(sessionHeader)
}

// switching is a call that lasts.
func switching(id int) *strings.Reader {
	return strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"enable_tools"}}`, id))
}

// TestTokensEndSessions: a session ends soon after its token has been revoked or means something else, with its calls,
// though no connection waits for them. That of a token that has expired waits for a newer one.
func TestTokensEndSessions(t *testing.T) {
	t.Parallel()
	tokens := &register{known: map[string]gateway.Principal{}}
	names := []string{"revoked", "narrowed", "renewed", "lapsed", "kept"}
	for _, name := range names {
		tokens.known[name] = gateway.Principal{Name: name}
	}
	s, url, clock, began, ended := guarded(t, tokens)
	sessions := make(map[string]string)
	for _, name := range names {
		sessions[name] = begin(t, url, name)
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, switching(2))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"}, sessionHeader: {sessions[name]},
			"Authorization": {"Bearer " + name}}
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			if resp, err := http.DefaultClient.Do(req); err == nil { // it may have got the headers
				resp.Body.Close()
			}
		}()
		<-began
		leave()
		<-gone
	}
	s.busy.Wait()
	left := func(want ...string) {
		t.Helper()
		s.checkTokens(t.Context())
		s.retiring.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.sessions) != len(want) {
			t.Errorf("%d sessions are left, not %v", len(s.sessions), want)
		}
	}
	left(names...)
	tokens.set(func() {
		delete(tokens.known, "revoked")
		tokens.known["narrowed"] = gateway.Principal{Name: "narrowed", Tier: gateway.TierRead}
		for _, name := range []string{"renewed", "lapsed"} {
			delete(tokens.known, name)
			tokens.expired = append(tokens.expired, name)
		}
		tokens.known["newer"] = gateway.Principal{Name: "renewed"}
	})
	left("renewed", "lapsed", "kept")
	if a, b := <-ended, <-ended; a+b != "revokednarrowed" && a+b != "narrowedrevoked" {
		t.Errorf("calls of %s and %s have ended", a, b)
	}
	if r := send(t, http.MethodPost, url, "newer", strings.NewReader(ping), sessionHeader, sessions["renewed"]); r.status != 200 {
		t.Errorf("with a newer token: %d", r.status)
	}
	clock.pass(gateway.Suspension - time.Second)
	left("renewed", "lapsed", "kept")
	clock.pass(2 * time.Second)
	left("renewed", "kept")
	if name := <-ended; name != "lapsed" {
		t.Errorf("a call of %s has ended", name)
	}
	for name, want := range map[string]int{"narrowed": 404, "kept": 200} {
		r := send(t, http.MethodPost, url, name, strings.NewReader(ping), sessionHeader, sessions[name])
		if r.status != want {
			t.Errorf("%s: %d, not %d", name, r.status, want)
		}
	}
	s.Close()
	s.mu.Lock()
	s.sessions = nil
	s.mu.Unlock()
	s.opened()
	for key, own := range s.shares {
		if own.open > 0 || own.bodies > 0 || own.requests > 0 || own.size > 0 {
			t.Errorf("%s has %+v", key, own)
		}
	}
}

// TestRequestsInFlight bounds those of a principal, though no connection waits for them, and not those of others.
func TestRequestsInFlight(t *testing.T) {
	t.Parallel()
	tokens := &register{known: map[string]gateway.Principal{"eve": {Name: "eve"}, "ada": {Name: "ada"}}}
	_, url, _, began, _ := guarded(t, tokens)
	id := begin(t, url, "eve")
	var sending sync.WaitGroup
	for i := range ownRequests {
		sending.Go(func() {
			stream := send(t, http.MethodPost, url, "eve", switching(i+2), sessionHeader, id)
			stream.body.Close()
		})
		<-began
	}
	sending.Wait()
	if r := send(t, http.MethodPost, url, "eve", switching(1), sessionHeader, id); r.status != http.StatusTooManyRequests {
		t.Errorf("one more: %d", r.status)
	}
	cancel := strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	if r := send(t, http.MethodPost, url, "eve", cancel, sessionHeader, id); r.status != http.StatusAccepted {
		t.Errorf("one less: %d", r.status)
	}
	begin(t, url, "ada")
	for status := 0; status != http.StatusOK; { // until the call has ended
		status = send(t, http.MethodPost, url, "eve", strings.NewReader(ping), sessionHeader, id).status
	}
}

// TestSessionShares: the sessions of a principal are bounded, and its own that is idle for longest makes room. If there
// is none for anybody, that of the largest holder does.
func TestSessionShares(t *testing.T) {
	t.Parallel()
	s, _, clock := start(t)
	enter := func(name, id string, isIdle bool) error {
		t.Helper()
		clock.pass(time.Millisecond)
		who := gateway.Identity{Principal: gateway.Principal{Name: name}, Expose: gateway.All}
		own, leave := s.enterHolding(who.Principal, name)
		defer leave()
		e := &endpoint{s, who, own, own.newLoad()}
		n := e.newSession(id)
		n.client = s.opt.Gateway.Connect(id, who, n.own)
		entered, err := e.enter(n)
		if err == nil && isIdle {
			entered.leave(s.opt.Now)
		}
		return err
	}
	has := func(id string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.sessions[id] != nil
	}
	for i := range ownSessions + 1 {
		if err := enter("eve", fmt.Sprint("eve", i), true); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			_ = enter("ada", "ada0", true)
		}
	}
	if has("eve0") || !has("eve1") || !has("ada0") {
		t.Error("another session than eve's first has ended")
	}
	for i := range ownSessions {
		if err := enter("bob", fmt.Sprint("bob", i), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := enter("bob", "more", false); err == nil {
		t.Error("bob has one more, and all are in use")
	}
	for i := range maxSessions - 2*ownSessions - 1 { // of the person, who has no share
		if err := enter("", fmt.Sprint(i), i > 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := enter("kay", "kay0", true); err != nil || has("1") || !has("0") || !has("eve1") || !has("ada0") {
		t.Errorf("%v: another session than the largest holder's that is idle has ended", err)
	}
}

// TestKeptShares: what the sessions of a principal keep together is bounded, and the oldest goes first.
func TestKeptShares(t *testing.T) {
	t.Parallel()
	own := &holding{principal: gateway.Principal{Name: "eve"}}
	var sessions []*session
	const more = 5
	for range ownKept/maxKept + more {
		s := &session{share: own, streams: make(map[string]*stream), own: newStream("0"), last: 1}
		out := newStream("1")
		out.finished = s.trim
		s.streams["1"] = out
		out.Answer(make([]byte, maxKept))
		sessions = append(sessions, s)
	}
	for i, s := range sessions {
		if got, want := s.stream("1") != nil, i >= more; got != want {
			t.Errorf("that of session %d is kept: %v", i, got)
		}
	}
	if own.size != ownKept || own.kept.Len() != ownKept/maxKept {
		t.Errorf("%d bytes", own.size)
	}
	for _, s := range sessions {
		s.mu.Lock()
		s.forget(s.streams["1"])
		s.mu.Unlock()
	}
	if own.size != 0 || own.kept.Len() != 0 {
		t.Errorf("%d bytes are left", own.size)
	}
}
