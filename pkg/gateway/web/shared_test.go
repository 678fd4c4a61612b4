package web

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/mcp-launchpad/mcpl/pkg/gateway"
	"github.com/mcp-launchpad/mcpl/pkg/gateway/redis"
)

// replicas are gateways that share a Redis, and its clock.
type replicas struct {
	t     *testing.T
	redis *miniredis.Miniredis
	clock *clock
}

func share(t *testing.T) *replicas {
	t.Helper()
	return &replicas{t, miniredis.RunT(t), &clock{now: time.Now()}}
}

// start starts one.
func (r *replicas) start() (*Server, string) {
	r.t.Helper()
	store, err := redis.New(redis.Options{URL: "redis://" + r.redis.Addr() + "?read_timeout=10s"})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			r.t.Error(err)
		}
	})
	return startWith(r.t, gateway.Options{Now: r.clock.time, Keys: [][]byte{key(1)}, Shared: store})
}

// pass lets time pass.
func (r *replicas) pass(d time.Duration) {
	r.clock.pass(d)
	r.redis.FastForward(d)
}

// expect makes a request in a session.
func (r *replicas) expect(title, url, session string, want int) {
	r.t.Helper()
	if status, _ := post(r.t, url, session, ping); status != want {
		r.t.Errorf("%s: %d, not %d", title, status, want)
	}
}

// TestSharedIdle: a session ends half an hour after its last request, wherever that was.
func TestSharedIdle(t *testing.T) {
	t.Parallel()
	r := share(t)
	_, home := r.start()
	_, other := r.start()
	_, idler := post(t, home, "", initialize)
	_, mover := post(t, home, "", initialize)
	for range 3 {
		r.pass(20 * time.Minute)
		r.expect("in use", other, mover, 200)
	}
	r.expect("in use elsewhere", home, mover, 200)
	r.expect("idle, elsewhere", other, idler, 404)
	r.expect("idle, at home", home, idler, 404)
	for range 80 {
		r.pass(20 * time.Minute)
		r.expect("later", other, mover, 200)
	}
	_, late := r.start()
	r.expect("after a day, at another replica", late, mover, 200)
	r.pass(idle + time.Second)
	r.expect("idle at last", late, mover, 404)
}

// TestSharedLost: who has a session writes it again to a Redis that has lost it.
func TestSharedLost(t *testing.T) {
	t.Parallel()
	r := share(t)
	_, home := r.start()
	_, other := r.start()
	_, id := post(t, home, "", initialize)
	r.redis.FlushAll()
	r.expect("lost", other, id, 404)
	r.expect("at home", home, id, 200)
	r.expect("written again", other, id, 200)
}

// TestSharedStream: an open stream keeps a session for all replicas, and ends when another one ends the session.
func TestSharedStream(t *testing.T) {
	t.Parallel()
	r := share(t)
	s, home := r.start()
	_, other := r.start()
	_, id := post(t, home, "", initialize)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, home, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set(sessionHeader, id)
	stream, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	for range 3 {
		r.pass(20 * time.Minute)
		s.sweep(t.Context())
	}
	r.expect("with a stream elsewhere", other, id, 200)
	if status := remove(t, other, id); status != 204 {
		t.Errorf("DELETE: %d", status)
	}
	s.sweep(t.Context())
	if _, err := io.Copy(io.Discard, stream.Body); err != nil {
		t.Error(err)
	}
	r.expect("deleted elsewhere", home, id, 404)
	if status := remove(t, home, id); status != 404 {
		t.Errorf("DELETE again: %d", status)
	}
}
