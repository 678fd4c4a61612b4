package pin

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/mcp-launchpad/mcpl/pkg/canonical"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// alike is the share of common words above which two definitions are one under two names.
	alike = 0.9
	// fewWords is the number of words below which definitions are compared only as a whole: short ones are alike by
	// chance.
	fewWords = 8
	// maxPairs bounds the comparisons of one listing by words.
	maxPairs = 200_000
)

// body is a definition without its name.
type body struct {
	hash  string
	words map[string]int
	total int
}

func bodyOf(raw json.RawMessage) body {
	fields, err := tool.SplitObject(raw)
	if err != nil {
		return body{}
	}
	rest := fields[:0]
	for _, f := range fields {
		if f.Key != "name" && f.Key != "icons" && f.Key != "_meta" {
			rest = append(rest, f)
		}
	}
	raw = tool.JoinObject(rest)
	hash, err := canonical.Hash(raw)
	if err != nil {
		return body{}
	}
	b := body{hash: hash, words: make(map[string]int)}
	texts(raw, func(s string) {
		for _, word := range strings.FieldsFunc(strings.ToLower(s), isSeparator) {
			b.words[word]++
			b.total++
		}
	})
	return b
}

func isSeparator(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// like reports whether two definitions are the same but for their names, or nearly.
func (b body) like(other body) bool {
	least, most := min(b.total, other.total), max(b.total, other.total)
	if least < fewWords || float64(least) <= alike*float64(most) {
		return false
	}
	common := 0
	for word, n := range b.words {
		common += min(n, other.words[word])
	}
	return float64(common) > alike*float64(most)
}

// names finds the earlier names of definitions that are new.
type names struct {
	exact map[tool.Ref]*Pin // by kind, and by hash in place of a name
	// off are the candidates that a person has switched off, gone the others, which the server does not list any more.
	off, gone []candidate
	// left bounds the comparisons with each of the two: what a server lists cannot use up those with off.
	offLeft, goneLeft int
}

type candidate struct {
	pin  *Pin
	body body
}

func newNames(pins []*Pin, isOff func(name string) bool) *names {
	n := &names{exact: make(map[tool.Ref]*Pin), offLeft: maxPairs, goneLeft: maxPairs}
	for _, p := range pins {
		off := p.Kind == tool.Tool && isOff != nil && isOff(p.Name)
		if p.Kind == instructions || !off && p.Gone.IsZero() {
			continue
		}
		c := candidate{p, bodyOf(p.current())}
		k := key(p.Kind, c.body.hash)
		if c.body.total < fewWords && p.Gone.IsZero() {
			continue // two tools of so few words may be different ones
		}
		if off {
			n.off = append(n.off, c)
			n.exact[k] = p
			continue
		}
		n.gone = append(n.gone, c)
		if n.exact[k] == nil {
			n.exact[k] = p
		}
	}
	return n
}

// find returns the pin of the definition that raw is under another name. It is nil if there is none.
func (n *names) find(kind tool.Kind, raw json.RawMessage) *Pin {
	if len(n.exact) == 0 {
		return nil
	}
	b := bodyOf(raw)
	if p := n.exact[key(kind, b.hash)]; p != nil {
		return p
	}
	if p := near(n.off, kind, b, &n.offLeft); p != nil {
		return p
	}
	return near(n.gone, kind, b, &n.goneLeft)
}

// near returns the first candidate that is like b. It ends when nothing is left of the comparisons.
func near(list []candidate, kind tool.Kind, b body, left *int) *Pin {
	for _, c := range list {
		if *left--; *left < 0 {
			return nil
		}
		if c.pin.Kind == kind && c.body.like(b) {
			return c.pin
		}
	}
	return nil
}
