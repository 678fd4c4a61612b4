package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
)

// generation is an engine over one state of the configuration. Requests that began with it end with it; its engine is
// closed when the last of them has left and another generation has taken its place.
type generation struct {
	Opened
	stamp    string
	health   *health
	notice   func(string) // takes what a person should mend
	choice   func(principal string) string
	replaced chan struct{} // closed when another generation has taken its place
	listed   chan struct{} // closed when the servers were listed that were never listed before, or could not be
	stop     func() error  // ends the listing, and closes the engine

	mu    sync.Mutex
	users int           // requests, and one for the gateway
	index *catalog.View // the index as it was last seen; nil before there is one
	moved bool          // it has been replaced since the gateway last asked
	views map[string]*view
}

// begin begins a generation, and lists the servers that were never listed, until ctx ends.
func (g *Gateway) begin(ctx context.Context, opened Opened, stamp string) *generation {
	gen := &generation{Opened: opened, stamp: stamp, health: g.health, users: 1, replaced: make(chan struct{}),
		listed: make(chan struct{}), notice: g.Notice, choice: g.opt.Choice, views: make(map[string]*view)}
	ctx, cancel := context.WithCancel(ctx)
	g.wg.Go(func() {
		defer close(gen.listed)
		err := gen.Engine.Catalog().Read(ctx, catalog.Need{}, func(*catalog.View) error { return nil })
		if err != nil && ctx.Err() == nil {
			g.opt.Log("", "the servers could not be listed: "+err.Error())
		}
	})
	gen.stop = func() error {
		cancel()
		<-gen.listed
		if gen.index != nil {
			gen.index.Release()
		}
		return gen.Engine.Close()
	}
	return gen
}

func (gen *generation) enter() {
	gen.mu.Lock()
	defer gen.mu.Unlock()
	gen.users++
}

// leave ends a use of the generation. The last one closes its engine.
func (gen *generation) leave() error {
	gen.mu.Lock()
	gen.users--
	last := gen.users == 0
	gen.mu.Unlock()
	if !last {
		return nil
	}
	return gen.stop()
}

// changed reports whether the index has been replaced since the last time.
func (gen *generation) changed() bool {
	gen.look()
	gen.mu.Lock()
	defer gen.mu.Unlock()
	moved := gen.moved
	gen.moved = false
	return moved
}

// look looks at the index as it is now.
func (gen *generation) look() {
	now, err := gen.Engine.Catalog().Current()
	if err != nil || now == nil {
		return
	}
	gen.mu.Lock()
	before := gen.index
	same := before != nil && before.Snapshot == now.Snapshot
	if !same {
		gen.index, gen.moved = now, true
	}
	gen.mu.Unlock()
	switch {
	case same:
		now.Release()
	case before != nil:
		before.Release()
	}
}

// awaitListed waits until servers that were never listed are, for at most firstListing.
func (gen *generation) awaitListed(ctx context.Context) {
	limit := time.NewTimer(firstListing)
	defer limit.Stop()
	select {
	case <-gen.listed:
	case <-limit.C:
	case <-ctx.Done():
	}
}
