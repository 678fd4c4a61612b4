package conn

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// maxMessage bounds one message from a server, in bytes. Decoding takes about ten times the size of a message.
const maxMessage = 64 << 20

// messageFilter passes on the lines of a stream that are JSON-RPC messages and drops the rest. The protocol
// forbids other output ("The server MUST NOT write anything to its stdout that is not a valid MCP message",
// MCP 2025-11-25, transports, stdio), but banners, logs and other JSON are common, whose "id" must not pass for a
// response. It passes responses on, and calls taken with other messages and responses that may be errors.
//
// It ends with io.EOF whatever ends the stream, since the reader above it logs other errors.
type messageFilter struct {
	in      *bufio.Reader
	limit   int               // of a line, in bytes
	out     []byte            // the rest of the current message
	line    []byte            // buffer for a message
	taken   func(line []byte) // if nil, requests and notifications pass too
	dropped func(line []byte) // called with each foreign line, trimmed
	refused func(error)       // called with errTooLong or errTooDeep; the stream ends there
	ended   chan struct{}     // closed when the stream has ended
}

func newMessageFilter(r io.Reader, taken, dropped func([]byte), refused func(error)) *messageFilter {
	return &messageFilter{in: bufio.NewReaderSize(r, 64<<10), limit: maxMessage,
		taken: taken, dropped: dropped, refused: refused, ended: make(chan struct{})}
}

// Read implements io.Reader.
func (f *messageFilter) Read(p []byte) (int, error) {
	for len(f.out) == 0 {
		if !f.next() {
			return 0, io.EOF
		}
	}
	n := copy(p, f.out)
	f.out = f.out[n:]
	return n, nil
}

// next reads lines until one passes. It returns false at the end of the stream.
func (f *messageFilter) next() bool {
	for f.read() {
		line := bytes.TrimSpace(bytes.TrimPrefix(f.line, []byte("\ufeff")))
		switch isMessage, hasMethod := classify(line); {
		case isMessage && hasMethod && f.taken != nil:
			f.taken(line)
		case isMessage:
			if f.taken != nil && mayRefuse(line) {
				f.taken(line)
			}
			f.out = append(line, '\n')
			return true
		case len(line) > 0 && line[0] == '{' && tooDeep(line):
			close(f.ended)
			f.refused(errTooDeep)
			return false
		case len(line) > 0:
			f.dropped(line)
		}
	}
	return false
}

// read reads a line. A last line without its line break still counts.
func (f *messageFilter) read() bool {
	select {
	case <-f.ended:
		return false
	default:
	}
	var err error
	if f.line, err = readLine(f.in, f.line[:0], f.limit); err == nil {
		return true
	}
	if close(f.ended); errors.Is(err, errTooLong) {
		f.refused(errTooLong)
		return false
	}
	return len(f.line) > 0
}

// errTooDeep says that a message is nested more deeply than encoding/json reads.
var errTooDeep = errors.New("the message is nested too deeply")

// maxDepth is how deep encoding/json reads.
const maxDepth = 10_000

// tooDeep reports whether a line that is not read as JSON may be JSON that is nested more than maxDepth levels deep.
// Dropped like other lines, such a message would be waited for until the time limit.
func tooDeep(line []byte) bool {
	var o objectScanner
	for i := range line {
		if o.ends(line[i : i+1]); o.depth > maxDepth {
			return true
		}
	}
	return false
}

// readLine appends a line to into, with its line break. It fails with errTooLong if the line exceeds limit.
func readLine(in *bufio.Reader, into []byte, limit int) ([]byte, error) {
	for {
		chunk, err := in.ReadSlice('\n')
		if limit -= len(chunk); limit < 0 {
			return into, errTooLong
		}
		if into = append(into, chunk...); !errors.Is(err, bufio.ErrBufferFull) {
			return into, err
		}
	}
}

// isRequest reports whether a message is a request: notifications have no id, responses no method.
func isRequest(message []byte) bool {
	_, hasMethod := classify(message)
	members, err := tool.SplitObject(message)
	return err == nil && hasMethod && slices.ContainsFunc(members, func(m tool.Field) bool { return m.Key == "id" })
}

// mayRefuse reports whether a response may be an error whose data is kept as the server sent it: the SDK decodes data,
// which loses large numbers and the order of keys.
func mayRefuse(response []byte) bool {
	return len(response) <= maxErrorBody && bytes.Contains(response, []byte(`"error"`))
}

// classify tells JSON-RPC 2.0 from other lines by its mandatory member jsonrpc, and requests and notifications
// from responses by their method. Batches (an array, revision 2025-03-26 only) are not messages: no server in use
// sends them, and the SDK does not read them.
func classify(line []byte) (isMessage, hasMethod bool) {
	if len(line) == 0 || line[0] != '{' {
		return false, false
	}
	members, err := tool.SplitObject(line)
	if err != nil {
		return false, false
	}
	for _, m := range members {
		isMessage = isMessage || m.Key == "jsonrpc"
		hasMethod = hasMethod || m.Key == "method" && m.Value[0] == '"'
	}
	return isMessage, hasMethod
}
