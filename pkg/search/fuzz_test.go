package search

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzOpen gives any bytes to Open and searches what it accepts. Half of the inputs get right
// checksums first, so that the code behind them meets nonsense too.
func FuzzOpen(f *testing.F) {
	good := Build(catalogue())
	f.Add(good, false)
	f.Add(good[:len(good)/2], true)
	f.Add(Build(nil), true)
	for i := 0; i < len(good); i += 101 {
		bad := slices.Clone(good)
		bad[i] ^= 0xff
		f.Add(bad, true)
	}
	f.Fuzz(func(t *testing.T, b []byte, repair bool) {
		if repair {
			b = repaired(b)
		}
		ix, err := Open(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Fatalf("Open: %v", err)
			}
			return
		}
		if ix.Len() > 1<<16 {
			t.Skip("a header that claims millions of documents would only make the fuzzer slow")
		}
		for _, q := range []Query{
			{Text: "create issues file crate", Explain: true, Limit: 3},
			{Text: "file", Method: Exact},
			{Text: "issue|f.le", Method: Regex},
		} {
			hits, err := ix.Search(q)
			if err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v: %v", q, err)
			}
			for _, h := range hits {
				if h.Doc < 0 || h.Doc >= ix.Len() || math.IsNaN(h.Score) {
					t.Fatalf("%v: %+v", q, h)
				}
			}
		}
	})
}

// repaired returns b with the magic, version, length and checksums of an index, as far as it
// is long enough to have them.
func repaired(b []byte) []byte {
	if len(b) < headerSize {
		return b
	}
	b = slices.Clone(b)
	le := binary.LittleEndian
	copy(b, magic)
	le.PutUint32(b[len(magic):], formatVersion)
	le.PutUint64(b[len(magic)+8:], uint64(len(b)))
	le.PutUint32(b[headerSize-4:], crc32.ChecksumIEEE(b[:headerSize-4]))
	sums := le.Uint64(b[len(magic)+16+8*sectChecksums:])
	if sums > uint64(len(b)) {
		return b
	}
	at := sums
	for from := uint64(headerSize); from < sums && at+4 <= uint64(len(b)); from += pageSize {
		le.PutUint32(b[at:], crc32.ChecksumIEEE(b[from:min(from+pageSize, sums)]))
		at += 4
	}
	return b
}

// FuzzWords checks what every other part relies on: words are folded, not empty, not too long,
// valid UTF-8 if the text is, and in order.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"createPullRequest", "HTTPServer2 list_issues", "naïve café's don't", "天気予報 tomorrow", "k8s\xff\xfe", "Ω𝒳ﬁſK", strings.Repeat("ü", 99)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		pos := 0
		for _, w := range words(s) {
			if w.text == "" || len(w.text) > maxWord || w.text != fold(w.text) {
				t.Fatalf("%q gave %q", s, w.text)
			}
			if utf8.ValidString(s) && !utf8.ValidString(w.text) {
				t.Fatalf("%q gave the broken %q", s, w.text)
			}
			if w.pos < pos && !w.whole {
				t.Fatalf("%q: %q stands at %d after %d", s, w.text, w.pos, pos)
			}
			pos = max(pos, w.pos)
			stem(w.text)
		}
	})
}

// FuzzSearch asks anything of a good index, in every method.
func FuzzSearch(f *testing.F) {
	ix, err := Open(Build(catalogue()))
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"create issue", "crate isue", "(?i)list|get", "a(b", "天気", "/home/me/x.pdf and <b>", "\x00\x1f", "filesystem"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range []Method{BM25, Regex, Exact} {
			hits, err := ix.Search(Query{Text: text, Method: m, Explain: true})
			var syntax *SyntaxError
			if err != nil && !errors.As(err, &syntax) {
				t.Fatalf("%s %q: %v", m, text, err)
			}
			for _, h := range hits {
				sum := 0.0
				for _, c := range h.Explain {
					sum += c.Score
				}
				if h.Score <= 0 || h.Score > 1 || math.Abs(sum-h.Score) > 1e-4 || len(h.MatchedIn) == 0 {
					t.Fatalf("%s %q: %+v", m, text, h)
				}
			}
		}
	})
}

// FuzzNeedles checks that passing over documents without the needles of a pattern passes over
// no match.
func FuzzNeedles(f *testing.F) {
	f.Add("list|get", "LIST issues")
	f.Add("(?-i)K+elvin", "Kelvin")
	f.Add("ſt(a|b)+c", "stABc")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, needles, err := compile(pattern)
		if err != nil || needles == nil || !re.MatchString(text) {
			return
		}
		folded := fold(text)
		if !slices.ContainsFunc(needles, func(n string) bool { return strings.Contains(folded, n) }) {
			t.Fatalf("%q matches %q, which contains none of %q", pattern, text, needles)
		}
	})
}
