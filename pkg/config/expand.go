package config

import (
	"slices"
	"strings"
)

// maxNesting bounds how deep the references in a default may be nested.
const maxNesting = 8

// expansion is a text with its references filled in, and what was found on the way.
type expansion struct {
	text    string
	names   []string   // all variables referred to
	missing []string   // those without value and default; they stay as they were written
	values  []KeyValue // the variables whose value entered the text
	strange bool       // the text has a "${" that does not begin a reference; it stays as it is
}

// expand fills in ${NAME} and ${NAME:-default}. As in a shell, the default counts if the variable is not set or
// empty; it may hold references. $NAME stays as it is, and $${ stands for "${". VS Code's ${env:NAME} is ${NAME}; its
// ${input:some-id}, for which VS Code asks, is ${SOME_ID}.
func expand(text string, lookup func(string) (string, bool)) expansion {
	if !strings.Contains(text, "${") {
		return expansion{text: text}
	}
	x := expander{lookup: lookup}
	x.found.text, _, _ = x.scan(text, 0, true)
	return x.found
}

type expander struct {
	lookup func(string) (string, bool)
	found  expansion
}

// scan expands text: all of it at depth 0, else up to the brace that closes a default. It returns the result, the
// text after that brace, and whether there was a brace. If wanted is false, the result is not used, and scan does not
// record what is missing in it.
func (x *expander) scan(text string, depth int, wanted bool) (result, rest string, closed bool) {
	var out strings.Builder
	for text != "" {
		switch {
		case depth > 0 && text[0] == '}':
			return out.String(), text[1:], true
		case strings.HasPrefix(text, "$${"):
			out.WriteString("${")
			text = text[3:]
		case strings.HasPrefix(text, "${"):
			value, after, ok := x.reference(text, depth, wanted)
			if !ok {
				x.found.strange = true
				value, after = text[:2], text[2:]
			}
			out.WriteString(value)
			text = after
		default:
			out.WriteByte(text[0])
			text = text[1:]
		}
	}
	return out.String(), "", false
}

// reference expands the reference that text begins with. ok is false if text does not begin with one.
func (x *expander) reference(text string, depth int, wanted bool) (result, rest string, ok bool) {
	name, rest := referred(text[2:])
	if name == "" {
		return "", "", false
	}
	value, set := x.lookup(name)
	if after, plain := strings.CutPrefix(rest, "}"); plain {
		x.refer(name)
		switch {
		case set:
			x.found.values = append(x.found.values, KeyValue{name, value})
		case wanted:
			x.found.missing = append(x.found.missing, name)
		}
		if !set {
			value = text[:len(text)-len(after)]
		}
		return value, after, true
	}
	rest, ok = strings.CutPrefix(rest, ":-")
	if !ok || depth == maxNesting {
		return "", "", false
	}
	// An unclosed default ends at the end of the text, where every default around it is unclosed too. The whole rest
	// then stays as it is, which keeps the work linear.
	before := x.found
	fallback, after, closed := x.scan(rest, depth+1, wanted && value == "")
	if !closed {
		x.found = before
		x.found.strange = true
		return text, "", true
	}
	x.refer(name)
	if value != "" {
		x.found.values = append(x.found.values, KeyValue{name, value})
		return value, after, true
	}
	return fallback, after, true
}

// referred reads the name in a reference from the text after its "${".
func referred(text string) (name, rest string) {
	if id, ok := strings.CutPrefix(text, "input:"); ok {
		n := 0
		for n < len(id) && (id[n] == '-' || NameLength(id[n:]) > 0 || n > 0 && id[n] >= '0' && id[n] <= '9') {
			n++
		}
		return strings.ToUpper(strings.ReplaceAll(id[:n], "-", "_")), id[n:]
	}
	text = strings.TrimPrefix(text, "env:")
	n := NameLength(text)
	return text[:n], text[n:]
}

func (x *expander) refer(name string) {
	if !slices.Contains(x.found.names, name) {
		x.found.names = append(x.found.names, name)
	}
}

// NameLength returns the length of the variable name that text begins with: letters, digits and
// underscores, no digit first (POSIX, 3.216 Name).
func NameLength(text string) int {
	for i := range len(text) {
		c := text[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(text)
}

// onlyReferences reports whether a text consists of references without defaults alone.
func onlyReferences(text string) bool {
	for text != "" {
		rest, ok := strings.CutPrefix(text, "${")
		n := NameLength(rest)
		if !ok || n == 0 || !strings.HasPrefix(rest[n:], "}") {
			return false
		}
		text = rest[n+1:]
	}
	return true
}
