package search

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/packed"
)

// serverTerm stands in an explanation for the part of a score that comes from the best document of the server.
const serverTerm = "(server)"

// writtenTerm stands in an explanation for what a document gets because it has the query's words as written.
const writtenTerm = "(as written)"

// explain splits the score of a candidate into its parts. scale turns scores within a ranking into those that users
// see.
func (rk *ranking) explain(c candidate, scale float64) ([]Contribution, error) {
	place := c.place
	cover := float64(rk.coverage(&rk.tallies[place]))
	var out []Contribution
	for _, concept := range rk.concepts {
		for i := range concept.terms {
			t := &concept.terms[i]
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
					out = addContribution(out, t.label, fieldLabels[f], scale*cover*t.weight*x/(rk.m.K1+total))
				}
			}
		}
	}
	err := rk.servers(func(from, to int, best float32) error {
		if from <= place && place < to {
			out = append(out, Contribution{serverTerm, fieldLabels[fieldServer], scale * float64(rk.bonus(best))})
		}
		return nil
	})
	if c.lift > 0 {
		where := bits.TrailingZeros8(rk.tallies[place].fields)
		out = append(out, Contribution{writtenTerm, fieldLabels[where], scale * c.lift})
	}
	slices.SortStableFunc(out, func(x, y Contribution) int { return cmp.Compare(y.Score, x.Score) })
	return out, err
}

// addContribution adds to the part with this term and field, or appends a new part.
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
	err = t.each(func(at int, f [fieldCount]float64) bool {
		if at == place {
			freqs = f
		}
		return at < place
	})
	return freqs, err
}

// each calls use for each document that has t, in order, until it returns false.
func (t *term) each(use func(place int, freqs [fieldCount]float64) bool) error {
	at, d := -1, packed.Reader{Rest: t.list}
	for range t.count {
		at += int(d.Uvarint())
		var freqs [fieldCount]float64
		m := d.Byte()
		if m>>fieldCount != 0 {
			return errPosting()
		}
		for ; m != 0; m &= m - 1 {
			freqs[bits.TrailingZeros8(m)] = float64(unpackFreq(d.Byte()))
		}
		if d.Bad {
			return endsEarly()
		}
		if !use(at, freqs) {
			break
		}
	}
	return nil
}
