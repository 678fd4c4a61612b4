package policy

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		glob     string
		yes, not []string
	}{
		{"*", []string{"a/b", "a/b/c", "/", ""}, nil},
		{"github/*", []string{"github/a", "github/a/b", "github/", "GitHub/a"}, []string{"github", "my-github/a", "github2/a"}},
		{"github/*delete*", []string{"github/delete", "github/x/delete_y", "github/bulkDELETE"},
			[]string{"github/delet", "x/delete", "delete/github/"}},
		{"*delete*", []string{"delete/a", "a/delete", "a/b/delete/c"}, []string{"a/del", "a/d-elete"}},
		{"*/*_all", []string{"a/b_all", "a/_all", "a/b/c_all"}, []string{"a/b_all2", "_all"}},
		{"a/b", []string{"a/b", "A/B"}, []string{"a/b/c", "aa/b", "a/bb"}},
		{"a/**b", []string{"a/b", "a/cb"}, []string{"a/bc"}},
		{"a*a/a", []string{"aa/a", "aba/a"}, []string{"a/a"}}, // the two ends do not overlap
		{"*aa*aa*", []string{"aaaa", "a/aa-aa"}, []string{"aaa", "a/aaa"}},
		{"ü/*", []string{"ü/x", "Ü/x"}, []string{"u/x"}},
		{"a/x.y+(z)", []string{"a/x.y+(z)"}, []string{"a/xzy+(z)"}},
	} {
		t.Run(test.glob, func(t *testing.T) {
			t.Parallel()
			g, err := ParseGlob(test.glob)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range test.yes {
				if !g.Match(name) {
					t.Errorf("does not fit %q", name)
				}
			}
			for _, name := range test.not {
				if g.Match(name) {
					t.Errorf("fits %q", name)
				}
			}
		})
	}
}

// TestGlobIsLinear: patterns that take other matchers years end at once. If the time grew with the square of the
// length, the larger half would not end before the test's time is over.
func TestGlobIsLinear(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 4<<20)
	for _, pattern := range []string{
		strings.Repeat("*a", 500) + "*b",
		strings.Repeat("*", 1000) + "b",
		"*" + strings.Repeat("a", 1000) + "b*",
		"*" + strings.Repeat("a", 500) + "*" + strings.Repeat("a", 500) + "b*",
	} {
		g, err := ParseGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if g.Match(long) {
			t.Errorf("%.20q fits", pattern)
		}
	}
}

// FuzzGlob compares the matcher with a regular expression, whose time is linear too.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"github/*delete*", "github/bulkDelete"}, {"*", ""}, {"a*a/a", "a/a"}, {"**/b*", "a/b"},
		{"*aa*aa*", "aaa"}, {"\xff/*", "\xff/a"}, {"ſ/*", "S/x"}, {"İ/*", "i̇/x"}, {"a?", "ab"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := ParseGlob(pattern)
		if err != nil {
			return
		}
		got := g.Match(name)
		if again, err := ParseGlob(string(g)); utf8.ValidString(pattern) && (err != nil || again.Match(name) != got) {
			t.Errorf("%q read again as %q: %v", g, again, err)
		}
		if !utf8.ValidString(pattern) || !utf8.ValidString(name) {
			return
		}
		var parts []string
		for _, part := range strings.Split(strings.ToLower(pattern), "*") {
			parts = append(parts, regexp.QuoteMeta(part))
		}
		want := regexp.MustCompile(`(?s)\A` + strings.Join(parts, `.*`) + `\z`).MatchString(strings.ToLower(name))
		if got != want {
			t.Errorf("%q fits %q: %v, want %v", pattern, name, got, want)
		}
	})
}

func BenchmarkGlob(b *testing.B) {
	g, err := ParseGlob("github/*delete*")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		g.Match("github/create_pull_request_review_comment")
	}
}
