package search

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kljensen/snowball/english"

	"github.com/mcp-launchpad/mcpl/pkg/packed"
)

// Keys of the dictionary are a letter, which names the kind of the value, and a word.
const (
	keyStem    = "s" // postings of a stem
	keyExact   = "e" // postings of a word as it stands
	keyBigram  = "b" // postings of two stems, with a space between them, side by side
	keySimilar = "t" // words by first letter and length, for corrections
	keyServers = "v" // how many documents each server has, in order
)

// Build packs an inverted index over docs. The same documents give the same bytes on every platform.
func Build(docs []Document) []byte { return BuildWith(docs, DefaultModel()) }

// BuildWith is Build with other constants than the built-in ones, for measuring (internal/eval). Of m it uses only B.
func BuildWith(docs []Document, m Model) []byte {
	b := &builder{
		docs:   docs,
		order:  make([]int, len(docs)),
		words:  map[string]wordTerms{},
		stems:  map[string]int32{},
		pairs:  map[[2]int32]int32{},
		uses:   make([][]occurrence, len(docs)),
		length: make([][fieldCount]int, len(docs)),
		values: map[string][]byte{},
	}
	for i := range b.order {
		b.order[i] = i
	}
	slices.SortFunc(b.order, func(x, y int) int {
		return cmp.Or(strings.Compare(docs[x].Server, docs[y].Server), strings.Compare(docs[x].Name, docs[y].Name), x-y)
	})
	for place, doc := range b.order {
		b.read(place, &docs[doc])
	}
	b.postings(&m)
	b.similar()
	b.servers()
	return b.pack()
}

// builder collects the content of an index. It knows documents by their place in order.
type builder struct {
	docs   []Document
	order  []int // document numbers, sorted by (server, name)
	words  map[string]wordTerms
	stems  map[string]int32
	pairs  map[[2]int32]int32 // bigrams of stems
	keys   []string           // of the terms
	uses   [][]occurrence     // by place
	length [][fieldCount]int  // words of each field, by place
	values map[string][]byte
}

// wordTerms holds the terms of a word: numbers into builder.keys.
type wordTerms struct{ stem, exact int32 }

// occurrence says that a term stands in a field.
type occurrence struct {
	term  int32
	field uint8
}

func (b *builder) read(place int, d *Document) {
	b.text(place, fieldServer, d.Server)
	b.text(place, fieldName, d.Name)
	b.text(place, fieldTitle, d.Title)
	lead, rest := splitLead(d.Description)
	b.text(place, fieldLead, lead)
	b.text(place, fieldRest, rest)
	for _, p := range d.Params {
		b.text(place, fieldParam, p.Name)
		b.text(place, fieldParamText, p.Description)
	}
}

// minLead is the least length of a first sentence, in bytes: "e.g." is too short for one.
const minLead = 8

