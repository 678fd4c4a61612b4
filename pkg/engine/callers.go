package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// callers opens the caller that all requests and the catalog share, when it is first needed.
type callers struct {
	full func(*config.Config) Caller  // nil: only warm
	warm func(*config.Sources) Caller // nil: only full

	mu     sync.Mutex
	caller Caller // nil before it is opened
	closed bool
}

func (c *callers) get(open func() Caller) (Caller, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New("the engine is closed")
	}
	if c.caller == nil {
		c.caller = open()
	}
	return c.caller, nil
}

// close closes the caller. No other is opened any more.
func (c *callers) close() error {
	c.mu.Lock()
	c.closed = true
	caller := c.caller
	c.mu.Unlock()
	if caller == nil {
		return nil
	}
	return caller.Close()
}

// list is the lister of the catalog.
func (c *callers) list(
	ctx context.Context, cfg *config.Config, server string, opt tool.CallOptions) (tool.Listing, error) {
	caller, err := c.get(func() Caller { return c.full(cfg) })
	if err != nil {
		return tool.Listing{}, err
	}
	return caller.List(ctx, server, opt)
}
