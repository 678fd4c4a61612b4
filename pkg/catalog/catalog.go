// Package catalog owns the index of one configuration set for all requests of a process. It finds the
// configuration, keeps the index as fresh as requests need it, and lends it out for reading.
//
// Make one [Catalog] with [New] and share it. Most callers want [Catalog.Read], which calls a function with the index.
// [Catalog.Ensure] returns a [View] instead, which the caller releases. Both list servers first if the [Need] says so;
// requests that need the same server at the same time share one listing. Call [Catalog.Settle] behind an answer. Close
// the catalog before the connections that list its servers.
//
// pkg/index decides how the index is stored and locked, a [Lister] how servers are reached.
package catalog

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Lister lists what a server of a configuration offers. It is called concurrently. Errors are faults.
type Lister func(ctx context.Context, cfg *config.Config, server string, opt tool.CallOptions) (tool.Listing, error)

// Events receive what happens beside the answers. They are called concurrently.
type Events interface {
	// Notice is one sentence that a user should read.
	Notice(format string, args ...any)
	// Status is what is going on right now, for a line that is replaced; "" ends it.
	Status(line string)
	// Verbose is for people who want to know all.
	Verbose(who, event string)
}

// ErrNotFresh says that the answer needs the configuration to be read or a server to be listed, and that the catalog
// was made without a Lister.
var ErrNotFresh = errors.New("the index is not fresh")

// ErrBusy says that another process is writing the index; see [ListDue].
var ErrBusy = errors.New("another process is refreshing the index")

var errClosed = errors.New("the catalog is closed")

// Options make a [Catalog]. Env, Allows, Events and Now are needed.
type Options struct {
	Env       config.Env
	Selection config.Selection
	// MayBeEmpty takes a configuration without files as one without servers. Else that is the fault of
	// [config.Sources.NoConfig].
	MayBeEmpty bool
	Settings   config.Settings
	// Allows reports whether a server is on. Servers that are off are not listed.
	Allows func(server string) bool
	Events Events
	Now    func() time.Time
	// Background starts a process that ensures [ListDue]. If nil, nothing is refreshed behind an answer.
	Background func(*config.Sources) error
	// Pins remember what servers offered. The zero value remembers nothing.
	Pins Pins
	// LookEvery is how often requests look whether another process has replaced the index. Zero means every second.
	LookEvery time.Duration
	// Lister reaches live servers. If nil, the catalog answers from a fresh index or fails with ErrNotFresh.
	Lister Lister

	room int // of the crowd, for tests; zero means that of newCrowd
}

// Catalog is the index of one configuration set. It is safe for concurrent use.
//
// It locates the configuration files once. A process that sees them change makes a new catalog.
type Catalog struct {
	opt Options
	// turn has room for one request: the one that locks, loads or saves the index, for which mu would be held too long.
	// A request that keeps the file locked never waits here for one that waits for the file.
	turn  chan struct{}
	crowd *crowd // of the servers that are being started
	// listings are the goroutines that list a server. Close waits for them.
	listings sync.WaitGroup

	mu      sync.Mutex // guards the fields below; sources, store and cfg do not change once they are set
	closed  bool
	sources *config.Sources // nil before they are located
	store   index.Store
	cfg     *config.Config // nil before it is read
	// approvals identifies what was approved when cfg was judged.
	approvals string
	current   *opened        // nil if there is no index that matches the sources
	looked    time.Time      // when search.idx was last compared with current
	damaged   bool           // search.idx is not to be opened before it is built anew
	unsaved   *index.Catalog // what current holds, if it could not be written
	update    *update        // nil if no request lists servers
	active    map[*listing]struct{}
	started   uint64            // how many listings have been started
	tried     map[string]uint64 // by server, the number of the listing that ended last
	changed   []string          // servers that say that they offer something else
}

// New returns a catalog. Nothing is read yet.
func New(opt Options) *Catalog {
	return &Catalog{opt: opt, turn: make(chan struct{}, 1), crowd: newCrowd(opt.room),
		active: make(map[*listing]struct{}), tried: make(map[string]uint64)}
}

// Close cancels the listings that run, waits for their goroutines, and releases the index. Views stay valid until they
// are released. The index is not written any more.
func (c *Catalog) Close() error {
	c.mu.Lock()
	c.closed = true
	for l := range c.active {
		l.cancel()
	}
	last := c.current
	c.current = nil
	c.mu.Unlock()
	c.listings.Wait()
	return c.release(last)
}