// splitLead cuts a description after its first sentence or line.
func splitLead(s string) (lead, rest string) {
	s = strings.TrimSpace(s)
	for i := range len(s) {
		switch {
		case s[i] == '\n':
			return s[:i], s[i:]
		case i >= minLead && i+1 < len(s) && strings.IndexByte(".!?", s[i]) >= 0 && strings.IndexByte(" \n", s[i+1]) >= 0:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

func (b *builder) text(place, field int, text string) {
	if text == "" {
		return
	}
	last := int32(-1)
	for _, t := range words(text) {
		w := b.word(t.text)
		b.uses[place] = append(b.uses[place], occurrence{w.stem, uint8(field)}, occurrence{w.exact, uint8(field)})
		if t.whole {
			continue
		}
		b.length[place][field]++
		switch {
		case isStopWord(t.text):
			last = -1
			continue
		case last >= 0 && field != fieldRest && field != fieldParamText:
			// Bigrams of the long texts would take more room than everything else, and would not improve the ranking.
			b.uses[place] = append(b.uses[place], occurrence{b.pair(last, w.stem), uint8(field)})
		}
		last = w.stem
	}
}

func (b *builder) word(word string) wordTerms {
	w, ok := b.words[word]
	if !ok {
		s := stem(word)
		if w.stem, ok = b.stems[s]; !ok {
			w.stem = b.term(keyStem + s)
			b.stems[s] = w.stem
		}
		w.exact = b.term(keyExact + word)
		b.words[word] = w
	}
	return w
}

func (b *builder) pair(first, second int32) int32 {
	p := [2]int32{first, second}
	t, ok := b.pairs[p]
	if !ok {
		t = b.term(bigramKey(b.keys[first][len(keyStem):], b.keys[second][len(keyStem):]))
		b.pairs[p] = t
	}
	return t
}

func bigramKey(first, second string) string { return keyBigram + first + " " + second }

func (b *builder) term(key string) int32 {
	b.keys = append(b.keys, key)
	return int32(len(b.keys) - 1)
}

func stem(word string) string { return english.Stem(word, true) }

// postings encodes the posting lists: the number of postings, and per posting the distance from the place before, the
// mask of fields, and for each field the normalised frequency.
func (b *builder) postings(m *Model) {
	mean := b.meanLengths()
	lists := make([][]byte, len(b.keys))
	count := make([]uint64, len(b.keys))
	last := make([]int, len(b.keys)) // place of the last posting plus one
	for place, uses := range b.uses {
		slices.SortFunc(uses, func(x, y occurrence) int {
			return cmp.Or(cmp.Compare(x.term, y.term), cmp.Compare(x.field, y.field))
		})
		for len(uses) > 0 {
			t := uses[0].term
			list := binary.AppendUvarint(lists[t], uint64(place+1-last[t]))
			mask := len(list)
			list = append(list, 0)
			for len(uses) > 0 && uses[0].term == t {
				f, n := uses[0].field, 1
				for n < len(uses) && uses[n] == uses[0] {
					n++
				}
				uses = uses[n:]
				list[mask] |= 1 << f
				norm := 1 - m.B[f] + float64(m.B[f]*float64(b.length[place][f])/mean[f])
				list = append(list, packFreq(float64(n)/norm))
			}
			lists[t], last[t] = list, place+1
			count[t]++
		}
	}
	for t, key := range b.keys {
		b.values[key] = append(binary.AppendUvarint(nil, count[t]), lists[t]...)
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
		mean[f] = float64(max(sum[f], 1)) / float64(max(n[f], 1))
	}
	return mean
}

// A normalised frequency is a float of 4 bits of exponent and 4 of mantissa, that is between 2^-8 and 2^8, with a
// relative error of at most 1/32.
const freqBias = 127 - 8

// packFreq rounds x to the nearest packed frequency.
func packFreq(x float64) byte {
	bits := int64(math.Float32bits(float32(x))) - freqBias<<23
	return byte(min(max((bits+1<<18)>>19, 0), 255))
}

func unpackFreq(b byte) float32 {
	return math.Float32frombits(uint32(b)<<19 + freqBias<<23)
}

// similar packs the words that corrections are chosen from.
func (b *builder) similar() {
	for _, w := range slices.Sorted(maps.Keys(b.words)) {
		if isCorrectable(w) {
			key := similarKey(w[0], len(w))
			b.values[key] = append(b.values[key], w...)
		}
	}
}

// servers packs the number of documents of each server, in order.
func (b *builder) servers() {
	var out []byte
	for i := 0; i < len(b.order); {
		n := 1
		for i+n < len(b.order) && b.docs[b.order[i+n]].Server == b.docs[b.order[i]].Server {
			n++
		}
		out = binary.AppendUvarint(out, uint64(n))
		i += n
	}
	b.values[keyServers] = out
}

// pack lays the sections out one after the other.
func (b *builder) pack() []byte {
	table, entries, values := b.dictionary()
	docs, folded, text := b.texts()
	sections := [sectCount][]byte{table, entries, values, docs, folded, text}
	le := binary.LittleEndian
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
	le.AppendUint32(h, crc32.ChecksumIEEE(h)) // h still shares the bytes of out
	return out
}

// texts packs the documents, and the texts that regex and exact search.
func (b *builder) texts() (docs, folded, text []byte) {
	le := binary.LittleEndian
	for _, doc := range b.order {
		d := &b.docs[doc]
		from := len(text)
		text = appendTexts(text, d)
		folded = append(folded, fold(string(text[from:]))...) // which leaves the marks alone
		docs = le.AppendUint32(docs, uint32(doc))
		docs = le.AppendUint64(docs, uint64(len(folded)))
		docs = le.AppendUint64(docs, uint64(len(text)))
	}
	return docs, folded, text
}

// dictionary packs the values and the hash table that finds them. Keys with the same value share it, such as a stem
// with a single form.
func (b *builder) dictionary() (table, entries, values []byte) {
	keys := slices.Sorted(maps.Keys(b.values))
	buckets := uint64(len(keys)/4 + 1)
	byBucket := make([][]byte, buckets)
	at := map[string]int{}
	for _, k := range keys {
		v := b.values[k]
		from, ok := at[string(v)]
		if !ok {
			from = len(values)
			at[string(v)] = from
			values = append(values, v...)
		}
		h := hash(k) % buckets
		e := binary.AppendUvarint(packed.AppendText(byBucket[h], k), uint64(from))
		byBucket[h] = binary.AppendUvarint(e, uint64(len(v)))
	}
	table = binary.LittleEndian.AppendUint64(nil, 0)
	for _, e := range byBucket {
		entries = append(entries, e...)
		table = binary.LittleEndian.AppendUint64(table, uint64(len(entries)))
	}
	return table, entries, values
}
