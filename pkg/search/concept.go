package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/packed"
)

// concept holds the ways to express one word of the query, or two neighbouring words.
type concept struct {
	rarity float64 // its part in a document's coverage
	terms  []term
}

// term is one key of the dictionary with its postings.
type term struct {
	label  string  // its name in Explain
	list   []byte  // its postings
	count  int     // their number
	idf    float64 // the information in it
	weight float64 // the most it adds to a score
	// written is the bit of the query's word if the term is that word as written, else 0.
	written uint8
}

// maxConcepts bounds the work for one query. A longer text counts by its beginning.
const maxConcepts = 256

// parse fills concepts, ideal, bare, perRarity and written.
func (rk *ranking) parse(text string) error {
	m := rk.m
	seen := map[string]bool{}
	var before queryWord
	var beforeKnown bool
	tokens := queryWords(text, m)
	few := isFew(text, tokens)
	for _, w := range tokens {
		if seen[w.text] {
			continue
		}
		if len(rk.concepts) >= maxConcepts {
			break
		}
		seen[w.text] = true
		var bit uint8
		if few && !w.hint {
			bit = rk.written + 1
			rk.written |= bit
		}
		c, most, err := rk.word(w, bit)
		if err != nil {
			return err
		}
		rk.ideal += most
		known := len(c.terms) > 0
		rk.concepts = append(rk.concepts, c)
		if w.whole {
			continue
		}
		if before.text != "" && w.pos-before.pos == 1 {
			p, err := rk.pair(before.text, w.text, !beforeKnown && !known)
			if err != nil {
				return err
			}
			if len(p.terms) > 0 {
				rk.concepts = append(rk.concepts, p)
			}
		}
		before, beforeKnown = w, known
	}
	var rarity float64
	for _, c := range rk.concepts {
		rarity += c.rarity
	}
	rk.bare, rk.perRarity = float32(1-m.Cover), float32(m.Cover/max(rarity, math.SmallestNonzeroFloat32))
	return nil
}

// word returns the concept of a word of the query, and the most that the word itself can add to a score. bit is that of
// [term].
func (rk *ranking) word(w queryWord, bit uint8) (c concept, most float64, err error) {
	m := rk.m
	s := stem(w.text)
	known, written, err := rk.addForms(&c, w.text, s, w.text, w.weight)
	if err != nil {
		return c, 0, err
	}
	if written {
		c.terms[len(c.terms)-1].written = bit
	}
	rarity := idf(rk.r.ix.docs, 0)
	if known {
		rarity = c.terms[0].idf
	}
	related(w.text, s, func(other string, weak bool) {
		weight := m.Related
		if weak {
			weight = m.WeakRelated
		}
		if err == nil {
			_, err = rk.addTerm(&c, keyStem+other, label(w.text, other), weight*w.weight)
		}
	})
	if err == nil && len(c.terms) == 0 {
		err = rk.compound(&c, w)
	}
	if err == nil && len(c.terms) == 0 {
		err = rk.correct(&c, w)
	}
	if err == nil && len(c.terms) == 0 {
		err = rk.chain(&c, w)
	}
	c.prune()
	c.rarity = rarity * w.weight
	if !known {
		c.rarity = 0
		for _, t := range c.terms {
			c.rarity = max(c.rarity, t.idf*w.weight)
		}
	}
	return c, rarity * w.weight * (1 + m.Exact), err
}

// negligible is the part of a concept's largest weight below which a term is dropped: such a term stands in very many
// documents and changes the order of none.
const negligible = .05

// prune removes the terms that cost much and say nothing.
func (c *concept) prune() {
	var most float64
	for _, t := range c.terms {
		most = max(most, t.weight)
	}
	c.terms = slices.DeleteFunc(c.terms, func(t term) bool { return t.weight < negligible*most && t.written == 0 })
}

