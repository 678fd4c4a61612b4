package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/search"
)

// typos judges corrections: one slip is made in the longest word of each query, and nDCG@10 is
// printed for the query as it was, and for the misspelt one with and without corrections.
func typos(sets []*set, w io.Writer) error {
	fmt.Fprintf(w, "%-18s %8s %10s %8s\n", "nDCG@10", "correct", "corrected", "not")
	for _, s := range sets {
		bad := *s
		bad.queries = nil
		rng := rand.New(rand.NewPCG(1, 2)) // the same slips in every run
		for _, q := range s.queries {
			q.text = misspelt(q.text, rng)
			bad.queries = append(bad.queries, q)
		}
		m := search.DefaultModel()
		without := m
		without.Typo = 0
		var got [3]float64
		for i, run := range []struct {
			s *set
			m search.Model
		}{{s, m}, {&bad, m}, {&bad, without}} {
			all, err := judgeSet(run.s, run.m)
			if err != nil {
				return err
			}
			got[i] = mean(all).NDCG
		}
		fmt.Fprintf(w, "%-18s %8.3f %10.3f %8.3f\n", s.name, got[0], got[1], got[2])
	}
	return nil
}

// misspelt makes one slip behind the first letter of the longest word of s.
func misspelt(s string, rng *rand.Rand) string {
	ws := strings.Fields(s)
	long := 0
	for i, w := range ws {
		if len(w) > len(ws[long]) {
			long = i
		}
	}
	if len(ws) == 0 || len(ws[long]) < 5 {
		return s
	}
	b := []byte(ws[long])
	p := 1 + rng.IntN(len(b)-2)
	switch rng.IntN(4) {
	case 0: // left out
		b = append(b[:p], b[p+1:]...)
	case 1: // swapped
		b[p], b[p+1] = b[p+1], b[p]
	case 2: // doubled
		b = append(b[:p+1], b[p:]...)
	default: // another letter
		b[p] = byte('a' + rng.IntN(26))
	}
	ws[long] = string(b)
	return strings.Join(ws, " ")
}
