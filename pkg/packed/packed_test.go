package packed

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// sample returns one of each thing, appended.
func sample() []byte {
	b := binary.AppendUvarint(nil, math.MaxUint64)
	b = binary.AppendVarint(b, -7)
	b = binary.LittleEndian.AppendUint64(b, 1<<60)
	b = append(b, 9)
	b = AppendText(b, "äé")
	b = AppendText(b, "")
	b = AppendTexts(b, []string{"a", "", "bc"})
	return AppendTexts(b, nil)
}

// read reads what sample appended, and reports whether it is that.
func read(r *Reader) bool {
	return r.Uvarint() == math.MaxUint64 && r.Varint() == -7 && r.Uint64() == 1<<60 && r.Byte() == 9 &&
		r.Text() == "äé" && r.Text() == "" && slices.Equal(r.Texts(), []string{"a", "", "bc"}) && r.Texts() == nil
}

func TestReadBack(t *testing.T) {
	t.Parallel()
	r := &Reader{Rest: sample()}
	if !read(r) || r.Bad || len(r.Rest) > 0 {
		t.Errorf("%+v", r)
	}
}

// Bytes that end early are bad wherever that is, and stay so.
func TestCutShort(t *testing.T) {
	t.Parallel()
	whole := sample()
	for n := range whole {
		r := &Reader{Rest: whole[:n]}
		read(r)
		r.Texts() // read stops at the first thing that differs
		if r.Byte() != 0 || r.Uint64() != 0 || r.Varint() != 0 || r.Text() != "" || !r.Bad || r.Rest != nil {
			t.Errorf("%d of %d bytes: %+v", n, len(whole), r)
		}
	}
}

func TestNumbersThatLie(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(*Reader){
		"a count":  func(r *Reader) { r.Count() },
		"a length": func(r *Reader) { r.Text() },
		"a list":   func(r *Reader) { r.Texts() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Reader{Rest: append(binary.AppendUvarint(nil, math.MaxUint64), "abc"...)}
			if use(r); !r.Bad {
				t.Errorf("%+v", r)
			}
		})
	}
	r := &Reader{Rest: bytes.Repeat([]byte{0xff}, 20)}
	if r.Uvarint() != 0 || !r.Bad {
		t.Errorf("a number of too many bytes: %+v", r)
	}
}

// FuzzReader: any bytes are read to their end or bad, never a panic.
func FuzzReader(f *testing.F) {
	f.Add(sample())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &Reader{Rest: data}
		for len(r.Rest) > 0 && !r.Bad {
			before := len(r.Rest)
			r.Texts()
			r.Varint()
			if len(r.Rest) >= before {
				t.Fatalf("nothing was read of %q", r.Rest)
			}
		}
	})
}
