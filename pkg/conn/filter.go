package conn

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxMessage bounds one JSON-RPC message from a server. Anything longer is taken for a server
// that has lost its mind, before it costs us our memory.
const maxMessage = 256 << 20

// messageFilter passes on the lines of a server's stdout that are JSON-RPC messages and drops
// the rest: the protocol forbids other output ("The server MUST NOT write anything to its
// stdout that is not a valid MCP message", MCP 2025-11-25, transports, stdio), but banners,
// logs and JSON of other kinds are common, and an "id" in those must not pass for an answer.
//
// It ends with io.EOF whatever ends the stream, since the reader above it logs other errors.
type messageFilter struct {
	in      *bufio.Reader
	out     []byte            // what is left of the current message
	line    []byte            // buffer for a message
	dropped func(line []byte) // told of each foreign line; may be nil
	tooLong func()            // told when a message exceeds maxMessage; the stream ends there
}

func newMessageFilter(r io.Reader, dropped func([]byte), tooLong func()) *messageFilter {
	return &messageFilter{in: bufio.NewReaderSize(r, 64<<10), dropped: dropped, tooLong: tooLong}
}

// Read implements io.Reader.
func (f *messageFilter) Read(p []byte) (int, error) {
	for len(f.out) == 0 {
		if err := f.next(); err != nil {
			return 0, io.EOF
		}
	}
	n := copy(p, f.out)
	f.out = f.out[n:]
	return n, nil
}

// next reads lines until one is a message. A last line without its newline still counts.
func (f *messageFilter) next() error {
	f.line = f.line[:0]
	for {
		chunk, err := f.in.ReadSlice('\n')
		f.line = append(f.line, chunk...)
		switch {
		case len(f.line) > maxMessage:
			f.tooLong()
			return io.EOF
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(bytes.TrimSpace(f.line)) == 0:
			return err
		case err != nil:
			f.line = append(f.line, '\n')
		}
		if isMessage(f.line) {
			f.out = f.line
			return nil
		}
		if f.dropped != nil && len(bytes.TrimSpace(f.line)) > 0 {
			f.dropped(bytes.TrimSpace(f.line))
		}
		f.line = f.line[:0]
	}
}

// isMessage tells JSON-RPC 2.0 from other lines by its one mandatory member. Batches (an array,
// revision 2025-03-26 only) are not messages: no server in use sends them and the SDK reads none.
func isMessage(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\ufeff")
	return len(line) > 0 && line[0] == '{' && bytes.Contains(line, []byte(`"jsonrpc"`))
}
