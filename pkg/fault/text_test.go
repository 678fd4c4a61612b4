package fault

import "testing"

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
