package catalog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// listing is one request to one server for everything it offers, on behalf of all requests that wait for it. The
// catalog's mu guards waiting and err.
type listing struct {
	server *config.Server
	update *update
	number uint64 // of all listings of the catalog
	// once says that it is a [ListChanged].
	once bool
	// brief says that a server that was started for it ends with it.
	brief  bool
	cancel context.CancelFunc
	// waiting are the requests: each channel has room for every listing that the request waits for. Without requests the
	// listing is cancelled.
	waiting []chan *listing
	err     error // why the requests fail
}

// list lists the servers that the need asks for, as many at once as the crowd has room for, and returns them when all
// have answered. Their answers are in the update then.
func (c *Catalog) list(ctx context.Context, u *update, need Need, since uint64) (servers []string, err error) {
	wanted, answers, err := c.start(ctx, u, need, since)
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	defer c.opt.Events.Status("")
	missing := slices.Clone(wanted)
	for len(missing) > 0 {
		c.opt.Events.Status(fmt.Sprintf("asking for tools: %d of %d servers answered, waiting for %s",
			len(wanted)-len(missing), len(wanted), strings.Join(namesOf(missing), ", ")))
		select {
		case answered := <-answers:
			missing = slices.DeleteFunc(missing, func(l *listing) bool { return l == answered })
		case <-ctx.Done():
			c.giveUp(missing, answers)
			return nil, Interrupted(ctx)
		}
	}
	if ctx.Err() != nil {
		return nil, Interrupted(ctx)
	}
	var errs []error
	for _, l := range wanted {
		errs = append(errs, l.err)
	}
	return namesOf(wanted), errors.Join(errs...)
}

func namesOf(listings []*listing) (names []string) {
	for _, l := range listings {
		names = append(names, l.server.Name)
	}
	return names
}

// start starts a listing of each server that the need asks for, or joins one that runs.
func (c *Catalog) start(ctx context.Context, u *update, need Need, since uint64) ([]*listing, chan *listing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, errClosed
	}
	clock := c.opt.Now()
	var wanted []*listing
	var idle []int // the servers whose listing has to be started
	for i, s := range u.cfg.Servers {
		if !need.covers(s.Name) || s.Disabled || !c.opt.Allows(s.Name) || s.Usable() != nil {
			continue
		}
		entry := &u.cat.Servers[i]
		if c.due(&entry.Facts, c.tried[s.Name] > since, need, clock) != dueNow {
			continue
		}
		if l := c.listingOf(s.Name, need, since); l != nil {
			wanted = append(wanted, l)
		} else {
			idle = append(idle, i)
		}
	}
	// The slow ones of last time first: the last to start should not be the one that all wait for.
	slices.SortStableFunc(idle, func(a, b int) int { return cmp.Compare(u.cat.Servers[b].Took, u.cat.Servers[a].Took) })
	for _, i := range idle {
		wanted = append(wanted, c.startOne(ctx, u, u.cfg.Servers[i], &u.cat.Servers[i], need))
	}
	answers := make(chan *listing, len(wanted))
	for _, l := range wanted {
		l.waiting = append(l.waiting, answers)
	}
	return wanted, answers, nil
}

// listingOf returns a listing of the server that runs and serves the need, nil if there is none. A request to list the
// server anew is not served by a listing that was started before the request came.
func (c *Catalog) listingOf(server string, need Need, since uint64) *listing {
	for l := range c.active {
		if l.server.Name != server || l.once != (need.List == ListChanged) || len(l.waiting) == 0 {
			continue
		}
		if need.List != ListAll && need.List != ListChanged || l.number > since {
			return l
		}
	}
	return nil
}

// startOne starts a listing. If the request that started it is cancelled, the listing goes on while others wait for it.
func (c *Catalog) startOne(ctx context.Context, u *update, s *config.Server, entry *index.Server, need Need) *listing {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	once := need.List == ListChanged
	l := &listing{server: s, update: u, number: c.nextListing(), once: once, brief: !once && !need.Keep, cancel: cancel}
	c.active[l] = struct{}{}
	// The listing covers everything that the server has said of changes so far.
	c.forget(s.Name)
	list := c.lister(u.cfg, s, tool.CallOptions{Known: entry.Known, Brief: l.brief}, !l.brief)
	c.listings.Go(func() { // ends when the server has answered, or with its last request
		defer cancel()
		a := list(ctx)
		if a.err == nil {
			a.listing, a.pinned, a.err = c.enterPins(ctx, s, c.knownOf(u, s.Name), a.listing)
		}
		c.finish(l, a)
	})
	return l
}

// lister returns what lists a server, in its turn among those that are asked for. A server that is not a process is not
// started on this machine: it is listed at once. So is one that runs already, or that a call needs, if atOnce says so.
func (c *Catalog) lister(
	cfg *config.Config, s *config.Server, opt tool.CallOptions, atOnce bool,
) func(context.Context) answer {
	list := func(ctx context.Context) answer {
		started := time.Now()
		got, err := c.opt.Lister(ctx, cfg, s.Name, opt)
		return answer{listing: got, err: err, took: time.Since(started)}
	}
	if atOnce || s.Transport != config.Stdio {
		return list
	}
	p := c.crowd.enter()
	return func(ctx context.Context) answer { return c.inTurn(ctx, p, s.Name, list) }
}

