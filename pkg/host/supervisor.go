package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// maxRestarts is how often a server that crashed is started again within restartSpan.
	maxRestarts = 3
	restartSpan = time.Minute
	// maxEnvs bounds how many client environments are remembered per server, the latest ones. A variable that changes
	// with every command (TRACEPARENT) would otherwise add one per call.
	maxEnvs = 8
	// relistAfter is the delay between a server's word that its lists have changed and the next listing: many servers
	// send it several times in a row. relistGap is the least time between two of these listings.
	relistAfter = 500 * time.Millisecond
	relistGap   = 10 * time.Second
)

// supervisor starts, shares, restarts and stops servers. It reads no configuration: a [spec] says what it needs, and a
// client environment is only a name.
type supervisor struct {
	log     func(server, event string)
	restart fault.Step
	// relist lists a server again for a client environment.
	relist      func(server string, env *clientEnv, of owner)
	relistAfter time.Duration
	relistGap   time.Duration
	// started gets a value after a server was started.
	started chan struct{}
	// runs counts the runs that have not been closed. Wait only after stop; add only while mu is held and ending is false.
	runs sync.WaitGroup

	mu      sync.Mutex
	servers map[string]*server   // by key
	listed  map[string]time.Time // by name: when a server that somebody has for himself was last listed again
	ending  bool

	watching sync.Mutex // taken after mu; an event comes with and without it
	watchers []*watcher
}

// server is one server by its key: running, or remembered because it crashed a moment ago.
type server struct {
	key, name string
	owner     owner
	// envs are the client environments whose configuration wants this key, the last one to ask at the end. The server
	// stops when the last of them wants it no more.
	envs  []*clientEnv
	run   *run // nil while it does not run
	calls int

	crash    *fault.Fault // how it ended; nil if it did not crash or was started since
	crashed  time.Time
	restarts []time.Time // the latest starts after a crash
}

// run is one life of a server.
type run struct {
	caller    engine.Caller
	principal tool.Principal // that it was started for
	uses      map[*use]bool
	retired   bool // takes no more uses; the last one closes it
	keepAlive bool // does not stop for being idle
	idle      time.Duration
	timer     *time.Timer // stops it for being idle; nil while it is used
	started   time.Time
	used      time.Time // when the last use ended
	answered  time.Time // the last sign of life
	relist    *time.Timer
	relisted  time.Time
	changed   time.Time // when it last said that its lists have changed
}

// use is one request that a run serves.
type use struct {
	server  *server
	run     *run
	observe Observer // may be nil
	began   time.Time
	// own says that the request is the host's own: it does not reset the idle timer.
	own bool
}

// spec describes a server that is wanted.
type spec struct {
	key, name string
	env       *clientEnv
	owner     owner
	principal tool.Principal // that wants it
	limit     time.Duration  // of a request that brings none
	idle      time.Duration
	keepAlive bool
	// isProcess says that the server is a child process, whose restarts are limited. A server over a network is tried
	// with every request.
	isProcess bool
	// current returns the key that the configuration has now for a server, or "" if it does not want it. As long as config
	// is the same, and not nil, so are the keys.
	current func(name string, of owner) string
	config  *config.Config
	// open starts it. It calls changed when the server says that its lists have changed.
	open func(log func(server, event string), changed func()) engine.Caller
}

func newSupervisor(opt Options, relist func(string, *clientEnv, owner)) *supervisor {
	return &supervisor{log: opt.Log, restart: opt.Restart, relist: relist, relistAfter: opt.relistAfter,
		relistGap: opt.RelistGap,
		started:   make(chan struct{}, 1), servers: make(map[string]*server),
		listed: make(map[string]time.Time)}
}

// acquire returns a use of the server that s describes, which it starts if it does not run. The caller releases it.
func (v *supervisor) acquire(s spec, observe Observer) (*use, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ending {
		return nil, ErrEnding
	}
	if s.config == nil || s.config != s.env.followed { // with the same one nothing can differ
		v.follow(s.env, s.config, s.current)
	}
	srv := v.servers[s.key]
	if srv == nil {
		srv = &server{key: s.key, name: s.name, owner: s.owner}
	}
	if srv.run == nil {
		if err := v.start(srv, s); err != nil {
			return nil, err
		}
		v.servers[s.key] = srv
	}
	srv.wantedBy(s.env)
	srv.run.idle, srv.run.keepAlive = s.idle, s.keepAlive
	srv.calls++
	return srv.use(observe, false), nil
}

