package conn

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// maxMessage bounds one JSON-RPC message from a server. Anything longer is taken for a server
// that has lost its mind, before it costs us our memory: about ten times its size on the way.
const maxMessage = 64 << 20

// messageFilter passes on the lines of a server's stdout that are JSON-RPC messages and drops
// the rest: the protocol forbids other output ("The server MUST NOT write anything to its
// stdout that is not a valid MCP message", MCP 2025-11-25, transports, stdio), but banners,
// logs and JSON of other kinds are common, and an "id" in those must not pass for an answer.
// Requests and notifications of the server are handed out, answers passed on.
//
// It ends with io.EOF whatever ends the stream, since the reader above it logs other errors.
type messageFilter struct {
	in      *bufio.Reader
	limit   int               // of a line, in bytes
	out     []byte            // what is left of the current message
	line    []byte            // buffer for a message
	taken   func(line []byte) // given each request and notification; nil where the stream has none
	dropped func(line []byte) // told of each foreign line, without its ends' white space
	tooLong func()            // told when a line exceeds limit; the stream ends there
	ended   chan struct{}     // closed when the stream has ended
}

func newMessageFilter(r io.Reader, taken, dropped func([]byte), tooLong func()) *messageFilter {
	return &messageFilter{in: bufio.NewReaderSize(r, 64<<10), limit: maxMessage,
		taken: taken, dropped: dropped, tooLong: tooLong, ended: make(chan struct{})}
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

// next reads lines until one is an answer. It returns false at the end of the stream.
func (f *messageFilter) next() bool {
	for f.read() {
		line := bytes.TrimSpace(bytes.TrimPrefix(f.line, []byte("\ufeff")))
		switch isMessage, isCall := classify(line); {
		case isMessage && isCall && f.taken != nil:
			f.taken(line)
		case isMessage:
			f.out = append(line, '\n')
			return true
		case len(line) > 0:
			f.dropped(line)
		}
	}
	return false
}

// read reads a line. A last one without its line break still counts.
func (f *messageFilter) read() bool {
	select {
	case <-f.ended:
		return false
	default:
	}
	f.line = f.line[:0]
	for {
		chunk, err := f.in.ReadSlice('\n')
		if len(f.line)+len(chunk) > f.limit {
			f.tooLong()
			close(f.ended)
			return false
		}
		f.line = append(f.line, chunk...)
		switch {
		case err == nil:
			return true
		case !errors.Is(err, bufio.ErrBufferFull):
			close(f.ended)
			return len(f.line) > 0
		}
	}
}

// isRequest reports whether a call wants an answer: notifications have no id.
func isRequest(call []byte) bool {
	members, err := tool.SplitObject(call)
	return err == nil && slices.ContainsFunc(members, func(m tool.Field) bool { return m.Key == "id" })
}

// classify tells JSON-RPC 2.0 from other lines by its one mandatory member, and requests and
// notifications from answers by theirs. Batches (an array, revision 2025-03-26 only) are not messages:
// no server in use sends them and the SDK reads none.
func classify(line []byte) (isMessage, isCall bool) {
	if len(line) == 0 || line[0] != '{' {
		return false, false
	}
	members, err := tool.SplitObject(line)
	if err != nil {
		return false, false
	}
	for _, m := range members {
		isMessage = isMessage || m.Key == "jsonrpc"
		isCall = isCall || m.Key == "method" && m.Value[0] == '"'
	}
	return isMessage, isCall
}
