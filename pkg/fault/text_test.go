package fault

import (
	"strings"
	"testing"
)

func TestTexts(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct{ got, want string }{
		"short":               {Cut("abc", 3), "abc"},
		"cut":                 {Cut("abcd", 3), "abc…"},
		"cut within a letter": {Cut("aä", 2), "a…"},
		"an excerpt":          {Excerpt(" a\n\t\x1b[1mb\u200bc\xff ", 20), "a [1mb c\uFFFD"},
		"a cut excerpt":       {Excerpt("a\nbcd", 3), "a b…"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %q, want %q", title, tc.got, tc.want)
		}
	}
}

// TestNearestIsBounded compares no names that are longer than any that a person types.
func TestNearestIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxName+1)
	compared := 0
	all := func(string) int {
		compared++
		return 0
	}
	if near := Nearest(long, []string{"a", "b"}, all); near != nil || compared > 0 {
		t.Errorf("%q, and %d names were compared", near, compared)
	}
	if near := Nearest("a", []string{long, "b"}, all); len(near) != 1 || near[0] != "b" || compared != 1 {
		t.Errorf("%q, and %d names were compared", near, compared)
	}
}
