package search

import (
	"unicode"
	"unicode/utf8"
)

// fold returns s without differences of case and accents. It maps character by character, so
// a folded text contains a folded substring wherever the text contains the substring in any
// case.
func fold(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		b = appendFolded(b, r)
	}
	return string(b)
}

func appendFolded(b []byte, r rune) []byte {
	switch {
	case 'A' <= r && r <= 'Z':
		return append(b, byte(r)+'a'-'A')
	case r < utf8.RuneSelf:
		return append(b, byte(r))
	}
	r = foldCase(r)
	if r < utf8.RuneSelf {
		return append(b, byte(r))
	}
	if s := unaccented(r); s != "" {
		return append(b, s...)
	}
	return utf8.AppendRune(b, r)
}

// foldCase returns one and the same character for all that differ only in case.
func foldCase(r rune) rune {
	first := r
	for n := unicode.SimpleFold(r); n != r; n = unicode.SimpleFold(n) {
		first = min(first, n)
	}
	return unicode.ToLower(first)
}

// unaccented returns the base letters of a lower-case Latin letter with an accent, or "".
// Only the letters of living languages in the Latin-1 and Latin Extended-A blocks and of
// Vietnamese are known; others stay as they are, which is harmless: a query has them as well.
func unaccented(r rune) string {
	switch r {
	case 'à', 'á', 'â', 'ã', 'ä', 'å', 'ā', 'ă', 'ą', 'ǎ':
		return "a"
	case 'æ':
		return "ae"
	case 'ç', 'ć', 'ĉ', 'ċ', 'č':
		return "c"
	case 'ð', 'ď', 'đ':
		return "d"
	case 'è', 'é', 'ê', 'ë', 'ē', 'ĕ', 'ė', 'ę', 'ě':
		return "e"
	case 'ĝ', 'ğ', 'ġ', 'ģ':
		return "g"
	case 'ĥ', 'ħ':
		return "h"
	case 'ì', 'í', 'î', 'ï', 'ĩ', 'ī', 'ĭ', 'į', 'ı', 'ǐ':
		return "i"
	case 'ĵ':
		return "j"
	case 'ķ':
		return "k"
	case 'ĺ', 'ļ', 'ľ', 'ł':
		return "l"
	case 'ñ', 'ń', 'ņ', 'ň':
		return "n"
	case 'ò', 'ó', 'ô', 'õ', 'ö', 'ø', 'ō', 'ŏ', 'ő', 'ơ', 'ǒ':
		return "o"
	case 'œ':
		return "oe"
	case 'ŕ', 'ŗ', 'ř':
		return "r"
	case 'ś', 'ŝ', 'ş', 'š', 'ș':
		return "s"
	case 'ß':
		return "ss"
	case 'ţ', 'ť', 'ț':
		return "t"
	case 'þ':
		return "th"
	case 'ù', 'ú', 'û', 'ü', 'ũ', 'ū', 'ŭ', 'ů', 'ű', 'ų', 'ư', 'ǔ':
		return "u"
	case 'ŵ':
		return "w"
	case 'ý', 'ÿ', 'ŷ':
		return "y"
	case 'ź', 'ż', 'ž':
		return "z"
	}
	if 0x1ea0 <= r && r <= 0x1ef9 {
		return vietnamese(r)
	}
	return ""
}

// vietnamese does the block Latin Extended Additional, U+1EA0 to U+1EF9, which is in
// alphabetical order.
func vietnamese(r rune) string {
	switch {
	case r <= 0x1eb7:
		return "a"
	case r <= 0x1ec7:
		return "e"
	case r <= 0x1ecb:
		return "i"
	case r <= 0x1ee3:
		return "o"
	case r <= 0x1ef1:
		return "u"
	default:
		return "y"
	}
}
