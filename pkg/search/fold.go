package search

import (
	"unicode"
	"unicode/utf8"
)

// fold returns s without differences of case and accents. It maps character by character, so that a folded text
// contains a folded substring wherever the text contains the substring in any case.
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

// foldCase returns the same character for all that differ only in case.
func foldCase(r rune) rune {
	first := r
	for n := unicode.SimpleFold(r); n != r; n = unicode.SimpleFold(n) {
		first = min(first, n)
	}
	return unicode.ToLower(first)
}

// baseLetters has the base letter of each lower-case letter from U+00DF to U+021F. A capital letter stands for two
// letters (see unaccented), a dot for a character that stays as it is.
const (
	firstAccented = 0xdf
	baseLetters   = "S" + // ß
		"aaaaaaAceeeeiiiidnooooo.ouuuuyTy" + // à to ÿ
		".a.a.a.c.c.c.c.d.d.e.e.e.e.e.g.g" + // ā to ğ
		".g.g.h.h.i.i.i.i.i...j.k..l.l.l." + // ġ to ľ
		"..l.n.n.n....o.o.o.O.r.r.r.s.s.s" + // ł to ş
		".s.t.t...u.u.u.u.u.u.w.y..z.z.z." + // š to ž
		"................................" +
		".o..............u..............." + // ơ, ư
		"..............a.i.o.u..........." + // ǎ, ǐ, ǒ, ǔ
		"................................" +
		".........................s.t...." //   ș, ț
)

// unaccented returns the base letters of a lower-case Latin letter with an accent. It knows the letters of living
// languages in the Latin-1 and Latin Extended-A blocks and of Vietnamese. For other characters it is empty, and they
// stay, which is harmless: a query has them as well.
func unaccented(r rune) string {
	if 0x1ea0 <= r && r <= 0x1ef9 {
		return vietnamese(r)
	}
	i := int(r) - firstAccented
	if i < 0 || i >= len(baseLetters) {
		return ""
	}
	switch base := baseLetters[i : i+1]; base {
	case ".":
		return ""
	case "S":
		return "ss"
	case "A":
		return "ae"
	case "O":
		return "oe"
	case "T":
		return "th"
	default:
		return base
	}
}

// vietnamese returns the base letter of a character in the block Latin Extended Additional, U+1EA0 to U+1EF9, which
// is in alphabetical order.
func vietnamese(r rune) string {
	base := "aeiouy"
	for _, last := range "\u1eb7\u1ec7\u1ecb\u1ee3\u1ef1" {
		if r > last {
			base = base[1:]
		}
	}
	return base[:1]
}
