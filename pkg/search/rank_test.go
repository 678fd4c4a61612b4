package search

import (
	"slices"
	"strings"
	"testing"
)

func TestOtherWords(t *testing.T) {
	t.Parallel()
	docs := append(catalogue(),
		Document{Server: "web", Name: "take_screenshot", Description: "Take a screenshot of the page."},
		Document{Server: "disk", Name: "filesystem_usage", Description: "How full the disks are."},
		Document{Server: "mail", Name: "send_email", Description: "Send an email."},
		Document{Server: "git", Name: "getRepositoryContents", Description: "What is in a repository."},
		Document{Server: "git", Name: "get_repository", Description: "About a repository and its contents."},
		Document{Server: "chat", Name: "reply_to_thread", Description: "Answer."},
	)
	tests := []struct{ query, want, why string }{
		{"add a bug", "create_issue", "synonyms"},
		{"open a PR", "createPullRequest", "an abbreviation"},
		{"crate isue", "create_issue", "two typos"},
		{"screen shot", "take_screenshot", "a compound written apart"},
		{"readfile", "read_file", "words written together"},
		{"getrepositorycontents", "getRepositoryContents", "a name of three words in small letters"},
		{"replytothread", "reply_to_thread", "a name with a function word"},
		{"enviar correo", "send_email", "Spanish"},
		{"CREATE ISSUES!!", "create_issue", "case and plural"},
	}
	for _, tt := range tests {
		if got := find(t, docs, Query{Text: tt.query, Limit: 3}); len(got) == 0 || got[0] != tt.want {
			t.Errorf("%q (%s) found %q, want %s", tt.query, tt.why, got, tt.want)
		}
	}
}

// TestCorrectWordsAreNotCorrected: a word that some document has is meant as it stands.
func TestCorrectWordsAreNotCorrected(t *testing.T) {
	t.Parallel()
	docs := []Document{{Server: "a", Name: "issue_report"}, {Server: "b", Name: "tissue_report"}}
	if got := find(t, docs, Query{Text: "tissue"}); !slices.Equal(got, []string{"tissue_report"}) {
		t.Errorf("found %q", got)
	}
}

func TestNothingFits(t *testing.T) {
	t.Parallel()
	for _, q := range []string{"bake a chocolate cake", "xqzvw", "🚀", "quantum entanglement simulator", "thequickbrownfoxjumps", "issuefilecreatebranchpull"} {
		if got := find(t, catalogue(), Query{Text: q}); len(got) != 0 {
			t.Errorf("%q found %q", q, got)
		}
	}
}

// TestTail: documents that share but a common word with the query are not hits beside one that
// has all of it.
func TestTail(t *testing.T) {
	t.Parallel()
	docs := []Document{
		{Server: "mongo", Name: "aggregate", Description: "Run an aggregation pipeline on a collection."},
		{Server: "x", Name: "other", Description: "Something else", Params: []Param{{"a", "which collection"}}},
		{Server: "y", Name: "ping", Description: "Answers."},
	}
	if got := find(t, docs, Query{Text: "run an aggregation pipeline on a collection"}); !slices.Equal(got, []string{"aggregate"}) {
		t.Errorf("found %q", got)
	}
}

// TestFilterDoesNotHideAnswers: what is far behind the best of all servers may still be the
// best of the one that was asked for.
func TestFilterDoesNotHideAnswers(t *testing.T) {
	t.Parallel()
	docs := []Document{
		{Server: "mongo", Name: "aggregate", Description: "Run an aggregation pipeline on a collection."},
		{Server: "x", Name: "other", Description: "Something else", Params: []Param{{"a", "which collection"}}},
	}
	got := find(t, docs, Query{Text: "run an aggregation pipeline on a collection", Keep: func(doc int) bool { return doc == 1 }})
	if !slices.Equal(got, []string{"other"}) {
		t.Errorf("found %q", got)
	}
}

func TestScoreMeaning(t *testing.T) {
	t.Parallel()
	ix := open(t, append(catalogue(), synthetic(200)...))
	score := func(text string) float64 {
		hits, err := ix.Search(Query{Text: text, Limit: 1})
		if err != nil || len(hits) == 0 {
			t.Fatalf("%q: %v %v", text, hits, err)
		}
		return hits[0].Score
	}
	whole, part := score("create pull request"), score("create pull request with unheard gribbles")
	if whole < .5 || part > .6*whole {
		t.Errorf("a query that is met scores %v, one that is met in part %v", whole, part)
	}
}

func TestLongQuery(t *testing.T) {
	t.Parallel()
	ix := open(t, synthetic(50))
	text := strings.Repeat("issue create message ", 2000) + strings.Join(strings.Fields(synthetic(300)[7].Description), " ")
	for i := range 5000 {
		text += " word" + string(rune('a'+i%26)) + strings.Repeat("x", i%40)
	}
	hits, err := ix.Search(Query{Text: text, Limit: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		if h.Score > 1 {
			t.Errorf("score %v", h.Score)
		}
	}
}

func TestLn(t *testing.T) {
	t.Parallel()
	for x, want := range map[float64]float64{1: 0, 2: 0.6931471805599453, .5: -0.6931471805599453, 10: 2.302585092994046,
		1e6: 13.815510557964274, 1.0001: 9.999500033329732e-05} {
		if got := ln(x); got-want > 1e-12 || want-got > 1e-12 {
			t.Errorf("ln(%v) is %v, want %v", x, got, want)
		}
	}
}

// TestConcurrentSearch: an index is shared by the requests of a daemon.
func TestConcurrentSearch(t *testing.T) {
	t.Parallel()
	ix := open(t, catalogue())
	done := make(chan []Hit)
	for range 8 {
		go func() { // ends with its only send, which is received below
			hits, _ := ix.Search(Query{Text: "create issue", Limit: 1})
			done <- hits
		}()
	}
	for range 8 {
		if hits := <-done; len(hits) != 1 || hits[0].Doc != 1 {
			t.Errorf("found %+v", hits)
		}
	}
}
