package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrTooLong says that a message exceeds the limit of a [Reader]. The rest of the stream cannot be read.
var ErrTooLong = errors.New("the message is too long")

// Reader reads messages from a stream, one a line (MCP 2025-11-25, transports, stdio).
type Reader struct {
	in    *bufio.Reader
	limit int
}

// NewReader returns a reader of messages of at most limit bytes.
func NewReader(r io.Reader, limit int) *Reader { return &Reader{bufio.NewReaderSize(r, 64<<10), limit} }

// Next returns the next line that is not empty. It is the caller's. At the end of the stream the error is io.EOF; a
// last line without its line break still counts.
func (r *Reader) Next() ([]byte, error) {
	for {
		line, err := r.line()
		if text := bytes.TrimSpace(line); len(text) > 0 {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (r *Reader) line() ([]byte, error) {
	var line []byte
	for {
		chunk, err := r.in.ReadSlice('\n')
		if len(line)+len(chunk) > r.limit {
			return nil, ErrTooLong
		}
		if line = append(line, chunk...); !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Line returns a message as one line, with its line break. Only white space between the values changes: within a string
// JSON has no line break.
func Line(message []byte) []byte {
	line := make([]byte, 0, len(message)+1)
	for _, c := range message {
		if c == '\n' || c == '\r' {
			c = ' '
		}
		line = append(line, c)
	}
	return append(line, '\n')
}

// AppendEvent appends a server-sent event (HTML Living Standard, 9.2.6) with an id, if that is not empty, and a
// message, which may be empty.
func AppendEvent(b []byte, id string, message []byte) []byte {
	if id != "" {
		b = append(append(append(b, "id: "...), id...), '\n')
	}
	b = append(b, "data: "...)
	if len(message) == 0 {
		b = append(b, '\n')
	} else {
		b = append(b, Line(message)...)
	}
	return append(b, '\n')
}
