package main

import (
	"math"
	"slices"
)

// measures of one ranking, or their means over many.
type measures struct {
	R1   float64 `json:"recall@1"`
	R3   float64 `json:"recall@3"`
	R5   float64 `json:"recall@5"`
	R10  float64 `json:"recall@10"`
	MRR  float64 `json:"mrr@10"`
	NDCG float64 `json:"ndcg@10"`
}

// depth is how many places of a ranking are looked at.
const depth = 10

// measure judges a ranking of documents, best first. A group is found at the place of its
// first document; the others of it then count as misses.
func measure(ranked []int, q *query) measures {
	var m measures
	found := make([]bool, len(q.groups))
	n := float64(len(q.groups))
	var gains, ideal float64
	for i, doc := range ranked[:min(depth, len(ranked))] {
		g := slices.IndexFunc(q.groups, func(g group) bool { return slices.Contains(g.docs, doc) })
		if g < 0 || found[g] {
			continue
		}
		found[g] = true
		if m.MRR == 0 {
			m.MRR = 1 / float64(i+1)
		}
		gains += q.groups[g].gain / math.Log2(float64(i+2))
		for _, at := range []struct {
			k int
			r *float64
		}{{1, &m.R1}, {3, &m.R3}, {5, &m.R5}, {10, &m.R10}} {
			if i < at.k {
				*at.r += 1 / n
			}
		}
	}
	best := make([]float64, 0, len(q.groups))
	for _, g := range q.groups {
		best = append(best, g.gain)
	}
	slices.SortFunc(best, func(x, y float64) int { return int(math.Copysign(1, y-x)) })
	for i, gain := range best[:min(depth, len(best))] {
		ideal += gain / math.Log2(float64(i+2))
	}
	if ideal > 0 {
		m.NDCG = gains / ideal
	}
	return m
}

// values returns the measures in the order of their names.
func (m *measures) values() []*float64 {
	return []*float64{&m.R1, &m.R3, &m.R5, &m.R10, &m.MRR, &m.NDCG}
}

// mean returns the means over all.
func mean(all []measures) measures {
	var sum measures
	for i := range all {
		for j, v := range all[i].values() {
			*sum.values()[j] += *v / float64(len(all))
		}
	}
	return sum
}
