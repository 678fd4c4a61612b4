package search

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/packed"
)

// ranking is the state of one bm25 query. It knows documents by their place in the order of (server, name).
// Arithmetic that decides an order runs in single steps, each rounded (the conversions to float32 forbid fusing two
// of them), so that it is the same everywhere.
type ranking struct {
	r        *reader
	m        *Model
	concepts []concept
	ideal    float64 // the score that counts as 1
	// A document that has rarity r of the query keeps bare + r*perRarity of its score.
	bare, perRarity float32
	// written has a bit for each word of a short query. It is 0 for a long one.
	written uint8
	tallies []tally // by place
}

// tally is the evidence that a document has collected.
type tally struct {
	score  float32
	cover  float32 // the rarity of the concepts it has
	last   uint16  // the last concept it had, plus one
	fields uint8   // the fields that matched
	// written has the bits of the query's words that stand in the document as written.
	written uint8
}

func (ix *Index) rank(q Query) ([]Hit, error) {
	rk := &ranking{r: ix.reader(), m: q.Model}
	if rk.m == nil {
		m := DefaultModel()
		rk.m = &m
	}
	if err := rk.parse(q.Text); err != nil {
		return nil, err
	}
	if len(rk.concepts) == 0 || ix.docs == 0 {
		return nil, nil
	}
	rk.tallies = make([]tally, ix.docs)
	for i := range rk.concepts {
		c := &rk.concepts[i]
		for j := range c.terms {
			if err := rk.add(&c.terms[j], uint16(i+1), float32(c.rarity)); err != nil {
				return nil, err
			}
		}
	}
	best, err := rk.best(q)
	if err != nil {
		return nil, err
	}
	return rk.hits(best, q.Explain)
}

// add adds the postings of t, which belongs to the n-th concept, to the scores. A query over many documents spends
// nearly all its time here; hence the plain index arithmetic.
func (rk *ranking) add(t *term, n uint16, rarity float32) error {
	var fieldWeight [8]float32
	for f, w := range rk.m.Weight {
		fieldWeight[f] = float32(w)
	}
	k1, weight := float32(rk.m.K1), float32(t.weight)
	place, list, i := -1, t.list, 0
	for range t.count {
		// The distance is nearly always one byte.
		if i < len(list) && list[i] < 0x80 {
			place += int(list[i])
			i++
		} else {
			delta, size := binary.Uvarint(list[min(i, len(list)):])
			if size <= 0 || delta > math.MaxInt32 {
				return errPosting()
			}
			place += int(delta)
			i += size
		}
		if uint(place) >= uint(len(rk.tallies)) || i >= len(list) {
			return errPosting()
		}
		mask := list[i]
		i++
		if mask>>fieldCount != 0 || len(list)-i < bits.OnesCount8(mask) {
			return errPosting()
		}
		doc := &rk.tallies[place]
		doc.fields |= mask
		doc.written |= t.written
		var freq float32
		for ; mask != 0; mask &= mask - 1 {
			freq += float32(fieldWeight[bits.TrailingZeros8(mask)&7] * unpackFreq(list[i]))
			i++
		}
		doc.score += float32(weight * float32(freq/(k1+freq)))
		if doc.last != n {
			doc.last = n
			doc.cover += rarity
		}
	}
	return nil
}

func errPosting() error { return fmt.Errorf("%w: a posting list is malformed", ErrCorrupt) }

// coverage returns the factor for a document that lacks a part of the query.
func (rk *ranking) coverage(t *tally) float32 {
	return rk.bare + float32(rk.perRarity*t.cover)
}

// covered returns the score of a document after that factor.
func (rk *ranking) covered(t *tally) float32 { return float32(t.score * rk.coverage(t)) }

// bonus returns what every document of a server gets for the best of them.
func (rk *ranking) bonus(best float32) float32 { return float32(float32(rk.m.Server) * best) }

