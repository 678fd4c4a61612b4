package conn

import (
	"bufio"
	"bytes"
	"io"
)

// eventReader reads a stream of server-sent events (HTML Living Standard, 9.2.5 and 9.2.6). Lines end with LF or CRLF;
// no server in use sends the CR alone that the standard also allows. eventReader ignores the fields id and retry.
type eventReader struct {
	in    *bufio.Reader
	buf   []byte // of the current line
	limit int    // of an event's data, in bytes
	left  []byte // of the current message, for Read
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(r, 64<<10), limit: maxMessage}
}

// next returns the next event that has data. It joins the event's lines of data by a space, which in JSON is as
// good as the line break of the standard. It drops an event that the stream's end cuts off.
func (e *eventReader) next() (name string, data []byte, err error) {
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

// line returns a line, without its end, of an event that has used bytes already. It is valid until the next call.
func (e *eventReader) line(used int) (line []byte, err error) {
	if e.buf, err = readLine(e.in, e.buf[:0], e.limit-used); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(e.buf, []byte("\n")), []byte("\r")), nil
}

// Read implements io.Reader. It passes on the messages, one a line.
func (e *eventReader) Read(p []byte) (int, error) {
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
