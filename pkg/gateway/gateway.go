// Package gateway is mcpl as an MCP server: one connection for a client, all of its servers behind it, and few tools in
// the context of its model.
//
// Make one [Gateway] with [New] and close it at the end. [Gateway.Serve] serves one client on two streams,
// [Gateway.Handler] any number of them over HTTP. An [Exposure] decides which tools a client sees; resources, prompts,
// completion and all that a server asks or tells in the middle of a request pass in every exposure.
//
// Definitions, results and errors of servers pass byte for byte, as pkg/tool and pkg/mcp keep them. The gateway reaches
// servers only through pkg/engine, whose gate decides on every call. It knows neither terminals nor files.
package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/results"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Exposure is the way in which a client sees tools.
type Exposure string

// The exposures.
const (
	// Search shows four tools: to search, read and call tools, and to list servers.
	Search Exposure = "search"
	// Activate shows the tools and resources that are active, and a tool that activates others.
	Activate Exposure = "activate"
	// All shows every tool that is on.
	All Exposure = "all"
)

// Exposures returns all exposures.
func Exposures() []Exposure { return []Exposure{Search, Activate, All} }

// Opened is the configuration, with state and approvals, as it is at one time.
type Opened struct {
	// Engine is over all of it. The gateway closes it.
	Engine *engine.Engine
	// Unsure says why it is not sure what is on; nil if it is. Else nothing of the engine is on, and calls fail with it.
	Unsure error
	// None says why there is no configuration; nil if there is one. Else the engine is over no servers.
	None error
	// Profiles are the exposures of the profiles, by name.
	Profiles map[string]Exposure
	// Narrow returns what is taken away for a principal in a profile, which may be "".
	Narrow func(ctx context.Context, of Principal, profile string) (engine.Narrowing, error)
}

// Options make a [Gateway]. Open, Stamp, Switch, Results and Now are needed.
type Options struct {
	// Open returns the configuration as it is now.
	Open func() (Opened, error)
	// Stamp identifies what Open reads. While it stays the same, Open need not be called again.
	Stamp func() string
	// Switch switches on and off what these names mean, servers or SERVER/TOOL, in one update that lasts, for a principal
	// by its ID. Names that it switches on are all that is on then, with those that were switched on before. The name *
	// switches everything on first.
	Switch func(ctx context.Context, principal string, on, off []string) (Switched, error)
	// Choice identifies what Switch, or a person, has switched on and off for a principal by its identity. While it stays
	// the same, Narrow returns the same. If nil, nothing is switched for principals.
	Choice func(principal string) string
	// Version is that of mcpl.
	Version string
	// Results returns what keeps results of more than MaxBytes bytes, for a principal by its ID. Zero means that none
	// is too large.
	Results  func(principal string) results.Store
	MaxBytes int
	// Query runs the jq expressions of clients, for parts of results that are kept.
	Query Query
	// Now is the clock of sessions.
	Now func() time.Time
	// Keys, of KeySize bytes each, seal what clients keep: the first one seals, all of them open. Gateways with a key in
	// common continue one another's sessions. Without keys the gateway makes one that no other has.
	Keys [][]byte
	// Shared, if not nil, is what the replicas have in common that have these keys.
	Shared Shared
	// Catalog is where the exposure Activate shows its catalogue, unless the configuration says so: "description" or
	// "answer".
	Catalog string
	// Notice, if not nil, takes what a person should mend in the configuration, each text once. Several goroutines may
	// call it at the same time.
	Notice func(text string)
	// Observe, if not nil, takes the record of each call that has reached a server, or that the gateway has refused to
	// make. It must not wait. Several goroutines may call it at the same time.
	Observe func(Record)
	// Trace, if not nil, returns the span of a call that is about to begin, below the span of the client's request, which
	// may be the zero Trace. The server gets it. If Trace is nil, the server gets that of the client.
	Trace func(parent tool.Trace) tool.Trace
	// Log, if not nil, hears of what happens. Several goroutines may call it at the same time.
	Log func(who, event string)
}

// Query returns what a jq expression makes of a JSON value, in order. It ends with ctx, and bounds its memory and what
// it returns: whoever wrote the expression may want to exhaust them.
type Query = func(ctx context.Context, expr string, value json.RawMessage) ([]json.RawMessage, error)

// Switched is what a person's choice consists of after Switch of [Options]: how many names are on and off, and in which
// file they stand.
type Switched struct {
	Enabled, Disabled int
	File              string
}

const (
	// watchEvery is how often the gateway looks whether its configuration has changed.
	watchEvery = 200 * time.Millisecond
	// burst is how long a change waits for others, so that clients hear of all of them once.
	burst = 500 * time.Millisecond
	// firstListing bounds how long the first list of a client waits for servers that were never listed.
	firstListing = 10 * time.Second
)

