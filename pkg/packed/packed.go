// Package packed writes numbers and texts one after the other, and reads them again. The packed index (pkg/index) and
// the rankings inside it (pkg/search) are made of them.
//
// A [Codec] writes values or reads them, so that one function names the parts of a record in their order. A [Reader]
// alone reads what [AppendText] and the varints of encoding/binary have written. The package knows nothing of what the
// numbers mean: versions, sections and checksums belong to the formats.
package packed

import "encoding/binary"

// AppendText appends a text: its length as a uvarint, then its bytes.
func AppendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// Reader reads what was appended to some bytes. After the first thing that is not there, Bad is set and every further
// read is zero, so that callers check once, at the end. It is for one goroutine.
type Reader struct {
	// Rest is what was not read yet.
	Rest []byte
	// Bad says that the bytes ended early, or held what cannot be read.
	Bad bool
}

func (r *Reader) fail() { r.Rest, r.Bad = nil, true }

// Uvarint reads a number.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.Rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.Rest = r.Rest[n:]
	return v
}

// Varint reads a number that may be negative.
func (r *Reader) Varint() int64 {
	v := r.Uvarint()
	return int64(v>>1) ^ -int64(v&1) // as binary.Varint does
}

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if b := r.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// Bytes reads n bytes. They stay part of what is read from; nil if there are fewer.
func (r *Reader) Bytes(n uint64) []byte {
	if n > uint64(len(r.Rest)) {
		r.fail()
		return nil
	}
	b := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return b
}

// Count reads the number of things that follow, each of at least one byte. A larger number than there are bytes is
// Bad, so that no caller makes room for it.
func (r *Reader) Count() int {
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		r.fail()
		return 0
	}
	return int(n)
}

// Text reads a text, and copies it.
func (r *Reader) Text() string { return string(r.Bytes(r.Uvarint())) }

// Codec writes values one after the other, or reads them again in the same order.
type Codec struct {
	From *Reader // if nil, the codec writes
	To   []byte  // what was written
}

// Text codes texts.
func Text[S ~string](c *Codec, list ...*S) {
	for _, v := range list {
		if c.From == nil {
			c.To = AppendText(c.To, string(*v))
		} else {
			*v = S(c.From.Text())
		}
	}
}

// Number codes numbers, as varints that may be negative.
func Number[N ~int | ~int64 | ~uint64](c *Codec, list ...*N) {
	for _, v := range list {
		if c.From == nil {
			c.To = binary.AppendVarint(c.To, int64(*v))
		} else {
			*v = N(c.From.Varint())
		}
	}
}

// List codes the length of a list, and each of its elements.
func List[T any](c *Codec, list *[]T, each func(*Codec, *T)) {
	if c.From == nil {
		c.To = binary.AppendUvarint(c.To, uint64(len(*list)))
	} else {
		*list = append(*list, make([]T, c.From.Count())...)
	}
	for i := range *list {
		each(c, &(*list)[i])
	}
}

// Texts codes a list of texts.
func Texts(c *Codec, list *[]string) { List(c, list, func(c *Codec, v *string) { Text(c, v) }) }
