package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/search"
)

// TestNamesInSmallLettersAreFound: a name without its capitals, underscores and hyphens finds that tool, or one with
// the same letters, among the first three.
func TestNamesInSmallLettersAreFound(t *testing.T) {
	t.Parallel()
	own, err := readSet(ownSet)
	if err != nil {
		t.Fatal(err)
	}
	everywhere, _ := catalogTools(t)
	for name, docs := range map[string][]search.Document{"own": own.docs, "catalogs": everywhere} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(docs) == 0 {
				t.Skip("there are no catalogues beside this checkout")
			}
			ix, err := search.Open(search.Build(docs))
			if err != nil {
				t.Fatal(err)
			}
			asked, missed := 0, []string{}
			for _, d := range docs {
				query := squashed(d.Name)
				if query == "" {
					continue
				}
				asked++
				hits, err := ix.Search(search.Query{Text: query, Limit: 3})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(hits, func(h search.Hit) bool { return squashed(docs[h.Doc].Name) == query }) {
					missed = append(missed, d.Server+"/"+d.Name)
				}
			}
			if len(missed) > asked/30 {
				t.Errorf("%d of %d names are not found: %s", len(missed), asked, missed)
			}
		})
	}
}

// squashed returns a name in small letters, without what separates its words. It is empty for a name with other
// characters than letters.
func squashed(name string) string {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return name
}
