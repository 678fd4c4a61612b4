//go:build linux || darwin

package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// One slow call holds up no other, and a hundred at once are served by one server.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(t.Context(), nil)
	held := make(chan struct{})
	h.call = func(_ context.Context, args json.RawMessage) (*tool.Result, error) {
		if string(args) == "slow" {
			<-held
		}
		return &tool.Result{Raw: args}, nil
	}
	c := h.client(nil)
	var slow, wg sync.WaitGroup
	slow.Go(func() { h.ask(c, "slow") })
	for range 100 {
		wg.Go(func() {
			if got := h.ask(h.client(nil), "fast"); got != "fast" {
				t.Errorf("got %q", got)
			}
		})
	}
	wg.Wait()
	close(held)
	slow.Wait()
	if len(h.opened) != 1 {
		t.Errorf("%d callers", len(h.opened))
	}
}

func TestOneDaemon(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	// A killed daemon leaves a socket that no process listens on.
	l, _, err := bind(h.place.Socket)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if got := h.ask(h.client(nil), "{}"); got != "local" {
		t.Errorf("stale socket: %q", got)
	}
	h.serve(t.Context(), nil)
	if got := h.ask(h.client(nil), "{}"); got != "{}" {
		t.Errorf("got %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	second := Options{Place: h.place, Listening: func(error) {}}
	if err := Serve(ctx, second); err == nil || !strings.Contains(err.Error(), "another daemon") {
		t.Errorf("a second one: %v", err)
	}
	if got := h.ask(h.client(nil), "{}"); got != "{}" {
		t.Errorf("after the second one: %q", got)
	}
	for path, mode := range map[string]os.FileMode{h.place.Socket: 0o600, filepath.Dir(h.place.Socket): 0o700,
		h.place.Lock: 0o600, h.place.Log: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// A client of another version has the daemon end, once its calls have.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	running, held := make(chan struct{}), make(chan struct{})
	h.call = func(context.Context, json.RawMessage) (*tool.Result, error) {
		close(running)
		<-held
		return &tool.Result{Raw: []byte("old")}, nil
	}
	ended := h.serve(t.Context(), nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		if got := h.ask(h.client(nil), "{}"); got != "old" {
			t.Errorf("the running call: %q", got)
		}
	})
	<-running
	connected := h.connect()
	defer connected.close()
	newer := func(o *ClientOptions) { o.Identity = "v2" }
	if got := h.ask(h.client(newer), "{}"); got != "local" {
		t.Errorf("the newer client: %q", got)
	}
	// A client that connected before that is refused, with nothing done.
	h.handOver(connected)
	if k, _, err := connected.read(); k != kindRefusal || err != nil {
		t.Errorf("connected before: %q, %v", k, err)
	}
	// One client has waited for it. Later ones, of whatever version, do not.
	for _, change := range []func(*ClientOptions){newer, nil} {
		before := time.Now()
		if got := h.ask(h.client(change), "{}"); got != "local" || time.Since(before) > replacePatience/2 {
			t.Errorf("a later client: %q after %s", got, time.Since(before))
		}
	}
	if st, running, err := Ask(h.place); err != nil || !running || !st.Ending || st.Requests != 1 {
		t.Errorf("%+v, %v, %v", st, running, err)
	}
	select {
	case <-ended:
		t.Error("it ended before its call")
	default:
	}
	close(held)
	wg.Wait()
	<-ended
	h.call = func(context.Context, json.RawMessage) (*tool.Result, error) {
		return &tool.Result{Raw: []byte("new")}, nil
	}
	h.serve(t.Context(), func(o *Options) { o.Identity = "v2" })
	if got := h.ask(h.client(newer), "{}"); got != "new" {
		t.Errorf("the new daemon: %q", got)
	}
}

// A daemon that is asked to stop lets calls go on for a while, and then cancels them.
func TestStop(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	running := make(chan struct{})
	h.call = func(ctx context.Context, _ json.RawMessage) (*tool.Result, error) {
		close(running)
		<-ctx.Done()
		return nil, fault.New(fault.Interrupted, "interrupted", "").Because(context.Cause(ctx))
	}
	told := 0
	ended := h.serve(t.Context(), func(o *Options) { o.Ending = func() { told++ } })
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := h.client(nil).Call(t.Context(), ref, nil, tool.CallOptions{})
		if f := fault.From(err); f == nil || f.Type != fault.Interrupted || f.Traceback != errStopped.Error() {
			t.Errorf("%+v", f)
		}
	})
	<-running
	// That it is already ending, as slowly as its calls need, does not make the stop slower.
	if err := replace(t.Context(), h.place, time.Millisecond); !errors.Is(err, errBusyEnding) {
		t.Errorf("leaving: %v", err)
	}
	if stopped, err := Stop(t.Context(), h.place); err != nil || !stopped {
		t.Errorf("%v, %v", stopped, err)
	}
	wg.Wait()
	<-ended
	if told != 1 {
		t.Errorf("the end was told %d times", told)
	}
	if stopped, err := Stop(t.Context(), h.place); err != nil || stopped {
		t.Errorf("again: %v, %v", stopped, err)
	}
	if _, err := os.Stat(h.place.Socket); err == nil {
		t.Error("the socket is left")
	}
}

