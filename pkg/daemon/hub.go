package daemon

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

const (
	// maxRestarts is how often within restartSpan a server that crashed is started again.
	maxRestarts = 3
	restartSpan = time.Minute
	// maxVariants is how many servers of one name may run at once: one entry gives several where
	// clients differ in environment or folder. The one idle for longest goes first.
	maxVariants = 8
	// maxOrigins is of how many surroundings it is remembered that a server runs for them, the last ones to
	// ask: a variable that differs with each command (TRACEPARENT) makes each one's others.
	maxOrigins = 8
	// relistAfter is how long after a server has said that its lists changed it is listed again: many
	// say so several times in a row. relistGap is the least time between two of these listings.
	relistAfter = 500 * time.Millisecond
	relistGap   = 10 * time.Second
)

// hub holds the warm servers. It knows nothing of sockets and configuration.
type hub struct {
	log func(who, text string)
	// relist lists a server anew for clients of that origin.
	relist func(name, origin string)
	// started has something in it after a server was started.
	started chan struct{}
	// relistAfter is that constant; for tests.
	relistAfter time.Duration

	mu      sync.Mutex
	warm    map[string]*warm // by key
	closing bool
	wg      sync.WaitGroup // callers being closed
}

// warm is one server by its key: running, or remembered because it crashed a moment ago.
type warm struct {
	key, name string
	// origins are the clients' surroundings whose configuration says this key, the last one to ask at
	// the end. When none does any more the server is stopped.
	origins []string
	run     *run // nil while it does not run
	calls   int

	crash    *fault.Fault // how it ended, where it crashed and was not started since
	crashed  time.Time
	restarts []time.Time // after crashes, the latest of them
}

// run is one life of a warm server.
type run struct {
	caller   engine.Caller
	users    int
	retired  bool // closed by the last user; no new ones
	keep     bool // not stopped for being idle
	idle     time.Duration
	timer    *time.Timer // nil while it is used
	started  time.Time
	used     time.Time // when the last user left
	answered time.Time // when it last gave a sign of life
	watchers map[chan<- note]bool
	relist   *time.Timer // nil where nothing has changed
	relisted time.Time
}

// spec is a server that is wanted.
type spec struct {
	key, name, origin string
	idle              time.Duration
	keep              bool
	// process says that it is one of ours, whose restarts are limited. What is reached over a network
	// is tried as often as it is asked for.
	process bool
	// key of any server by its name, as the configuration says now; "" where there is none
	current func(name string) string
	// open starts it. changed is to be told when it says that its lists have changed.
	open func(log func(who, text string), changed func()) engine.Caller
}

func newHub(log func(who, text string), relist func(name, origin string)) *hub {
	return &hub{log: log, relist: relist, started: make(chan struct{}, 1), relistAfter: relistAfter, warm: make(map[string]*warm)}
}

// do runs f with the caller of the server that s describes, started by f's request where it does
// not run. watch, when not nil, is sent what happens to the server meanwhile, as far as it has
// room. f tells of each sign of life of the server by calling alive.
func (h *hub) do(s spec, watch chan<- note, f func(c engine.Caller, alive func()) error) error {
	w, r, err := h.acquire(s, watch)
	if err != nil {
		return err
	}
	began := time.Now()
	err = f(r.caller, func() { h.alive(r) })
	h.release(w, r, watch, began, err, true)
	return err
}

// visit runs f with the caller of a server if that runs. It is no use of it that would keep it from
// being idle.
func (h *hub) visit(key string, f func(engine.Caller) error) (warm bool, err error) {
	h.mu.Lock()
	w := h.warm[key]
	if h.closing || w == nil || w.run == nil {
		h.mu.Unlock()
		return false, nil
	}
	r := w.run
	r.enter()
	h.mu.Unlock()
	began := time.Now()
	err = f(r.caller)
	h.release(w, r, nil, began, err, false)
	return true, err
}

