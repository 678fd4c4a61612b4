package daemon

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// A frame is its kind (one byte), the length of its payload (uint32, big-endian) and the payload.
//
// The daemon sends a greeting, so that a client knows which daemon has its request. Both may speak first: the daemon
// begins with nothing before it has sent the greeting, and refuses clients of another version.
//
//	daemon: greeting
//	client: query; then the environment if the request is to a server; then the arguments of a call, or the params of
//	        a request
//	daemon: any number of event, notification, progress, message, question, withdrawal and beat
//	client: a reply to each question that is not withdrawn
//	client: cancel, or the end of the stream, at any time: it gives the request up
//	daemon: one of result, listing, report, taken, failure, upstream, decline, refusal; to one that watches a taken
//	        before its notifications, and a refusal when they end
//
// An unexpected frame ends the request. Packed payloads are those of pack: JSON and raw texts beside it.
type kind byte

const (
	kindGreeting   kind = 'g' // JSON, see greeting
	kindQuery      kind = 'q' // JSON, see query
	kindEnviron    kind = 'v' // assignments, separated by NUL
	kindArguments  kind = 'a' // a call's arguments, or a request's params, byte for byte
	kindReply      kind = 'y' // packed, see reply; the content or result, the data of an error
	kindCancel     kind = 'c' // empty
	kindEvent      kind = 'e' // packed, see event
	kindNotify     kind = 'i' // packed, see tool.Event; the params
	kindProgress   kind = 'p' // packed, see tool.Progress; the raw form
	kindMessage    kind = 'm' // packed, see tool.Message; the data, the raw form
	kindQuestion   kind = '?' // packed, see question; the schema, the raw form
	kindWithdrawal kind = 'w' // packed: a question's id, which needs no reply any more
	kindBeat       kind = 'b' // empty: the request is still being worked on
	kindResult     kind = 'r' // one byte, 1 if the tool reports an error, then the result byte for byte
	kindListing    kind = 't' // packed, see listing; the definitions
	kindReport     kind = 's' // JSON, see Status
	kindTaken      kind = 'k' // the daemon does it, and the client need not wait
	kindFailure    kind = 'f' // JSON of a fault.Fault
	kindUpstream   kind = 'u' // packed, see tool.UpstreamError; the data
	kindDecline    kind = 'd' // empty: the daemon does not serve this server, nothing was done
	kindRefusal    kind = 'n' // empty: the daemon is ending, nothing was done
)

// maxFrame bounds a payload. The messages of servers have a far lower bound.
const maxFrame = 1 << 30

// smallFrame is the largest payload that is read and written in one piece.
const smallFrame = 64 << 10

// pipe is the connection under a stream.
type pipe interface {
	io.ReadWriteCloser
	// readWithin and writeWithin set the time limit of the reads and writes from now on. Zero lifts it.
	readWithin(d time.Duration)
	writeWithin(d time.Duration)
	// interrupt makes reads fail with os.ErrDeadlineExceeded, also one that waits.
	interrupt()
}

// stream is one connection. Several goroutines may write frames, one may read them.
type stream struct {
	pipe
	in *bufio.Reader
	// patience is how long one write may take. Zero sets no limit.
	patience time.Duration

	mu sync.Mutex // held for writing
}

func newStream(p pipe) *stream { return &stream{pipe: p, in: bufio.NewReader(p)} }

func (s *stream) read() (kind, []byte, error) { return readFrame(s.in) }

// readFrame reads one frame. The memory for a large one grows as the frame arrives.
func readFrame(r io.Reader) (kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	switch {
	case size > maxFrame:
		return 0, nil, fmt.Errorf("a frame of %d bytes", size)
	case size <= smallFrame:
		payload := make([]byte, size)
		_, err := io.ReadFull(r, payload)
		return kind(head[0]), payload, whole(err)
	}
	var b bytes.Buffer
	_, err := io.CopyN(&b, r, int64(size))
	return kind(head[0]), b.Bytes(), whole(err)
}

// whole turns an EOF inside a frame into io.ErrUnexpectedEOF.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// frame is a frame to send. Its payload is the concatenation of the parts.
type frame struct {
	kind    kind
	payload [][]byte
}

// write sends one frame.
func (s *stream) write(k kind, payload ...[]byte) error { return s.send(frame{k, payload}) }

// send sends frames, small ones in one piece.
func (s *stream) send(frames ...frame) error {
	var parts [][]byte
	total := 0
	for _, f := range frames {
		size := 0
		for _, part := range f.payload {
			size += len(part)
		}
		if size > maxFrame {
			return fmt.Errorf("a frame of %d bytes", size)
		}
		head := binary.BigEndian.AppendUint32(append(make([]byte, 0, 5), byte(f.kind)), uint32(size))
		parts = append(append(parts, head), f.payload...)
		total += len(head) + size
	}
	if total <= smallFrame {
		parts = [][]byte{slices.Concat(parts...)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeWithin(s.patience)
	for _, part := range parts {
		if _, err := s.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// writeJSON sends one frame of JSON.
func (s *stream) writeJSON(k kind, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.write(k, data)
}

// writePacked sends one packed frame.
func (s *stream) writePacked(k kind, head any, raws ...[]byte) error {
	payload, err := pack(head, raws...)
	if err != nil {
		return err
	}
	return s.write(k, payload)
}

// expect reads one frame, which must be of this kind.
func (s *stream) expect(want kind) ([]byte, error) {
	got, payload, err := s.read()
	if err == nil && got != want {
		err = fmt.Errorf("a frame of kind %q where %q belongs", got, want)
	}
	return payload, err
}

// readJSON reads one frame of JSON, which must be of this kind, into v.
func (s *stream) readJSON(want kind, v any) error {
	payload, err := s.expect(want)
	if err != nil {
		return err
	}
	return json.Unmarshal(payload, v)
}

func (s *stream) close() { _ = s.Close() } // nothing more is done with it
