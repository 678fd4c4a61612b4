package daemon

import (
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
)

const (
	// quitAfter is how long nothing may be asked before the daemon ends.
	quitAfter = time.Hour
	// stopGrace is how long running requests may go on once the daemon was told to stop. One that
	// is only to be replaced lets them end. See Options.StopGrace.
	stopGrace = 10 * time.Second
	// cancelGrace is how long they may take to end when cancelled, and then when their streams are closed.
	cancelGrace = 10 * time.Second
	// lockPatience is how long a new daemon waits for an old one that is ending.
	lockPatience = 5 * time.Second
	// queryPatience is how long a client that was greeted may take to say what it wants.
	queryPatience = 5 * time.Second
	// lookEvery is how often the daemon looks whether its socket is still there.
	lookEvery = time.Minute
	// beatEvery is how often a client is told that its request is still being worked on.
	beatEvery = 5 * time.Second
)

// errEnding says that the daemon takes no requests any more.
var errEnding = errors.New("the daemon is ending")

// errStopped is why a request ends that outlasted the grace of a daemon that was stopped.
var errStopped = errors.New("the daemon was stopped")

// Options make a daemon.
type Options struct {
	Place Place
	// Identity is that of this build; see [Identity]. Clients of another one have the daemon
	// replaced.
	Identity string
	// NewCaller opens a caller over a configuration's servers, of which one will be asked for.
	NewCaller func(*config.Config, CallerOptions) engine.Caller
	// NewEngine makes an engine to refresh an index with.
	NewEngine func(EngineOptions) (Engine, error)
	// StateDir is where this process has its logins; "" is anywhere. Clients that have theirs in another folder
	// are served no servers over HTTP here, which would get the logins of this one.
	StateDir string
	// Listening, when not nil, is told once that the socket can be connected to, or why not.
	Listening func(error)
	// Ending, when not nil, is told that the daemon is about to end and waits for requests that run.
	Ending func()
	// Event, when not nil, is told what is also written to the log. It may be called concurrently.
	Event func(who, text string)
	// QuitAfter is how long nothing may be asked before the daemon ends; 0 means an hour.
	QuitAfter time.Duration
	// StopGrace is how long running requests may go on once it was told to stop; 0 means 10 s.
	StopGrace time.Duration

	lookEvery, watchEvery, relistAfter, cancelGrace time.Duration // 0 means those constants; for tests
}

// server is the daemon.
type server struct {
	opt     Options
	log     func(who, text string)
	hub     *hub
	started time.Time
	socket  fs.FileInfo
	// base is the context of all requests' making; cancelAll ends them.
	cancelAll context.CancelCauseFunc
	leave     once // asked to end once its requests have
	hurry     once // told to end soon
	lost      once // nobody can reach it any more

	mu         sync.Mutex
	streams    map[*stream]bool
	watchers   []*stream // told of the end by the end of their stream
	asked      time.Time // when something was last asked
	active     int       // connections being served, and refreshes of its own
	idle       chan struct{}
	ending     time.Time // since when it takes no requests; zero: it does
	origins    map[string]*origin
	lastOrigin int
}

// once is a channel that may be closed more than once.
type once struct {
	ch chan struct{}
	do *sync.Once
}

func newOnce() once { return once{make(chan struct{}), new(sync.Once)} }

func (o once) close() { o.do.Do(func() { close(o.ch) }) }

// Serve runs the daemon until ctx ends, a client asks for its end, or nothing was asked for an
// hour. Then it takes no more requests, lets the running ones end (for up to 10 s where it was
// told to stop), stops its servers and returns. It fails where the socket cannot be had,
// because another daemon has it for example.
func Serve(ctx context.Context, opt Options) (err error) {
	if opt.QuitAfter == 0 {
		opt.QuitAfter = quitAfter
	}
	if opt.lookEvery == 0 {
		opt.lookEvery = lookEvery
	}
	if opt.watchEvery == 0 {
		opt.watchEvery = watchEvery
	}
	if opt.StopGrace == 0 {
		opt.StopGrace = stopGrace
	}
	if opt.cancelGrace == 0 {
		opt.cancelGrace = cancelGrace
	}
	tell := opt.Listening
	if tell == nil {
		tell = func(error) {}
	}
	lock, err := takeLock(ctx, opt.Place.Lock)
	if err != nil {
		tell(err)
		return err
	}
	defer lock.Unlock()
	// Whoever holds the lock owns the socket; what is there was left by one that was killed.
	if err := os.Remove(opt.Place.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		tell(err)
		return err
	}
	listener, err := listen(opt.Place.Socket)
	if err != nil {
		tell(err)
		return err
	}
	socket, err := os.Stat(opt.Place.Socket)
	if err != nil {
		listener.Close()
		tell(err)
		return err
	}
	file := newLogger(opt.Place.Log)
	defer file.close()
	d := &server{opt: opt, log: file.log, started: time.Now(), socket: socket, asked: time.Now(), leave: newOnce(), hurry: newOnce(), lost: newOnce(),
		streams: make(map[*stream]bool), origins: make(map[string]*origin), idle: make(chan struct{}, 1)}
	if opt.Event != nil {
		d.log = func(who, text string) { file.log(who, text); opt.Event(who, text) }
	}
	d.log(logName, fmt.Sprintf("started, mcpl %s, process %d", opt.Identity, os.Getpid()))
	tell(nil)
	d.run(ctx, listener)
	d.log(logName, "ended")
	// The watchers are told once the lock is free, so that they can start the next one.
	lock.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.watchers {
		s.close()
	}
	return nil
}

