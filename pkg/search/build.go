package search

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
	"strings"

	"github.com/kljensen/snowball/english"
)

// Keys of the dictionary are a letter that says what the value is, and a word.
const (
	keyStem  = "s" // postings of a stem
	keyExact = "e" // postings of a word as it stands
)

// Build packs an inverted index over docs. The same documents give the same bytes on every
// platform.
func Build(docs []Document) []byte { return buildWith(docs, DefaultModel()) }

// BuildWith is Build with other constants than the built-in ones, for measuring
// (internal/eval). Of m only the constants of length normalisation matter here.
func BuildWith(docs []Document, m Model) []byte { return buildWith(docs, m) }

func buildWith(docs []Document, m Model) []byte {
	b := builder{docs: docs, values: map[string][]byte{}, stems: map[string]string{}}
	b.order = make([]int, len(docs))
	for i := range b.order {
		b.order[i] = i
	}
	slices.SortFunc(b.order, func(x, y int) int {
		return cmp.Or(strings.Compare(docs[x].Server, docs[y].Server),
			strings.Compare(docs[x].Name, docs[y].Name), x-y)
	})
	b.count()
	b.postings(&m)
	return b.pack()
}

type builder struct {
	docs   []Document
	order  []int // document numbers in the order of (server, name)
	stems  map[string]string
	lists  map[string][]posting
	length [][fieldCount]int // words of each field, by place in order
	values map[string][]byte
}

// posting says how often a term stands in the fields of a document.
type posting struct {
	place int // in builder.order
	freq  [fieldCount]uint16
}

// fieldTexts calls use for each text of d with the field it belongs to.
func fieldTexts(d *Document, use func(field int, text string)) {
	use(fieldServer, d.Server)
	use(fieldName, d.Name)
	use(fieldTitle, d.Title)
	lead, rest := splitLead(d.Description)
	use(fieldLead, lead)
	use(fieldRest, rest)
	for _, p := range d.Params {
		use(fieldParam, p.Name)
		use(fieldParamText, p.Description)
	}
}