// A request that nothing can end does not keep the daemon, and with it the lock, for ever.
func TestStuckRequest(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	running, held := make(chan struct{}), make(chan struct{})
	defer close(held)
	h.call = func(context.Context, json.RawMessage) (*tool.Result, error) {
		close(running)
		<-held
		return &tool.Result{}, nil
	}
	ended := h.serve(t.Context(), func(o *Options) { o.cancelGrace = 10 * time.Millisecond })
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := h.client(nil).Call(t.Context(), ref, nil, tool.CallOptions{}); !fault.Is(err, fault.ServerConnection) {
			t.Error(err)
		}
	})
	<-running
	if stopped, err := Stop(t.Context(), h.place); err != nil || !stopped {
		t.Errorf("%v, %v", stopped, err)
	}
	<-ended
	wg.Wait()
	if lines := h.logged("1 requests do not end"); len(lines) != 1 {
		t.Errorf("logged %q", lines)
	}
	h.serve(t.Context(), nil) // the lock is free
}

// A daemon ends after its time without a request, however long one takes, unless a keep-alive server runs.
func TestQuits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "socket")
		if err := os.WriteFile(path, nil, 0o600); err != nil { // a file is as good, for what looks after it
			t.Fatal(err)
		}
		socket, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		d := newDaemon(Options{Place: Place{Socket: path}}.withDefaults(), socket, func(string, string) {})
		defer d.host.Close()
		began := time.Now()
		why := make(chan string, 1)
		go func() { why <- d.wait(t.Context()) }()
		s := new(stream)
		d.connected(s)
		time.Sleep(3*quitAfter - time.Minute) // virtual
		d.disconnected(s)
		if got := <-why; got != "no request for 1h0m0s" || time.Since(began) != 4*quitAfter-time.Minute {
			t.Errorf("%q after %s", got, time.Since(began))
		}
		// It notices within a minute that its socket is gone.
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		if got := d.wait(t.Context()); !strings.Contains(got, "socket was taken away") || time.Since(began) > lookEvery {
			t.Errorf("%q after %s", got, time.Since(began))
		}
	})
}

// A daemon whose socket was cleaned away ends, and leaves that of the next one alone.
func TestLostSocket(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	ended := h.serve(t.Context(), func(o *Options) { o.lookEvery = time.Millisecond })
	if err := os.RemoveAll(filepath.Dir(h.place.Socket)); err != nil {
		t.Fatal(err)
	}
	if _, err := PlaceOf(h.env, h.config().Sources.Key()); err != nil { // makes the folder again
		t.Fatal(err)
	}
	h.serve(t.Context(), nil)
	<-ended
	if got := h.ask(h.client(nil), "{}"); got != "{}" {
		t.Errorf("the next one: %q", got)
	}
}

// After mixed calls, faults, cancellations and vanished clients nothing is left. The test counts goroutines and files
// of the whole process, so that no other test may run beside it.
func TestNothingLeft(t *testing.T) {
	h := newHome(t)
	before, files := runtime.NumGoroutine(), openFiles()
	ctx, cancel := context.WithCancel(t.Context())
	ended := h.serve(ctx, nil)
	var n atomic.Int64
	h.call = func(ctx context.Context, args json.RawMessage) (*tool.Result, error) {
		switch n := n.Add(1); n % 4 {
		case 0:
			if n > 12 { // more crashes than that, and nothing would be started any more
				return nil, fault.New(fault.Protocol, "broken", "")
			}
			return nil, fault.New(fault.ServerConnection, "crash", "")
		case 1:
			<-ctx.Done()
			return nil, fault.New(fault.Interrupted, "interrupted", "")
		case 2:
			return &tool.Result{Raw: bytes.Repeat([]byte("x"), 1<<20)}, nil
		}
		return &tool.Result{Raw: args}, nil
	}
	c := h.client(nil)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond/2)
			defer cancel()
			_, _ = c.Call(ctx, ref, nil, tool.CallOptions{}) // any outcome will do
			if s, err := h.greeted(); err == nil {           // and a client that leaves without a query
				s.close()
			}
		})
	}
	wg.Wait()
	cancel()
	<-ended
	c.Close()
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before || openFiles() > files; runtime.Gosched() {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines and %d files, before %d and %d\n%s", runtime.NumGoroutine(), openFiles(), before, files,
				stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// openFiles counts the descriptors of this process. It returns 0 if it cannot.
func openFiles() int {
	entries, _ := os.ReadDir("/dev/fd")
	return len(entries)
}
