package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/search"
)

// catalogs has the listings of real servers that are kept beside a checkout, as the sets of make eval are. They are not
// in the repository: without them the test judges our own set.
const catalogs = "../../../shared/catalogs"

// TestUse32UniqueWordsAreFound: each word that stands in one tool alone, in any case and any field, finds that tool
// among the first three. The floor below which nothing fits used to hide every second one.
func TestUse32UniqueWordsAreFound(t *testing.T) {
	t.Parallel()
	own, err := readSet(ownSet)
	if err != nil {
		t.Fatal(err)
	}
	everywhere, alone := catalogTools(t)
	for name, docs := range map[string][]search.Document{"own": own.docs, "catalogs": everywhere, "a server alone": alone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(docs) == 0 {
				t.Skip("there are no catalogues beside this checkout")
			}
			checkUnique(t, docs)
		})
	}
}

// catalogTools returns the tools of all catalogues, and those of the one with the longest descriptions.
func catalogTools(t *testing.T) (all, alone []search.Document) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(catalogs, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		var listing struct {
			Server string
			Tools  []struct {
				toolLine
				Name string
			}
		}
		if err = errors.Join(err, json.Unmarshal(raw, &listing)); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, tl := range listing.Tools {
			tl.Server, tl.Tool = listing.Server, tl.Name
			all = append(all, document(&tl.toolLine))
		}
		if listing.Server == "sequential-thinking" {
			alone = all[len(all)-len(listing.Tools):]
		}
	}
	return all, alone
}

func checkUnique(t *testing.T, docs []search.Document) {
	t.Helper()
	ix, err := search.Open(search.Build(docs))
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		doc     int
		written string
	}
	only := map[string]place{}
	for doc, d := range docs {
		texts := []string{d.Server, d.Name, d.Title, d.Description}
		for _, p := range d.Params {
			texts = append(texts, p.Name, p.Description)
		}
		for _, word := range readWords(strings.Join(texts, " ")) {
			at, known := only[strings.ToLower(word)]
			if known && at.doc != doc {
				at.doc = -1
			} else {
				at = place{doc, word}
			}
			only[strings.ToLower(word)] = at
		}
	}
	judged := 0
	for _, word := range only {
		if word.doc < 0 || len(word.written) < 3 || len(part.FindAllString(word.written, 3)) == 3 { // three words in one
			continue
		}
		judged++
		hits, err := ix.Search(search.Query{Text: word.written, Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		var got []string
		for _, h := range hits {
			found = found || h.Doc == word.doc
			got = append(got, docs[h.Doc].Name)
		}
		if !found {
			t.Errorf("%q stands in %s alone and finds %q", word.written, docs[word.doc].Name, got)
		}
	}
	if judged < 100 {
		t.Errorf("only %d words are unique", judged)
	}
}

var (
	between  = regexp.MustCompile(`[^\pL\pN]+`)
	genitive = regexp.MustCompile(`['’]s\b`)
	// part is a part of an identifier: Data of maxData2.
	part = regexp.MustCompile(`\p{Lu}?\p{Ll}+|\d+`)
)

// readWords returns the words of a text as people read them, and those that identifiers are made of.
func readWords(text string) []string {
	text = strings.NewReplacer("n't", "nt", "n’t", "nt").Replace(genitive.ReplaceAllString(text, ""))
	words := between.Split(text, -1)
	for _, w := range words {
		words = append(words, part.FindAllString(w, -1)...)
	}
	return words
}
