package search

// Model holds the constants of bm25. docs/search.md says how they were chosen and what each is worth. Arrays are
// indexed by field: server, name, title, first sentence of the description, its rest, parameter names, parameter
// descriptions.
type Model struct {
	// Weight is the weight of an occurrence in a field.
	Weight [fieldCount]float64
	// B is how strongly the length of a field is normalised, from 0 (not at all) to 1. It takes effect in [BuildWith].
	B [fieldCount]float64
	// K1 is how slowly repeated occurrences saturate.
	K1 float64
	// Exact is the weight of a word as it stands, beside its stem's 1.
	Exact float64
	// Related and WeakRelated are the weights of related words (synonyms and the like).
	Related, WeakRelated float64
	// Bigram is the weight of two words that are neighbours in query and document.
	Bigram float64
	// Cover is the part of a score that depends on how much of the query a document has.
	Cover float64
	// Server is the part of the best score of a server that all its documents get.
	Server float64
	// WeakWord is the weight of words of little meaning. PathWord is that of the words in paths, URLs and placeholders.
	WeakWord, PathWord float64
	// Hint is the weight of "file" if the query has a path, and of "url" if it has a URL.
	Hint float64
	// Typo is the weight of a corrected spelling, for each wrong letter.
	Typo float64
	// Compound is the weight of the parts of an unknown compound (filesystem: file, system), and of the compound if the
	// query has its parts.
	Compound float64
	// Floor and Enough decide when no document fits: if the best one has less than Floor of the evidence of one unique
	// word of the query, and covers less than Enough of the query.
	Floor, Enough float64
	// Tail is the part of the best hit's score that every other hit needs.
	Tail float64
}

// DefaultModel returns the constants in force.
func DefaultModel() Model {
	return Model{
		Weight:      [fieldCount]float64{2, 3, 1, 1, .2, .5, .2},
		B:           [fieldCount]float64{.75, .75, .75, .75, .75, .75, .75},
		K1:          3,
		Exact:       .2,
		Related:     .6,
		WeakRelated: .2,
		Bigram:      .5,
		Cover:       .6,
		Server:      .2,
		WeakWord:    .5,
		PathWord:    .5,
		Hint:        1,
		Typo:        .6,
		Compound:    1,
		Floor:       .1,
		Enough:      .25,
		Tail:        .2,
	}
}
