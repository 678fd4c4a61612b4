package conn

import (
	"bufio"
	"bytes"
	"io"
	"slices"
)

// eventFilter passes on a stream of events (see eventReader) without the requests and notifications in it, with
// which it calls take, as with responses that may be errors. It keeps id and retry, by which the SDK resumes a stream.
//
// The stream of one request ends with the response: later events have no recipient, and the SDK would wait for ever
// to pass on a third one. The ids of its events begin with the name of the exchange, see exchanges.
type eventFilter struct {
	io.Closer
	in   *bufio.Reader
	name string // of the exchange; empty if it is not the stream of one request
	take func(message []byte)

	event  []byte // the lines of the current event
	cursor []byte // its lines with id and retry
	data   []byte
	left   []byte // the rest of what passes
	err    error  // why the stream ended
}

func newEventFilter(body io.ReadCloser, name string, take func(message []byte)) *eventFilter {
	return &eventFilter{Closer: body, in: bufio.NewReaderSize(body, 64<<10), name: name, take: take}
}

// Read implements io.Reader.
func (f *eventFilter) Read(p []byte) (int, error) {
	for len(f.left) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		f.line()
	}
	n := copy(p, f.left)
	f.left = f.left[n:]
	return n, nil
}

// line reads a line. At the end of an event, or of the stream, it decides what passes.
func (f *eventFilter) line() {
	line, err := f.in.ReadBytes('\n')
	text := bytes.TrimRight(line, "\r\n")
	field, value, _ := bytes.Cut(text, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		f.data = append(append(f.data, ' '), value...)
	case "id":
		if f.name != "" && len(value) > 0 { // an empty id says that the stream cannot be resumed
			line = slices.Concat([]byte("id: "+f.name+exchangeEnd), value, line[len(text):])
		}
		f.cursor = append(f.cursor, line...)
	case "retry":
		f.cursor = append(f.cursor, line...)
	}
	f.event = append(f.event, line...)
	if f.err = err; err == nil && len(text) > 0 {
		return
	}
	// Most of the large responses need not be parsed.
	data, hasMethod := bytes.TrimSpace(f.data), false
	if bytes.Contains(data, []byte(`"method"`)) {
		_, hasMethod = classify(data)
	}
	if hasMethod {
		f.left = append(f.cursor, "\n"...)
		f.take(f.data)
	} else {
		if mayRefuse(data) {
			f.take(data)
		}
		f.left = f.event
		if f.name != "" && f.err == nil && bytes.HasPrefix(data, []byte("{")) && bytes.Contains(data, []byte(`"id"`)) {
			f.err = io.EOF
		}
	}
	f.event, f.cursor, f.data = nil, nil, nil
}
