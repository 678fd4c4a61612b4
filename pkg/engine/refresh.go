package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// retryAfter is how long a server that failed is left alone by requests that do not name
	// it. Its last good tools stay searchable meanwhile.
	retryAfter = 10 * time.Minute
	// minTTL bounds a TTL from below: a server that says its list is valid for a second must
	// not be started by every search.
	minTTL = time.Minute
)

// Need says what of the index a request needs to be fresh.
type Need struct {
	// Servers in question; nil means all.
	Servers []string
	// Refresh asks these servers again however fresh the index is.
	Refresh bool
	// RetryFailed asks those again that failed last time, however recently.
	RetryFailed bool
	// Late asks those whose turn has come but who could still wait for a background refresh.
	Late bool
}

func (n Need) covers(server string) bool {
	return n.Servers == nil || slices.Contains(n.Servers, server)
}

// Snapshot returns the index, fresh as needed. Servers that are asked and fail do not fail the
// request: the index says how they failed. The snapshot is valid until the engine is closed or
// asked for another.
func (e *Engine) Snapshot(ctx context.Context, need Need) (*index.Snapshot, error) {
	if err := e.locate(); err != nil {
		return nil, err
	}
	if !need.Refresh && e.sn != nil && e.fresh(need) {
		return e.sn, nil
	}
	if e.opt.NewCaller == nil {
		return nil, ErrNotFresh
	}
	cfg, err := e.Config()
	if err != nil {
		return nil, err
	}
	unlock, err := e.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	// Another process may have done the work while this one waited for the lock.
	if !need.Refresh {
		if e.reopen(); e.sn != nil && e.fresh(need) {
			return e.sn, nil
		}
	}
	return e.rebuild(ctx, cfg, need)
}

// lock takes the index for writing. Where it cannot be written at all there is nothing to lock,
// and the answer is given from memory.
func (e *Engine) lock(ctx context.Context) (unlock func(), err error) {
	waiting := time.AfterFunc(500*time.Millisecond, func() {
		e.opt.Events.Status("waiting for another mcpl that is refreshing the index")
	})
	unlock, err = e.store.Lock(ctx)
	if !waiting.Stop() {
		e.opt.Events.Status("")
	}
	switch {
	case err == nil:
		return unlock, nil
	case ctx.Err() != nil:
		return nil, interrupted(ctx)
	}
	return func() {}, nil
}

// fresh reports whether the open index serves the need. It notes where it does so only because
// a background refresh can follow.
func (e *Engine) fresh(need Need) bool {
	for _, s := range e.sn.Servers() {
		if !need.covers(s.Name) || s.Off || !e.opt.Switches.AllowsServer(s.Name) {
			continue
		}
		switch e.due(standing{s.State, s.ListedAt, s.TriedAt, s.TTL, s.Error}, need) {
		case now:
			return false
		case soon:
			e.late = true
		}
	}
	return true
}

// standing is what is known of the last attempts to list what a server offers.
type standing struct {
	state         index.State
	listed, tried time.Time
	ttl           time.Duration
	failure       *fault.Fault
}

// urgency says when a server has to be asked.
type urgency int

const (
	never urgency = iota // not yet
	soon                 // its turn has come, but what is known of it still serves
	now                  // before anything is answered
)

// due says when a server of that standing has to be asked. A listing older than its TTL serves
// for the grace period, and a failure for ever: nobody should wait, every ten minutes, for a
// server that is down.
func (e *Engine) due(s standing, need Need) urgency {
	clock, late := e.opt.Now(), soon
	if need.Late {
		late = now
	}
	switch s.state {
	case index.Listed:
		ttl := s.ttl
		if ttl == 0 {
			ttl = e.opt.Settings.TTL
		}
		ttl = max(ttl, minTTL)
		switch {
		case expired(s.listed, clock, ttl+e.opt.Settings.Grace):
			return now
		case expired(s.listed, clock, ttl):
			return late
		}
		return never
	case index.Failed:
		switch {
		case s.failure != nil && s.failure.Type == fault.MissingVariable:
			return never // only another configuration or environment gives it a value
		case need.RetryFailed:
			return now
		case expired(s.tried, clock, retryAfter):
			return late
		}
		return never
	}
	return now
}