// locate finds the configuration files and opens the index if it matches them. It is called with mu held.
func (c *Catalog) locate() error {
	switch {
	case c.closed:
		return errClosed
	case c.sources != nil:
		return nil
	}
	sources, err := c.opt.Env.Locate(c.opt.Selection)
	if err != nil {
		return err
	}
	if len(sources.Configs) == 0 && !c.opt.MayBeEmpty {
		return sources.NoConfig()
	}
	c.sources = sources
	c.store = index.Store{Dir: filepath.Join(c.opt.Env.CacheDir(), sources.Key())}
	c.looked = c.opt.Now()
	if c.current, err = c.open(); err != nil {
		c.sources = nil
	}
	return err
}

// open opens the index on disk. It returns nil if that is missing, damaged, or made from other sources. A fault says
// that no file can be opened at all.
func (c *Catalog) open() (*opened, error) {
	sn, err := c.store.Open()
	if f := new(fault.Fault); errors.As(err, &f) {
		return nil, f
	}
	if err != nil {
		return nil, nil
	}
	if !sn.Matches(c.files(), c.opt.Env.ApprovalStamp(c.sources), c.opt.Env.EnvDigest) || c.reprieves(sn) {
		_ = sn.Close() // it was only read
		return nil, nil
	}
	return &opened{sn: sn, users: 1}, nil
}

// reprieves reports whether a server that waits for an approval in the index has one now. Its entry and the approvals
// are the same, so a file that it runs has changed back; the stamp of the index does not cover those.
func (c *Catalog) reprieves(sn *index.Snapshot) bool {
	var waiting []string
	for _, s := range sn.Servers() {
		if s.Waits() {
			waiting = append(waiting, s.Name)
		}
	}
	if waiting == nil {
		return false
	}
	cfg, err := c.opt.Env.Load(c.sources)
	return err == nil && slices.ContainsFunc(cfg.Servers, func(s *config.Server) bool {
		return s.Unapproved == nil && slices.Contains(waiting, s.Name)
	})
}

func (c *Catalog) files() []config.Source {
	return slices.Concat(c.sources.Configs, c.sources.EnvFiles)
}

// Sources returns the files that the configuration is made of.
func (c *Catalog) Sources() (*config.Sources, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.locate()
	return c.sources, err
}

// Looked returns the places in which the configuration was looked for, without looking for it: none if no request has
// needed it yet.
func (c *Catalog) Looked() []config.Looked {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sources == nil {
		return nil
	}
	return c.sources.Looked
}

// Config returns the configuration, which is read once. Without a Lister it fails with ErrNotFresh.
func (c *Catalog) Config() (*config.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.locate(); err != nil {
		return nil, err
	}
	if c.opt.Lister == nil {
		return nil, ErrNotFresh
	}
	if c.cfg != nil {
		return c.cfg, nil
	}
	c.approvals = c.opt.Env.ApprovalStamp(c.sources)
	cfg, err := c.opt.Env.Load(c.sources)
	if err != nil {
		return nil, err
	}
	if c.adopt(cfg) {
		c.approvals = c.opt.Env.ApprovalStamp(c.sources)
	}
	c.cfg = cfg
	return cfg, nil
}

// adopt approves the servers that were in use before mcpl asked for approvals: those that an index of that time has
// listed, with the same entry. It is called with mu held.
// It reports whether it approved one.
func (c *Catalog) adopt(cfg *config.Config) (adopted bool) {
	if !slices.ContainsFunc(cfg.Servers, func(s *config.Server) bool { return s.Unapproved != nil }) {
		return false
	}
	old, _ := c.store.Load() // an index that is damaged approves nothing
	if !old.BeforeApprovals {
		return false
	}
	for _, s := range cfg.Servers {
		known := old.Find(s.Name)
		if s.Unapproved == nil || known == nil || known.State != index.Listed || known.Fingerprint != s.Fingerprint() {
			continue
		}
		switch ok, err := c.opt.Env.Adopt(s); {
		case err != nil:
			c.opt.Events.Notice("%s was in use before mcpl asked for approvals, but could not be approved: %v", s.Name, err)
		case ok:
			adopted = true
			c.opt.Events.Notice("%s was in use before mcpl asked for approvals, so it stays approved, "+
				"with the whole environment", s.Name)
		}
	}
	return adopted
}

// Folder returns the folder that the index of this configuration set is kept in.
func (c *Catalog) Folder() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.locate()
	return filepath.Clean(c.store.Dir), err
}

// Changed notes that a server says that it offers something else now. The note is dropped when the server is listed.
func (c *Catalog) Changed(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.changed, server) {
		c.changed = append(c.changed, server)
	}
}