// addForms adds the terms of a word, by its stem and as written, and reports whether the index has them. If it has the
// word as written, that is the last term.
func (rk *ranking) addForms(c *concept, word, stem, label string, weight float64) (known, written bool, err error) {
	name := label
	if stem != word && label == word {
		name = label + "~" + stem
	}
	if known, err = rk.addTerm(c, keyStem+stem, name, weight); err != nil || !known {
		return false, false, err
	}
	n := len(c.terms)
	written, err = rk.addTerm(c, keyExact+word, label, weight*rk.m.Exact)
	if written && &c.terms[n].list[0] == &c.terms[n-1].list[0] {
		// The stem has no other form: one pass serves both.
		c.terms[n-1].label = label
		c.terms[n-1].weight += c.terms[n].weight
		c.terms = c.terms[:n]
	}
	return true, written, err
}

func label(word, form string) string {
	if word == form {
		return word
	}
	return word + "~" + form
}

// addTerm adds the term to c if the dictionary has it.
func (rk *ranking) addTerm(c *concept, key, label string, weight float64) (bool, error) {
	if weight == 0 {
		return false, nil
	}
	v, err := rk.r.lookup(key)
	if err != nil || v == nil {
		return false, err
	}
	d := packed.Reader{Rest: v}
	n := d.Uvarint()
	if d.Bad || n == 0 || n > uint64(rk.r.ix.docs) || len(d.Rest) == 0 {
		return false, fmt.Errorf("%w: a posting list is too long", ErrCorrupt)
	}
	x := idf(rk.r.ix.docs, int(n))
	c.terms = append(c.terms, term{label: label, list: d.Rest, count: int(n), idf: x, weight: float64(weight * x)})
	return true, nil
}

// pair returns the concept of two neighbouring words: the same two in a document, or the two written as one. If
// alone, no document has either word by itself, and the compound stands for both.
func (rk *ranking) pair(first, second string, alone bool) (c concept, err error) {
	s, t := stem(first), stem(second)
	if _, err = rk.addTerm(&c, bigramKey(s, t), s+" "+t, rk.m.Bigram); err != nil {
		return c, err
	}
	for _, t := range c.terms {
		c.rarity += t.weight / (1 + rk.m.Exact)
	}
	if len(first)+len(second) <= maxWord {
		known, err := rk.addTerm(&c, keyExact+first+second, first+" "+second+"~"+first+second, rk.m.Compound)
		if err != nil {
			return c, err
		}
		if known && alone {
			c.rarity += c.terms[len(c.terms)-1].weight
		}
	}
	return c, nil
}

// minPart is the least length of a part of a compound.
const minPart = 3

// compound adds the parts of a word that no document has, if some documents have the parts. It splits the word where
// the rarer part is most frequent.
func (rk *ranking) compound(c *concept, w queryWord) error {
	if rk.m.Compound == 0 || !isCorrectable(w.text) {
		return nil
	}
	var best concept
	for i := minPart; i <= len(w.text)-minPart; i++ {
		var parts concept
		for _, part := range []string{w.text[:i], w.text[i:]} {
			// Half the weight for each: together they are one word.
			if _, err := rk.addTerm(&parts, keyStem+stem(part), label(w.text, part), rk.m.Compound*w.weight/2); err != nil {
				return err
			}
		}
		if len(parts.terms) == 2 && (best.terms == nil || fewest(&parts) > fewest(&best)) {
			best = parts
		}
	}
	c.terms = append(c.terms, best.terms...)
	return nil
}

func fewest(c *concept) int { return min(c.terms[0].count, c.terms[1].count) }

// The bounds of a chain: the length of a part that stands beside the one before, the number of parts, and of the pairs
// that are looked up.
const (
	minLink  = 2
	maxLinks = 8
	maxPairs = 500
)

// chain adds the parts of a word that no document has, if they make up the name of one: getRepositoryContents in small
// letters.
func (rk *ranking) chain(c *concept, w queryWord) error {
	if rk.m.Compound == 0 || !isLetters(w.text) {
		return nil
	}
	f := chainFinder{r: rk.r, word: w.text, left: maxPairs, known: map[string]bool{}}
	if found, err := f.from(0, ""); err != nil || !found {
		return err
	}
	each := rk.m.Compound * w.weight / float64(len(f.links))
	var parts concept
	before := ""
	for _, link := range slices.Backward(f.links) {
		if isStopWord(link) {
			before = ""
			continue
		}
		s := stem(link)
		if _, err := rk.addTerm(&parts, keyStem+s, label(w.text, link), each); err != nil {
			return err
		}
		if before != "" {
			if _, err := rk.addTerm(&parts, bigramKey(before, s), label(w.text, before+" "+s), each); err != nil {
				return err
			}
		}
		before = s
	}
	named, err := parts.inOneName()
	if named {
		c.terms = parts.terms
	}
	return err
}

