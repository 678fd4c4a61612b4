package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// The texts of a document form one record: "server/name", title, description and the names of the parameters, with a
// separator between them and a mark at the end.
const (
	textSeparator = '\x1f'
	textEnd       = '\x1e'
)

// Scores of the methods that do not rank by words.
const (
	scoreSame        = 1.0 // the whole name
	scoreName        = 0.9 // a part of server/name
	scoreTitle       = 0.7
	scoreDescription = 0.5
	scoreParams      = 0.3
)

func appendTexts(b []byte, d *Document) []byte {
	b = appendClean(b, d.Server)
	b = append(b, '/')
	b = appendClean(b, d.Name)
	b = append(b, textSeparator)
	b = appendClean(b, d.Title)
	b = append(b, textSeparator)
	b = appendClean(b, d.Description)
	for _, p := range d.Params {
		b = append(b, textSeparator)
		b = appendClean(b, p.Name)
	}
	return append(b, textEnd)
}

// appendClean appends s without the marks of a record.
func appendClean(b []byte, s string) []byte {
	from := len(b)
	b = append(b, s...)
	for i, c := range b[from:] {
		if c == textSeparator || c == textEnd {
			b[from+i] = ' '
		}
	}
	return b
}

// appendFoldedTexts appends a record, folded. Folding leaves its marks alone.
func appendFoldedTexts(b, record []byte) []byte {
	for i := 0; i < len(record); {
		r, n := utf8.DecodeRune(record[i:])
		b = appendFolded(b, r)
		i += n
	}
	return b
}

// scan is the state of one regex or exact query.
type scan struct {
	r   *reader
	q   *Query
	top topList
}

// end returns where the texts of the document at place end in a section: sectFolded or sectText.
func (r *reader) end(sect, place int) (uint64, error) {
	if place < 0 {
		return 0, nil
	}
	b, err := r.section(sectDocs, uint64(place)*docRecord, uint64(place+1)*docRecord)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[4+8*(sect-sectFolded):]), nil
}

// texts returns the record of the document at place: sectFolded or sectText.
func (r *reader) texts(sect, place int) ([]byte, error) {
	from, err := r.end(sect, place-1)
	if err != nil {
		return nil, err
	}
	to, err := r.end(sect, place)
	if err != nil {
		return nil, err
	}
	return r.section(sect, from, to)
}

// scanExact finds the substring q.Text in the folded texts, in one pass over all of them.
func (ix *Index) scanExact(q Query) ([]Hit, error) {
	needle := []byte(strings.TrimSpace(fold(q.Text)))
	if len(needle) == 0 || bytes.ContainsAny(needle, string(textSeparator)+string(textEnd)) {
		return nil, nil
	}
	s := scan{r: ix.reader(), q: &q, top: topList{limit: q.Limit}}
	fields := map[int]uint8{}
	err := s.containing(needle, func(place int) error {
		rec, err := s.r.texts(sectFolded, place)
		if err != nil {
			return err
		}
		return s.consider(place, rec, fields, func(t []byte) bool { return bytes.Contains(t, needle) },
			func(name []byte) bool { return bytes.Equal(name, needle) })
	})
	return s.hits(fields), err
}

// containing calls use for every document whose folded texts contain needle.
func (s *scan) containing(needle []byte, use func(place int) error) error {
	ix := s.r.ix
	all, err := s.r.section(sectFolded, 0, ix.start[sectFolded+1]-ix.start[sectFolded])
	if err != nil {
		return err
	}
	at, place := 0, 0
	for {
		i := bytes.Index(all[at:], needle)
		if i < 0 {
			return nil
		}
		at += i
		for ; place < ix.docs; place++ {
			end, err := s.r.end(sectFolded, place)
			if err != nil {
				return err
			}
			if end > uint64(at) {
				at = int(min(end, uint64(len(all))))
				break
			}
		}
		if place == ix.docs {
			return fmt.Errorf("%w: a text belongs to no document", ErrCorrupt)
		}
		if err := use(place); err != nil {
			return err
		}
		place++
	}
}

// consider makes the document at place a candidate if match finds something in its record.
func (s *scan) consider(place int, rec []byte, fields map[int]uint8, match, same func([]byte) bool) error {
	score, mask := scoreRecord(rec, match, same)
	if score == 0 || !s.top.wants(score) {
		return nil
	}
	doc, err := s.r.doc(place)
	if err != nil || s.q.Keep != nil && !s.q.Keep(doc) {
		return err
	}
	fields[place] = mask
	s.top.add(candidate{place, doc, score})
	return nil
}