// takeLock takes the lock that the daemon of a configuration set holds for its life. The system
// frees it however the daemon ends.
func takeLock(ctx context.Context, path string) (*flock.Flock, error) {
	lock := flock.New(path, flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 10*time.Millisecond); !ok {
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("another daemon serves this configuration set")
		}
		return nil, err
	}
	return lock, nil
}

// run serves connections until the end and returns when nothing of them is left.
func (d *server) run(ctx context.Context, listener *net.UnixListener) {
	defer context.AfterFunc(ctx, d.hurry.close)()
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	d.cancelAll = cancel
	d.hub = newHub(d.log, func(name, origin string) { d.relist(base, name, origin) })
	if d.opt.relistAfter > 0 {
		d.hub.relistAfter = d.opt.relistAfter
	}
	watching, unwatch := context.WithCancel(base)
	defer unwatch()
	var wg sync.WaitGroup
	wg.Go(func() { d.watch(watching) })
	wg.Go(func() { d.accept(base, listener, &wg) }) // ends when the listener is closed
	d.log(logName, d.wait())
	d.mu.Lock()
	d.ending = time.Now()
	waits := d.active > 0
	d.mu.Unlock()
	if waits && d.opt.Ending != nil {
		d.opt.Ending()
	}
	// The socket stays until the last server has ended, so that clients hear why nothing is done
	// for them here, and start no second daemon beside this one.
	drained := d.drain()
	d.hub.close()
	if d.reachable() { // else it is gone, or another daemon's
		os.Remove(d.opt.Place.Socket)
	}
	listener.Close()
	unwatch()
	if drained {
		wg.Wait()
	}
}

// reachable reports whether the socket is still there, and this daemon's: folders for what is
// temporary are cleaned up by others.
func (d *server) reachable() bool {
	now, err := os.Stat(d.opt.Place.Socket)
	return err == nil && os.SameFile(d.socket, now)
}

// checkSocket has a daemon end that nobody can reach.
func (d *server) checkSocket() {
	if !d.reachable() {
		d.lost.close()
	}
}

// accept serves each connection in a goroutine of its own, which ends with it.
func (d *server) accept(ctx context.Context, listener *net.UnixListener, wg *sync.WaitGroup) {
	for {
		s, err := accept(listener)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Out of descriptors, most likely: they come back as requests end.
			d.log(logName, "a connection was lost: "+err.Error())
			time.Sleep(10 * time.Millisecond)
			continue
		}
		d.count(s, 1)
		wg.Go(func() {
			keep := d.serve(ctx, s)
			if !keep {
				s.close()
			}
			d.count(s, -1)
		})
	}
}

// count notes that a connection has come or gone.
func (d *server) count(s *stream, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active += n
	d.asked = time.Now()
	if n > 0 {
		d.streams[s] = true
		return
	}
	delete(d.streams, s)
	d.tellIdle()
}

// done notes the end of something of the daemon's own.
func (d *server) done() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active--
	d.tellIdle()
}

func (d *server) tellIdle() {
	if d.active == 0 {
		select {
		case d.idle <- struct{}{}:
		default:
		}
	}
}

// wait returns when the daemon has to end, and why.
func (d *server) wait() string {
	patience := d.opt.QuitAfter
	timer := time.NewTimer(patience)
	defer timer.Stop()
	look := time.NewTicker(d.opt.lookEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			d.checkSocket()
			d.forget()
		case <-d.lost.ch:
			return "its socket was taken away, and nobody can reach it any more"
		case <-d.hurry.ch:
			return "told to stop"
		case <-d.leave.ch:
			return "told to make room for another version"
		case <-timer.C:
			left := patience
			d.mu.Lock()
			if d.active == 0 {
				left -= time.Since(d.asked)
			}
			d.mu.Unlock()
			if left <= 0 && d.hub.keeps() {
				left = patience
			}
			if left <= 0 {
				return fmt.Sprintf("nothing was asked for %s", patience)
			}
			timer.Reset(left)
		}
	}
}

// drain waits until no request runs, and reports whether that came about. In a hurry those that still
// run after a while are cancelled, then their streams are closed. What does not even end then is a defect,
// here or of the system (a file that cannot be read to its end); it ends with the process, since a daemon
// that stayed for it would keep every other from starting.
func (d *server) drain() bool {
	hurry := d.hurry.ch
	var limit <-chan time.Time // each is used up before the next is made
	steps := []func(active int){func(active int) {
		d.log(logName, fmt.Sprintf("%d requests are cancelled", active))
		d.cancelAll(errStopped)
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
			hurry, limit = nil, time.After(d.opt.StopGrace)
		case <-limit:
			if len(steps) == 0 {
				d.log(logName, fmt.Sprintf("%d requests do not end; they are left", active))
				return false
			}
			steps[0](active)
			steps, limit = steps[1:], time.After(d.opt.cancelGrace)
		}
	}
}

func (d *server) closeStreams() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := range d.streams {
		s.close()
	}
}
