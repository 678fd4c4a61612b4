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

// A frame is its kind (one byte), the length of its payload (uint32, big-endian) and the payload: JSON, and behind it
// raw texts, each after a NUL, which JSON does not contain. Raw texts cross byte for byte, which JSON within JSON would
// not.
//
// The daemon sends a greeting, so that a client knows which daemon has its request. Both may speak first: the daemon
// begins with nothing before it has sent the greeting, and refuses clients of another version.
//
//	daemon: greeting
//	client: query
//	daemon: any number of event, notification, progress, message, question, withdrawal and beat
//	client: a reply to each question that is not withdrawn
//	client: cancel, or the end of the stream, at any time: it gives the request up
//	daemon: one of answer, failure, upstream, decline, refusal; to one that watches an answer before its notifications,
//	        and a refusal when they end
//
// An unexpected frame ends the request.
type kind byte

const (
	kindGreeting   kind = 'g' // see greeting
	kindQuery      kind = 'q' // see query; a call's arguments or a request's params, the environment
	kindReply      kind = 'y' // see reply; the content or result, the data of an error
	kindCancel     kind = 'c' // empty
	kindEvent      kind = 'e' // see event
	kindNotify     kind = 'i' // see tool.Event; the params
	kindProgress   kind = 'p' // see tool.Progress; the raw form
	kindMessage    kind = 'm' // see tool.Message; the data, the raw form
	kindQuestion   kind = '?' // see question; the schema, the raw form
	kindWithdrawal kind = 'w' // a question's id, which needs no reply any more
	kindBeat       kind = 'b' // empty: the request is still being worked on
	kindAnswer     kind = 'r' // see answer; a Status; empty if the daemon does it and the client need not wait
	kindFailure    kind = 'f' // a fault.Fault
	kindUpstream   kind = 'u' // see tool.UpstreamError; the data
	kindDecline    kind = 'd' // empty: the daemon does not serve this server, nothing was done
	kindRefusal    kind = 'n' // empty: the daemon is ending, nothing was done
)

// The largest payloads, in bytes. A client could make the daemon hold as much as it sends, so that its frames have a
// lower bound: the one that messages of servers have too.
const (
	maxFrame     = 1 << 30                   // of any frame
	maxQuery     = 1 << 20                   // of a query's JSON, and of its environment
	maxArguments = 64 << 20                  // of the arguments of a query, and of the reply to a question
	maxRequest   = maxArguments + 2*maxQuery // of a client's frame
)

// smallFrame is the largest payload that is read and written in one piece.
const smallFrame = 64 << 10

// separator stands before each raw text, and between the assignments of an environment. They contain no NUL and need
// not be UTF-8.
const separator = "\x00"

// stream is one connection. Several goroutines may write frames, one may read them.
type stream struct {
	pipe
	in *bufio.Reader
	// most is the largest payload that is read.
	most uint32
	// patience is how long one write may take, beside the time for a large frame. Zero sets no limit.
	patience time.Duration

	mu sync.Mutex // held for writing
}

// newStream returns the stream of a connection from which payloads of at most so many bytes are read.
func newStream(p pipe, most uint32) *stream {
	return &stream{pipe: p, in: bufio.NewReader(p), most: most}
}

// readWithin sets the time limit of the reads from now on. Zero lifts it. That fails only on a closed connection, and
// then so does the next read.
func (s *stream) readWithin(d time.Duration) { _ = s.SetReadDeadline(deadline(d)) }

// interrupt makes reads fail with os.ErrDeadlineExceeded, also one that waits.
func (s *stream) interrupt() { _ = s.SetReadDeadline(time.Unix(1, 0)) }

// deadline returns the end of a limit that begins now.
func deadline(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}

func (s *stream) read() (kind, []byte, error) { return readFrame(s.in, s.most) }

// headSize is the size of what stands before a payload: its kind and its size.
const headSize = 5

// readFrame reads one frame with a payload of at most so many bytes. The memory for a large one grows as it arrives.
func readFrame(r io.Reader, most uint32) (kind, []byte, error) {
	var head [headSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	switch {
	case size > most:
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

// unpack decodes the JSON of a payload, and then its raw texts, an empty or missing one as nil. The last one may
// contain NULs.
func unpack(payload []byte, head any, raws ...*json.RawMessage) error {
	parts := bytes.SplitN(payload, []byte(separator), 1+len(raws))
	if err := json.Unmarshal(parts[0], head); err != nil {
		return err
	}
	for i, raw := range raws {
		if *raw = nil; i+1 < len(parts) && len(parts[i+1]) > 0 {
			*raw = slices.Clip(parts[i+1])
		}
	}
	return nil
}

// frame is a frame to send. Its payload is the concatenation of the parts.
type frame struct {
	kind    kind
	payload [][]byte
}

// pack returns a frame of JSON and raw texts.
func pack(k kind, head any, raws ...[]byte) frame {
	data, _ := json.Marshal(head) // if it does not encode, the other side fails to decode it
	f := frame{k, [][]byte{data}}
	for _, raw := range raws {
		f.payload = append(f.payload, []byte(separator), raw)
	}
	return f
}

// fits reports whether the daemon takes the query that is packed with arguments and an environment.
func fits(head, args, environ []byte) bool {
	return len(head) <= maxQuery && len(environ) <= maxQuery && len(args) <= maxArguments
}

// send sends a frame, a small one in one piece.
func (s *stream) send(f frame) error {
	size := 0
	for _, part := range f.payload {
		size += len(part)
	}
	if size > maxFrame {
		return fmt.Errorf("a frame of %d bytes", size)
	}
	head := binary.BigEndian.AppendUint32([]byte{byte(f.kind)}, uint32(size))
	parts := slices.Concat([][]byte{head}, f.payload)
	if size <= smallFrame {
		parts = [][]byte{slices.Concat(parts...)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.patience
	if limit > 0 {
		limit += transfer(size)
	}
	_ = s.SetWriteDeadline(deadline(limit)) // fails only on a closed connection, and then so does Write
	for _, part := range parts {
		if _, err := s.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// leastRate is how many bytes a second a socket carries on a machine that is busy with other things.
const leastRate = 4 << 20

// transfer returns how long a frame may take to cross.
func transfer(size int) time.Duration { return time.Duration(size) * time.Second / leastRate }

// awaitLarge gives the next frame the time that its size needs beside d.
func (s *stream) awaitLarge(d time.Duration) {
	s.readWithin(d)
	if head, err := s.in.Peek(headSize); err == nil { // else the next read fails in the same way
		s.readWithin(d + transfer(int(min(binary.BigEndian.Uint32(head[1:]), s.most))))
	}
}

// expect reads one frame, which must be of this kind, and decodes it.
func (s *stream) expect(want kind, head any, raws ...*json.RawMessage) error {
	got, payload, err := s.read()
	if err == nil && got != want {
		err = fmt.Errorf("a frame of kind %q where %q belongs", got, want)
	}
	if err != nil {
		return err
	}
	return unpack(payload, head, raws...)
}

func (s *stream) close() { _ = s.Close() } // nothing more is done with it
