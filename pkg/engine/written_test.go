package engine

import (
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/search"
)

// TestUse32NestedWordsAreFound: a query of one or two words that all stand in a tool finds it, also if they stand only
// deep in its schema. Words of JSON Schema itself are not the tool's.
func TestUse32NestedWordsAreFound(t *testing.T) {
	t.Parallel()
	b := newBank(t, "off")
	b.refresh(`{"name":"edit","description":"It edits.","inputSchema":{"type":"object","properties":{"edits":{"type":"array",
		"items":{"type":"object","properties":{"oldText":{"type":"string","description":"What must match exactly"},
		"mode":{"enum":["gentle"]}},"required":["oldText"]}}}}}`)
	for query, want := range map[string]string{"exactly": "edit", "EXACTLY match": "edit", "oldText": "edit", "gentle": "edit",
		"exactly zygote": "", "what must match": "", "additionalproperties": "", "array": "", "required": "", "exact": ""} {
		q := search.Query{Text: query, Method: search.BM25, Limit: 5}
		result, err := b.engine().Search(t.Context(), SearchRequest{Query: q})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range result.Found {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q finds %q", query, got)
		}
	}
	if hasWord(strings.Repeat("exactlyx ", 10), "exactly") {
		t.Error("a part of a word counts as one")
	}
}