// visit runs f with the caller of a server if that runs. It does not reset the idle timer.
func (v *supervisor) visit(key string, f func(engine.Caller) error) (warm bool, err error) {
	v.mu.Lock()
	srv := v.servers[key]
	if v.ending || srv == nil || srv.run == nil {
		v.mu.Unlock()
		return false, nil
	}
	u := srv.use(nil, true)
	v.mu.Unlock()
	err = f(u.run.caller)
	v.release(u, err)
	return true, err
}

// use begins a use of the server's run.
func (srv *server) use(observe Observer, own bool) *use {
	r := srv.run
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	u := &use{server: srv, run: r, observe: observe, began: time.Now(), own: own}
	r.uses[u] = true
	return u
}

// alive notes a sign of life of a server.
func (v *supervisor) alive(r *run) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r.answered = time.Now()
}

// wantedBy notes that a client environment wants the server.
func (srv *server) wantedBy(env *clientEnv) {
	srv.unwantedBy(env)
	srv.envs = append(srv.envs, env)
	srv.envs = srv.envs[max(0, len(srv.envs)-maxEnvs):]
}

// unwantedBy notes that a client environment does not want the server any more.
func (srv *server) unwantedBy(env *clientEnv) {
	srv.envs = slices.DeleteFunc(srv.envs, func(other *clientEnv) bool { return other == env })
}

// envs returns the client environments that servers run for, and those with watchers.
func (v *supervisor) envs() (running, watched map[*clientEnv]bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	running, watched = make(map[*clientEnv]bool), make(map[*clientEnv]bool)
	for _, srv := range v.servers {
		if srv.run != nil {
			for _, env := range srv.envs {
				running[env] = true
			}
		}
	}
	v.watching.Lock()
	defer v.watching.Unlock()
	for _, w := range v.watchers {
		watched[w.env] = true
	}
	return running, watched
}

// follow stops the servers that the configuration of a client environment wants no more, and has their watchers find
// those that it wants now. current is that of a spec. It needs mu.
func (v *supervisor) follow(env *clientEnv, cfg *config.Config, current func(name string, of owner) string) {
	env.followed = cfg
	v.rekey(env, current)
	for key, srv := range v.servers {
		if !slices.Contains(srv.envs, env) || current(srv.name, srv.owner) == key {
			continue
		}
		srv.unwantedBy(env)
		switch {
		case len(srv.envs) > 0:
		case srv.run != nil:
			v.log(srv.name, "its entry has changed or is gone; this server ends after its running calls")
			v.retire(srv)
		default: // a crash that no client can meet any more
			delete(v.servers, key)
		}
	}
}

// forget forgets crashes of long ago.
func (v *supervisor) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key, srv := range v.servers {
		if srv.run == nil && time.Since(srv.crashed) > restartSpan {
			delete(v.servers, key)
		}
	}
}

// start makes a new run, unless the server has crashed too often.
func (v *supervisor) start(srv *server, s spec) error {
	if err := v.makeRoom(s); err != nil {
		return err
	}
	now := time.Now()
	if srv.crash != nil {
		for len(srv.restarts) > 0 && now.Sub(srv.restarts[0]) >= restartSpan {
			srv.restarts = srv.restarts[1:]
		}
		if s.isProcess && len(srv.restarts) >= maxRestarts {
			return v.blocked(srv, restartSpan-now.Sub(srv.restarts[0]))
		}
		srv.restarts = append(srv.restarts, now)
		srv.crash = nil
	}
	r := &run{principal: s.principal, started: now, answered: now, uses: make(map[*use]bool)}
	r.caller = s.open(func(server, event string) { v.event(r, server, event) }, func() { v.changed(srv, r) })
	// The subscription ends with the caller.
	_, err := r.caller.Watch(context.Background(), s.name, tool.CallOptions{},
		func(e tool.Event) { v.publish(s.key, e) })
	if err != nil {
		v.log(s.name, "its events cannot be had: "+err.Error())
	}
	srv.run = r
	v.runs.Add(1)
	select {
	case v.started <- struct{}{}:
	default:
	}
	return nil
}

// blocked returns the fault of a server that crashed too often, for as long as it is left alone.
func (v *supervisor) blocked(srv *server, left time.Duration) *fault.Fault {
	f := *srv.crash
	f.Message = fmt.Sprintf("%s has crashed or failed to start %d times within a minute and is left alone for %d s; "+
		"the last time: %s", srv.name, maxRestarts+1, int(left/time.Second)+1, srv.crash.Message)
	f.Next = slices.Clip(f.Next)
	if v.restart.Verb != "" {
		return f.Then("Start it at once with", v.restart)
	}
	return &f
}

// event logs what happens to a server, and has the requests that use it hear of it.
func (v *supervisor) event(r *run, server, text string) {
	v.log(server, text)
	v.mu.Lock()
	defer v.mu.Unlock()
	for u := range r.uses {
		if u.observe != nil {
			u.observe(server, text)
		}
	}
}

