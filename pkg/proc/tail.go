package proc

import (
	"io"
	"strings"
	"sync"
)

const (
	headSize = 4 << 10  // how much of the start of stderr is kept, in bytes: some name the cause before all else
	tailSize = 16 << 10 // how much of its end is kept: enough for a stack trace
	maxLine  = 8 << 10  // how much of a line Options.StderrLine gets
)

// tail reads stderr to its end and keeps the first headSize and the last tailSize bytes. So the process never blocks
// on a full pipe, and its words can be quoted when it fails.
type tail struct {
	mu   sync.Mutex
	head []byte
	buf  []byte // what follows head
	cut  bool
	done chan struct{} // closed when the stream has ended
}

// newTail starts to read r. The goroutine ends when r does: the owner of r closes it.
func newTail(r io.Reader, opt Options) *tail {
	t := &tail{done: make(chan struct{})}
	lines := lineSplitter{each: opt.StderrLine}
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
	first := min(len(p), headSize-len(t.head))
	t.head = append(t.head, p[:first]...)
	t.buf = append(t.buf, p[first:]...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
		t.cut = true
	}
}

// text returns what is kept. If something between was cut out, a line "…" stands for it, between whole lines.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	head, rest := string(t.head), string(t.buf)
	if t.cut {
		if i := strings.LastIndexByte(head, '\n'); i >= 0 {
			head = head[:i]
		}
		head += "\n…\n"
		if _, whole, ok := strings.Cut(rest, "\n"); ok {
			rest = whole
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(head+rest, "\uFFFD"))
}

// lineSplitter calls each with the lines of a stream, cut at maxLine bytes. If each is nil, it does nothing.
type lineSplitter struct {
	each func(line string)
	part []byte // of a line
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
		case len(l.part) < maxLine:
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
