package search

// Model holds the constants of bm25. docs/search.md says how they were chosen. Arrays are
// indexed by field: server, name, title, first sentence of the description, its rest,
// parameter names, parameter descriptions.
type Model struct {
	// Weight is how much an occurrence in a field counts.
	Weight [fieldCount]float64
	// B is how strongly the length of a field is normalised, 0 (not) to 1. It takes effect
	// in [BuildWith].
	B [fieldCount]float64
	// K1 is how slowly repeated occurrences saturate.
	K1 float64
	// Exact is the weight of a word as it stands, beside its stem's 1.
	Exact float64
}

// DefaultModel returns the constants in force.
func DefaultModel() Model {
	return Model{
		Weight: [fieldCount]float64{1, 3, 1, 1, 1, .5, .15},
		B:      [fieldCount]float64{.75, .75, .75, .75, .75, .75, .75},
		K1:     2,
		Exact:  .5,
	}
}