// alive notes that a server has said something.
func (h *hub) alive(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.answered = time.Now()
}

func (h *hub) acquire(s spec, watch chan<- note) (*warm, *run, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return nil, nil, errEnding
	}
	h.reconcile(s.origin, s.current)
	w := h.warm[s.key]
	if w == nil {
		w = &warm{key: s.key, name: s.name}
		h.warm[s.key] = w
	}
	w.askedFrom(s.origin)
	if w.run == nil {
		if err := h.start(w, s); err != nil {
			return nil, nil, err
		}
	}
	r := w.run
	r.idle, r.keep = s.idle, s.keep
	r.enter()
	w.calls++
	if watch != nil {
		r.watchers[watch] = true
	}
	return w, r, nil
}

// askedFrom notes where a request has come from.
func (w *warm) askedFrom(origin string) {
	w.forget(origin)
	w.origins = append(w.origins, origin)
	w.origins = w.origins[max(0, len(w.origins)-maxOrigins):]
}

// forget notes that an origin does not want the server any more.
func (w *warm) forget(origin string) {
	w.origins = slices.DeleteFunc(w.origins, func(other string) bool { return other == origin })
}

// enter counts one more user.
func (r *run) enter() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	r.users++
}

// origins returns those that servers run for.
func (h *hub) origins() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ids []string
	for _, w := range h.warm {
		if w.run != nil {
			ids = append(ids, w.origins...)
		}
	}
	return ids
}

// follow stops what the configuration of an origin says no more; current is that of a spec.
func (h *hub) follow(origin string, current func(name string) string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reconcile(origin, current)
}

// reconcile does that, and forgets crashes of long ago.
func (h *hub) reconcile(origin string, current func(name string) string) {
	for key, w := range h.warm {
		if slices.Contains(w.origins, origin) && current(w.name) != key {
			w.forget(origin)
			switch {
			case len(w.origins) > 0:
			case w.run != nil:
				h.log(w.name, "its entry has changed or is gone; this server ends after its running calls")
				h.retire(w)
			default: // a crash that concerns nobody any more
				delete(h.warm, key)
			}
		}
		if w.run == nil && time.Since(w.crashed) > restartSpan {
			delete(h.warm, key)
		}
	}
}

// start makes a new run, unless the server has crashed too often.
func (h *hub) start(w *warm, s spec) error {
	now := time.Now()
	if w.crash != nil {
		for len(w.restarts) > 0 && now.Sub(w.restarts[0]) >= restartSpan {
			w.restarts = w.restarts[1:]
		}
		if s.process && len(w.restarts) >= maxRestarts {
			return blocked(w, restartSpan-now.Sub(w.restarts[0]))
		}
		w.restarts = append(w.restarts, now)
		w.crash = nil
	}
	h.makeRoom(w)
	r := &run{started: now, answered: now, watchers: make(map[chan<- note]bool)}
	r.caller = s.open(func(server, text string) { h.tell(r, server, text) }, func() { h.changed(w, r) })
	w.run = r
	select {
	case h.started <- struct{}{}:
	default:
	}
	return nil
}

// tell logs what happens to a server and tells those who wait for it.
func (h *hub) tell(r *run, server, text string) {
	h.log(server, text)
	h.mu.Lock()
	defer h.mu.Unlock()
	for watch := range r.watchers {
		select {
		case watch <- note{kindEvent, event{server, text}}:
		default: // a client that does not read must not hold up the server
		}
	}
}

// changed has a server listed again, soon and not too often.
func (h *hub) changed(w *warm, r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing || r.retired || r.relist != nil {
		return
	}
	r.relist = time.AfterFunc(max(h.relistAfter, relistGap-time.Since(r.relisted)), func() {
		h.mu.Lock()
		r.relist, r.relisted = nil, time.Now()
		if h.closing || r.retired || len(w.origins) == 0 {
			h.mu.Unlock()
			return
		}
		origin := w.origins[len(w.origins)-1]
		h.mu.Unlock()
		h.relist(w.name, origin)
	})
}

