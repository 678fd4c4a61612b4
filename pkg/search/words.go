package search

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// maxWord is the longest word kept, in bytes. Longer ones (encoded data, URLs without separators) are cut: no person
// types them, and the index has to stay small.
const maxWord = 48

// token is a word of a text.
type token struct {
	text string
	// pos counts words from the start of the text. The whole of a compound has the position of its first part.
	pos int
	// whole marks the joined form of an identifier whose parts are tokens too.
	whole bool
}

// wordSplitter cuts text into words. It folds letters (case, accents); it splits identifiers at underscores, hyphens,
// dots, changes of case and digits; it makes bigrams of scripts written without spaces. A run such as GitHub or S3
// gives its parts and its whole, since people write it either way.
type wordSplitter struct {
	out  []token
	pos  int
	run  []rune // the current run of letters and digits, unfolded
	wide []rune // the current run of a script without spaces
}

func words(s string) []token {
	var w wordSplitter
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case isWide(r):
			w.flushRun()
			w.wide = append(w.wide, r)
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			w.flushWide()
			w.run = append(w.run, r)
		case unicode.Is(unicode.Mn, r):
			// A combining accent: the letter before it stands for both.
		case (r == '\'' || r == '’') && len(w.run) > 0:
			if isGenitive(s[i:]) {
				i++
			} // else a contraction: don't is dont
		default:
			w.flush()
		}
	}
	w.flush()
	return w.out
}

// isGenitive reports whether the text after an apostrophe is the s of a genitive.
func isGenitive(s string) bool {
	if s == "" || s[0] != 's' {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s[1:])
	return !unicode.IsLetter(r)
}

// isWide reports whether r belongs to a script that is written without spaces.
func isWide(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

func (w *wordSplitter) flush() {
	w.flushRun()
	w.flushWide()
}

func (w *wordSplitter) emit(s string, whole bool) {
	if len(s) > maxWord {
		cut := maxWord
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut]
	}
	w.out = append(w.out, token{text: s, pos: w.pos, whole: whole})
}

// flushWide emits the bigrams of the current wide run, or its only character.
func (w *wordSplitter) flushWide() {
	if len(w.wide) == 1 {
		w.emit(string(w.wide), false)
		w.pos++
	}
	for i := 0; i+1 < len(w.wide); i++ {
		w.emit(string(w.wide[i:i+2]), false)
		w.pos++
	}
	w.wide = w.wide[:0]
}

// maxWhole is the longest compound whose whole is kept, in characters: GitHub and PostgreSQL, but not
// createPullRequest.
const maxWhole = 12

func (w *wordSplitter) flushRun() {
	run := w.run
	if len(run) == 0 {
		return
	}
	if n := len(run) - 1; n >= 2 && run[n] == 's' && allUpper(run[:n]) {
		run = run[:n] // PRs, VMs, URLs
	}
	first := w.pos
	start := 0
	for i := 1; i <= len(run); i++ {
		if i < len(run) && !caseBreak(run, i) {
			continue
		}
		w.chunk(run[start:i])
		start = i
	}
	if w.pos > first+1 && len(run) <= maxWhole && caseBreaks(run) == 1 {
		w.emitAt(first, foldRunes(run))
	}
	w.run = w.run[:0]
}

// chunk emits one part of an identifier. If it mixes letters and digits (s3, k8s, sha256), chunk emits the whole and
// those parts that can be words.
func (w *wordSplitter) chunk(c []rune) {
	first, start := w.pos, 0
	for i := 1; i <= len(c); i++ {
		if i < len(c) && unicode.IsDigit(c[i]) == unicode.IsDigit(c[i-1]) {
			continue
		}
		part := c[start:i]
		if start == 0 && i == len(c) {
			w.emit(foldRunes(c), false)
			w.pos++
			return
		}
		if unicode.IsDigit(part[0]) || len(part) > 1 {
			w.emit(foldRunes(part), false)
			w.pos++
		}
		start = i
	}
	w.emitAt(first, foldRunes(c))
}

func (w *wordSplitter) emitAt(pos int, s string) {
	saved := w.pos
	w.pos = pos
	w.emit(s, true)
	w.pos = saved
}

// caseBreak reports whether a new word starts at run[i]: aB, or the B of AABb.
func caseBreak(run []rune, i int) bool {
	if !unicode.IsUpper(run[i]) {
		return false
	}
	if !unicode.IsUpper(run[i-1]) {
		return true
	}
	return i+1 < len(run) && unicode.IsLower(run[i+1])
}

func allUpper(run []rune) bool {
	return !slices.ContainsFunc(run, func(r rune) bool { return !unicode.IsUpper(r) })
}

func caseBreaks(run []rune) int {
	n := 0
	for i := 1; i < len(run); i++ {
		if caseBreak(run, i) {
			n++
		}
	}
	return n
}

func foldRunes(rs []rune) string {
	b := make([]byte, 0, len(rs)+4)
	for _, r := range rs {
		b = appendFolded(b, r)
	}
	return string(b)
}
