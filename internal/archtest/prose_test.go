package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// privateWords are names that the house once had for things that the field has names for. A name of two words
// that holds one of them is as private, but for roundTrip and roundTripper, which are the field's.
var privateWords = regexp.MustCompile(`(?i)\b(errands?|desks?|tap(s|ped)?|meter(s|ed)?|parcels?|crews?|heed(s|ed|ing)?|` +
	`attend(s|ed|ing)?|farewells?|hubs?|summon(s|ed)?|bids?|dress(es|ed)?|heal(s|ed|ing)?|trips?)\b`)

// nameOnlyWords are good words in a sentence and private ones as a name.
var nameOnlyWords = regexp.MustCompile(`\b(guards?|standing)\b`)

// clientWords mean a client's environment in the packages that keep servers warm; elsewhere an origin is the web's.
var clientWords = regexp.MustCompile(`(?i)\borigins?\b`)

// warmDirs are those packages.
var warmDirs = []string{"pkg/daemon", "pkg/host"}

// habits are turns of phrase that the six rules of CONTRIBUTING.md replace by plain ones.
var habits = []struct {
	find   *regexp.Regexp
	better string
}{
	{regexp.MustCompile(`(?:^|[.:;!?] )(What (is|are|was|were|it|a|the)|One (that|which)|Of (a|an|many|several|two|those|these)) [^.?]*(?:\.|$)`), "begin with the subject"},
	{regexp.MustCompile(`\b(is|are|was|were|be) no [a-z]+`), `"is not a", or the word for it: unknown, missing, invalid`},
	{regexp.MustCompile(`\bleav(e|es|ing) ([^ .,;:]+ ){0,4}?away\b`), `"omit"`},
	{regexp.MustCompile(`\b(is|are|was|were|be|being) told\b`), `the active verb: "receives", "gets", "sees"`},
	{regexp.MustCompile(`(?i)\bwhom\b`), "name the one who acts, as the subject"},
	{regexp.MustCompile(`(?i)\bnobody\b`), `"no client", "no caller", "no process"`},
	{regexp.MustCompile(`\bwhere there (is|are|was|were) (none|no)\b`), `"if there is no"`},
}

// plain are turns that a habit finds and that are plain English.
var plain = regexp.MustCompile(`(?i)\bthere (is|are|was|were|be|can be|will be) no\b|\b(is|are|was|were|be) no (longer|more|less|fewer|other|matter|slower|faster|better)\b`)

// proseRules hold names and sentences to the six rules of CONTRIBUTING.md.
func proseRules() []rule {
	return []rule{{
		name: "names",
		why:  "a reader from the field knows a call, a router, a round tripper; a private word has to be learnt first (CONTRIBUTING.md, Prose)",
		find: privateNames,
	}, {
		name: "words",
		why:  "the protocol or the field has a word for it; a private one has to be learnt first (CONTRIBUTING.md, Prose)",
		find: func(s source) (found []finding) {
			for _, c := range chunks(s) {
				for _, word := range private(c.text, s.dir) {
					found = append(found, finding{at: c.at, text: word, key: s.dir + " " + word})
				}
			}
			return found
		},
	}, {
		name: "sentences",
		why:  "these turns are English by grammar and not by use (CONTRIBUTING.md, Prose)",
		find: func(s source) (found []finding) {
			for _, c := range chunks(s) {
				for _, h := range habits {
					for _, m := range h.find.FindAllString(plain.ReplaceAllString(c.text, "..."), -1) {
						found = append(found, finding{at: c.at, text: fmt.Sprintf("%.60q: better %s", m, h.better), key: s.dir + " " + m})
					}
				}
			}
			return found
		},
	}}
}

// private returns the private words of a text.
func private(text, dir string) []string {
	text = roundTrips.ReplaceAllString(text, "exchange")
	found := privateWords.FindAllString(text, -1)
	for _, warm := range warmDirs {
		if dir == warm {
			found = append(found, clientWords.FindAllString(text, -1)...)
		}
	}
	return found
}

var roundTrips = regexp.MustCompile(`(?i)\bround[- ]trip(s|ped|per|pers|ping)?\b`)

// privateNames finds private words in the names that a file uses, each name once, and in the file's own name.
func privateNames(s source) (found []finding) {
	if s.file == nil {
		return nil
	}
	seen := map[string]bool{}
	judge := func(name, at string) {
		if seen[name] {
			return
		}
		seen[name] = true
		text := spaced(name)
		for _, word := range append(private(text, s.dir), nameOnlyWords.FindAllString(text, -1)...) {
			found = append(found, finding{at: at, text: name, key: s.dir + " " + word})
		}
	}
	judge(strings.TrimSuffix(path.Base(s.path), ".go"), s.path)
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Ident:
			judge(n.Name, s.at(n.Pos()))
		}
		return true
	})
	return found
}

// spaced writes the words of a name apart: roundTripper becomes "round tripper".
func spaced(name string) string {
	var b strings.Builder
	runes := []rune(strings.ReplaceAll(name, "_", " "))
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// chunk is a piece of prose.
type chunk struct{ at, text string }

// chunks returns the prose of a file: comments, the string literals of code that is not a test, and the paragraphs
// of a document without its code.
func chunks(s source) (found []chunk) {
	switch {
	case s.generated():
		return nil
	case s.file == nil:
		return paragraphs(s)
	}
	for _, group := range s.file.Comments {
		found = append(found, chunk{s.at(group.Pos()), joined(group.Text())})
	}
	if s.test() {
		return found
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				// A single word is data, such as a stop word of the search.
				if text, err := strconv.Unquote(n.Value); err == nil && strings.Contains(text, " ") {
					found = append(found, chunk{s.at(n.Pos()), joined(text)})
				}
			}
		}
		return true
	})
	return found
}

// paragraphs returns those of a document, also its rows and items, but no headings and no code.
func paragraphs(s source) (found []chunk) {
	var text strings.Builder
	began, inCode := 0, false
	end := func() {
		if text.Len() > 0 {
			found = append(found, chunk{fmt.Sprintf("%s:%d", s.path, began), joined(text.String())})
			text.Reset()
		}
	}
	number := 0
	for line := range strings.Lines(s.text) {
		number++
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			inCode = !inCode
			end()
			continue
		}
		if inCode {
			continue
		}
		if strings.HasPrefix(trimmed, "#") {
			end()
			continue
		}
		if trimmed == "" || strings.IndexAny(trimmed, "|-*>") == 0 {
			end()
		}
		if text.Len() == 0 {
			began = number
		}
		text.WriteString(strings.TrimLeft(line, "|-*> "))
	}
	end()
	for i := range found {
		found[i].text = code.ReplaceAllString(found[i].text, "x")
	}
	return found
}

var code = regexp.MustCompile("`[^`]*`")

// joined writes a text on one line.
func joined(text string) string { return strings.Join(strings.Fields(text), " ") }