// makeRoom stops the idle one, used longest ago, of too many servers of a name.
func (h *hub) makeRoom(w *warm) {
	var oldest *warm
	n := 0
	for _, other := range h.warm {
		if other.name != w.name || other.run == nil {
			continue
		}
		n++
		if other.run.users == 0 && (oldest == nil || other.run.used.Before(oldest.run.used)) {
			oldest = other
		}
	}
	if n >= maxVariants && oldest != nil {
		h.log(w.name, fmt.Sprintf("%d servers of this name run for clients that differ in environment or folder; one that is idle ends", n))
		h.retire(oldest)
	}
}

// blocked is the fault of a server that crashed too often, until it may be started again.
func blocked(w *warm, left time.Duration) *fault.Fault {
	f := *w.crash
	f.Message = fmt.Sprintf("%s has crashed or failed to start %d times within a minute and is left alone for %d s; the last time: %s",
		w.name, maxRestarts+1, int(left/time.Second)+1, w.crash.Message)
	f.Help = w.crash.Help + "\nStart it at once with: mcpl daemon restart"
	return &f
}

// release ends a use. counts says that it keeps the server from being idle.
func (h *hub) release(w *warm, r *run, watch chan<- note, began time.Time, err error, counts bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if counts {
		r.used = now
	}
	delete(r.watchers, watch)
	f := fault.From(err)
	if f != nil {
		h.log(w.name, "failed: "+f.Message)
	}
	switch {
	case f == nil:
		r.answered = now
	case f.Type == fault.ServerConnection:
		if w.run == r { // the first of its users to tell
			w.crash, w.crashed = f, now
			h.retire(w)
		}
	case f.Type == fault.Timeout:
		// Silent all that time, towards everyone: the next request gets a new one. That it is slow
		// with one request while it answers others is no reason.
		if w.run == r && r.answered.Before(began) {
			h.log(w.name, "it has said nothing for the whole time of a request; the next one starts it anew")
			h.retire(w)
		}
	case f.Type != fault.Interrupted:
		r.answered = now
	}
	// It counts as used until here, so that what retired it above has left its end to this.
	r.users--
	switch {
	case r.users > 0:
	case r.retired:
		h.end(r)
	case !r.keep:
		var timer *time.Timer
		timer = time.AfterFunc(r.idle-now.Sub(r.used), func() { h.expire(w, r, &timer) })
		r.timer = timer
	}
}

// expire stops a run that was idle for its time. A timer that was stopped too late, or replaced,
// stops nothing.
func (h *hub) expire(w *warm, r *run, timer **time.Timer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.run != r || r.timer != *timer {
		return
	}
	h.log(w.name, fmt.Sprintf("stopped after %s without a request", r.idle))
	h.retire(w)
}

// retire takes the run from its server and ends it, or leaves that to its last user.
func (h *hub) retire(w *warm) {
	r := w.run
	w.run, r.retired = nil, true
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if r.relist != nil {
		r.relist.Stop()
	}
	if r.users == 0 {
		h.end(r)
	}
	if w.crash == nil && len(w.restarts) == 0 {
		delete(h.warm, w.key)
	}
}

// end closes the caller of a run that nobody uses. hub.close waits for it.
func (h *hub) end(r *run) {
	h.wg.Go(func() { r.caller.Close() })
}

// keeps reports whether a server runs that is not to be stopped for being idle.
func (h *hub) keeps() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.warm {
		if w.run != nil && w.run.keep {
			return true
		}
	}
	return false
}

// close stops all servers and returns when they have ended. Nothing can be asked for any more;
// requests that still run have their callers closed when they end, so they should have.
func (h *hub) close() {
	h.mu.Lock()
	h.closing = true
	for _, w := range h.warm {
		if w.run != nil {
			h.retire(w)
		}
	}
	h.mu.Unlock()
	h.wg.Wait()
}
