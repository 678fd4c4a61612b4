package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/host"
)

const (
	// quitAfter is how long the daemon stays without a request.
	quitAfter = time.Hour
	// stopGrace is how long running requests may go on after the daemon was asked to stop. A daemon that is only to be
	// replaced lets them end.
	stopGrace = 10 * time.Second
	// cancelGrace is how long they may take to end after they were cancelled, then after their streams were closed, and
	// then how long the servers of requests that still run may take.
	cancelGrace = 10 * time.Second
	// lockPatience is how long a new daemon waits for an old one that is ending.
	lockPatience = 5 * time.Second
	// queryPatience is how long a client may take to send its query.
	queryPatience = 5 * time.Second
	// lookEvery is how often the daemon checks that its socket is still there. While servers run it does so more often.
	lookEvery = time.Minute
	// beatEvery is how often the daemon tells a client that it still works on the request.
	beatEvery = 5 * time.Second
)

// errStopped is the cause of a request's end if it outlasted the grace of a daemon that was asked to stop.
var errStopped = errors.New("the daemon was stopped")

// Options make a daemon.
type Options struct {
	Place Place
	// Identity is that of this build; see [Identity]. Clients of another one have the daemon replaced.
	Identity string
	// NewCaller, NewCatalog and StateDir are those of [host.Options].
	NewCaller  func(*config.Config, host.CallerOptions) engine.Caller
	NewCatalog func(host.CatalogOptions) (host.Catalog, error)
	StateDir   string
	// Listening is called once, when the socket can be connected to (nil) or why it cannot.
	Listening func(error)
	// Ending, if not nil, is called when the daemon is about to end and waits for running requests.
	Ending func()
	// Event, if not nil, is called with what is also written to the log. It may be called concurrently.
	Event func(who, text string)

	lookEvery, stopGrace, cancelGrace time.Duration // for tests; zero means those constants
}

// withDefaults returns the options with everything set.
func (opt Options) withDefaults() Options {
	opt.lookEvery = cmp.Or(opt.lookEvery, lookEvery)
	opt.stopGrace = cmp.Or(opt.stopGrace, stopGrace)
	opt.cancelGrace = cmp.Or(opt.cancelGrace, cancelGrace)
	return opt
}

// daemon is a host with a socket.
type daemon struct {
	opt     Options
	log     func(who, text string)
	host    *host.Host
	started time.Time
	socket  fs.FileInfo
	leave   chan string // why it has to end after its requests
	hurry   func()      // has it end soon

	mu       sync.Mutex
	streams  map[*stream]bool
	watchers []*stream // closed at the end, which their clients wait for
	asked    time.Time // when a connection last came or went
	active   int       // connections that are being served, and listings of the host at the end
	idle     chan struct{}
	ending   time.Time // since when it takes no requests; zero while it takes them
}

// Serve runs the daemon until ctx ends, a client asks for its end, or no request came for an hour. Then it takes no
// more requests, lets the running ones end (for up to 10 s if it was asked to stop), stops its servers and returns. It
// fails if it cannot have the socket, because another daemon has it for example.
func Serve(ctx context.Context, opt Options) error {
	opt = opt.withDefaults()
	var listener *net.UnixListener
	var socket fs.FileInfo
	lock, err := takeLock(ctx, opt.Place.Lock, lockPatience, "another daemon serves this configuration set")
	if err == nil {
		defer lock.Unlock()
		listener, socket, err = bind(opt.Place.Socket)
	}
	opt.Listening(err)
	if err != nil {
		return err
	}
	file := newLogger(opt.Place.Log)
	defer file.close()
	d := newDaemon(opt, socket, func(who, text string) {
		file.log(who, text)
		if opt.Event != nil {
			opt.Event(who, text)
		}
	})
	d.log(logName, fmt.Sprintf("started, mcpl %s, process %d", opt.Identity, os.Getpid()))
	d.run(ctx, listener)
	d.log(logName, "ended")
	// The lock is free before the watchers hear of the end, so that they can start the next daemon.
	lock.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.watchers {
		s.close()
	}
	return nil
}

// newDaemon returns a daemon with a host. Its run closes the host.
func newDaemon(opt Options, socket fs.FileInfo, log func(who, text string)) *daemon {
	now := time.Now()
	d := &daemon{opt: opt, log: log, started: now, socket: socket, asked: now,
		leave: make(chan string, 1), streams: make(map[*stream]bool), idle: make(chan struct{}, 1)}
	d.host = host.New(host.Options{
		NewCaller: opt.NewCaller, NewCatalog: opt.NewCatalog, StateDir: opt.StateDir,
		Log: func(server, event string) { log(cmp.Or(server, logName), event) },
		// An unreachable daemon keeps others from starting.
		Looked:  d.checkSocket,
		Restart: fault.Step{Verb: "daemon restart"},
	})
	return d
}

// takeLock takes a lock of a place, for which it waits no longer than patience. The system frees it however its process
// ends. busy is the error if another process keeps it.
func takeLock(ctx context.Context, path string, patience time.Duration, busy string) (*flock.Flock, error) {
	lock := flock.New(path, flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 2*time.Millisecond); !ok {
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New(busy)
		}
		return nil, err
	}
	return lock, nil
}

