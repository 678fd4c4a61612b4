package conn

import (
	"io"
	"strings"
	"sync"
)

// tailSize is how much of a server's stderr is kept: enough for a stack trace.
const tailSize = 16 << 10

// tail reads a server's stderr to its end and remembers the last tailSize bytes, so that the
// server never blocks on a full pipe and its last words can be quoted when it fails.
type tail struct {
	mu   sync.Mutex
	buf  []byte
	cut  bool
	done chan struct{} // closed when the stream has ended
}

// newTail starts reading r. The goroutine ends when r does: the owner of r closes it.
func newTail(r io.Reader, each func(line string)) *tail {
	t := &tail{done: make(chan struct{})}
	go func() {
		defer close(t.done)
		chunk := make([]byte, 32<<10)
		var line lineSplitter
		for {
			n, err := r.Read(chunk)
			t.write(chunk[:n])
			if each != nil {
				line.split(chunk[:n], each)
			}
			if err != nil {
				if each != nil {
					line.end(each)
				}
				return
			}
		}
	}()
	return t
}

func (t *tail) write(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
		t.cut = true
	}
}

// text returns what is remembered, whole lines only where the start was cut off.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.ToValidUTF8(string(t.buf), "\uFFFD")
	if t.cut {
		if _, rest, ok := strings.Cut(s, "\n"); ok {
			s = rest
		}
	}
	return strings.TrimSpace(s)
}

// lineSplitter hands out the lines of a stream, each cut where no more of it is shown, see presentable.
type lineSplitter struct{ part []byte }

func (l *lineSplitter) split(p []byte, each func(string)) {
	for _, c := range p {
		switch {
		case c == '\n':
			each(strings.ToValidUTF8(string(l.part), "\uFFFD"))
			l.part = l.part[:0]
		case len(l.part) < 2*maxLogged:
			l.part = append(l.part, c)
		}
	}
}

// end hands out a last line without a line break.
func (l *lineSplitter) end(each func(string)) {
	if len(l.part) > 0 {
		each(strings.ToValidUTF8(string(l.part), "\uFFFD"))
	}
}