// servers calls use for each server that has matches, with its places and the best score there.
func (rk *ranking) servers(use func(from, to int, best float32) error) error {
	list, err := rk.r.lookup(keyServers)
	if err != nil {
		return err
	}
	from := 0
	for d := (packed.Reader{Rest: list}); len(d.Rest) > 0; {
		n := d.Uvarint()
		if d.Bad || n == 0 || n > uint64(len(rk.tallies)-from) {
			return fmt.Errorf("%w: a server has the wrong size", ErrCorrupt)
		}
		to := from + int(n)
		var best float32
		for i := range rk.tallies[from:to] {
			if t := &rk.tallies[from+i]; t.score > 0 {
				best = max(best, rk.covered(t))
			}
		}
		if best > 0 {
			if err := use(from, to, best); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// candidate is a document that may become a hit.
type candidate struct {
	place, doc int
	score      float64
	lift       float64 // the part of score that the words as written are worth
}

// better orders candidates: higher score, then (server, name).
func better(x, y candidate) int {
	return cmp.Or(cmp.Compare(y.score, x.score), x.place-y.place)
}

// fits reports whether a document with this score is an answer at all.
func (rk *ranking) fits(score float64) bool {
	unique := idf(rk.r.ix.docs, 0) * (1 + rk.m.Exact)
	return score >= rk.m.Floor*unique || score >= rk.m.Enough*rk.ideal
}

// best returns the documents to show: none if the best of all does not fit, and none that are far behind the first. But
// the best document that has all words of a short query as written is shown, at the third place or before.
func (rk *ranking) best(q Query) ([]candidate, error) {
	places, err := rk.asWritten()
	if err != nil {
		return nil, err
	}
	top, written := topList{limit: q.Limit}, topList{limit: q.Limit}
	var highest float32
	err = rk.servers(func(from, to int, best float32) error {
		bonus := rk.bonus(best)
		highest = max(highest, best+bonus)
		for ; len(places) > 0 && places[0] < to; places = places[1:] {
			if err := rk.offer(&written, q.Keep, places[0], bonus); err != nil {
				return err
			}
		}
		if !top.wants(float64(best + bonus)) {
			return nil
		}
		for place := from; place < to; place++ {
			if err := rk.offer(&top, q.Keep, place, bonus); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sure := rk.near(written.done())
	if !rk.fits(float64(highest)) {
		return sure, nil
	}
	return withWritten(rk.near(top.done()), sure, q.Limit), nil
}

// offer adds the document at a place to a list if it matches, the list wants it, and keep returns true. If keep is nil,
// it counts as true.
func (rk *ranking) offer(list *topList, keep func(doc int) bool, place int, bonus float32) error {
	t := &rk.tallies[place]
	if t.score <= 0 {
		return nil
	}
	s := float64(rk.covered(t) + bonus)
	if !list.wants(s) {
		return nil
	}
	doc, err := rk.r.doc(place)
	if err == nil && (keep == nil || keep(doc)) {
		list.add(candidate{place: place, doc: doc, score: s})
	}
	return err
}

// asWritten returns the places of the documents that have all words of a short query as written, in order.
func (rk *ranking) asWritten() (places []int, err error) {
	var rarest *term
	for i := range rk.concepts {
		for j := range rk.concepts[i].terms {
			t := &rk.concepts[i].terms[j]
			if t.written != 0 && (rarest == nil || t.count < rarest.count) {
				rarest = t
			}
		}
	}
	if rarest == nil {
		return nil, nil
	}
	err = rarest.each(func(place int, _ [fieldCount]float64) bool {
		if rk.tallies[place].written == rk.written {
			places = append(places, place)
		}
		return true
	})
	return places, err
}

// near drops the candidates that are far behind the first.
func (rk *ranking) near(list []candidate) []candidate {
	for i, c := range list {
		if c.score < rk.m.Tail*list[0].score {
			return list[:i]
		}
	}
	return list
}

// surePlace is the place that the best document with the query's words as written gets at least, counted from 0.
const surePlace = 2

// withWritten makes sure that the best of the documents with the words as written is in the list, with the score of
// the document whose place it takes.
func withWritten(list, written []candidate, limit int) []candidate {
	if len(written) == 0 || limit > 0 && limit <= surePlace {
		return list
	}
	c := written[0]
	at := slices.IndexFunc(list, func(o candidate) bool { return o.place == c.place })
	if at >= 0 && at <= surePlace {
		return list
	}
	if at > surePlace {
		list = slices.Delete(list, at, at+1)
	}
	at = min(surePlace, len(list))
	if at < len(list) {
		c.lift, c.score = list[at].score-c.score, list[at].score
	}
	list = slices.Insert(list, at, c)
	if limit > 0 && len(list) > limit {
		list = list[:limit]
	}
	return list
}

func (rk *ranking) hits(best []candidate, explain bool) ([]Hit, error) {
	hits := make([]Hit, 0, len(best))
	for _, c := range best {
		h := Hit{Doc: c.doc, Score: min(c.score/rk.ideal, 1), MatchedIn: labels(rk.tallies[c.place].fields)}
		if explain {
			var err error
			if h.Explain, err = rk.explain(c, h.Score/c.score); err != nil {
				return nil, err
			}
		}
		hits = append(hits, h)
	}
	return hits, nil
}

// topList keeps the best limit candidates, or all if limit is not positive. Candidates of equal score must come in
// order.
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
