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

// part emits the next word.
func (w *wordSplitter) part(s string) {
	w.emit(token{text: s, pos: w.pos})
	w.pos++
}

func (w *wordSplitter) emit(t token) {
	if len(t.text) > maxWord {
		cut := maxWord
		for !utf8.RuneStart(t.text[cut]) {
			cut--
		}
		t.text = t.text[:cut]
	}
	w.out = append(w.out, t)
}

// flushWide emits the bigrams of the current wide run, or its only character.
func (w *wordSplitter) flushWide() {
	if len(w.wide) == 1 {
		w.part(string(w.wide))
	}
	for i := 0; i+1 < len(w.wide); i++ {
		w.part(string(w.wide[i : i+2]))
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
	first, start, chunks := w.pos, 0, 0
	for i := 1; i <= len(run); i++ {
		if i < len(run) && !caseBreak(run, i) {
			continue
		}
		w.chunk(run[start:i])
		start = i
		chunks++
	}
	if w.pos > first+1 && len(run) <= maxWhole && chunks == 2 {
		w.emit(token{fold(string(run)), first, true})
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
			w.part(fold(string(c)))
			return
		}
		if unicode.IsDigit(part[0]) || len(part) > 1 {
			w.part(fold(string(part)))
		}
		start = i
	}
	w.emit(token{fold(string(c)), first, true})
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
