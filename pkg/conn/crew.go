package conn

import (
	"context"
	"sync"
)

// crew are the goroutines of a session that serve no caller: those that answer the server and that
// listen to it.
type crew struct {
	mu      sync.Mutex
	closed  bool
	wg      sync.WaitGroup
	start   func(work func(ctx context.Context)) // runs work under the context of the session
	dismiss func()                               // ends that context
}

func newCrew() *crew {
	ctx, cancel := context.WithCancel(context.Background())
	return &crew{dismiss: cancel, start: func(work func(context.Context)) { work(ctx) }}
}

// do lets work run in a goroutine, unless the session has ended. The context ends with the session.
func (c *crew) do(work func(ctx context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.wg.Go(func() { c.start(work) })
	}
}

// close ends what goes on and waits for it.
func (c *crew) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.dismiss()
	c.wg.Wait()
}
