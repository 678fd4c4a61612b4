package packed

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"testing"
)

// values are one of each thing that a codec knows.
type values struct {
	number, negative int64
	large            uint64
	text, empty      string
	list, none       []string
}

func (v *values) code(c *Codec) {
	Number(c, &v.number, &v.negative)
	Number(c, &v.large)
	Text(c, &v.text, &v.empty)
	Texts(c, &v.list)
	Texts(c, &v.none)
}

var want = values{number: 1 << 60, negative: -7, large: math.MaxUint64, text: "äé", list: []string{"a", "", "bc"}}

// sample returns want and a byte, written.
func sample() []byte {
	c, v := new(Codec), want
	v.code(c)
	return append(c.To, 9)
}

// read reads what sample wrote, and reports whether it is that.
func read(r *Reader) bool {
	var v values
	v.code(&Codec{From: r})
	return reflect.DeepEqual(v, want) && r.Byte() == 9
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
		if r.Byte() != 0 || r.Varint() != 0 || r.Text() != "" || !r.Bad || r.Rest != nil {
			t.Errorf("%d of %d bytes: %+v", n, len(whole), r)
		}
	}
}

func TestNumbersThatLie(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(*Reader){
		"a count":  func(r *Reader) { r.Count() },
		"a length": func(r *Reader) { r.Text() },
		"a list":   func(r *Reader) { Texts(&Codec{From: r}, new([]string)) },
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
			Texts(&Codec{From: r}, new([]string))
			r.Varint()
			if len(r.Rest) >= before {
				t.Fatalf("nothing was read of %q", r.Rest)
			}
		}
	})
}
