package search

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/packed"
)

// serverTerm stands in an explanation for the part of a score that comes from the best document of the server.
const serverTerm = "(server)"

// explain splits the score of the document at place into its parts. scale turns scores within a ranking into those
// that users see.
func (rk *ranking) explain(place int, scale float64) ([]Contribution, error) {
	cover := float64(rk.coverage(&rk.tallies[place]))
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

// find returns the frequencies of t in the document at place. add has read the list before and found it well-formed.
func (t *term) find(place int) (freqs [fieldCount]float64, err error) {
	at, d := -1, packed.Reader{Rest: t.list}
	for range t.count {
		at += int(d.Uvarint())
		head := d.Byte()
		if d.Bad || at > place {
			break
		}
		for m := head; m != 0; m &= m - 1 {
			if freq := d.Byte(); at == place {
				freqs[bits.TrailingZeros8(m)] = float64(unpackFreq(freq))
			}
		}
	}
	if d.Bad {
		err = endsEarly()
	}
	return freqs, err
}
