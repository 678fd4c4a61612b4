package search

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// concept is what one word of the query stands for: the terms that may express it.
type concept struct {
	word  string
	terms []term
}

// term is one key of the dictionary with its postings.
type term struct {
	label  string // what Explain calls it
	list   []byte // postings after the count
	count  int    // how many there are
	weight float64
}

// ranking is the state of one bm25 query.
type ranking struct {
	r        *reader
	m        *Model
	concepts []concept
	score    []float64 // by place
	fields   []uint8   // by place, the fields that matched
}

// rank answers a bm25 query.
func (ix *Index) rank(q Query) ([]Hit, error) {
	m := q.Model
	if m == nil {
		d := DefaultModel()
		m = &d
	}
	rk := &ranking{r: ix.reader(), m: m}
	ideal, err := rk.parse(q.Text)
	if err != nil || len(rk.concepts) == 0 || ix.docs == 0 {
		return nil, err
	}
	rk.score = make([]float64, ix.docs)
	rk.fields = make([]uint8, ix.docs)
	for _, c := range rk.concepts {
		for i := range c.terms {
			if err := rk.add(&c.terms[i]); err != nil {
				return nil, err
			}
		}
	}
	best, err := rk.best(q)
	if err != nil {
		return nil, err
	}
	hits := make([]Hit, 0, len(best))
	for _, b := range best {
		h := Hit{Doc: b.doc, Score: b.score / ideal, MatchedIn: labels(rk.fields[b.place])}
		if q.Explain {
			if h.Explain, err = rk.explain(b.place, ideal); err != nil {
				return nil, err
			}
		}
		hits = append(hits, h)
	}
	return hits, nil
}

// parse fills concepts and returns the score of an ideal document: one that is full of every
// word of the query.
func (rk *ranking) parse(text string) (ideal float64, err error) {
	seen := map[string]bool{}
	all := words(text)
	keepStops := !slices.ContainsFunc(all, func(t token) bool { return !isStopWord(t.text) })
	for _, t := range all {
		if seen[t.text] || isStopWord(t.text) && !keepStops {
			continue
		}
		seen[t.text] = true
		c := concept{word: t.text}
		s := stem(t.text)
		rarity, err := rk.addTerm(&c, keyStem+s, label(t.text, s), 1)
		if err != nil {
			return 0, err
		}
		ideal += rarity
		if rarity, err = rk.addTerm(&c, keyExact+t.text, t.text, rk.m.Exact); err != nil {
			return 0, err
		}
		ideal += rarity
		rk.concepts = append(rk.concepts, c)
	}
	return ideal, nil
}

func label(word, form string) string {
	if word == form {
		return word
	}
	return word + "~" + form
}

// addTerm adds the term to c when the dictionary has it. It returns the most that the term can
// add to a document's score.
func (rk *ranking) addTerm(c *concept, key, label string, weight float64) (float64, error) {
	v, err := rk.r.lookup(key)
	if err != nil {
		return 0, err
	}
	if v == nil {
		return float64(weight * idf(rk.r.ix.docs, 0)), nil
	}
	d := decoder{b: v}
	n := d.uvarint()
	if d.err != nil || n > uint64(rk.r.ix.docs) {
		return 0, fmt.Errorf("%w: a posting list is too long", ErrCorrupt)
	}
	w := float64(weight * idf(rk.r.ix.docs, int(n)))
	c.terms = append(c.terms, term{label: label, list: d.b, count: int(n), weight: w})
	return w, nil
}

// idf is the information in a word that n of all documents have: Robertson's and Spärck
// Jones's weight in the form that is never negative (ln(1 + (N-n+.5)/(n+.5))).
func idf(all, n int) float64 {
	return ln(1 + (float64(all-n)+.5)/(float64(n)+.5))
}

// ln is the natural logarithm of x > 0. math.Log has assembly on some platforms and may differ
// there in the last bit, which would make the order of hits differ too.
func ln(x float64) float64 {
	frac, exp := math.Frexp(x)
	// ln(frac) = 2 artanh((frac-1)/(frac+1)), with frac in [1/2, 1).
	z := (frac - 1) / (frac + 1)
	zz := float64(z * z)
	sum, power := 0.0, z
	for k := 1; k < 40; k += 2 {
		sum += power / float64(k)
		power = float64(power * zz)
	}
	return float64(2*sum) + float64(float64(exp)*math.Ln2)
}