// Gateway serves clients. Its methods may be called concurrently.
type Gateway struct {
	opt    Options
	cancel context.CancelFunc // ends watching and what requests have left
	wg     sync.WaitGroup

	sealer  *sealer
	replica string         // tells this gateway from others with the same keys
	calls   sync.WaitGroup // that may outlast their requests

	querying chan struct{} // holds one while a query runs

	// goroutine runs f until the gateway ends, which waits for it.
	goroutine     func(f func(ctx context.Context))
	health        *health
	subscriptions *subscriptions
	limits        *limits
	active        *activeSets // of clients without sessions
	handed        *handed

	renewals chan chan error // requests to look at the configuration at once; each takes what came of it

	mu        sync.Mutex
	current   *generation
	loaded    bool                 // the first lists have been waited for
	clients   map[*Client]struct{} // that have to hear of changes
	announced map[news]bool        // what has not been told
	// changedHere are the lists of which a server here has said so, and other replicas have not heard.
	changedHere map[serverList]bool
	quiet       map[string]time.Time // until when other replicas hear nothing of a server's lists
	suspended   map[string]waiting
	noticed     map[string]bool
}

// New returns a gateway. It runs one goroutine until [Gateway.Close]. Errors are faults.
func New(opt Options) (*Gateway, error) {
	if opt.Log == nil {
		opt.Log = func(string, string) {}
	}
	if opt.Choice == nil {
		opt.Choice = func(string) string { return "" }
	}
	sealer, err := newSealer(opt.Keys, opt.Now)
	if err != nil {
		return nil, err
	}
	stamp := opt.Stamp()
	opened, err := opt.Open()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &Gateway{opt: opt, cancel: cancel, sealer: sealer, replica: rand.Text()[:10],
		querying: make(chan struct{}, 1), active: newActiveSets(),
		clients: make(map[*Client]struct{}), suspended: make(map[string]waiting), renewals: make(chan chan error),
		noticed: make(map[string]bool), announced: make(map[news]bool), handed: newHanded(),
		changedHere: make(map[serverList]bool), quiet: make(map[string]time.Time)}
	g.goroutine = func(f func(context.Context)) { g.wg.Go(func() { f(ctx) }) }
	g.health, g.subscriptions, g.limits = newHealth(g), newSubscriptions(g), newLimits(opt.Now, opt.Shared)
	g.current = g.begin(ctx, opened, stamp)
	first := g.current
	g.wg.Go(func() { g.watch(ctx) })
	g.wg.Go(func() { g.load(ctx, first) })
	if opt.Shared != nil {
		g.goroutine(g.hearNotes)
	}
	return g, nil
}

// Close ends the gateway, and returns when nothing of it is left. Clients have to be gone by then.
func (g *Gateway) Close() error {
	g.cancel()
	g.mu.Lock()
	for id, w := range g.suspended {
		w.timer.Stop()
		w.cancel(errGone)
		delete(g.suspended, id)
	}
	g.mu.Unlock()
	g.calls.Wait()
	g.wg.Wait()
	g.mu.Lock()
	last := g.current
	g.current = nil
	g.mu.Unlock()
	return last.leave()
}

// Profile returns the exposure of a profile. ok is false if there is none of that name.
func (g *Gateway) Profile(name string) (expose Exposure, ok bool) {
	gen := g.enter()
	defer func() { _ = gen.leave() }() // an engine that was replaced meanwhile has nothing to say
	expose, ok = gen.Profiles[name]
	return expose, ok
}

// enter returns the generation that answers a request. The caller leaves it.
func (g *Gateway) enter() *generation {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current.enter()
	return g.current
}

// watch follows the configuration until ctx ends, and tells clients of changes.
func (g *Gateway) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	tell := time.NewTimer(0)
	defer tell.Stop()
	tell.Stop()
	failed, due, choices := "", changes{}, make(map[string]string)
	for waiting := false; ; {
		var renewed chan error
		select {
		case <-ctx.Done():
			return
		case <-tell.C:
			waiting = false
			g.tellChanges(ctx, due)
			due = changes{}
			continue
		case renewed = <-g.renewals:
		case <-tick.C:
		}
		changed, err := g.look(ctx, renewed != nil)
		if renewed != nil {
			renewed <- err // it has room
		}
		complaint := ""
		if err != nil {
			complaint = err.Error()
		}
		if complaint != failed && complaint != "" {
			g.leftAsItWas(complaint, renewed != nil)
		}
		due.all = due.all || changed
		due.of = append(due.of, g.chosenAnew(choices)...)
		if failed = complaint; (due.all || len(due.of) > 0) && !waiting {
			waiting = true
			tell.Reset(burst)
		}
	}
}

// leftAsItWas notes why a changed configuration does not count. Whoever asked for it hears it from Renew.
func (g *Gateway) leftAsItWas(why string, told bool) {
	tell := g.opt.Notice
	if told || tell == nil {
		tell = func(text string) { g.opt.Log("", text) }
	}
	tell("the configuration is left as it was: " + why)
}

