package example

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
)

// colour is an index into the palette of a picture.
type colour byte

const (
	white colour = iota
	axisGray
	red
	green
	orange
	gray
	blue
)

// palette holds the red, green and blue of each colour.
const palette = "\xff\xff\xff" + "\x60\x60\x60" + "\xcc\x33\x33" + "\x33\x99\x55" + "\xee\x88\x22" +
	"\x88\x88\x88" + "\x33\x66\xcc"

// picture is a PNG in the making (PNG specification, 3rd edition, 5 and 11): one byte a pixel. The packages of image
// would do, but every process of mcpl would pay for the forty interface tables that they bring.
type picture struct {
	width, height int
	pixels        []byte // rows from the top, each behind the number of its filter, 0
}

func newPicture(width, height int) *picture {
	return &picture{width, height, make([]byte, (width+1)*height)} // all white
}

// fill paints the pixels from (left, top) up to (right, bottom), those not included. The corners may come in any order.
func (p *picture) fill(left, top, right, bottom int, c colour) {
	left, right = min(left, right), max(left, right)
	top, bottom = min(top, bottom), max(top, bottom)
	for y := max(top, 0); y < min(bottom, p.height); y++ {
		for x := max(left, 0); x < min(right, p.width); x++ {
			p.pixels[y*(p.width+1)+1+x] = byte(c)
		}
	}
}

// png returns the picture as a file.
func (p *picture) png() []byte {
	header := binary.BigEndian.AppendUint32(nil, uint32(p.width))
	header = binary.BigEndian.AppendUint32(header, uint32(p.height))
	header = append(header, 8, 3, 0, 0, 0) // 8 bits a pixel, into the palette; deflate, filters, no interlace
	var rows bytes.Buffer
	w := zlib.NewWriter(&rows)
	_, _ = w.Write(p.pixels) // a buffer takes everything
	_ = w.Close()
	file := []byte("\x89PNG\r\n\x1a\n")
	for _, part := range []struct{ name, data string }{
		{"IHDR", string(header)}, {"PLTE", palette}, {"IDAT", rows.String()}, {"IEND", ""},
	} {
		file = binary.BigEndian.AppendUint32(file, uint32(len(part.data)))
		file = append(file, part.name+part.data...)
		file = binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE([]byte(part.name+part.data)))
	}
	return file
}
