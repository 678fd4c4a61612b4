package search

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// catalogue is a small set of tools of usual kinds.
func catalogue() []Document {
	return []Document{
		{Server: "github", Name: "list_issues", Description: "List issues in a repository. Supports paging.",
			Params: []Param{{"owner", "Repository owner"}, {"repo", "Repository name"}, {"state", "open or closed"}}},
		{Server: "github", Name: "create_issue", Description: "Create a new issue in a repository."},
		{Server: "github", Name: "createPullRequest", Title: "Open a pull request", Description: "Creates a pull request from a branch."},
		{Server: "files", Name: "read_file", Description: "Read the contents of a file.", Params: []Param{{"path", "Path of the file"}}},
		{Server: "files", Name: "write-file", Description: "Write text to a file, replacing what is there."},
		{Server: "time", Name: "get_current_time", Description: "Current time in a time zone.", Params: []Param{{"timezone", "IANA name"}}},
		{Server: "café", Name: "menü", Description: "天気予報を取得する"},
	}
}

func open(t testing.TB, docs []Document) *Index {
	t.Helper()
	ix, err := Open(Build(docs))
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// find returns the names of the hits.
func find(t testing.TB, docs []Document, q Query) []string {
	t.Helper()
	hits, err := open(t, docs).Search(q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	names := []string{}
	for _, h := range hits {
		names = append(names, docs[h.Doc].Name)
	}
	return names
}

func TestSearchFindsFirst(t *testing.T) {
	t.Parallel()
	tests := []struct{ query, want string }{
		{"issue", "list_issues"},
		{"list issues", "list_issues"},
		{"creating an issue", "create_issue"},
		{"create pull request", "createPullRequest"},
		{"read a file", "read_file"},
		{"write file", "write-file"},
		{"what time is it", "get_current_time"},
		{"Menu", "menü"},
		{"CAFE", "menü"},
		{"天気", "menü"},
	}
	for _, tt := range tests {
		names := find(t, catalogue(), Query{Text: tt.query})
		i := slices.Index(names, tt.want)
		if tt.query == "issue" { // both fit as well
			if i < 0 || i > 1 {
				t.Errorf("%q found %q, want %s", tt.query, names, tt.want)
			}
		} else if i != 0 {
			t.Errorf("%q found %q, want %s first", tt.query, names, tt.want)
		}
	}
}

func TestSearchOfTinyIndex(t *testing.T) {
	t.Parallel()
	if hits := find(t, nil, Query{Text: "issue"}); len(hits) != 0 {
		t.Errorf("an empty index found %q", hits)
	}
	for n := 1; n <= 2; n++ {
		docs := catalogue()[:n]
		for _, m := range []Method{BM25, Regex, Exact} {
			if hits := find(t, docs, Query{Text: "issue", Method: m}); len(hits) != n {
				t.Errorf("%s in an index of %d found %q", m, n, hits)
			}
		}
	}
}

func TestSearchWithoutWords(t *testing.T) {
	t.Parallel()
	for _, m := range []Method{"", BM25, Regex, Exact} {
		for _, text := range []string{"", "  ", "\t\n"} {
			if hits := find(t, catalogue(), Query{Text: text, Method: m}); len(hits) != 0 {
				t.Errorf("%s %q found %q", m, text, hits)
			}
		}
	}
}

func TestKeepOnlyFilters(t *testing.T) {
	t.Parallel()
	docs := catalogue()
	ix := open(t, docs)
	for _, m := range []Method{BM25, Regex, Exact} {
		all, err := ix.Search(Query{Text: "file", Method: m})
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(all), func(h Hit) bool { return h.Doc == 3 })
		got, err := ix.Search(Query{Text: "file", Method: m, Limit: 3, Keep: func(doc int) bool { return doc != 3 }})
		if err != nil {
			t.Fatal(err)
		}
		if len(all) < 2 || len(got) != len(want) {
			t.Fatalf("%s: %d hits of %d", m, len(got), len(all))
		}
		for i := range got {
			if got[i].Doc != want[i].Doc || got[i].Score != want[i].Score {
				t.Errorf("%s: hit %d is %+v, want %+v", m, i, got[i], want[i])
			}
		}
	}
}

func TestTiesStandInOrderOfNames(t *testing.T) {
	t.Parallel()
	docs := []Document{{Server: "b", Name: "ping"}, {Server: "a", Name: "ping"}, {Server: "B", Name: "ping"}, {Server: "a", Name: "ping"}}
	want := []int{2, 1, 3, 0}
	for _, m := range []Method{BM25, Regex, Exact} {
		for limit := range 5 {
			hits, err := open(t, docs).Search(Query{Text: "ping", Method: m, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			n := limit
			if limit == 0 {
				n = 4
			}
			if len(hits) != n {
				t.Fatalf("%s, limit %d: %d hits", m, limit, len(hits))
			}
			for i, h := range hits {
				if h.Doc != want[i] {
					t.Errorf("%s, limit %d: hit %d is %d, want %d", m, limit, i, h.Doc, want[i])
				}
			}
		}
	}
}

func TestExplainAddsUp(t *testing.T) {
	t.Parallel()
	docs := catalogue()
	ix := open(t, docs)
	for _, m := range []Method{BM25, Regex, Exact} {
		for _, text := range []string{"file", "issue", "create new issues in repo", "github time"} {
			hits, err := ix.Search(Query{Text: text, Method: m, Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range hits {
				sum := 0.0
				for _, c := range h.Explain {
					sum += c.Score
				}
				if h.Score <= 0 || h.Score > 1 || math.Abs(sum-h.Score) > 1e-5 {
					t.Errorf("%s %q: %s scores %v, its parts %v", m, text, docs[h.Doc].Name, h.Score, h.Explain)
				}
			}
		}
	}
}

func TestRegexAndExact(t *testing.T) {
	t.Parallel()
	tests := []struct {
		method Method
		query  string
		want   []string
		in     []string // of the first hit
	}{
		{Regex, "LIST_", []string{"list_issues"}, []string{"name"}},
		{Regex, "(?-i)LIST_", []string{}, nil},
		{Regex, "^read.file$", []string{"read_file"}, []string{"name"}},
		{Regex, "^files/", []string{"read_file", "write-file"}, []string{"server"}},
		{Regex, "^path$", []string{"read_file"}, []string{"parameters"}},
		{Regex, "contents|branch", []string{"read_file", "createPullRequest"}, []string{"description"}},
		{Regex, `pull\s+request`, []string{"createPullRequest"}, []string{"title", "description"}},
		{Exact, "write-FILE", []string{"write-file"}, []string{"name"}},
		{Exact, "github/list", []string{"list_issues"}, []string{"server"}},
		{Exact, "issue", []string{"create_issue", "list_issues"}, []string{"name", "description"}},
		{Exact, "MENU", []string{"menü"}, []string{"name"}},
		{Exact, "予報", []string{"menü"}, []string{"description"}},
		{Exact, "nowhere", []string{}, nil},
	}
	for _, tt := range tests {
		docs := catalogue()
		if got := find(t, docs, Query{Text: tt.query, Method: tt.method}); !slices.Equal(got, tt.want) {
			t.Errorf("%s %q found %q, want %q", tt.method, tt.query, got, tt.want)
			continue
		}
		hits, _ := open(t, docs).Search(Query{Text: tt.query, Method: tt.method})
		if len(hits) > 0 && !slices.Equal(hits[0].MatchedIn, tt.in) {
			t.Errorf("%s %q matched in %q, want %q", tt.method, tt.query, hits[0].MatchedIn, tt.in)
		}
	}
}

func TestSearchErrors(t *testing.T) {
	t.Parallel()
	ix := open(t, catalogue())
	_, err := ix.Search(Query{Text: "a(b", Method: Regex})
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || syntax.Offset != 0 || syntax.Part != "a(b" {
		t.Errorf("a bad pattern gave %#v", err)
	}
	_, err = ix.Search(Query{Text: "a", Method: "vector"})
	var method *MethodError
	if !errors.As(err, &method) || method.Method != "vector" {
		t.Errorf("an unknown method gave %v", err)
	}
}

func TestBuildIsDeterministic(t *testing.T) {
	t.Parallel()
	if !bytes.Equal(Build(catalogue()), Build(catalogue())) {
		t.Error("two builds of the same documents differ")
	}
}

// TestDamage flips every byte of an index: a search either fails or answers as before.
func TestDamage(t *testing.T) {
	t.Parallel()
	good := Build(catalogue())
	queries := []Query{{Text: "create an issue"}, {Text: "file", Method: Exact}, {Text: "f.le", Method: Regex}}
	answers := func(b []byte) ([][]Hit, error) {
		ix, err := Open(b)
		if err != nil {
			return nil, err
		}
		var all [][]Hit
		for _, q := range queries {
			hits, err := ix.Search(q)
			if err != nil {
				return nil, err
			}
			all = append(all, hits)
		}
		return all, nil
	}
	want, err := answers(good)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1 << (i % 8)
		got, err := answers(bad)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Fatalf("byte %d: %v", i, err)
			}
			continue
		}
		if !slices.EqualFunc(got, want, func(x, y []Hit) bool {
			return slices.EqualFunc(x, y, func(a, b Hit) bool { return a.Doc == b.Doc && a.Score == b.Score })
		}) {
			t.Fatalf("byte %d changed the answer", i)
		}
	}
	for n := range good {
		if _, err := Open(good[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%d bytes of it: %v", n, err)
		}
	}
}

// thinking is a tool with a long description, in which single words weigh little.
func thinking() Document {
	return Document{Server: "thinking", Name: "ponder", Description: "A tool for problems that need several steps. " +
		strings.Repeat("Each thought builds on those before it, questions them, or revises them as understanding deepens. ", 6) +
		"When the problem is plain, state a hypothesis. Check the hypothesis against the thoughts so far, and repeat until " +
		"checking finds no more. Filter out what does not matter at this step. 支持正则和模糊匹配，限制数量范围。"}
}

// TestUse32WordsAsWrittenAreFound: a tool that has all words of a query of one or two words is found, however little
// they weigh in it, and stands among the first three.
func TestUse32WordsAsWrittenAreFound(t *testing.T) {
	t.Parallel()
	docs := append(catalogue(), thinking(),
		Document{Server: "git", Name: "check_commit", Description: "Check the signature of a commit."},
		Document{Server: "git", Name: "check_tag", Description: "Check the signature of a tag."},
		Document{Server: "pgp", Name: "check", Description: "Check a signed file."},
		Document{Server: "pgp", Name: "check_key", Description: "Check a key."})
	for title, tc := range map[string]struct {
		query string
		limit int
		found bool
	}{
		"one word":               {"hypothesis", 5, true},
		"in other case":          {"HYPOTHESIS", 5, true},
		"two words":              {"hypothesis deepens", 5, true},
		"with function words":    {"what is the hypothesis", 5, true},
		"others have the stem":   {"checking", 5, true},
		"at the last sure place": {"checking", 3, true},
		"behind the limit":       {"checking", 2, false},
		"no limit":               {"checking", 0, true},
		"without spaces":         {"限制", 5, true},
		"several, without them":  {"模糊匹配", 5, true},
		"one word is not there":  {"hypothesis zygote", 5, false},
		"another form":           {"hypothesises", 5, false},
		"three words":            {"hypothesis deepens checking", 5, true}, // by its score
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			got := find(t, docs, Query{Text: tc.query, Limit: tc.limit})
			at := slices.Index(got, "ponder")
			if (at >= 0) != tc.found || at > surePlace {
				t.Errorf("%q finds %q", tc.query, got)
			}
		})
	}
	ix := open(t, docs)
	hits, err := ix.Search(Query{Text: "checking", Limit: 5, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, c := range hits[surePlace].Explain {
		sum += c.Score
	}
	last := hits[surePlace].Explain[0]
	if last.Term != writtenTerm || math.Abs(sum-hits[surePlace].Score) > 1e-6 || hits[surePlace].Score > hits[1].Score {
		t.Errorf("%+v adds up to %v", hits[surePlace], sum)
	}
	without := func(doc int) bool { return docs[doc].Name != "ponder" }
	if got := find(t, docs, Query{Text: "hypothesis", Keep: without}); len(got) != 0 {
		t.Errorf("a tool that is off is found: %q", got)
	}
}