// RefreshLate asks the servers whose turn has come: the work of the background refresh. Where
// another process is at it already, nothing is left to do.
func (e *Engine) RefreshLate(ctx context.Context) error {
	if err := e.locate(); err != nil {
		return err
	}
	cfg, err := e.Config()
	if err != nil {
		return err
	}
	unlock, free, err := e.store.TryLock()
	if err != nil || !free {
		return err
	}
	defer unlock()
	need := Need{Late: true}
	if e.reopen(); e.sn != nil && e.fresh(need) {
		return nil
	}
	_, err = e.rebuild(ctx, cfg, need)
	return err
}

// RefreshBehind starts the background refresh that the answers given so far rely on, if any,
// unless a refresh is under way.
func (e *Engine) RefreshBehind() error {
	if !e.late || e.opt.Background == nil {
		return nil
	}
	unlock, free, err := e.store.TryLock()
	if err != nil || !free {
		return nil // it could not write anything
	}
	unlock()
	return e.opt.Background(e.sources)
}

// expired reports whether d has passed since t. A time in the future (the clock was set back)
// counts as long ago.
func expired(t, now time.Time, d time.Duration) bool {
	age := now.Sub(t)
	return age >= d || age < -time.Minute
}

// rebuild reconciles the index on disk with the configuration, asks the servers that are due,
// all at once, and writes the result.
func (e *Engine) rebuild(ctx context.Context, cfg *config.Config, need Need) (*index.Snapshot, error) {
	old, notice := e.store.Load()
	if notice != "" {
		e.opt.Events.Notice("%s", notice)
	}
	cat, ask := e.reconcile(cfg, old, need)
	if err := e.ask(ctx, cat, ask); err != nil {
		return nil, err
	}
	return e.keepIndex(cfg, cat)
}

// keepIndex writes the index and opens it.
func (e *Engine) keepIndex(cfg *config.Config, cat *index.Catalog) (*index.Snapshot, error) {
	names := cfg.EnvNames()
	stamp := index.Stamp{Sources: e.files(), EnvNames: names, EnvDigest: e.opt.Env.EnvDigest(names)}
	sn, err := e.store.Save(cat, stamp)
	if sn == nil {
		return nil, err
	}
	if err != nil {
		e.opt.Events.Notice("the index cannot be kept in %s, so servers are asked each time: %v", e.store.Dir, err)
	}
	if e.sn != nil {
		e.sn.Close()
	}
	e.sn, e.distrust = sn, false
	return sn, nil
}

// reconcile carries over what is known of each configured server and returns those that are to
// be asked. Servers that are no longer configured are dropped.
func (e *Engine) reconcile(cfg *config.Config, old *index.Catalog, need Need) (*index.Catalog, []*config.Server) {
	cat := &index.Catalog{Servers: make([]index.Server, len(cfg.Servers))}
	var ask []*config.Server
	for _, p := range cfg.Problems {
		cat.Warnings = append(cat.Warnings, warning(p))
	}
	for i, s := range cfg.Servers {
		entry := &cat.Servers[i]
		if known := old.Find(s.Name); known != nil {
			*entry = *known
		}
		entry.Name, entry.Transport, entry.Off = s.Name, string(s.Transport), s.Disabled
		entry.TTL = cmp.Or(entry.SaidTTL, s.TTL)
		if entry.State == "" {
			entry.State = index.Unknown
		}
		if err := s.Usable(); err != nil {
			entry.State, entry.Error, entry.Fingerprint = index.Failed, fault.From(err), ""
			entry.TriedAt = e.opt.Now()
			continue
		}
		if fp := s.Fingerprint(); fp != entry.Fingerprint {
			entry.State, entry.Fingerprint, entry.Known = index.Unknown, fp, tool.Known{}
		}
		if s.Disabled || !e.opt.Switches.AllowsServer(s.Name) || !need.covers(s.Name) {
			continue
		}
		switch due := e.due(standing{entry.State, entry.ListedAt, entry.TriedAt, entry.TTL, entry.Error}, need); {
		case need.Refresh || due == now:
			ask = append(ask, s)
		case due == soon:
			e.late = true
		}
	}
	return cat, ask
}