// load waits for the first lists of a generation, for at most firstListing: a server that does not answer does not keep
// the others from being used.
func (g *Gateway) load(ctx context.Context, first *generation) {
	first.awaitListed(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loaded = true
}

// Loaded reports whether the gateway knows what its servers offer, as far as they have answered. It stays true.
func (g *Gateway) Loaded() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.loaded
}

// Down returns how many servers are down: they crashed, or could not be started.
func (g *Gateway) Down() int {
	g.health.mu.Lock()
	defer g.health.mu.Unlock()
	return len(g.health.down)
}

// Renew looks at the configuration at once, as if it had changed, and returns when that is in force. If it cannot be
// read, what was in force before stays so, and the error says why.
func (g *Gateway) Renew(ctx context.Context) error {
	renewed := make(chan error, 1)
	select {
	case g.renewals <- renewed:
		return <-renewed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// look begins a new generation if the configuration has changed, or anew says so, and reports whether what clients see
// may have changed.
func (g *Gateway) look(ctx context.Context, anew bool) (changed bool, err error) {
	g.mu.Lock()
	now := g.current
	g.mu.Unlock()
	stamp := g.opt.Stamp()
	same := func() bool {
		moved := now.changed()
		return g.health.changed() || moved || g.hasNews()
	}
	if stamp == now.stamp && !anew {
		return same(), nil
	}
	opened, err := g.opt.Open()
	if err != nil {
		return same(), err
	}
	next := g.begin(ctx, opened, stamp)
	g.mu.Lock()
	g.current = next
	g.mu.Unlock()
	close(now.replaced)
	if err := now.leave(); err != nil {
		g.opt.Log("", err.Error())
	}
	return true, nil
}

// changes are whose lists may have changed: those of all clients, or those of some principals, by their identity.
type changes struct {
	all bool
	of  []string
}

// chosenAnew returns the principals, with a client that hears of changes, whose choice is another than at the last
// call, or that had no such client then. choices are those of the last call, and become those of this one.
func (g *Gateway) chosenAnew(choices map[string]string) (principals []string) {
	here := make(map[string]bool)
	for _, c := range g.listeners() {
		here[c.who.Principal.identity()] = true
	}
	maps.DeleteFunc(choices, func(principal, _ string) bool { return !here[principal] })
	for principal := range here {
		if principal == "" {
			continue // its choice is part of the configuration
		}
		now := g.opt.Choice(principal)
		if before, known := choices[principal]; !known || before != now {
			choices[principal] = now
			principals = append(principals, principal)
		}
	}
	return principals
}

// tellChanges tells clients which of their lists have changed, or are said to have.
func (g *Gateway) tellChanges(ctx context.Context, due changes) {
	g.mu.Lock()
	said := g.announced
	g.announced = make(map[news]bool)
	g.mu.Unlock()
	gen := g.enter()
	defer func() { _ = gen.leave() }() // an engine that was replaced meanwhile has nothing to say
	g.subscriptions.pruneOf(ctx, gen, due.of)
	due.all = due.all || len(said) > 0
	if due.all {
		g.tellLists(ctx)
	}
	for _, c := range g.listeners() {
		if due.all || slices.Contains(due.of, c.who.Principal.identity()) {
			c.tellChanged(ctx, gen, said)
		}
	}
}

// listeners returns the clients that have to hear of changes.
func (g *Gateway) listeners() []*Client {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.clients))
}

// Notice passes on what a person should mend, unless it was said before: strangers could fill a log with it.
func (g *Gateway) Notice(text string) {
	g.mu.Lock()
	said := g.noticed[text]
	g.noticed[text] = true
	g.mu.Unlock()
	if !said && g.opt.Notice != nil {
		g.opt.Notice(text)
	}
}

// news says that servers have said that one of their lists has changed: servers that all clients share, or one that a
// client has for itself.
type news struct {
	server, list string
	of           *Client // nil if it is for all
}

// announce notes that a server says that one of its lists has changed: one that this client has for itself, or that all
// share if it is nil. They hear of that even if the list is as it was when they hear of it: it may have changed in
// between.
func (g *Gateway) announce(server string, e tool.Event, of *Client) {
	list, is := strings.CutSuffix(strings.TrimPrefix(e.Method, "notifications/"), "/list_changed")
	if !is {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, hears := g.clients[of]; of == nil || hears {
		g.announced[news{server, list, of}] = true
	}
	if of == nil && g.opt.Shared != nil && g.opt.Now().After(g.quiet[server]) {
		g.changedHere[serverList{server, list}] = true
	}
}

// hasNews reports whether servers have said something of their lists that clients have not heard.
func (g *Gateway) hasNews() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.announced) > 0
}
