package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/search"
)

// ideas are the parts of the ranking, each with what takes it away.
func ideas() []struct {
	name   string
	remove func(*search.Model)
} {
	return []struct {
		name   string
		remove func(*search.Model)
	}{
		{"all in force", func(*search.Model) {}},
		{"without related words", func(m *search.Model) { m.Related, m.WeakRelated = 0, 0 }},
		{"  without the weak ones", func(m *search.Model) { m.WeakRelated = 0 }},
		{"without bigrams", func(m *search.Model) { m.Bigram = 0 }},
		{"without coverage", func(m *search.Model) { m.Cover = 0 }},
		{"without server bonus", func(m *search.Model) { m.Server = 0 }},
		{"without weak words", func(m *search.Model) { m.WeakWord = 1 }},
		{"without path words", func(m *search.Model) { m.PathWord = 1 }},
		{"without hints", func(m *search.Model) { m.Hint = 0 }},
		{"without exact forms", func(m *search.Model) { m.Exact = 0 }},
		{"without corrections", func(m *search.Model) { m.Typo = 0 }},
		{"without compounds", func(m *search.Model) { m.Compound = 0 }},
		{"without the floor", func(m *search.Model) { m.Floor = 0 }},
		{"without the tail's cut", func(m *search.Model) { m.Tail = 0 }},
		{"description as one", func(m *search.Model) { m.Weight[4] = m.Weight[3] }},
		{"all fields equal", func(m *search.Model) {
			for f := range m.Weight {
				m.Weight[f] = 1
			}
		}},
		{"no length norm (b 0)", func(m *search.Model) { m.B = [len(m.B)]float64{} }},
		{"k1 1.5", func(m *search.Model) { m.K1 = 1.5 }},
	}
}

// ablate prints nDCG@10 of every set, and the means of nDCG@10 and recall@5, with all ideas
// and with each of them taken away.
func ablate(sets []*set, w io.Writer) error {
	fmt.Fprintf(w, "%-26s", "nDCG@10")
	for _, s := range sets {
		fmt.Fprintf(w, " %7s", shortName(s.name))
	}
	fmt.Fprintf(w, " %7s %7s\n", "mean", "R@5")
	for _, idea := range ideas() {
		m := search.DefaultModel()
		idea.remove(&m)
		fmt.Fprintf(w, "%-26s", idea.name)
		var means []measures
		for _, s := range sets {
			all, err := judgeSet(s, m)
			if err != nil {
				return err
			}
			means = append(means, mean(all))
			fmt.Fprintf(w, " %7.3f", means[len(means)-1].NDCG)
		}
		total := mean(means)
		fmt.Fprintf(w, " %7.4f %7.4f\n", total.NDCG, total.R5)
	}
	return nil
}

// shortName returns the end of a name, which is what differs between sets of one source.
func shortName(name string) string {
	if _, after, ok := strings.Cut(name, "_"); ok && len(after) > 3 {
		name = after
	}
	return name[:min(7, len(name))]
}
