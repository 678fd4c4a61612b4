package search

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/packed"
)

// The packed form of an index. All numbers are little-endian.
//
//	header     magic, version, number of documents, length of the whole, the offsets of the
//	           sections, CRC-32 of all that
//	table      per bucket of the dictionary the offset of its entries; one more for the end
//	entries    (key, offset and length of its value) of every key, by bucket
//	values     posting lists and word lists
//	docs       per document, in the order of (server, name), a record of fixed size
//	folded     per document its texts, folded, one after the other, for substrings
//	text       per document its texts as they came, for regular expressions
//	checksums  CRC-32 of every page of pageSize bytes from the start of the table section
//
// A page is verified when a query first touches it, so that opening an index costs the same for one tool and for
// 100,000. Reads through a verified page are still bounds-checked: a checksum proves that the bytes are the ones
// written, not that they make sense.
//
// Changelog of the format:
//
//	1  the first
//
// Another meaning of words, stems, fields or lengths is another format too: a query looks for the terms that it would
// have indexed.
const formatVersion = 1

const (
	magic    = "mcplidx\x00"
	pageSize = 4096

	sectTable = iota - 2
	sectEntries
	sectValues
	sectDocs
	sectFolded
	sectText
	sectChecksums
	sectCount
)

// headerSize is the length of the header: magic, version, documents, length, offsets, CRC.
const headerSize = len(magic) + 4 + 4 + 8 + 8*sectCount + 4

// docRecord is the length of a record of the docs section: the document's number (4 bytes) and
// the ends of its text in the folded and the text section (8 bytes each).
const docRecord = 4 + 8 + 8

// Index is an opened index. It is read-only and safe for concurrent use.
type Index struct {
	b       []byte
	docs    int
	buckets uint64
	start   [sectCount + 1]uint64 // offsets of the sections, and the end
}

// Texts returns where the texts lie that only regex and exact read: most of the index.
func (ix *Index) Texts() (from, to int) {
	return int(ix.start[sectFolded]), int(ix.start[sectChecksums])
}

// Len returns the number of documents.
func (ix *Index) Len() int { return ix.docs }

// Open reads the header of b, an index made by [Build], and returns an Index that reads b in place; b must not change
// while it is in use. The error wraps [ErrVersion] if b is of another version, and [ErrCorrupt] if b is damaged.
// Damage behind the header shows when a query meets it.
func Open(b []byte) (*Index, error) {
	if len(b) < len(magic)+4 || string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not start like one", ErrCorrupt)
	}
	le := binary.LittleEndian
	if v := le.Uint32(b[len(magic):]); v != formatVersion {
		return nil, fmt.Errorf("%w: %d, not %d", ErrVersion, v, formatVersion)
	}
	if len(b) < headerSize {
		return nil, fmt.Errorf("%w: it ends in the header", ErrCorrupt)
	}
	if le.Uint32(b[headerSize-4:]) != crc32.ChecksumIEEE(b[:headerSize-4]) {
		return nil, fmt.Errorf("%w: the checksum of the header does not fit", ErrCorrupt)
	}
	ix := &Index{b: b, docs: int(le.Uint32(b[len(magic)+4:]))}
	if n := le.Uint64(b[len(magic)+8:]); n != uint64(len(b)) {
		return nil, fmt.Errorf("%w: %d bytes instead of %d", ErrCorrupt, len(b), n)
	}
	for i := range sectCount {
		ix.start[i] = le.Uint64(b[len(magic)+16+8*i:])
	}
	ix.start[sectCount] = uint64(len(b))
	if err := ix.checkSections(); err != nil {
		return nil, err
	}
	ix.buckets = (ix.start[sectEntries]-ix.start[sectTable])/8 - 1
	return ix, nil
}