// Probe lists a server whatever the index knows of it, and keeps nothing of the answer. The server ends right after, if
// it was started for that. took is how long it needed once it had its turn among the servers that are started. A server
// whose pins cannot be read fails, as it does for every other verb.
func (c *Catalog) Probe(ctx context.Context, s *config.Server) (l tool.Listing, took time.Duration, err error) {
	cfg, err := c.Config()
	if err != nil {
		return l, 0, err
	}
	if err := c.pinsReadable(s); err != nil {
		return l, 0, err
	}
	a := c.lister(cfg, s, tool.CallOptions{Brief: true}, false)(ctx)
	return a.listing, a.took, a.err
}

// forget drops the note that a server says that it offers something else. It needs mu.
func (c *Catalog) forget(server string) {
	c.changed = slices.DeleteFunc(c.changed, func(name string) bool { return name == server })
}

func (c *Catalog) nextListing() uint64 {
	c.started++
	return c.started
}

// giveUp ends the wait of one request. It cancels the listings that no other request waits for.
func (c *Catalog) giveUp(listings []*listing, answers chan *listing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range listings {
		l.waiting = slices.DeleteFunc(l.waiting, func(ch chan *listing) bool { return ch == answers })
		if len(l.waiting) == 0 {
			l.cancel()
		}
	}
}

// answer is the outcome of a listing.
type answer struct {
	listing tool.Listing
	pinned  pinned
	err     error
	took    time.Duration
}

// finish enters the answer of a server, and wakes the requests that wait for it.
func (c *Catalog) finish(l *listing, a answer) {
	c.mu.Lock()
	delete(c.active, l)
	if l.brief {
		c.forget(l.server.Name) // it has ended, or was listed again when it said so
	}
	waiting, entered := l.waiting, false
	l.waiting = nil
	switch {
	case c.closed:
		l.err = errClosed
	case len(waiting) > 0:
		entered = c.enter(l, a)
	}
	entry := *l.update.cat.Find(l.server.Name)
	c.mu.Unlock()
	if entered {
		c.report(entry, a)
	}
	for _, answers := range waiting {
		answers <- l
	}
}

// enter enters an answer in the update. A failure keeps the last good list.
func (c *Catalog) enter(l *listing, a answer) bool {
	name := l.server.Name
	if newer := c.tried[name] > l.number; newer {
		return false
	}
	c.tried[name] = l.number
	entry := l.update.cat.Find(name)
	if l.once {
		same := entry.State == index.Listed && entry.Changes == a.pinned.changes && offers(entry, a.listing)
		if l.err = a.err; a.err != nil || same {
			return false
		}
	}
	l.update.dirty = true
	entry.TriedAt, entry.Took, entry.Error = c.opt.Now(), a.took, nil
	if a.err != nil {
		entry.State, entry.Error = index.Failed, fault.From(a.err)
		return true
	}
	got := a.listing
	entry.State, entry.ListedAt, entry.Notes = index.Listed, entry.TriedAt, got.Notes
	entry.Tools, entry.Resources, entry.Prompts = got.Tools, got.Resources, got.Prompts
	entry.Known, entry.Instructions = got.Known, got.Instructions
	entry.ServerName, entry.ServerVersion = got.ServerName, got.ServerVersion
	entry.Pins, entry.Changes = a.pinned.key, a.pinned.changes
	entry.SaidTTL, entry.TTL = got.TTL, cmp.Or(got.TTL, l.server.TTL)
	return true
}

// report passes on what a user should read of an answer.
func (c *Catalog) report(entry index.Server, a answer) {
	if a.err != nil {
		if len(entry.Tools) > 0 && !fault.Is(a.err, fault.Interrupted) {
			c.opt.Events.Notice("%s could not be asked, its tools as of %s are used: %v",
				entry.Name, entry.ListedAt.Format("2006-01-02 15:04"), a.err)
		}
		return
	}
	for _, note := range entry.Notes {
		c.opt.Events.Verbose(entry.Name, note)
	}
}

// offers reports whether a listing equals what is known of the server: it was reached in the same way, and has the same
// definitions in the same order.
func offers(known *index.Server, got tool.Listing) bool {
	if known.Known != got.Known {
		return false
	}
	same := func(a, b []tool.Def) bool {
		return slices.EqualFunc(a, b, func(a, b tool.Def) bool { return bytes.Equal(a.Whole(), b.Whole()) })
	}
	return same(known.Tools, got.Tools) && same(known.Resources, got.Resources) && same(known.Prompts, got.Prompts)
}

// reconcile carries over what old knows of each configured server, in the order of the configuration. It drops servers
// that are no longer configured.
func (c *Catalog) reconcile(cfg *config.Config, old *index.Catalog) *index.Catalog {
	cat := &index.Catalog{Servers: make([]index.Server, len(cfg.Servers))}
	for _, p := range cfg.Problems {
		cat.Warnings = append(cat.Warnings, warning(p))
	}
	for i, s := range cfg.Servers {
		entry := &cat.Servers[i]
		if known := old.Find(s.Name); known != nil {
			*entry = *known
		}
		entry.Name, entry.Transport, entry.Off = s.Name, string(s.Transport), s.Disabled
		entry.Pin = pinOf(s)
		entry.TTL = cmp.Or(entry.SaidTTL, s.TTL)
		if entry.State == "" {
			entry.State = index.Unknown
		}
		if err := s.Usable(); err != nil {
			entry.State, entry.Error, entry.Fingerprint = index.Failed, fault.From(err), ""
			entry.TriedAt = c.opt.Now()
			if s.Unapproved != nil { // nothing of it is found or called either
				entry.Tools, entry.Resources, entry.Prompts, entry.Instructions = nil, nil, nil, ""
			}
			continue
		}
		if fp := s.Fingerprint(); fp != entry.Fingerprint {
			entry.State, entry.Fingerprint, entry.Known, entry.Error = index.Unknown, fp, tool.Known{}, nil
		}
	}
	return cat
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
