package daemon

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestFrame(t *testing.T) {
	t.Parallel()
	frame := func(size uint32, payload string) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{'q'}, size), payload...)
	}
	large := string(bytes.Repeat([]byte("x"), smallFrame+1))
	for _, text := range []string{"", "{}", large} {
		k, got, err := readFrame(bytes.NewReader(frame(uint32(len(text)), text)), maxFrame)
		if err != nil || k != kindQuery || string(got) != text {
			t.Errorf("%q, %d bytes, %v", k, len(got), err)
		}
		if text == "" {
			continue
		}
		cut := bytes.NewReader(frame(uint32(len(text)), text[1:]))
		if _, _, err := readFrame(cut, maxFrame); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut off: %v", err)
		}
	}
	if _, _, err := readFrame(bytes.NewReader(nil), maxFrame); !errors.Is(err, io.EOF) {
		t.Errorf("no frame: %v", err)
	}
	_, _, err := readFrame(bytes.NewReader(frame(maxFrame+1, "")), maxFrame)
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("too large: %v", err)
	}
}

// packed returns the payload of a frame.
func packed(head string, raws ...string) string {
	return strings.Join(append([]string{head}, raws...), separator)
}

// Raw texts cross byte for byte, and stand for nil if they are missing.
func TestPack(t *testing.T) {
	t.Parallel()
	f := pack(kindMessage, 7, []byte("{ \"a\":1.0,\"b\":\"\xff\" }"), nil, []byte("x\x00y"))
	var head int
	var first, second, third, missing json.RawMessage
	if err := unpack(bytes.Join(f.payload, nil), &head, &first, &second, &third); err != nil || head != 7 ||
		string(first) != string(f.payload[2]) || second != nil || string(third) != "x\x00y" {
		t.Errorf("%d, %q, %q, %q, %v", head, first, second, third, err)
	}
	if err := unpack([]byte("{}"), new(struct{}), &missing); err != nil || missing != nil {
		t.Errorf("%q, %v", missing, err)
	}
	if err := unpack([]byte("[\x00{}"), &head, &first); err == nil {
		t.Error("broken JSON was taken")
	}
}

// FuzzFrames reads what a stranger wrote into the socket: nothing panics, nothing is allocated that
// did not come.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("r\x00\x00\x00\x07true\x00{}f\x00\x00\x00\x02{}"))
	listing := packed(`{"Stderr":"x"}`, `[{"name":"t"}]`, `[]`, `[]`)
	f.Add([]byte("r\x00\x00\x00" + string(rune(len(listing))) + listing))
	f.Add([]byte("f\x00\x00\x00\x1b{\"type\":\"x\",\"result\":[1.0]}"))
	f.Add([]byte("q\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			k, payload, err := readFrame(r, maxFrame)
			if err != nil {
				return
			}
			if len(payload) > len(data) {
				t.Fatalf("a payload of %d bytes in %d", len(payload), len(data))
			}
			switch k {
			case kindAnswer:
				if a, err := unpackAnswer(opCall, payload); err == nil && len(a.result.Raw) > len(payload)-len("true") {
					t.Fatal("a result of another size")
				}
				if a, err := unpackAnswer(opTools, payload); err == nil {
					for _, def := range a.listing.Tools {
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
