// Package hidden is the one table of the characters that a reader does not see, or that drive a terminal, and what
// becomes of them.
//
// Strangers' servers write names, descriptions and results, and a model obeys what a person does not see. [Show] makes
// a text harmless for a terminal, a log or a file; [Escape] makes JSON harmless and keeps its values; [Count] and
// [CountJSON] say how many such characters there are. The emoji that are made of several characters stay whole. The
// package does not judge words.
package hidden

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	joiner   = 0x200d  // between the parts of an emoji
	colour   = 0xfe0f  // behind the base of an emoji
	flag     = 0x1f3f4 // begins the flag of a part of a country
	lastTag  = 0xe007f
	firstTag = 0xe0020
)

// suspect reports whether a character is in the table: controls but line breaks and tab, format characters, separators
// of lines and paragraphs, variation selectors, tags, and letters without a form. The marks of Arabic and other scripts
// that stand before a number are format characters that one sees.
func suspect(r rune) bool {
	switch {
	case r < 0x20:
		return r != '\n' && r != '\t' && r != '\r'
	case r < 0x7f:
		return false
	case r < 0xad:
		return r < 0xa0
	case r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// at returns the character at s[i:], its size, and whether it is hidden there: parts of emoji are not.
func at(s string, i int) (r rune, size int, is bool) {
	r, size = utf8.DecodeRuneInString(s[i:])
	return r, size, suspect(r) && !inEmoji(s, i, r, size)
}

// inEmoji reports whether the character at s[i:] belongs to an emoji: one variation selector behind its base, a joiner
// between two bases, the tags of the three flags that have some (UTS #51, section 2).
func inEmoji(s string, i int, r rune, size int) bool {
	switch {
	case r == colour:
		return isBase(lastRune(s[:i]), s[i+size:])
	case r == joiner:
		before := strings.TrimSuffix(s[:i], string(rune(colour)))
		next, _ := utf8.DecodeRuneInString(s[i+size:])
		return isBase(lastRune(before), "") && isBase(next, "")
	case r >= firstTag && r <= lastTag:
		begin := strings.LastIndex(s[max(0, i-30):i], string(rune(flag)))
		if begin < 0 {
			return false
		}
		begin += max(0, i-30)
		for _, land := range []string{"gbeng", "gbsct", "gbwls"} {
			if whole := tagged(land); strings.HasPrefix(s[begin:], whole) && i < begin+len(whole) {
				return true
			}
		}
	}
	return false
}

// tagged returns the flag of a part of a country.
func tagged(land string) string {
	runes := []rune{flag}
	for _, c := range land {
		runes = append(runes, 0xe0000+c)
	}
	return string(append(runes, lastTag))
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// isBase reports whether an emoji can be made of r, behind which rest follows. The standard library has no table of
// emoji; these are the blocks that hold them.
func isBase(r rune, rest string) bool {
	switch {
	case r < 0xa0: // keycaps
		next, _ := utf8.DecodeRuneInString(rest)
		return next == 0x20e3 && strings.ContainsRune("0123456789#*", r)
	case r >= 0x1f000 && r <= 0x1faff, r >= 0x2190 && r <= 0x21ff, r >= 0x2300 && r <= 0x23ff, r >= 0x25a0 && r <= 0x27bf,
		r >= 0x2900 && r <= 0x297f, r >= 0x2b00 && r <= 0x2bff:
		return true
	}
	return strings.ContainsRune("©®‼⁉™ℹⓂ〰〽㊗㊙", r)
}

// plain reports whether s has only characters that are never hidden. It is quick for most texts.
func plain[T string | []byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// All yields the characters of a text, and whether each is hidden.
func All(s string) iter.Seq2[rune, bool] {
	return func(yield func(r rune, is bool) bool) {
		for i := 0; i < len(s); {
			r, size, is := at(s, i)
			if !yield(r, is) {
				return
			}
			i += size
		}
	}
}

// Count returns how many hidden characters a text has.
func Count(s string) (n int) {
	if plain(s) {
		return 0
	}
	for _, is := range All(s) {
		if is {
			n++
		}
	}
	return n
}

// Show returns a text as a terminal may have it. ESC, which begins control sequences, becomes "␛", a carriage return
// within a line "␍", and so on; other hidden characters and bytes that are not UTF-8 become "�". CR LF becomes a
// newline.
func Show(s string) string {
	if plain(s) && !strings.Contains(s, "\r") {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(s))
	for r, is := range All(s) {
		switch {
		case r == 0x7f:
			r = '␡'
		case (is || r == '\r') && r < 0x20:
			r += 0x2400 // the symbol for the control character
		case is:
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Escape returns a JSON text in which hidden characters are written as \uXXXX: its values stay the same. Bytes that are
// not UTF-8, which JSON must not have, become U+FFFD, as which most parsers read them.
func Escape(doc []byte) []byte {
	if plain(doc) {
		return doc
	}
	s := string(doc)
	out := make([]byte, 0, len(s)+len(s)/8)
	for i := 0; i < len(s); {
		if s[i] < 0x7f && s[i] >= 0x20 {
			out = append(out, s[i])
			i++
			continue
		}
		r, size, is := at(s, i)
		if i += size; !is {
			out = utf8.AppendRune(out, r)
			continue
		}
		units := []rune{r}
		if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			units = []rune{high, low}
		}
		for _, u := range units {
			out = append(out, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15])
		}
	}
	return out
}

const hex = "0123456789abcdef"

// CountJSON returns how many hidden characters the strings of a JSON text have, keys included, however they are
// written. A text that is not JSON has none.
func CountJSON(doc []byte) (n int) {
	if plain(doc) && !bytes.Contains(doc, []byte(`\`)) || !json.Valid(doc) {
		return 0
	}
	for i := 0; i < len(doc); i++ {
		if doc[i] != '"' {
			continue
		}
		begin, escaped := i, false
		for i++; doc[i] != '"'; i++ {
			if doc[i] == '\\' {
				escaped = true
				i++
			}
		}
		if word := doc[begin : i+1]; escaped {
			var text string
			_ = json.Unmarshal(word, &text) // it is valid
			n += Count(text)
		} else if !plain(word) {
			n += Count(string(word))
		}
	}
	return n
}
