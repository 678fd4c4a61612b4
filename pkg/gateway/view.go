package gateway

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
)

// view is what of a generation is there for a principal in a profile.
type view struct {
	*engine.Engine
	gen *generation
	// choice identifies what the principal had switched on and off when the view was made.
	choice string

	mu    sync.Mutex
	lists *lists        // nil before they are read
	of    *catalog.View // the index that they are of
}

// maxViews bounds the views that a generation remembers: each holds the lists of all that it shows.
const maxViews = 64

// view returns what is there for a principal in a profile.
func (gen *generation) view(ctx context.Context, of Principal, profile string) (*view, error) {
	key, choice := of.key()+profile, ""
	if of.identity() != "" {
		choice = gen.choice(of.identity()) // before it is read: what changes in between has another
	}
	gen.mu.Lock()
	known := gen.views[key]
	gen.mu.Unlock()
	if known != nil && known.choice == choice {
		return known, nil
	}
	narrowing, err := gen.Narrow(ctx, of, profile)
	if err != nil {
		return nil, err
	}
	v := &view{Engine: gen.Engine.Narrowed(narrowing), gen: gen, choice: choice}
	gen.mu.Lock()
	defer gen.mu.Unlock()
	if other := gen.views[key]; other != nil && other.choice == choice {
		return other, nil
	}
	if len(gen.views) >= maxViews {
		clear(gen.views) // requests have theirs
	}
	gen.views[key] = v
	return v, nil
}

// viewOf returns what is there for a client.
func (gen *generation) viewOf(ctx context.Context, c *Client) (*view, error) {
	return gen.view(ctx, c.who.Principal, c.who.Profile)
}

// current returns the lists of the index as it is now.
func (v *view) current(ctx context.Context) (*lists, error) {
	v.gen.awaitListed(ctx)
	v.gen.look()
	v.gen.mu.Lock()
	now := v.gen.index
	v.gen.mu.Unlock()
	v.mu.Lock()
	known, of := v.lists, v.of
	v.mu.Unlock()
	if known != nil && of == now {
		return known, nil
	}
	read, err := readLists(ctx, v.Engine, v.gen.notice)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lists, v.of = read, now
	return read, nil
}

// visible returns the definitions of a list without those of servers that are down, and of what no call is allowed of.
func (v *view) visible(offers []offer) []json.RawMessage {
	raw := make([]json.RawMessage, 0, len(offers))
	for _, o := range offers {
		if !o.denied && v.gen.health.isDown(o.ref.Server) == nil {
			raw = append(raw, o.raw)
		}
	}
	return raw
}