// inOneName reports whether a document has all terms in its name.
func (c *concept) inOneName() (bool, error) {
	terms := slices.Clone(c.terms)
	slices.SortFunc(terms, func(a, b term) int { return cmp.Compare(a.count, b.count) })
	have := map[int]int{} // how many of the first terms each document has, beginning with the rarest
	for i := range terms {
		err := terms[i].each(func(place int, freq [fieldCount]float64) bool {
			if n, known := have[place]; freq[fieldName] > 0 && n == i && (known || i == 0) {
				have[place] = i + 1
			}
			return true
		})
		if err != nil {
			return false, err
		}
	}
	for _, n := range have {
		if n == len(terms) {
			return true, nil
		}
	}
	return false, nil
}

// chainFinder cuts a word into parts of which each stands beside the next in some document, or beside a function word,
// which has no pairs.
type chainFinder struct {
	r     *reader
	word  string
	left  int             // pairs that may still be looked up
	known map[string]bool // whether the dictionary has a stem
	links []string        // the parts, the last first
}

// from cuts the word from a place on, behind a part with a stem, which is empty at the start and for a function word.
// It prefers long parts, and reports whether it could.
func (f *chainFinder) from(at int, before string) (bool, error) {
	if at == len(f.word) {
		return true, nil
	}
	for end := len(f.word); end > at && f.left > 0; end-- {
		link, s := f.word[at:end], ""
		if !isStopWord(link) || at == 0 || end == len(f.word) {
			s = stem(link)
		}
		if fits, err := f.fits(before, link, s, at == 0); err != nil {
			return false, err
		} else if !fits {
			continue
		}
		if found, err := f.from(end, s); err != nil || found {
			f.links = append(f.links, link)
			return found && len(f.links) <= maxLinks, err
		}
	}
	return false, nil
}

// fits reports whether a part with the stem s, empty for a function word, may stand behind one with the stem before, or
// be the first.
func (f *chainFinder) fits(before, link, s string, first bool) (bool, error) {
	switch {
	case s == "":
		return before != "", nil
	case len(link) < minLink || len(link) == len(f.word):
		return false, nil
	case before == "" && !first && len(link) < minPart: // no pair vouches for it
		return false, nil
	}
	known, asked := f.known[s]
	if !asked {
		v, err := f.r.lookup(keyStem + s)
		if err != nil {
			return false, err
		}
		known = v != nil
		f.known[s] = known
	}
	if !known || before == "" {
		return known, nil
	}
	f.left--
	v, err := f.r.lookup(bigramKey(before, s))
	return v != nil, err
}

// correct adds the words that w may be a misspelling of.
func (rk *ranking) correct(c *concept, w queryWord) error {
	if rk.m.Typo == 0 {
		return nil
	}
	near, slips, err := rk.r.corrections(w.text)
	if err != nil {
		return err
	}
	weight := w.weight * rk.m.Typo
	if slips > 1 {
		weight *= rk.m.Typo
	}
	for _, n := range near {
		if _, _, err := rk.addForms(c, n, stem(n), label(w.text, n), weight); err != nil {
			return err
		}
	}
	return nil
}

// idf is the information in a word that n of all documents have: Robertson's and Spärck Jones's weight in the form
// that is never negative (ln(1 + (N-n+.5)/(n+.5))).
func idf(all, n int) float64 {
	return ln(1 + (float64(all-n)+.5)/(float64(n)+.5))
}

// ln is the natural logarithm of x > 0. math.Log has assembly on some platforms and may differ there in the last bit,
// which would change the order of hits too.
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
