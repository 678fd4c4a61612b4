package conn

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// events reads a stream of server-sent events (HTML Living Standard, 9.2.5 and 9.2.6). Lines end with
// LF or CRLF; nobody uses the CR alone that the standard also allows. The fields id and retry
// mean nothing here.
type events struct {
	in    *bufio.Reader
	limit int    // of an event's data, in bytes
	left  []byte // of the current message, for Read
}

func newEvents(r io.Reader) *events {
	return &events{in: bufio.NewReaderSize(r, 64<<10), limit: maxMessage}
}

// next returns the next event that has data. Its lines of data are joined by a space, which in JSON
// is as good as the line break of the standard. An event that the stream's end cuts off is none.
func (e *events) next() (name string, data []byte, err error) {
	found := false
	for {
		line, err := e.line(len(data))
		if err != nil {
			return "", nil, err
		}
		if len(line) == 0 {
			if found {
				return name, data, nil
			}
			name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			if found {
				data = append(data, ' ')
			}
			data, found = append(data, value...), true
		}
	}
}

// line reads a line, without its end, of an event that has used bytes already. It is valid until
// the next call.
func (e *events) line(used int) ([]byte, error) {
	var long []byte
	for {
		chunk, err := e.in.ReadSlice('\n')
		if used+len(long)+len(chunk) > e.limit {
			return nil, errTooLong
		}
		switch {
		case err == nil && long == nil:
			return trimEnd(chunk), nil
		case err == nil:
			return trimEnd(append(long, chunk...)), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		long = append(long, chunk...)
	}
}

func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// Read implements io.Reader: the messages, one a line.
func (e *events) Read(p []byte) (int, error) {
	for len(e.left) == 0 {
		name, data, err := e.next()
		if err != nil {
			return 0, err
		}
		if name == "message" || name == "" {
			e.left = append(data, '\n')
		}
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}
