// Package host keeps servers warm. It starts a server for the first request that needs it, shares it among the clients
// for which it would be started the same way, starts it again after a crash, and stops it once it has been idle for
// its time.
//
// Call [New] once, [Host.Caller] for each client environment, and [Host.Close] at the end. A [Caller] is an
// engine.Caller. It resolves the configuration for every request, with the directory and the environment of its
// client. Its servers stay after the request.
//
// While servers run, the host follows their configuration files and lists a server again that says that its lists have
// changed.
//
// The host knows neither sockets nor HTTP: pkg/daemon is a door to it. The composition root hands in what starts a
// server and speaks to it ([Options.NewCaller]).
package host

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// ErrEnding is the error of a request to a host that is being closed. The host has done nothing for it.
var ErrEnding = errors.New("the host is ending")

// ErrDeclined is the error of a request that a host does not take: its server is ephemeral, its logins are in another
// state folder, or its configuration is in a file that can be read only once. The host has done nothing for it, and
// the client can make the request in its own process.
var ErrDeclined = errors.New("its client has to make this request itself")

// Observer hears what happens to a server while a request uses it. It must return at once: the server waits for it.
// Several goroutines may call it at the same time.
type Observer func(server, event string)

// Options make a [Host]. NewCaller is needed, NewCatalog for [Host.Refresh] and changed lists.
type Options struct {
	// NewCaller opens a caller over a configuration with one server.
	NewCaller func(*config.Config, CallerOptions) engine.Caller
	// NewCatalog makes the catalog of a client's configuration set.
	NewCatalog func(CatalogOptions) (Catalog, error)
	// StateDir is the folder of the logins that callers use. The host declines requests for HTTP servers from clients
	// that have their logins elsewhere. If empty, it declines none of them.
	StateDir string
	// Log, if not nil, is called with everything that happens. An empty server means the host itself. Several
	// goroutines may call it at the same time.
	Log func(server, event string)
	// Looked, if not nil, is called every 2 s while servers run, after the host has looked at the configuration files.
	Looked func()
	// RelistGap is the least time between two listings of a server that says that its lists have changed. Zero means 10 s.
	RelistGap time.Duration
	// Restart is the step that has a server started at once that the host leaves alone because it crashed too often. If
	// its verb is empty, there is none.
	Restart fault.Step

	watchEvery, relistAfter time.Duration // for tests; zero means those constants
}

// CallerOptions are what [Options.NewCaller] opens a caller with.
type CallerOptions struct {
	// Dir is where a server without a cwd runs. Environ is what it inherits.
	Dir     string
	Environ []string
	// Root is the folder that servers whose entry has no roots get as theirs. If empty, they get none.
	Root string
	// EnvFile is the environment file that help texts name.
	EnvFile string
	Limits  tool.Limits
	// Log, if not nil, is called with what happens, secrets masked.
	Log func(server, event string)
	// Changed, if not nil, is called when a server says that its lists have changed.
	Changed func(server string)
	// Listen keeps a connection open for servers that say so on no other.
	Listen bool
	// Sampling declares in the handshake that there is a language model.
	Sampling bool
}

// Host keeps servers warm. Its methods may be called concurrently.
type Host struct {
	opt        Options
	supervisor *supervisor
	cancel     context.CancelFunc // ends watching and the host's own listings
	watching   sync.WaitGroup
	listings   sync.WaitGroup // refreshes too; Add only while mu is held and draining is false

	mu       sync.Mutex
	envs     map[string]*clientEnv // by Surroundings.key
	draining bool
}

// New returns a host without servers. It runs one goroutine until [Host.Close].
func New(opt Options) *Host {
	if opt.Log == nil {
		opt.Log = func(string, string) {}
	}
	if opt.Looked == nil {
		opt.Looked = func() {}
	}
	opt.watchEvery = cmp.Or(opt.watchEvery, watchEvery)
	opt.RelistGap = cmp.Or(opt.RelistGap, relistGap)
	opt.relistAfter = cmp.Or(opt.relistAfter, relistAfter)
	ctx, cancel := context.WithCancel(context.Background())
	h := &Host{opt: opt, cancel: cancel, envs: make(map[string]*clientEnv)}
	h.supervisor = newSupervisor(opt, func(server string, e *clientEnv, of owner) { h.relist(ctx, server, e, of) })
	h.watching.Go(func() { h.watch(ctx) })
	return h
}

// Drain keeps the host from refreshing indexes and listing changed servers, and returns when those that run have ended.
// When ctx ends, it cancels the listings that the host has begun by itself. Callers go on.
func (h *Host) Drain(ctx context.Context) {
	h.mu.Lock()
	h.draining = true
	h.mu.Unlock()
	defer context.AfterFunc(ctx, h.cancel)()
	h.listings.Wait()
}

// Close stops all servers and returns when nothing is left running. A server in use stops after its last request; no
// new request is taken.
func (h *Host) Close() error {
	h.cancel()
	h.supervisor.stop()
	h.Drain(context.Background())
	h.supervisor.runs.Wait()
	h.watching.Wait()
	return nil
}

// KeepsAlive reports whether a server runs that does not stop for being idle.
func (h *Host) KeepsAlive() bool { return h.supervisor.keepsAlive() }

// Status returns the servers that run, and those that crashed a moment ago, by name.
func (h *Host) Status() []ServerStatus { return h.supervisor.status() }

// env returns the client environment of these surroundings, whose key the caller has at hand, and notes that it is
// used.
func (h *Host) env(s Surroundings, key string) *clientEnv {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.envs[key]
	if e == nil {
		e = newClientEnv(s)
		h.envs[key] = e
	}
	e.used, e.limits = time.Now(), s.Limits
	return e
}
