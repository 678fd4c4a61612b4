package search

import (
	"bufio"
	"slices"
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"list_issues", "list issues"},
		{"create-pull.request", "create pull request"},
		{"createPullRequest", "create pull request"},
		{"HTTPServer2", "http server 2 server2 httpserver2"},
		{"GitHub", "git hub github"},
		{"PRs and VMs", "pr and vm"},
		{"s3 k8s sha256", "3 s3 8 k8s sha 256 sha256"},
		{"don't the user's café", "dont the user cafe"},
		{"cafe\u0301 Ångström STRASSE straße", "cafe angstrom strasse strasse"},
		{"天気予報 API", "天気 気予 予報 api"},
		{"天", "天"},
		{"Привет МИР", "привет мир"},
		{"Đường phố", "duong pho"},
		{"ſtop Kelvin Σίσυφος", "stop kelvin σίσυφοσ"},
		{"--- ... !?", ""},
	}
	for _, tt := range tests {
		var got []string
		for _, w := range words(tt.text) {
			got = append(got, w.text)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%q has the words %q, want %q", tt.text, s, tt.want)
		}
	}
	if w := words(strings.Repeat("ü天", 40)); len(w) == 0 {
		t.Error("no words")
	}
	if w := words(strings.Repeat("x", 1000)); len(w) != 1 || len(w[0].text) != maxWord {
		t.Errorf("a long word became %v", w)
	}
}

func TestQueryWords(t *testing.T) {
	t.Parallel()
	m := DefaultModel()
	tests := []struct{ text, want string }{
		{"please show me the issues", "issues"},
		{"what is it", "what is it"}, // nothing but stop words
		{"save to /home/me/report.md", "save home report md file"},
		{"read https://example.com/docs", "read https example com docs url"},
		{"put <file_path> there", "put file path"},
		{"node.js and example.com", "node js example com"},
	}
	for _, tt := range tests {
		var got []string
		for _, w := range queryWords(tt.text, &m) {
			got = append(got, w.text)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%q asks for %q, want %q", tt.text, s, tt.want)
		}
	}
	for _, w := range queryWords("save /home/report.md", &m) {
		if want := map[string]float64{"save": 1, "home": m.PathWord, "report": m.PathWord, "md": 1, "file": m.Hint}[w.text]; w.weight != want {
			t.Errorf("%s weighs %v, want %v", w.text, w.weight, want)
		}
	}
}

func TestSplitLead(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, lead string }{
		{"List issues. Supports paging.", "List issues"},
		{"One line\nand more", "One line"},
		{"  e.g. this is one sentence", "e.g. this is one sentence"},
		{"Reads v1.2 files of any kind! Yes.", "Reads v1.2 files of any kind"},
		{"", ""},
	}
	for _, tt := range tests {
		if lead, rest := splitLead(tt.text); lead != tt.lead || len(lead)+len(rest) > len(tt.text) {
			t.Errorf("%q starts with %q, then %q; want %q", tt.text, lead, rest, tt.lead)
		}
	}
}

// TestRelatedTable checks what bisection needs: lines in order, each key once.
func TestRelatedTable(t *testing.T) {
	t.Parallel()
	var keys []string
	sc := bufio.NewScanner(strings.NewReader(relatedTable))
	for sc.Scan() {
		key, list, ok := strings.Cut(sc.Text(), " ")
		if !ok || list == "" {
			t.Errorf("%q has no words", sc.Text())
		}
		keys = append(keys, key)
		if got, ok := tableLine(relatedTable, key); !ok || got != list {
			t.Errorf("%s is not found", key)
		}
	}
	if len(keys) < 500 || !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) != len(keys) {
		t.Errorf("%d keys are too few, not sorted, or not unique", len(keys))
	}
	for _, absent := range []string{"", " ", "zzz", ":", "\xff", "deletion"} {
		if list, ok := tableLine(relatedTable, absent); ok {
			t.Errorf("%q is related to %q", absent, list)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		x, y string
		want int
	}{
		{"issue", "issue", 0}, {"isue", "issue", 1}, {"issue", "issu", 1}, {"isseu", "issue", 1},
		{"create", "crate", 1}, {"create", "caerte", 2}, {"calendar", "calender", 1}, {"abcd", "wxyz", 3}, {"a", "abcdef", 3},
	}
	for _, tt := range tests {
		if got := distance(tt.x, tt.y, 2); got != tt.want {
			t.Errorf("%s and %s are %d apart, want %d", tt.x, tt.y, got, tt.want)
		}
		if distance(tt.x, tt.y, 2) != distance(tt.y, tt.x, 2) {
			t.Errorf("%s and %s: not symmetric", tt.x, tt.y)
		}
	}
}

func TestUnaccented(t *testing.T) {
	t.Parallel()
	for base, letters := range map[string]string{
		"a": "àáâãäåāăąǎạặ", "ae": "æ", "c": "çćĉċč", "d": "ðďđ", "e": "èéêëēĕėęěẹệ", "g": "ĝğġģ", "h": "ĥħ", "i": "ìíîïĩīĭįıǐỉị",
		"j": "ĵ", "k": "ķ", "l": "ĺļľł", "n": "ñńņň", "o": "òóôõöøōŏőơǒọợ", "oe": "œ", "r": "ŕŗř", "s": "śŝşšș", "ss": "ß",
		"t": "ţťț", "th": "þ", "u": "ùúûüũūŭůűųưǔụự", "w": "ŵ", "y": "ýÿŷỳỹ", "z": "źżž", "": "az÷ĸŉƀȠжﬁ字\u1e9f\u1efa",
	} {
		for _, r := range letters {
			if got := unaccented(r); got != base {
				t.Errorf("unaccented(%c) = %q, want %q", r, got, base)
			}
		}
	}
}
