package conn

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// maxPending bounds the bytes that wait for a server that does not read: a server that asks and asks
// without reading the responses must not cost us our memory. A single larger message passes.
const maxPending = 16 << 20

// errPending is the error of a message beyond maxPending.
var errPending = errors.New("the server does not read what it is sent")

// outbox writes messages to a server, in their order, from a goroutine of its own. So a server that reads nothing does
// not block a request, and the end of one request never cuts the message of another in two.
type outbox struct {
	to   io.WriteCloser
	done chan struct{} // closed when the goroutine has ended

	mu    sync.Mutex
	more  sync.Cond // of mu: queue or err has changed
	queue []queuedMessage
	size  int   // bytes queued or being written
	err   error // why nothing can be written any more
}

// queuedMessage is a message. If sent is not nil, the goroutine closes it once text, which may be empty, is written.
type queuedMessage struct {
	text []byte
	sent chan struct{}
}

// newOutbox starts to write to w. The goroutine ends with Close, or at the first error.
func newOutbox(w io.WriteCloser) *outbox {
	o := &outbox{to: w, done: make(chan struct{})}
	o.more.L = &o.mu
	go o.run()
	return o
}

func (o *outbox) run() {
	defer close(o.done)
	for m, ok := o.next(); ok; m, ok = o.next() {
		var err error
		if len(m.text) > 0 {
			_, err = o.to.Write(m.text)
		}
		o.mu.Lock()
		o.size -= len(m.text)
		if err != nil && o.err == nil {
			o.err = err
		}
		o.mu.Unlock()
		if m.sent != nil && err == nil {
			close(m.sent)
		}
	}
}

// next waits for a message. It returns false when nothing can be written any more.
func (o *outbox) next() (queuedMessage, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) == 0 && o.err == nil {
		o.more.Wait()
	}
	if o.err != nil {
		o.queue = nil
		return queuedMessage{}, false
	}
	m := o.queue[0]
	o.queue = o.queue[1:]
	return m, true
}

func (o *outbox) put(m queuedMessage) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
		return o.err
	case o.size > maxPending:
		return errPending
	}
	o.queue = append(o.queue, m)
	o.size += len(m.text)
	o.more.Signal()
	return nil
}

// Write implements io.Writer. It does not wait for the server to read. It returns the error of an earlier message.
func (o *outbox) Write(p []byte) (int, error) {
	if err := o.put(queuedMessage{text: bytes.Clone(p)}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush waits until all queued messages are written, for at most d.
func (o *outbox) flush(d time.Duration) {
	mark := queuedMessage{sent: make(chan struct{})}
	if o.put(mark) != nil {
		return
	}
	select {
	case <-mark.sent:
	case <-o.done:
	case <-time.After(d):
	}
}

// failed returns why nothing can be written any more, or nil.
func (o *outbox) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Close closes the stream, also in the middle of a message, and drops the queue. The goroutine ends soon, see done.
func (o *outbox) Close() error {
	o.mu.Lock()
	if o.err == nil {
		o.err = os.ErrClosed
	}
	o.more.Signal()
	o.mu.Unlock()
	return o.to.Close()
}
