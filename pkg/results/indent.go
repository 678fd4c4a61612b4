package results

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxIndent is the level of nesting from which on JSON is not indented any more. Each level costs every line below it
// two spaces, so that 60 kB can become 200 MB.
const maxIndent = 100

// Indented renders JSON for people, each line behind indent. Below maxIndent levels it is compact. Text that is not
// JSON stays as it is.
func Indented(raw json.RawMessage, indent string) string {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return indent + string(raw) + "\n"
	}
	w := indenter{indent: indent}
	w.b.WriteString(indent)
	for text := compact.Bytes(); len(text) > 0; {
		text = text[w.token(text):]
	}
	return w.b.String() + "\n"
}

// indenter writes JSON in lines.
type indenter struct {
	b      strings.Builder
	indent string
	depth  int
}

// token writes the token that the rest of compact JSON begins with, and returns its length.
func (w *indenter) token(rest []byte) int {
	switch c := rest[0]; c {
	case '{', '[':
		if end := c + 2; rest[1] == end { // the closing bracket of either comes two characters later
			w.b.Write(rest[:2])
			return 2
		}
		w.b.WriteByte(c)
		w.depth++
		w.line()
	case '}', ']':
		if w.depth--; w.depth < maxIndent {
			w.line()
		}
		w.b.WriteByte(c)
	case ',':
		w.b.WriteByte(c)
		w.line()
	case ':':
		w.b.WriteByte(c)
		if w.depth <= maxIndent {
			w.b.WriteByte(' ')
		}
	default:
		n := scalarEnd(rest)
		w.b.Write(rest[:n])
		return n
	}
	return 1
}

// line begins a line, unless that is nested too deeply.
func (w *indenter) line() {
	if w.depth <= maxIndent {
		w.b.WriteString("\n" + w.indent + strings.Repeat("  ", w.depth))
	}
}

// scalarEnd returns the length of the string, number or word that the rest of compact JSON begins with.
func scalarEnd(rest []byte) int {
	if rest[0] != '"' {
		if n := bytes.IndexAny(rest, ",]}"); n >= 0 {
			return n
		}
		return len(rest)
	}
	n := 1
	for ; rest[n] != '"'; n++ {
		if rest[n] == '\\' {
			n++
		}
	}
	return n + 1
}