// run serves connections until the end of the daemon and returns when nothing of them is left.
func (d *daemon) run(ctx context.Context, listener *net.UnixListener) {
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	ctx, d.hurry = context.WithCancel(ctx)
	defer d.hurry()
	var wg sync.WaitGroup
	wg.Go(func() { d.accept(base, listener, &wg) }) // ends when the listener is closed
	d.log(logName, d.wait(ctx))
	if d.beginEnd() && d.opt.Ending != nil {
		d.opt.Ending()
	}
	// The listings of the host count as one more request.
	wg.Go(func() {
		d.host.Drain(base)
		d.addActive(-1)
	})
	// The socket stays until the last server has ended, so that clients hear why the daemon does nothing for them, and
	// start no second daemon beside this one.
	drained := d.drain(ctx, cancel)
	d.closeHost(drained)
	if d.reachable() { // otherwise the socket is gone, or another daemon's
		os.Remove(d.opt.Place.Socket)
	}
	listener.Close()
	if drained {
		cancel(nil) // connections that watch a server are left
		wg.Wait()
	}
}

// beginEnd has the daemon take no more requests, and reports whether requests run. It counts the host's listings as
// active.
func (d *daemon) beginEnd() (busy bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ending = time.Now()
	busy = d.active > 0
	d.active++
	return busy
}

// closeHost stops the servers. If a request does not end, its server does not either. That is a defect, here or of the
// system (a file that cannot be read to its end). It ends with the process: a daemon that stayed for it would keep
// every other from starting.
func (d *daemon) closeHost(drained bool) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = d.host.Close()
	}()
	var limit <-chan time.Time // never, if all requests have ended
	if !drained {
		limit = time.After(d.opt.cancelGrace)
	}
	select {
	case <-closed:
	case <-limit:
	}
}

// reachable reports whether the socket is still there, and this daemon's: other programs clean up temporary folders.
func (d *daemon) reachable() bool {
	now, err := os.Stat(d.opt.Place.Socket)
	return err == nil && os.SameFile(d.socket, now)
}

// checkSocket ends a daemon that clients cannot reach any more.
func (d *daemon) checkSocket() {
	if !d.reachable() {
		d.end("its socket was taken away, so that clients cannot reach it any more")
	}
}

// end has the daemon end after its requests, unless something else has done so already.
func (d *daemon) end(why string) {
	select {
	case d.leave <- why:
	default:
	}
}

// accept serves each connection in a goroutine of its own, which ends with it.
func (d *daemon) accept(ctx context.Context, listener *net.UnixListener, wg *sync.WaitGroup) {
	for {
		conn, err := listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Out of descriptors, most likely: they come back as requests end.
			d.log(logName, "a connection was lost: "+err.Error())
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if checkPeer(conn) != nil {
			conn.Close()
			continue
		}
		s := newStream(conn, maxRequest)
		d.connected(s)
		wg.Go(func() {
			keep := d.serve(ctx, s)
			if !keep {
				s.close()
			}
			d.disconnected(s)
		})
	}
}

// connected notes that a connection has come.
func (d *daemon) connected(s *stream) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streams[s] = true
	d.asked = time.Now()
	d.active++
}

// disconnected notes that a connection has gone.
func (d *daemon) disconnected(s *stream) {
	d.mu.Lock()
	delete(d.streams, s)
	d.asked = time.Now()
	d.mu.Unlock()
	d.addActive(-1)
}

// addActive changes how much is active.
func (d *daemon) addActive(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active += n
	if d.active == 0 {
		select {
		case d.idle <- struct{}{}:
		default:
		}
	}
}

// wait returns when the daemon has to end, and why. When ctx ends, that is soon.
func (d *daemon) wait(ctx context.Context) string {
	timer := time.NewTimer(quitAfter)
	defer timer.Stop()
	look := time.NewTicker(d.opt.lookEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			d.checkSocket()
		case why := <-d.leave:
			return why
		case <-ctx.Done():
			return "asked to stop"
		case <-timer.C:
			left := quitAfter
			d.mu.Lock()
			if d.active == 0 {
				left -= time.Since(d.asked)
			}
			d.mu.Unlock()
			if left <= 0 && d.host.KeepsAlive() {
				left = quitAfter
			}
			if left <= 0 {
				return fmt.Sprintf("no request for %s", quitAfter)
			}
			timer.Reset(left)
		}
	}
}

// drain waits until no request runs, and reports whether that came about. When ctx ends, it cancels the requests that
// still run after a while, then closes their streams, and then gives them up.
func (d *daemon) drain(ctx context.Context, cancel context.CancelCauseFunc) bool {
	hurry := ctx.Done()
	var limit <-chan time.Time // each is used up before the next is made
	steps := []func(active int){func(active int) {
		d.log(logName, fmt.Sprintf("%d requests are cancelled", active))
		cancel(errStopped)
	}, func(int) { d.closeStreams() }}
	for {
		d.mu.Lock()
		active := d.active
		d.mu.Unlock()
		if active == 0 {
			return true
		}
		select {
		case <-d.idle:
		case <-hurry:
			hurry, limit = nil, time.After(d.opt.stopGrace)
		case <-limit:
			if len(steps) == 0 {
				d.log(logName, fmt.Sprintf("%d requests do not end; they are given up", active))
				return false
			}
			steps[0](active)
			steps, limit = steps[1:], time.After(d.opt.cancelGrace)
		}
	}
}

func (d *daemon) closeStreams() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := range d.streams {
		s.close()
	}
}
