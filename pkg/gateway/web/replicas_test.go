package web

import (
	"bytes"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
)

// key returns a key for sealing.
func key(b byte) []byte { return bytes.Repeat([]byte{b}, gateway.KeySize) }

// startWith is start with other options of the gateway, Keys, Shared and Now.
func startWith(t *testing.T, with gateway.Options) (*Server, string) {
	t.Helper()
	s, url, _ := start(t, func(opt *gateway.Options) { opt.Keys, opt.Shared, opt.Now = with.Keys, with.Shared, with.Now })
	return s, url
}

// remove ends a session and returns the status.
func remove(t *testing.T, url, session string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(sessionHeader, session)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// TestSessionsMove: a replica with a key in common continues a session, until that ends there.
func TestSessionsMove(t *testing.T) {
	t.Parallel()
	clock := &clock{now: time.Now()}
	replica := func(keys ...[]byte) (*Server, string) {
		return startWith(t, gateway.Options{Now: clock.time, Keys: keys})
	}
	_, home := replica(key(1))
	_, other := replica(key(2), key(1))
	_, alone := replica()
	_, id := post(t, home, "", initialize)
	if len(id) == 0 || len(id) > 512 {
		t.Errorf("the id has %d bytes: %q", len(id), id)
	}
	expect := func(title, url, session string, want int) {
		t.Helper()
		if status, _ := post(t, url, session, ping); status != want {
			t.Errorf("%s: %d, not %d", title, status, want)
		}
	}
	expect("home", home, id, 200)
	expect("other", other, id, 200)
	expect("other again", other, id, 200)
	expect("without the key", alone, id, 404)
	expect("changed", other, id[1:]+id[:1], 404)
	_, newer := post(t, other, "", initialize)
	expect("sealed with a key that home has not", home, newer, 404)

	if status := remove(t, other, id); status != 204 {
		t.Errorf("DELETE: %d", status)
	}
	expect("deleted", other, id, 404)
	if status := remove(t, other, id); status != 404 {
		t.Errorf("DELETE again: %d", status)
	}
	clock.pass(idle + time.Second)
	expect("home, idle", home, id, 404)
}

// TestSessionsMoveADay: a session is continued by a replica that does not have it for a day, and lasts where it is
// used.
func TestSessionsMoveADay(t *testing.T) {
	t.Parallel()
	clock := &clock{now: time.Now()}
	_, home := startWith(t, gateway.Options{Now: clock.time, Keys: [][]byte{key(1)}})
	s, other := startWith(t, gateway.Options{Now: clock.time, Keys: [][]byte{key(1)}})
	_, id := post(t, home, "", initialize)
	_, gone := post(t, home, "", initialize)
	for i := range maxSessions + 10 {
		s.note(gateway.SessionID{ID: strconv.Itoa(i), Home: "x", Began: clock.time()})
	}
	s.mu.Lock()
	if len(s.ended) > maxSessions {
		t.Errorf("%d ended sessions are remembered", len(s.ended))
	}
	s.mu.Unlock()
	for range 50 {
		if status, _ := post(t, home, id, ping); status != 200 {
			t.Fatalf("home: %d", status)
		}
		clock.pass(29 * time.Minute)
	}
	for title, session := range map[string]string{"used": id, "idle": gone} {
		if status, _ := post(t, other, session, ping); status != 404 {
			t.Errorf("%s: %d after a day", title, status)
		}
	}
	s.sweep(t.Context())
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ended) > 0 {
		t.Errorf("%d ended sessions are remembered after a day", len(s.ended))
	}
}
