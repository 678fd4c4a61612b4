// Package search ranks tools for a query: by BM25F over words ("bm25"), by a regular expression ("regex") or by a
// substring ("exact").
//
// [Build] packs documents into an inverted index, [Open] reads its bytes in place (they may be a mapped file of
// 100,000 tools), and [Index.Search] answers from the few pages that a query touches. The package does no I/O, reads
// no clock and holds no state; pkg/index knows where the bytes live, when they are stale and which tool a document
// number stands for. docs/search.md explains the ranking and has the measurements behind its constants.
package search

import (
	"errors"
	"fmt"
	"slices"
)

// Document is one tool, as the ranking sees it. Document numbers are positions in the slice given to [Build].
type Document struct {
	Server, Name, Title, Description string
	Params                           []Param
}

// Param is one parameter of a tool: a top-level property of its input schema.
type Param struct {
	Name, Description string
}

// Method is a way to match documents.
type Method string

// The methods of [Index.Search].
const (
	BM25  Method = "bm25"  // ranked by words, the default
	Regex Method = "regex" // RE2, case-insensitive unless the pattern has flags of its own
	Exact Method = "exact" // substring, case and accents ignored
)

// Query is one search.
type Query struct {
	Text string
	// Method is BM25 if empty.
	Method Method
	// Limit bounds the number of hits. Zero and less mean all.
	Limit int
	// Keep reports which documents may be hits. If nil, all may. It filters and never scores: the remaining hits have
	// the scores and the order that they would have without it.
	Keep func(doc int) bool
	// Explain asks for the parts of each score.
	Explain bool
	// Model replaces the built-in constants of bm25, for measuring (internal/eval). If nil, [DefaultModel] counts.
	Model *Model
}

// Hit is a document that fits a query.
type Hit struct {
	// Doc is the document's number.
	Doc int
	// Score lies between 0 and 1, and scores of different queries can be compared. For bm25 it is the part of the
	// query's information that the document covers (docs/search.md). For regex and exact it depends only on the place of
	// the match.
	Score float64
	// MatchedIn lists the fields with a match, a subset of "server", "name", "title", "description", "parameters" in
	// this order.
	MatchedIn []string
	// Explain holds the parts of Score, largest first, if the query asked for them. They add up to Score.
	Explain []Contribution
}

// Contribution is the part of a hit's score that one query term adds through one field.
type Contribution struct {
	// Term is the word of the query. If the document has another form of it (a stem, a synonym, a corrected spelling),
	// Term is "word~form".
	Term string `json:"term"`
	// Field is one of the names that [Hit.MatchedIn] holds.
	Field string  `json:"field"`
	Score float64 `json:"score"`
}

// ErrCorrupt says that the bytes of an index are not those that Build made.
var ErrCorrupt = errors.New("the search index is damaged")

// ErrVersion says that an index has a version of the format that this one cannot read.
var ErrVersion = errors.New("the search index has another format version")

// MethodError says that a query asks for an unknown method.
type MethodError struct{ Method Method }

// Error names the method and the ones there are.
func (e *MethodError) Error() string {
	return fmt.Sprintf("unknown search method %q (there are bm25, regex and exact)", string(e.Method))
}

// SyntaxError says that the pattern of a regex query cannot be parsed.
type SyntaxError struct {
	Pattern string
	// Offset is the byte position in Pattern of the wrong part. It is -1 if that is unknown.
	Offset int
	// Problem says what is wrong. Part is the wrong part.
	Problem, Part string
}

// Error says what is wrong and where.
func (e *SyntaxError) Error() string {
	if e.Offset < 0 || e.Part == "" {
		return fmt.Sprintf("the pattern %q is not a regular expression: %s", e.Pattern, e.Problem)
	}
	return fmt.Sprintf("the pattern %q is not a regular expression: %s at %d: %q", e.Pattern, e.Problem, e.Offset, e.Part)
}

// Search returns the documents that fit q, best first. Equal scores are in the order of (server, name), compared
// byte-wise. A query without words has no hits. Errors are a [*SyntaxError], a [*MethodError], or wrap [ErrCorrupt].
func (ix *Index) Search(q Query) ([]Hit, error) {
	switch q.Method {
	case BM25, "":
		return ix.rank(q)
	case Regex:
		return ix.scanRegex(q)
	case Exact:
		return ix.scanExact(q)
	default:
		return nil, &MethodError{q.Method}
	}
}

// A field is a part of a document with a weight of its own.
const (
	fieldServer = iota
	fieldName
	fieldTitle
	fieldLead // the first sentence of the description
	fieldRest // the others
	fieldParam
	fieldParamText
	fieldCount
)

// fieldLabels has what users read of each field.
var fieldLabels = [fieldCount]string{
	"server", "name", "title", "description", "description", "parameters", "parameters"}

// labels returns the names of the fields in mask, each once. Bit f of the mask stands for field f.
func labels(mask uint8) []string {
	var out []string
	for f := range fieldCount {
		if mask&(1<<f) != 0 {
			out = append(out, fieldLabels[f])
		}
	}
	return slices.Compact(out)
}
