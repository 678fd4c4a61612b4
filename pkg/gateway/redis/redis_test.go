package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.uber.org/goleak"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// TestMain checks that nothing of a store is left.
func TestMain(m *testing.M) {
	Silence()
	goleak.VerifyTestMain(m)
}

// notices are what a store has said.
type notices struct {
	mu    sync.Mutex
	texts []string
}

func (n *notices) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.texts = append(n.texts, text)
}

func (n *notices) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.texts
}

// open returns a store at an address. query has options.
func open(t *testing.T, address, query string) (*Store, *notices) {
	t.Helper()
	said := new(notices)
	s, err := New(Options{URL: "redis://" + address + "/0" + query, Notice: said.add})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, said
}

// TestRecords keeps, changes and forgets records.
func TestRecords(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	s, said := open(t, server.Addr(), "?read_timeout=10s")
	ctx := t.Context()
	expect := func(title string, want map[string]string, fields ...string) {
		t.Helper()
		got, err := s.Fields(ctx, "r", time.Minute, fields...)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v", title, got, err)
		}
	}
	expect("none", map[string]string{})
	expect("none of them", map[string]string{}, "a", "b")
	if err := s.Change(ctx, "r", time.Minute, map[string]string{"a": "1", "b": "", "c": "3"}, nil); err != nil {
		t.Fatal(err)
	}
	expect("all", map[string]string{"a": "1", "b": "", "c": "3"})
	expect("some", map[string]string{"a": "1", "b": ""}, "a", "b", "x")
	if err := s.Change(ctx, "r", time.Minute, map[string]string{"a": "2"}, []string{"b", "x"}); err != nil {
		t.Fatal(err)
	}
	expect("changed", map[string]string{"a": "2", "c": "3"})
	server.FastForward(50 * time.Second)
	expect("looked at", map[string]string{"a": "2"}, "a")
	server.FastForward(50 * time.Second)
	expect("later", map[string]string{"a": "2"}, "a")
	server.FastForward(61 * time.Second)
	expect("too late", map[string]string{})
	if len(said.all()) > 0 {
		t.Errorf("%q", said.all())
	}
}

// TestTake: a bucket holds what it gets in a minute, and fills up evenly.
func TestTake(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	server.SetTime(now)
	one, _ := open(t, server.Addr(), "?read_timeout=10s")
	two, _ := open(t, server.Addr(), "?read_timeout=10s")
	take := func(s *Store) time.Duration {
		t.Helper()
		wait, err := s.Take(t.Context(), "ada", 6)
		if err != nil {
			t.Fatal(err)
		}
		return wait
	}
	for i := range 6 {
		if wait := take([]*Store{one, two}[i%2]); wait != 0 {
			t.Fatalf("number %d waits %s", i, wait)
		}
	}
	if wait := take(two); wait != 10*time.Second {
		t.Errorf("%s", wait)
	}
	if wait, err := one.Take(t.Context(), "bob", 6); err != nil || wait != 0 {
		t.Errorf("another bucket: %s, %v", wait, err)
	}
	server.SetTime(now.Add(10 * time.Second))
	if first, second := take(one), take(two); first != 0 || second != 10*time.Second {
		t.Errorf("%s, %s", first, second)
	}
	server.FastForward(3 * time.Minute)
	if left := server.Keys(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// receive starts to receive, and returns when it does. It ends with the test.
func receive(t *testing.T, s *Store, channels ...string) <-chan string {
	t.Helper()
	heard := make(chan string, 100)
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Receive(ctx, channels, func(m []byte) { heard <- string(m) }) })
	t.Cleanup(func() { end(); running.Wait() })
	return heard
}

// publish publishes until someone receives.
func publish(t *testing.T, s *Store, channel, message string) {
	t.Helper()
	mcptest.Eventually(t, func() (string, bool) {
		n, err := s.Publish(t.Context(), channel, []byte(message))
		return fmt.Sprintf("%d receive it, %v", n, err), n > 0
	})
}

// TestMessages: who receives gets messages, in order, also after Redis was away.
func TestMessages(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	s, said := open(t, server.Addr(), "?read_timeout=10s")
	heard := receive(t, s, "all", "me")
	publish(t, s, "all", "one")
	publish(t, s, "me", "two\x00")
	if n, err := s.Publish(t.Context(), "other", []byte("lost")); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if one, two := <-heard, <-heard; one != "one" || two != "two\x00" {
		t.Errorf("%q, %q", one, two)
	}
	server.Close()
	if _, err := s.Fields(t.Context(), "r", time.Minute); err == nil {
		t.Error("no error")
	}
	if _, err := s.Fields(t.Context(), "r", time.Minute); !errors.Is(err, errDown) {
		t.Errorf("%v", err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	publish(t, s, "all", "three")
	if three := <-heard; three != "three" {
		t.Errorf("%q", three)
	}
	if all := said.all(); len(all) != 2 || !strings.Contains(all[0], "does not answer") ||
		!strings.Contains(all[1], "answers again") {
		t.Errorf("%q", all)
	}
}

// TestSilentRedis: a Redis that takes connections and says nothing costs a request 100 ms, and the next ones nothing.
func TestSilentRedis(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s, said := open(t, listener.Addr().String(), "")
	receive(t, s, "all")
	begin := time.Now()
	s.Try(t.Context())
	if took := time.Since(begin); took > 10*defaultLimit {
		t.Errorf("it took %s", took)
	}
	for range 100 {
		if err := s.Change(t.Context(), "r", time.Minute, map[string]string{"a": "b"}, nil); err == nil {
			t.Error("no error")
		}
	}
	if took := time.Since(begin); took > 30*defaultLimit {
		t.Errorf("all took %s", took)
	}
	if len(said.all()) != 1 {
		t.Errorf("%q", said.all())
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.Take(gone, "b", 1); err == nil {
		t.Error("no error")
	}
}

// TestURL: a wrong URL is an error that does not show it.
func TestURL(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "http://:secret@h", "redis://:secret@h:port/0", "redis://:secret@h/x", "secret%zz"} {
		_, err := New(Options{URL: text})
		if !errors.Is(err, ErrURL) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