// splitLead cuts a description after its first sentence.
func splitLead(s string) (lead, rest string) {
	s = strings.TrimSpace(s)
	for i := range len(s) {
		switch {
		case s[i] == '\n':
			return s[:i], s[i:]
		case (s[i] == '.' || s[i] == '!' || s[i] == '?') && i >= 12 && i+1 < len(s) && (s[i+1] == ' ' || s[i+1] == '\n'):
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// count fills lists and length.
func (b *builder) count() {
	b.lists = map[string][]posting{}
	b.length = make([][fieldCount]int, len(b.docs))
	for place, doc := range b.order {
		fieldTexts(&b.docs[doc], func(field int, text string) {
			for _, t := range words(text) {
				b.add(keyStem+b.stem(t.text), place, field)
				b.add(keyExact+t.text, place, field)
				if !t.whole {
					b.length[place][field]++
				}
			}
		})
	}
}

func (b *builder) stem(word string) string {
	s, ok := b.stems[word]
	if !ok {
		s = stem(word)
		b.stems[word] = s
	}
	return s
}

// stem returns the English stem of a folded word.
func stem(word string) string { return english.Stem(word, true) }

func (b *builder) add(key string, place, field int) {
	list := b.lists[key]
	if n := len(list); n == 0 || list[n-1].place != place {
		list = append(list, posting{place: place})
	}
	if p := &list[len(list)-1]; p.freq[field] < math.MaxUint16 {
		p.freq[field]++
	}
	b.lists[key] = list
}

// postings encodes the lists: per posting the distance from the place before, the mask of
// fields, and for each of them the normalised frequency in one byte.
func (b *builder) postings(m *Model) {
	mean := b.meanLengths()
	for key, list := range b.lists {
		out := binary.AppendUvarint(nil, uint64(len(list)))
		last := -1
		for _, p := range list {
			out = binary.AppendUvarint(out, uint64(p.place-last))
			last = p.place
			at := len(out)
			out = append(out, 0)
			for f, n := range p.freq {
				if n == 0 {
					continue
				}
				out[at] |= 1 << f
				norm := 1 - m.B[f]
				if mean[f] > 0 {
					norm += float64(m.B[f] * float64(b.length[p.place][f]) / mean[f])
				}
				out = append(out, packFreq(float64(n)/norm))
			}
		}
		b.values[key] = out
	}
}

// meanLengths returns the mean length of each field over the documents that have it.
func (b *builder) meanLengths() [fieldCount]float64 {
	var sum, n [fieldCount]int
	for _, l := range b.length {
		for f, words := range l {
			if words > 0 {
				sum[f] += words
				n[f]++
			}
		}
	}
	var mean [fieldCount]float64
	for f := range mean {
		if n[f] > 0 {
			mean[f] = float64(sum[f]) / float64(n[f])
		}
	}
	return mean
}

// A normalised frequency is kept as a float of 4 bits of exponent and 4 of mantissa, that is
// between 2^-8 and 2^8, with a relative error of at most 1/32.
const freqBias = 127 - 8

// packFreq rounds x to the nearest packed frequency.
func packFreq(x float64) byte {
	bits := int64(math.Float32bits(float32(x))) - freqBias<<23
	return byte(min(max((bits+1<<18)>>19, 0), 255))
}

// unpackFreq is the inverse of packFreq.
func unpackFreq(b byte) float32 {
	return math.Float32frombits(uint32(b)<<19 + freqBias<<23)
}

// pack lays the sections out one after the other.
func (b *builder) pack() []byte {
	table, entries, values := b.dictionary()
	var docs, folded, text []byte
	le := binary.LittleEndian
	for _, doc := range b.order {
		d := &b.docs[doc]
		docs = le.AppendUint32(docs, uint32(doc))
		folded = appendTexts(folded, d, fold)
		text = appendTexts(text, d, func(s string) string { return s })
		docs = le.AppendUint64(docs, uint64(len(folded)))
		docs = le.AppendUint64(docs, uint64(len(text)))
	}
	sections := [sectCount][]byte{table, entries, values, docs, folded, text}
	out := make([]byte, headerSize)
	var start [sectCount]int
	for i, s := range sections {
		start[i] = len(out)
		out = append(out, s...)
	}
	for from := headerSize; from < start[sectChecksums]; from += pageSize {
		to := min(from+pageSize, start[sectChecksums])
		out = le.AppendUint32(out, crc32.ChecksumIEEE(out[from:to]))
	}
	h := append(out[:0], magic...)
	h = le.AppendUint32(h, formatVersion)
	h = le.AppendUint32(h, uint32(len(b.docs)))
	h = le.AppendUint64(h, uint64(len(out)))
	for _, s := range start {
		h = le.AppendUint64(h, uint64(s))
	}
	le.AppendUint32(h, crc32.ChecksumIEEE(h))
	return out
}

// dictionary packs the values and the hash table that finds them. Keys with the same value,
// such as a stem with a single form, share it.
func (b *builder) dictionary() (table, entries, values []byte) {
	keys := make([]string, 0, len(b.values))
	for k := range b.values {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	buckets := uint64(len(keys)/4 + 1)
	byBucket := make([][]byte, buckets)
	at := map[string]int{}
	for _, k := range keys {
		v := string(b.values[k])
		from, ok := at[v]
		if !ok {
			from = len(values)
			at[v] = from
			values = append(values, v...)
		}
		h := hash(k) % buckets
		e := binary.AppendUvarint(byBucket[h], uint64(len(k)))
		e = append(e, k...)
		e = binary.AppendUvarint(e, uint64(from))
		byBucket[h] = binary.AppendUvarint(e, uint64(len(v)))
	}
	table = binary.LittleEndian.AppendUint64(nil, 0)
	for _, e := range byBucket {
		entries = append(entries, e...)
		table = binary.LittleEndian.AppendUint64(table, uint64(len(entries)))
	}
	return table, entries, values
}
