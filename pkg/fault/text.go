package fault

import (
	"strings"
	"unicode"
)

// Cut cuts a text to n bytes and marks the cut with an ellipsis.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// Excerpt returns a foreign text on one line, without characters that do not print, and cut to n bytes.
func Excerpt(text string, n int) string {
	return Cut(strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " "), n)
}
