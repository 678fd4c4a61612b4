package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
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

// appendTexts appends the record of a document. Its texts lose the marks of a record.
func appendTexts(b []byte, d *Document) []byte {
	texts := []string{d.Server + "/" + d.Name, d.Title, d.Description}
	for _, p := range d.Params {
		texts = append(texts, p.Name)
	}
	for _, text := range texts {
		for _, c := range []byte(text) {
			if c == textSeparator || c == textEnd {
				c = ' '
			}
			b = append(b, c)
		}
		b = append(b, textSeparator)
	}
	b[len(b)-1] = textEnd
	return b
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

// scanExact finds the substring q.Text in the folded texts.
func (ix *Index) scanExact(q Query) ([]Hit, error) {
	text := strings.TrimSpace(fold(q.Text))
	if text == "" || strings.ContainsAny(text, string(textSeparator)+string(textEnd)) {
		return nil, nil
	}
	needle := []byte(text)
	return ix.scan(q, sectFolded, []string{text}, func(t []byte) bool { return bytes.Contains(t, needle) },
		func(name []byte) bool { return bytes.Equal(name, needle) })
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
	return ix.scan(q, sectText, needles, re.Match, func(name []byte) bool {
		loc := re.FindIndex(name)
		return loc != nil && loc[0] == 0 && loc[1] == len(name)
	})
}

// scan finds the documents with a text in a section that match accepts; same says that a name is all of the match.
// The folded texts of each such document contain one of needles. Without needles, scan tries all documents.
func (ix *Index) scan(q Query, sect int, needles []string, match, same func([]byte) bool) ([]Hit, error) {
	r, top, fields := ix.reader(), topList{limit: q.Limit}, map[int]uint8{}
	possible := make([]bool, ix.docs)
	for _, n := range needles {
		if err := r.containing([]byte(n), possible); err != nil {
			return nil, err
		}
	}
	for place, is := range possible {
		if !is && len(needles) > 0 {
			continue
		}
		rec, err := r.texts(sect, place)
		if err != nil {
			return nil, err
		}
		score, mask := scoreRecord(rec, match, same)
		if score == 0 || !top.wants(score) {
			continue
		}
		doc, err := r.doc(place)
		if err != nil {
			return nil, err
		}
		if q.Keep == nil || q.Keep(doc) {
			fields[place] = mask
			top.add(candidate{place: place, doc: doc, score: score})
		}
	}
	var hits []Hit
	for _, c := range top.done() {
		h := Hit{Doc: c.doc, Score: c.score, MatchedIn: labels(fields[c.place])}
		if q.Explain {
			h.Explain = []Contribution{{Term: q.Text, Field: h.MatchedIn[0], Score: c.score}}
		}
		hits = append(hits, h)
	}
	return hits, nil
}

// containing marks every document whose folded texts contain needle, in one pass over all of them.
func (r *reader) containing(needle []byte, marked []bool) error {
	all, err := r.section(sectFolded, 0, r.ix.start[sectFolded+1]-r.ix.start[sectFolded])
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
		var end uint64
		for ; end <= uint64(at); place++ {
			if place == len(marked) {
				return fmt.Errorf("%w: a text belongs to no document", ErrCorrupt)
			}
			if end, err = r.end(sectFolded, place); err != nil {
				return err
			}
		}
		marked[place-1] = true
		at = int(min(end, uint64(len(all))))
	}
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
		return []string{fold(string(re.Rune))}
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
