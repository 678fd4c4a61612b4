package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// maxMessage bounds one message of a client, in bytes.
const maxMessage = 16 << 20

// maxQueued bounds what waits for a client that does not read, in bytes. A client that exceeds it is given up.
const maxQueued = 64 << 20

// unread is the fault of a client that does not read what it is sent.
func unread() error {
	return fault.New(fault.Timeout, "the client does not read its messages", "Look whether it hangs, and start it again.")
}

// ending is how long requests may take to end when a client says no more. Those that run on are cancelled.
const ending = 10 * time.Second

// Serve serves one client on two streams, a message a line (MCP 2025-11-25, transports, stdio), until in ends, out
// cannot be written or ctx ends. When in ends, what was read before is answered, for at most 10 s. Serve returns when
// no request of the client is left. A read of in, or a write to an out that is not read, may be left: they end with
// the streams.
func (g *Gateway) Serve(ctx context.Context, who Identity, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := newQueue()
	c := g.Connect(rand.Text(), who, queue)
	written := make(chan error, 1)
	go func() { written <- queue.write(out) }()
	failed := c.takeAll(ctx, readLines(ctx, in), queue.full, written)
	if failed == nil {
		failed = c.finish(ctx, queue.full, written)
	}
	c.Close()
	queue.end()
	if failed != nil {
		return failed
	}
	select {
	case err := <-written:
		return err
	case <-queue.full:
		return unread()
	}
}

// line is one line of a client, or why there is none.
type line struct {
	text []byte
	err  error
}

// readLines reads lines until in or ctx ends.
func readLines(ctx context.Context, in io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		reader := mcp.NewReader(in, maxMessage)
		for {
			text, err := reader.Next()
			select {
			case lines <- line{text, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// takeAll takes lines until the last one. It returns why the client cannot be served any more; nil if it has gone, or
// ctx has ended.
func (c *Client) takeAll(ctx context.Context, lines <-chan line, full <-chan struct{}, written <-chan error) error {
	for {
		select {
		case l := <-lines:
			switch {
			case errors.Is(l.err, io.EOF):
				return nil
			case l.err != nil:
				c.out.Send(mcp.Answer(nil, nil, &tool.UpstreamError{Code: mcp.ParseError, Message: l.err.Error()}))
				return nil
			}
			c.take(ctx, l.text)
		case err := <-written:
			return err
		case <-full:
			return unread()
		case <-ctx.Done():
			return nil
		}
	}
}

// finish waits until all that the client has asked for is answered, for as long as ending, or until ctx ends. It
// returns why the client cannot be answered any more.
func (c *Client) finish(ctx context.Context, full <-chan struct{}, written <-chan error) error {
	c.mu.Lock()
	for _, r := range c.requests {
		if r.message.Method == listenMethod { // it has no answer before its client goes
			r.cancel(errGone)
		}
	}
	c.mu.Unlock()
	answered := make(chan struct{})
	go func() { // it ends with the requests, for which Close waits
		c.wg.Wait()
		close(answered)
	}()
	limit := time.NewTimer(ending)
	defer limit.Stop()
	select {
	case <-answered:
	case <-limit.C:
	case <-ctx.Done():
	case err := <-written:
		return err
	case <-full:
		return unread()
	}
	return nil
}

// take takes one line of a client.
func (c *Client) take(ctx context.Context, line []byte) {
	m, wrong := mcp.Parse(line)
	if wrong != nil {
		c.out.Send(mcp.Answer(m.ID, nil, wrong))
		return
	}
	if m.IsRequest() && RevisionOf(m) != "" { // each request since MCP 2026-07-28 says what its client is
		if wrong := c.Introduce(m); wrong != nil {
			c.out.Send(mcp.Answer(m.ID, nil, wrong))
			return
		}
	}
	c.Receive(ctx, m, nil, c.out)
}

// queue holds messages for a client until they are written. It is an [Outlet].
type queue struct {
	full chan struct{} // closed when more waits than a client may leave unread

	mu      sync.Mutex
	more    sync.Cond // of mu: something has changed
	waiting [][]byte
	size    int // of waiting, in bytes
	ended   bool
}

func newQueue() *queue {
	q := &queue{full: make(chan struct{})}
	q.more.L = &q.mu
	return q
}

// Send implements [Outlet].
func (q *queue) Send(message []byte) bool { return q.put(message, maxQueued) }

// Tell implements [Outlet]. News does not join a queue that is already long.
func (q *queue) Tell(message []byte) { q.put(message, maxQueued/8) }

// put has a message wait, unless more than most bytes wait already.
func (q *queue) put(message []byte, most int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended || q.size > most {
		return false
	}
	q.waiting = append(q.waiting, message)
	if q.size += len(message); q.size > maxQueued {
		q.ended = true
		close(q.full)
	}
	q.more.Signal()
	return true
}

// Answer implements [Outlet].
func (q *queue) Answer(response []byte) { q.Send(response) }

// Cancelled implements [Outlet]: "Receivers of a cancellation notification SHOULD ... Not send a response for the
// cancelled request" (MCP 2025-11-25, basic/utilities/cancellation).
func (q *queue) Cancelled([]byte) {}

// end ends the queue once all that waits has been written.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.more.Signal()
}

// write writes messages until the queue ends.
func (q *queue) write(out io.Writer) error {
	for {
		q.mu.Lock()
		for len(q.waiting) == 0 && !q.ended {
			q.more.Wait()
		}
		if len(q.waiting) == 0 {
			q.mu.Unlock()
			return nil
		}
		message := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.size -= len(message)
		q.mu.Unlock()
		if _, err := out.Write(mcp.Line(message)); err != nil {
			return err
		}
	}
}
