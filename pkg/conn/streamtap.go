package conn

import (
	"bufio"
	"bytes"
	"io"
)

// tap passes on a stream of events (see events) without the requests and notifications in it, which
// it hands out. Of their events only the fields id and retry stay, by which the SDK resumes a stream.
// That of one request ends with its answer: what comes after is for nobody, and the SDK would wait for
// ever to hand on a third one.
type tap struct {
	io.Closer
	in   *bufio.Reader
	one  bool // it is the stream of one request
	take func(message []byte)

	event  []byte // the lines of the current event
	cursor []byte // those of them that stay
	data   []byte
	left   []byte // of what is passed on
	err    error  // why the stream ended
}

func newTap(body io.ReadCloser, one bool, take func(message []byte)) *tap {
	return &tap{Closer: body, in: bufio.NewReaderSize(body, 64<<10), one: one, take: take}
}

// Read implements io.Reader.
func (t *tap) Read(p []byte) (int, error) {
	for len(t.left) == 0 {
		if t.err != nil {
			return 0, t.err
		}
		t.line()
	}
	n := copy(p, t.left)
	t.left = t.left[n:]
	return n, nil
}

// line reads a line. The end of an event, or of the stream, decides what is passed on of it.
func (t *tap) line() {
	line, err := t.in.ReadBytes('\n')
	t.event = append(t.event, line...)
	text := bytes.TrimRight(line, "\r\n")
	field, value, _ := bytes.Cut(text, []byte(":"))
	switch string(field) {
	case "data":
		t.data = append(append(t.data, ' '), bytes.TrimPrefix(value, []byte(" "))...)
	case "id", "retry":
		t.cursor = append(t.cursor, line...)
	}
	if t.err = err; err == nil && len(text) > 0 {
		return
	}
	// Most of the large answers need not be parsed.
	data, isCall := bytes.TrimSpace(t.data), false
	if bytes.Contains(data, []byte(`"method"`)) {
		_, isCall = classify(data)
	}
	if isCall {
		t.left = append(t.cursor, "\n"...)
		t.take(t.data)
	} else {
		t.left = t.event
		if t.one && t.err == nil && bytes.HasPrefix(data, []byte("{")) && bytes.Contains(data, []byte(`"id"`)) {
			t.err = io.EOF
		}
	}
	t.event, t.cursor, t.data = nil, nil, nil
}
