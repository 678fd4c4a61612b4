package proc

import (
	"cmp"
	"io"
	"strings"
	"sync"
)

const (
	tailSize    = 16 << 10 // how much of stderr is kept, in bytes: enough for a stack trace
	defaultLine = 8 << 10  // of Options.MaxLine
)

// tail reads stderr to its end and keeps the last tailSize bytes. So the process never blocks on a full
// pipe, and its last words can be quoted when it fails.
type tail struct {
	mu   sync.Mutex
	buf  []byte
	cut  bool
	done chan struct{} // closed when the stream has ended
}

// newTail starts to read r. The goroutine ends when r does: the owner of r closes it.
func newTail(r io.Reader, opt Options) *tail {
	t := &tail{done: make(chan struct{})}
	lines := lineSplitter{each: opt.StderrLine, limit: cmp.Or(opt.MaxLine, defaultLine)}
	go func() {
		defer close(t.done)
		chunk := make([]byte, 32<<10)
		for {
			n, err := r.Read(chunk)
			t.write(chunk[:n])
			lines.split(chunk[:n])
			if err != nil {
				lines.end()
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

// text returns what is kept. If the start was cut off, it begins with the first whole line.
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

// lineSplitter calls each with the lines of a stream, cut at limit bytes. If each is nil, it does nothing.
type lineSplitter struct {
	each  func(line string)
	limit int
	part  []byte // of a line
}

func (l *lineSplitter) split(p []byte) {
	if l.each == nil {
		return
	}
	for _, c := range p {
		switch {
		case c == '\n':
			l.each(strings.ToValidUTF8(string(l.part), "\uFFFD"))
			l.part = l.part[:0]
		case len(l.part) < l.limit:
			l.part = append(l.part, c)
		}
	}
}

// end passes on a last line without a line break.
func (l *lineSplitter) end() {
	if len(l.part) > 0 {
		l.each(strings.ToValidUTF8(string(l.part), "\uFFFD"))
	}
}