// scoreRecord returns the worth of a match in rec and the fields that have one.
func scoreRecord(rec []byte, match, same func([]byte) bool) (score float64, mask uint8) {
	rec = bytes.TrimSuffix(rec, []byte{textEnd})
	for i := 0; ; i++ {
		text, rest, more := bytes.Cut(rec, []byte{textSeparator})
		switch {
		case i == 0:
			server, name, _ := bytes.Cut(text, []byte("/"))
			switch {
			case same(name) || same(text):
				score, mask = scoreSame, mask|1<<fieldName
			case match(name):
				score, mask = scoreName, mask|1<<fieldName
			}
			if match(server) || mask == 0 && match(text) {
				score, mask = max(score, scoreName), mask|1<<fieldServer
			}
		case !match(text):
		case i == 1:
			score, mask = max(score, scoreTitle), mask|1<<fieldTitle
		case i == 2:
			score, mask = max(score, scoreDescription), mask|1<<fieldLead
		default:
			score, mask = max(score, scoreParams), mask|1<<fieldParam
		}
		if !more {
			return score, mask
		}
		rec = rest
	}
}

func (s *scan) hits(fields map[int]uint8) []Hit {
	var hits []Hit
	for _, c := range s.top.done() {
		h := Hit{Doc: c.doc, Score: c.score, MatchedIn: labels(fields[c.place])}
		if s.q.Explain {
			h.Explain = []Contribution{{Term: s.q.Text, Field: h.MatchedIn[0], Score: c.score}}
		}
		hits = append(hits, h)
	}
	return hits
}

// scanRegex finds the documents with a text that the pattern q.Text matches.
func (ix *Index) scanRegex(q Query) ([]Hit, error) {
	if strings.TrimSpace(q.Text) == "" {
		return nil, nil
	}
	re, needles, err := compile(q.Text)
	if err != nil {
		return nil, err
	}
	s := scan{r: ix.reader(), q: &q, top: topList{limit: q.Limit}}
	fields := map[int]uint8{}
	whole := func(name []byte) bool {
		loc := re.FindIndex(name)
		return loc != nil && loc[0] == 0 && loc[1] == len(name)
	}
	err = s.possible(needles, func(place int) error {
		rec, err := s.r.texts(sectText, place)
		if err != nil {
			return err
		}
		return s.consider(place, rec, fields, re.Match, whole)
	})
	return s.hits(fields), err
}

// possible calls use, in order, for the documents that contain one of needles. Without needles it calls use for all.
func (s *scan) possible(needles []string, use func(place int) error) error {
	marked := make([]bool, s.r.ix.docs)
	for _, n := range needles {
		err := s.containing([]byte(n), func(place int) error {
			marked[place] = true
			return nil
		})
		if err != nil {
			return err
		}
	}
	for place, m := range marked {
		if m || len(needles) == 0 {
			if err := use(place); err != nil {
				return err
			}
		}
	}
	return nil
}

// compile parses a pattern, case-insensitive unless it has a flag group of its own about that. It also returns folded
// substrings of which every match contains one. It may return none.
func compile(pattern string) (*regexp.Regexp, []string, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, nil, syntaxError(pattern, err)
	}
	flags := "(?i)"
	if setsCase(pattern) {
		flags = ""
	}
	re, err := regexp.Compile(flags + pattern)
	if err != nil {
		return nil, nil, syntaxError(pattern, err)
	}
	return re, needles(parsed.Simplify()), nil
}

// maxNeedles bounds how many substrings are searched for. With more, every document is tried.
const maxNeedles = 8

// needles returns folded substrings of which every match of re contains one. It is nil if it cannot tell. Long ones
// are better: they let a query skip documents quickly.
func needles(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{foldRunes(re.Rune)}
	case syntax.OpCapture, syntax.OpPlus:
		return needles(re.Sub[0])
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if n := needles(sub); n != nil && (best == nil || shortest(n) > shortest(best)) {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			n := needles(sub)
			if n == nil || len(all)+len(n) > maxNeedles {
				return nil
			}
			all = append(all, n...)
		}
		return all
	default:
		return nil
	}
}

func shortest(list []string) int {
	n := len(list[0])
	for _, s := range list {
		n = min(n, len(s))
	}
	return n
}

// setsCase reports whether the pattern starts with a flag group about case, such as (?-i) or (?i:...).
func setsCase(pattern string) bool {
	flags, ok := strings.CutPrefix(pattern, "(?")
	if !ok {
		return false
	}
	end := strings.IndexAny(flags, ":)")
	return end >= 0 && strings.Trim(flags[:end], "imsU-") == "" && strings.Contains(flags[:end], "i")
}

func syntaxError(pattern string, err error) error {
	e := &SyntaxError{Pattern: pattern, Offset: -1, Problem: err.Error()}
	var s *syntax.Error
	if errors.As(err, &s) {
		e.Problem, e.Part = s.Code.String(), s.Expr
		e.Offset = strings.Index(pattern, s.Expr)
	}
	return e
}
