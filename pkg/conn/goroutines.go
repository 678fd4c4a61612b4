package conn

import (
	"context"
	"sync"
)

// goroutines are those that answer the server and listen to it. They announce the session's end to all other work.
type goroutines struct {
	ended  <-chan struct{} // closed when the session ends
	cancel func()          // ends it
	// after calls f when the session ends, unless it is stopped before.
	after func(f func()) (stop func() bool)

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
	start  func(work func(ctx context.Context)) // runs work under the context of the session
}

func newGoroutines() *goroutines {
	ctx, cancel := context.WithCancel(context.Background())
	return &goroutines{ended: ctx.Done(), cancel: cancel, start: func(work func(context.Context)) { work(ctx) },
		after: func(f func()) func() bool { return context.AfterFunc(ctx, f) }}
}

// run runs work in a goroutine, unless the session has ended. The context ends with the session.
func (g *goroutines) run(work func(ctx context.Context)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.wg.Go(func() { g.start(work) })
	}
}

// close ends the goroutines and waits for them.
func (g *goroutines) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.cancel()
	g.wg.Wait()
}
