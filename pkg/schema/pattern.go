package schema

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// matching returns strings of least to most characters that match pattern, if growing its repetitions finds some.
func matching(pattern string, least, most int) []string {
	const (
		longest = 1000
		tries   = 300
	)
	check, err := regexp.Compile(pattern)
	if err != nil {
		return nil
	}
	re, _ := syntax.Parse(pattern, syntax.Perl) // as Compile has just done
	for extra := range min(least, tries) + 2 {
		g := grower{extra: extra, left: longest}
		g.grow(re)
		text := g.text.String()
		if n := utf8.RuneCountInString(text); n > most {
			return nil
		} else if n >= least && check.MatchString(text) {
			return []string{text}
		}
	}
	return nil
}

// grower writes a string that a regular expression matches.
type grower struct {
	text  strings.Builder
	extra int // repetitions beyond the least, for the first that takes them
	left  int // characters that may still be written
}

func (g *grower) grow(re *syntax.Regexp) {
	if g.left <= 0 {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			g.write(r)
		}
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			g.write(readable(re.Rune))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		g.write('a')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			g.grow(sub)
		}
	case syntax.OpAlternate:
		g.grow(re.Sub[0])
	case syntax.OpStar:
		g.repeat(re.Sub[0], 0, -1)
	case syntax.OpPlus:
		g.repeat(re.Sub[0], 1, -1)
	case syntax.OpQuest:
		g.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		g.repeat(re.Sub[0], re.Min, re.Max)
	}
}

// repeat writes re as often as it must, and up to most times if more is wanted. With most -1 there is no bound.
func (g *grower) repeat(re *syntax.Regexp, least, most int) {
	n := least + g.extra
	if most >= 0 {
		n = min(n, most)
	}
	g.extra -= n - least
	for range n {
		g.grow(re)
	}
}

func (g *grower) write(r rune) {
	g.text.WriteRune(r)
	g.left--
}

// readable picks a character that is good to read from a class, given as pairs of bounds.
func readable(class []rune) rune {
	for _, r := range "a1A-_" {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				return r
			}
		}
	}
	return class[0]
}
