package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/search"
)

// maxAsked is how many queries of a set are asked about emptiness: each costs an index.
const maxAsked = 200

// emptiness judges the rule by which search says that nothing fits. Each query is asked twice:
// of its own catalogue, where an empty answer is a false alarm if the right tool would have
// been among the first five; and of one without any server that has a right tool, where an
// answer is a miss. A catalogue of a single server leaves nothing then, so that the tools of
// another set take its place.
func emptiness(sets []*set, w io.Writer) error {
	floors := []float64{0, .1, .15, .2, .25, .3, .4}
	fmt.Fprintf(w, "false alarms / misses in percent, by floor (in force: %.2f)\n", search.DefaultModel().Floor)
	fmt.Fprintf(w, "%-18s", "set")
	for _, f := range floors {
		fmt.Fprintf(w, "   %11.2f", f)
	}
	fmt.Fprintln(w)
	sum := make([][2]float64, len(floors))
	for _, s := range sets {
		rates, err := emptyRates(s, sets, floors)
		if err != nil {
			return err
		}
		printRates(w, s.name, rates)
		for i, r := range rates {
			sum[i][0] += r[0] / float64(len(sets))
			sum[i][1] += r[1] / float64(len(sets))
		}
	}
	printRates(w, "mean", sum)
	return nil
}

func printRates(w io.Writer, name string, rates [][2]float64) {
	fmt.Fprintf(w, "%-18s", name)
	for _, r := range rates {
		fmt.Fprintf(w, "   %4.1f / %4.1f", 100*r[0], 100*r[1])
	}
	fmt.Fprintln(w)
}

// emptyRates returns the shares of false alarms and misses for each floor.
func emptyRates(s *set, sets []*set, floors []float64) ([][2]float64, error) {
	all, err := search.Open(search.Build(s.docs))
	if err != nil {
		return nil, err
	}
	rates := make([][2]float64, len(floors))
	others := map[string]*search.Index{}
	queries := s.queries[:min(maxAsked, len(s.queries))]
	for i := range queries {
		q := &queries[i]
		gone := servers(s, q)
		key := fmt.Sprint(gone)
		if others[key] == nil {
			if others[key], err = search.Open(search.Build(without(s, sets, gone))); err != nil {
				return nil, err
			}
		}
		for j, floor := range floors {
			m := search.DefaultModel()
			m.Floor = 0
			ask := search.Query{Text: q.text, Limit: 5, Model: &m}
			open, err := all.Search(ask)
			if err != nil {
				return nil, err
			}
			m.Floor = floor
			have, err := all.Search(ask)
			if err != nil {
				return nil, err
			}
			lack, err := others[key].Search(ask)
			if err != nil {
				return nil, err
			}
			if len(have) == 0 && anyRight(open, q) {
				rates[j][0] += 1 / float64(len(queries))
			}
			if len(lack) > 0 {
				rates[j][1] += 1 / float64(len(queries))
			}
		}
	}
	return rates, nil
}

func anyRight(hits []search.Hit, q *query) bool {
	return slices.ContainsFunc(hits, func(h search.Hit) bool {
		return slices.ContainsFunc(q.groups, func(g group) bool { return slices.Contains(g.docs, h.Doc) })
	})
}

// servers returns the servers of the tools that answer q.
func servers(s *set, q *query) []string {
	var names []string
	for _, g := range q.groups {
		for _, d := range g.docs {
			names = append(names, s.docs[d].Server)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// without returns the tools of s that are on none of the servers gone; if that leaves nothing,
// those of another set.
func without(s *set, sets []*set, gone []string) []search.Document {
	keep := func(docs []search.Document) []search.Document {
		return slices.DeleteFunc(slices.Clone(docs), func(d search.Document) bool { return slices.Contains(gone, d.Server) })
	}
	docs := keep(s.docs)
	for _, o := range sets {
		if len(docs) == 0 && o.name != s.name {
			docs = keep(o.docs)
		}
	}
	return docs
}
