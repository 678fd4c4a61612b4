package gateway

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
)

// generation is an engine over one state of the configuration. Requests that began with it end with it; its engine is
// closed when the last of them has left and another generation has taken its place.
type generation struct {
	*engine.Engine
	stamp    string
	unsure   error // why it is not sure what is on; nothing is then
	health   *health
	notice   func(string)  // takes what a person should mend
	replaced chan struct{} // closed when another generation has taken its place
	listed   chan struct{} // closed when the servers were listed that were never listed before, or could not be
	stop     func() error  // ends the listing, and closes the engine

	mu    sync.Mutex
	users int           // requests, and one for the gateway
	view  *catalog.View // the index as it was last seen; nil before there is one
	moved bool          // it has been replaced since the gateway last asked
	lists *lists        // of that index; nil before they are read
}

// begin begins a generation, and lists the servers that were never listed, until ctx ends.
func (g *Gateway) begin(ctx context.Context, e *engine.Engine, stamp string, unsure error) *generation {
	gen := &generation{Engine: e, stamp: stamp, unsure: unsure, health: g.health, users: 1, replaced: make(chan struct{}),
		listed: make(chan struct{}), notice: g.Notice}
	ctx, cancel := context.WithCancel(ctx)
	g.wg.Go(func() {
		defer close(gen.listed)
		err := e.Catalog().Read(ctx, catalog.Need{}, func(*catalog.View) error { return nil })
		if err != nil && ctx.Err() == nil {
			g.opt.Log("", "the servers could not be listed: "+err.Error())
		}
	})
	gen.stop = func() error {
		cancel()
		<-gen.listed
		if gen.view != nil {
			gen.view.Release()
		}
		return e.Close()
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
	now, err := gen.Catalog().Current()
	if err != nil || now == nil {
		return
	}
	gen.mu.Lock()
	before := gen.view
	same := before != nil && before.Snapshot == now.Snapshot
	if !same {
		gen.view, gen.lists, gen.moved = now, nil, true
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

// current returns the lists of the index as it is now.
func (gen *generation) current(ctx context.Context) (*lists, error) {
	gen.awaitListed(ctx)
	gen.look()
	gen.mu.Lock()
	known, of := gen.lists, gen.view
	gen.mu.Unlock()
	if known != nil {
		return known, nil
	}
	read, err := readLists(ctx, gen.Engine, gen.notice)
	if err != nil {
		return nil, err
	}
	gen.mu.Lock()
	defer gen.mu.Unlock()
	if gen.view == of {
		gen.lists = read
	}
	return read, nil
}

// visible returns the definitions of a list without those of servers that are down.
func (gen *generation) visible(offers []offer) []json.RawMessage {
	raw := make([]json.RawMessage, 0, len(offers))
	for _, o := range offers {
		if gen.health.isDown(o.ref.Server) == nil {
			raw = append(raw, o.raw)
		}
	}
	return raw
}
