package conn

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// maxPending is how many bytes may wait for a server that does not read before more is refused:
// a server that asks and asks without reading the answers must not cost us our memory. A
// single larger message passes.
const maxPending = 16 << 20

// errPending says that maxPending is reached.
var errPending = errors.New("the server does not read what it is sent")

// outbox writes messages to a server's stdin, in the order they are handed in, from a goroutine
// of its own. So a server that reads nothing blocks no request: each ends with its own
// context, and the end of one never cuts the message of another in two.
type outbox struct {
	to   io.WriteCloser
	done chan struct{} // closed when the goroutine has ended

	mu    sync.Mutex
	more  sync.Cond // of mu: queue or err has changed
	queue []parcel
	size  int   // bytes queued, those being written included
	err   error // set once nothing can be written any more
}

// parcel is a message, or only a mark in the stream where sent is to be closed.
type parcel struct {
	text []byte
	sent chan struct{}
}

// newOutbox starts writing to w. The goroutine ends with Close, or at the first error.
func newOutbox(w io.WriteCloser) *outbox {
	o := &outbox{to: w, done: make(chan struct{})}
	o.more.L = &o.mu
	go o.run()
	return o
}

func (o *outbox) run() {
	defer close(o.done)
	for {
		p, ok := o.next()
		if !ok {
			return
		}
		_, err := o.to.Write(p.text)
		o.mu.Lock()
		o.size -= len(p.text)
		if err != nil && o.err == nil {
			o.err = err
		}
		o.mu.Unlock()
		if p.sent != nil && err == nil {
			close(p.sent)
		}
	}
}

// next waits for a parcel; it returns false when nothing can be written any more.
func (o *outbox) next() (parcel, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) == 0 && o.err == nil {
		o.more.Wait()
	}
	if o.err != nil {
		o.queue = nil
		return parcel{}, false
	}
	p := o.queue[0]
	o.queue = o.queue[1:]
	return p, true
}

func (o *outbox) put(p parcel) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
		return o.err
	case o.size > maxPending:
		return errPending
	}
	o.queue = append(o.queue, p)
	o.size += len(p.text)
	o.more.Signal()
	return nil
}

// Write implements io.Writer. It does not wait for the server to read. An error is that of an
// earlier message.
func (o *outbox) Write(p []byte) (int, error) {
	if err := o.put(parcel{text: bytes.Clone(p)}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush waits until all that was handed in has been written, for at most d.
func (o *outbox) flush(d time.Duration) {
	mark := parcel{sent: make(chan struct{})}
	if o.put(mark) != nil {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-mark.sent:
	case <-o.done:
	case <-timer.C:
	}
}

// failed returns why nothing can be written any more, or nil.
func (o *outbox) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Close closes stdin, also in the middle of a message; what waits is dropped. The goroutine ends
// soon after, see done.
func (o *outbox) Close() error {
	o.mu.Lock()
	if o.err == nil {
		o.err = os.ErrClosed
	}
	o.more.Signal()
	o.mu.Unlock()
	return o.to.Close()
}
