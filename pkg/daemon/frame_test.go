package daemon

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

func TestFrame(t *testing.T) {
	t.Parallel()
	frame := func(size uint32, payload string) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{'q'}, size), payload...)
	}
	large := string(bytes.Repeat([]byte("x"), smallFrame+1))
	for _, text := range []string{"", "{}", large} {
		k, got, err := readFrame(bytes.NewReader(frame(uint32(len(text)), text)))
		if err != nil || k != kindQuery || string(got) != text {
			t.Errorf("%q, %d bytes, %v", k, len(got), err)
		}
		if text == "" {
			continue
		}
		if _, _, err := readFrame(bytes.NewReader(frame(uint32(len(text)), text[1:]))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut off: %v", err)
		}
	}
	if _, _, err := readFrame(bytes.NewReader(nil)); !errors.Is(err, io.EOF) {
		t.Errorf("no frame: %v", err)
	}
	if _, _, err := readFrame(bytes.NewReader(frame(maxFrame+1, ""))); err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("too large: %v", err)
	}
}

// packed returns a packed payload.
func packed(head string, raws ...string) string {
	var b []byte
	for _, part := range append([]string{head}, raws...) {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(part))), part...)
	}
	return string(b)
}

// FuzzFrames reads what a stranger wrote into the socket: nothing panics, nothing is allocated that
// did not come.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("r\x00\x00\x00\x03\x01{}f\x00\x00\x00\x02{}"))
	listing := packed(`{"Counts":[1,0,0]}`, `{"name":"t"}`)
	f.Add([]byte("t\x00\x00\x00" + string(rune(len(listing))) + listing))
	f.Add([]byte("f\x00\x00\x00\x1b{\"type\":\"x\",\"result\":[1.0]}"))
	f.Add([]byte("q\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			k, payload, err := readFrame(r)
			if err != nil {
				return
			}
			if len(payload) > len(data) {
				t.Fatalf("a payload of %d bytes in %d", len(payload), len(data))
			}
			switch k {
			case kindResult:
				if res, err := unpackResult(payload); err == nil && len(res.Raw) != len(payload)-1 {
					t.Fatal("a result of another size")
				}
			case kindListing:
				if l, err := unpackListing(payload); err == nil {
					for _, def := range l.Tools {
						if def.Name == "" {
							t.Fatal("a tool without a name")
						}
					}
				}
			case kindFailure:
				if fault, err := unpackFault(payload); err == nil && fault.Type == "" {
					t.Fatal("a fault without a type")
				}
			}
		}
	})
}