// changed has a server listed again that says that its lists have changed.
func (v *supervisor) changed(srv *server, r *run) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.listAnew(srv, r)
}

// listAnew has a server listed again, soon but not too often. The index holds what the user of the command line sees,
// so that the lists of another principal, or of a client with credentials of its own, never get into it. Of the servers
// that sessions have for themselves one is listed for all that have said so before: a change mostly reaches all of them
// at once.
func (v *supervisor) listAnew(srv *server, r *run) {
	if v.ending || r.retired || srv.owner.principal != "" || srv.owner.forwarded != "" {
		return
	}
	if r.changed = time.Now(); r.relist != nil {
		return
	}
	r.relist = time.AfterFunc(max(v.relistAfter, v.relistGap-time.Since(r.relisted)), func() {
		v.mu.Lock()
		r.relist, r.relisted = nil, time.Now()
		isOwn := srv.owner != owner{}
		if v.ending || r.retired || len(srv.envs) == 0 || isOwn && v.listed[srv.name].After(r.changed) {
			v.mu.Unlock()
			return
		}
		if isOwn {
			v.listed[srv.name] = r.relisted
		}
		env := srv.envs[len(srv.envs)-1]
		v.mu.Unlock()
		v.relist(srv.name, env, srv.owner)
	})
}

// release ends a use, whose request ended with err.
func (v *supervisor) release(u *use, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	srv, r := u.server, u.run
	if !u.own {
		r.used = now
	}
	var answered *tool.UpstreamError
	if errors.As(err, &answered) || errors.Is(err, tool.ErrNotSent) {
		err = nil // the server has answered, or was not asked
	}
	v.judge(u, fault.From(err), now)
	// It counts as a use until here, so that judge leaves the end of a retired run to this.
	delete(r.uses, u)
	switch {
	case len(r.uses) > 0:
	case r.retired:
		v.end(r)
	case !r.keepAlive:
		r.timer = time.AfterFunc(r.idle-now.Sub(r.used), func() { v.expire(srv, r) })
	}
}

// judge decides what the outcome of a use says about its server. f is nil if the request succeeded.
func (v *supervisor) judge(u *use, f *fault.Fault, now time.Time) {
	srv, r := u.server, u.run
	if f != nil {
		v.log(srv.name, "failed: "+f.Message)
	}
	switch {
	case f == nil:
		r.answered = now
	case f.Approval != nil && f.Approval.Kind == fault.PinApproval:
		// The client that asked may not be able to list, and the index does not know the definition that the call met.
		r.answered = now
		v.listAnew(srv, r)
	case f.Type == fault.ServerConnection:
		if srv.run == r { // the first of its uses to end
			srv.crash, srv.crashed = f, now
			v.retire(srv)
		}
	case f.Type == fault.Timeout:
		// If it was silent all that time, towards every client, the next request gets a new run. A server that is slow
		// with one request while it answers others goes on.
		if srv.run == r && r.answered.Before(u.began) {
			v.log(srv.name, "it has said nothing for the whole time of a request; the next one starts it anew")
			v.retire(srv)
		}
	case f.Type != fault.Interrupted:
		r.answered = now
	}
}

// expire stops a run that has been idle for its time. A timer that was stopped too late, or replaced, stops nothing.
func (v *supervisor) expire(srv *server, r *run) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if srv.run != r || len(r.uses) > 0 || time.Since(r.used) < r.idle {
		return
	}
	v.log(srv.name, fmt.Sprintf("stopped after %s without a request", r.idle))
	v.retire(srv)
}

// retire takes the run from its server and ends it, or leaves that to its last use.
func (v *supervisor) retire(srv *server) {
	r := srv.run
	srv.run, r.retired = nil, true
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if r.relist != nil {
		r.relist.Stop()
	}
	if len(r.uses) == 0 {
		v.end(r)
	}
	if srv.crash == nil && len(srv.restarts) == 0 {
		delete(v.servers, srv.key)
	}
}

// end closes the caller of a run that has no uses, in a goroutine that wait waits for.
func (v *supervisor) end(r *run) {
	go func() {
		defer v.runs.Done()
		r.caller.Close()
	}()
}

// keepsAlive reports whether a server runs that does not stop for being idle.
func (v *supervisor) keepsAlive() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, srv := range v.servers {
		if srv.run != nil && srv.run.keepAlive {
			return true
		}
	}
	return false
}

// stop takes no more requests and stops all servers, those in use after their last request.
func (v *supervisor) stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ending = true
	for _, srv := range v.servers {
		if srv.run != nil {
			v.retire(srv)
		}
	}
}