func warning(p config.Problem) string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	text := where + ": " + p.Message
	if p.Fix != "" {
		text += " (" + p.Fix + ")"
	}
	return text
}

// answer is what one server said.
type answer struct {
	server  *config.Server
	listing tool.Listing
	err     error
	took    time.Duration
}

// ask lists what all these servers offer at once and records the outcome of each in cat. Only
// an interruption is an error.
func (e *Engine) ask(ctx context.Context, cat *index.Catalog, servers []*config.Server) error {
	if len(servers) == 0 {
		return nil
	}
	caller, err := e.live()
	if err != nil {
		return err
	}
	defer e.opt.Events.Status("")
	answers := make(chan answer) // one receive below for each send
	known := make(map[string]tool.Known)
	for _, s := range servers {
		known[s.Name] = cat.Find(s.Name).Known
	}
	for _, s := range servers {
		go func() {
			answers <- e.listOne(ctx, caller, s, known[s.Name])
		}()
	}
	waiting := make([]string, len(servers))
	for i, s := range servers {
		waiting[i] = s.Name
	}
	for range servers {
		e.opt.Events.Status(fmt.Sprintf("asking for tools: %d of %d servers answered, waiting for %s",
			len(servers)-len(waiting), len(servers), strings.Join(waiting, ", ")))
		a := <-answers
		waiting = slices.DeleteFunc(waiting, func(name string) bool { return name == a.server.Name })
		e.record(cat.Find(a.server.Name), a)
	}
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	return nil
}

// listOne asks one server. What it says of changes before that is covered by its answer.
func (e *Engine) listOne(ctx context.Context, caller Caller, s *config.Server, known tool.Known) answer {
	e.changed.drop(s.Name)
	started := time.Now()
	listing, err := caller.List(ctx, s.Name, tool.CallOptions{Known: known})
	return answer{s, listing, err, time.Since(started)}
}

// record enters an answer. A failure keeps the last good listing.
func (e *Engine) record(entry *index.Server, a answer) {
	entry.TriedAt, entry.Took, entry.Error = e.opt.Now(), a.took, nil
	e.asked = append(e.asked, a.server.Name)
	if a.err != nil {
		entry.State, entry.Error = index.Failed, fault.From(a.err)
		if len(entry.Tools) > 0 && !fault.Is(a.err, fault.Interrupted) {
			e.opt.Events.Notice("%s could not be asked, its tools as of %s are used: %v",
				entry.Name, entry.ListedAt.Format("2006-01-02 15:04"), a.err)
		}
		return
	}
	l := a.listing
	entry.State, entry.ListedAt, entry.Notes = index.Listed, entry.TriedAt, l.Notes
	entry.Tools, entry.Resources, entry.Prompts = l.Tools, l.Resources, l.Prompts
	entry.Known, entry.ServerName, entry.ServerVersion, entry.Instructions = l.Known, l.ServerName, l.ServerVersion, l.Instructions
	entry.SaidTTL, entry.TTL = l.TTL, cmp.Or(l.TTL, a.server.TTL)
	for _, note := range l.Notes {
		e.opt.Events.Verbose(entry.Name, note)
	}
}

func interrupted(ctx context.Context) *fault.Fault {
	f := fault.New(fault.Interrupted, "interrupted", "It was cancelled. Type the command again to retry.")
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		f.Because(cause)
	}
	return f
}

// CacheFolder returns where the index of this configuration set is kept.
func (e *Engine) CacheFolder() (string, error) {
	err := e.locate()
	return filepath.Clean(e.store.Dir), err
}