// add adds the postings of t to the scores.
func (rk *ranking) add(t *term) error {
	var weight [fieldCount]float32
	for f, w := range rk.m.Weight {
		weight[f] = float32(w)
	}
	k1 := float32(rk.m.K1)
	place, list := -1, t.list
	for range t.count {
		next, mask, rest, ok := nextPosting(place, list)
		if !ok || next >= len(rk.score) {
			return fmt.Errorf("%w: a posting list is malformed", ErrCorrupt)
		}
		place = next
		rk.fields[place] |= mask
		var freq float32
		i := 0
		for ; mask != 0; mask &= mask - 1 {
			f := bits.TrailingZeros8(mask)
			freq += float32(weight[f] * unpackFreq(rest[i]))
			i++
		}
		list = rest[i:]
		rk.score[place] += float64(t.weight * float64(freq/(k1+freq)))
	}
	return nil
}

// nextPosting decodes the head of the first posting of list; rest starts with its frequencies.
func nextPosting(place int, list []byte) (next int, mask uint8, rest []byte, ok bool) {
	d := decoder{b: list}
	delta := d.uvarint()
	head := d.bytes(1)
	if d.err != nil || delta == 0 || delta > math.MaxInt32 || head[0]>>fieldCount != 0 || len(d.b) < bits.OnesCount8(head[0]) {
		return 0, 0, nil, false
	}
	return place + int(delta), head[0], d.b, true
}

// candidate is a document on its way to be a hit.
type candidate struct {
	place, doc int
	score      float64
}

// better orders candidates: higher score, then (server, name).
func better(x, y candidate) int {
	return cmp.Or(cmp.Compare(y.score, x.score), x.place-y.place)
}

// best returns the documents to show.
func (rk *ranking) best(q Query) ([]candidate, error) {
	top := topList{limit: q.Limit}
	for place, s := range rk.score {
		if s <= 0 || !top.wants(s) {
			continue
		}
		doc, err := rk.r.doc(place)
		if err != nil {
			return nil, err
		}
		if q.Keep == nil || q.Keep(doc) {
			top.add(candidate{place, doc, s})
		}
	}
	return top.done(), nil
}

// topList keeps the best limit candidates, or all when limit is not positive. Candidates of
// equal score have to come in order.
type topList struct {
	limit int
	list  []candidate
}

// wants reports whether a candidate with this score would get a place.
func (t *topList) wants(score float64) bool {
	return t.limit <= 0 || len(t.list) < t.limit || score > t.list[len(t.list)-1].score
}

func (t *topList) add(c candidate) {
	if t.limit <= 0 {
		t.list = append(t.list, c)
		return
	}
	if len(t.list) == t.limit {
		t.list = t.list[:t.limit-1]
	}
	i, _ := slices.BinarySearchFunc(t.list, c, better)
	t.list = slices.Insert(t.list, i, c)
}

func (t *topList) done() []candidate {
	slices.SortFunc(t.list, better)
	return t.list
}

// explain splits the score of the document at place into its parts.
func (rk *ranking) explain(place int, ideal float64) ([]Contribution, error) {
	var out []Contribution
	for _, c := range rk.concepts {
		for i := range c.terms {
			t := &c.terms[i]
			freqs, err := t.find(place)
			if err != nil {
				return nil, err
			}
			var total float64
			for f := range freqs {
				freqs[f] *= rk.m.Weight[f]
				total += freqs[f]
			}
			for f, x := range freqs {
				if x > 0 {
					out = addContribution(out, t.label, fieldLabel(f), t.weight*x/(rk.m.K1+total)/ideal)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(x, y Contribution) int { return cmp.Compare(y.Score, x.Score) })
	return out, nil
}

// addContribution adds to the part that has this term and field already, or appends one.
func addContribution(list []Contribution, term, field string, score float64) []Contribution {
	for i := range list {
		if list[i].Term == term && list[i].Field == field {
			list[i].Score += score
			return list
		}
	}
	return append(list, Contribution{term, field, score})
}

// find returns the frequencies of t in the document at place.
func (t *term) find(place int) (freqs [fieldCount]float64, err error) {
	at, list := -1, t.list
	for range t.count {
		next, mask, rest, ok := nextPosting(at, list)
		if !ok {
			return freqs, fmt.Errorf("%w: a posting list is malformed", ErrCorrupt)
		}
		if next > place {
			break
		}
		i := 0
		for m := mask; m != 0; m &= m - 1 {
			if next == place {
				freqs[bits.TrailingZeros8(m)] = float64(unpackFreq(rest[i]))
			}
			i++
		}
		at, list = next, rest[i:]
	}
	return freqs, nil
}
