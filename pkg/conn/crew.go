package conn

import (
	"context"
	"sync"
)

// crew is what goes on in a session that no caller waits for: the goroutines that answer the server and that
// listen to it. It also tells all the others of the session's end.
type crew struct {
	over    <-chan struct{} // closed when the session ends
	dismiss func()          // ends it
	// after has f called when the session ends, unless it is stopped before.
	after func(f func()) (stop func() bool)

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
	start  func(work func(ctx context.Context)) // runs work under the context of the session
}

func newCrew() *crew {
	ctx, cancel := context.WithCancel(context.Background())
	return &crew{over: ctx.Done(), dismiss: cancel, start: func(work func(context.Context)) { work(ctx) },
		after: func(f func()) func() bool { return context.AfterFunc(ctx, f) }}
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
