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
// The daemon greets, so that a client knows whom it has handed its request to. Both may speak first:
// the daemon begins with nothing before it has greeted, and refuses clients of another version.
//
//	daemon: greeting
//	client: query; for what is done with servers the environment; for a call its arguments
//	daemon: any number of event, progress, message, question, withdrawal and beat
//	client: a reply to each question that is not withdrawn
//	client: cancel, or the end of the stream, at any time: the request is given up
//	daemon: one of result, listing, report, taken, failure, decline, refusal
//
// Both sides take a frame that does not belong for the end of the stream.
type kind byte

const (
	kindGreeting   kind = 'g' // JSON, see greeting
	kindQuery      kind = 'q' // JSON, see query
	kindEnviron    kind = 'v' // assignments, separated by NUL
	kindArguments  kind = 'a' // a call's arguments, byte for byte
	kindReply      kind = 'y' // JSON, see reply
	kindCancel     kind = 'c' // empty
	kindEvent      kind = 'e' // JSON, see event
	kindProgress   kind = 'p' // JSON, see tool.Progress
	kindMessage    kind = 'm' // JSON, see message
	kindQuestion   kind = '?' // JSON, see question
	kindWithdrawal kind = 'w' // JSON of a question's id: it needs no reply any more
	kindBeat       kind = 'b' // empty: the request is still being worked on
	kindResult     kind = 'r' // one byte, 1 where the tool reports an error, then the result byte for byte
	kindListing    kind = 't' // JSON, see listing
	kindReport     kind = 's' // JSON, see Status
	kindTaken      kind = 'k' // empty: it is going to be done, and nobody need wait for it
	kindFailure    kind = 'f' // JSON of a fault.Fault
	kindDecline    kind = 'd' // empty: this server has no place in a daemon, nothing was done
	kindRefusal    kind = 'n' // empty: the daemon is ending, nothing was done
)

// maxFrame bounds a payload. A message of a server is bounded far below it.
const maxFrame = 1 << 30

// smallFrame is up to which size a payload is read and written in one piece.
const smallFrame = 64 << 10

// pipe is what a stream goes through.
type pipe interface {
	io.ReadWriteCloser
	// readWithin and writeWithin bound what is read and written from now on; 0 lifts the limit.
	readWithin(d time.Duration)
	writeWithin(d time.Duration)
	// interrupt ends reading, also a read that waits, with os.ErrDeadlineExceeded.
	interrupt()
}

// stream is one connection. Frames may be written concurrently, and read by one at a time.
type stream struct {
	pipe
	in *bufio.Reader
	// patience is how long one write may take; 0 is no limit.
	patience time.Duration

	mu sync.Mutex // held for writing
}

func newStream(p pipe) *stream { return &stream{pipe: p, in: bufio.NewReader(p)} }

func (s *stream) read() (kind, []byte, error) { return readFrame(s.in) }

// readFrame reads one frame. What a large one needs is allocated as it arrives.
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

// whole makes of the end of the stream within a frame what it is.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// frame is one to be sent; its payload is these parts.
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

// expect reads one frame, which has to be of that kind.
func (s *stream) expect(want kind) ([]byte, error) {
	got, payload, err := s.read()
	if err == nil && got != want {
		err = fmt.Errorf("a frame of kind %q where %q belongs", got, want)
	}
	return payload, err
}

// readJSON reads one frame, which has to be of that kind, into v.
func (s *stream) readJSON(want kind, v any) error {
	payload, err := s.expect(want)
	if err != nil {
		return err
	}
	return json.Unmarshal(payload, v)
}

func (s *stream) close() { _ = s.Close() } // there is nothing more to be done with it
