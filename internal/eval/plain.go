package main

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/mcp-launchpad/mcpl/pkg/search"
)

// plain is textbook BM25, the baseline: server, name and description as one text, split where
// it is not alphanumeric, k1 1.5, b 0.75, idf never negative. It shares no code with pkg/search.
type plain struct {
	docs     []search.Document
	postings map[string][]plainPosting
	length   []int
	mean     float64
}

type plainPosting struct{ doc, freq int }

func newPlain(docs []search.Document) *plain {
	p := &plain{docs: docs, postings: map[string][]plainPosting{}}
	for i, d := range docs {
		ws := plainWords(d.Server + " " + d.Name + " " + d.Description)
		p.length = append(p.length, len(ws))
		p.mean += float64(len(ws)) / float64(len(docs))
		for _, w := range ws {
			list := p.postings[w]
			if n := len(list); n > 0 && list[n-1].doc == i {
				list[n-1].freq++
				continue
			}
			p.postings[w] = append(list, plainPosting{i, 1})
		}
	}
	return p
}

func plainWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// rank returns the best documents.
func (p *plain) rank(text string, limit int) []int {
	const k1, b = 1.5, .75
	score := map[int]float64{}
	for _, w := range plainWords(text) {
		list := p.postings[w]
		n, all := float64(len(list)), float64(len(p.docs))
		idf := math.Log(1 + (all-n+.5)/(n+.5))
		for _, x := range list {
			tf := float64(x.freq)
			score[x.doc] += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(p.length[x.doc])/p.mean))
		}
	}
	docs := make([]int, 0, len(score))
	for d := range score {
		docs = append(docs, d)
	}
	slices.SortFunc(docs, func(x, y int) int {
		dx, dy := &p.docs[x], &p.docs[y]
		return cmp.Or(cmp.Compare(score[y], score[x]), strings.Compare(dx.Server, dy.Server),
			strings.Compare(dx.Name, dy.Name), x-y)
	})
	return docs[:min(limit, len(docs))]
}
