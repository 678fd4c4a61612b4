// Package packed writes numbers and texts one after the other, and reads them again. The packed index (pkg/index) and
// the rankings inside it (pkg/search) are made of them.
//
// Write with [AppendText], [AppendTexts] and the varints of encoding/binary; read with a [Reader], in the same order.
// The package knows nothing of what the numbers mean: versions, sections and checksums belong to the formats.
package packed

import "encoding/binary"

// AppendText appends a text: its length as a uvarint, then its bytes.
func AppendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// AppendTexts appends a list of texts: their number as a uvarint, then each of them.
func AppendTexts(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, text := range list {
		b = AppendText(b, text)
	}
	return b
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
	v, n := binary.Varint(r.Rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.Rest = r.Rest[n:]
	return v
}

// Uint64 reads eight bytes as a little-endian number.
func (r *Reader) Uint64() uint64 {
	if b := r.Bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
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

// Texts reads a list of texts.
func (r *Reader) Texts() []string {
	var list []string
	for range r.Count() {
		list = append(list, r.Text())
	}
	return list
}