// checkSections verifies that the sections follow one another and have the sizes that the rest of the package relies
// on.
func (ix *Index) checkSections() error {
	s := &ix.start
	if s[sectTable] != uint64(headerSize) || !slices.IsSorted(s[:]) {
		return fmt.Errorf("%w: a section is out of place", ErrCorrupt)
	}
	table := s[sectEntries] - s[sectTable]
	pages := (s[sectChecksums] - s[sectTable] + pageSize - 1) / pageSize
	switch {
	case table < 16, table%8 != 0,
		s[sectFolded]-s[sectDocs] != uint64(ix.docs)*docRecord,
		s[sectCount]-s[sectChecksums] != 4*pages:
		return fmt.Errorf("%w: a section has the wrong size", ErrCorrupt)
	}
	return nil
}

// Verify looks at all of the index, as a query does at the parts that it reads. The error wraps [ErrCorrupt].
func (ix *Index) Verify() error {
	r := ix.reader()
	for page := uint64(0); ix.start[0]+page*pageSize < ix.start[sectChecksums]; page++ {
		if err := r.verify(page); err != nil {
			return err
		}
	}
	return nil
}

// reader reads an index for one query, verifying each page once.
type reader struct {
	ix   *Index
	seen []uint64 // a bit for each verified page
}

func (ix *Index) reader() *reader {
	pages := (ix.start[sectChecksums]-ix.start[sectTable])/pageSize + 1
	return &reader{ix: ix, seen: make([]uint64, pages/64+1)}
}

// section returns the bytes from..to of a section, verified.
func (r *reader) section(sect int, from, to uint64) ([]byte, error) {
	s := &r.ix.start
	if size := s[sect+1] - s[sect]; from > to || to > size {
		return nil, fmt.Errorf("%w: an offset points outside its section", ErrCorrupt)
	}
	from, to = s[sect]+from, s[sect]+to
	if from == to {
		return nil, nil
	}
	first, last := (from-s[0])/pageSize, (to-1-s[0])/pageSize
	for p := first; p <= last; p++ {
		if r.seen[p/64]&(1<<(p%64)) != 0 {
			continue
		}
		if err := r.verify(p); err != nil {
			return nil, err
		}
		r.seen[p/64] |= 1 << (p % 64)
	}
	return r.ix.b[from:to:to], nil
}

func (r *reader) verify(page uint64) error {
	ix := r.ix
	from := ix.start[0] + page*pageSize
	to := min(from+pageSize, ix.start[sectChecksums])
	want := binary.LittleEndian.Uint32(ix.b[ix.start[sectChecksums]+4*page:])
	if crc32.ChecksumIEEE(ix.b[from:to]) != want {
		return fmt.Errorf("%w: the checksum of a page does not fit", ErrCorrupt)
	}
	return nil
}

// lookup returns the value of key. It is nil if the dictionary does not have it.
func (r *reader) lookup(key string) ([]byte, error) {
	bucket := hash(key) % r.ix.buckets
	ends, err := r.section(sectTable, 8*bucket, 8*bucket+16)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	entries, err := r.section(sectEntries, le.Uint64(ends), le.Uint64(ends[8:]))
	if err != nil {
		return nil, err
	}
	for d := (packed.Reader{Rest: entries}); len(d.Rest) > 0; {
		name := d.Bytes(d.Uvarint())
		from, size := d.Uvarint(), d.Uvarint()
		switch {
		case d.Bad:
			return nil, endsEarly()
		case string(name) != key:
		case from+size < from:
			return nil, ErrCorrupt
		default:
			return r.section(sectValues, from, from+size)
		}
	}
	return nil, nil
}

// doc returns the number of the i-th document in the order of (server, name).
func (r *reader) doc(i int) (doc int, err error) {
	b, err := r.section(sectDocs, uint64(i)*docRecord, uint64(i+1)*docRecord)
	if err != nil {
		return 0, err
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n >= r.ix.docs {
		return 0, fmt.Errorf("%w: a document number is too large", ErrCorrupt)
	}
	return n, nil
}

// hash is FNV-1a, 64 bits, with its upper half mixed in. The hash is part of the format, since one machine makes the
// dictionary and another may read it.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h ^ h>>32
}

// endsEarly is the error of a list that a reader found too short.
func endsEarly() error { return fmt.Errorf("%w: a list ends early", ErrCorrupt) }
