// Package typegen writes the tools of servers as TypeScript declarations, for models and editors to read.
//
// [Declarations] writes whole servers, [One] a single tool in at most 20 lines. The same tools give the same bytes in
// whatever order they come, so that prompts that hold them can be cached. The work and the text grow with the schemas
// and no faster: references and nesting beyond a limit are written as any. Callers show the text, which may hold the
// hidden characters of a server's descriptions.
package typegen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Tool is what a declaration is made of.
type Tool struct {
	Server, Name, Description string
	// Input and Output are JSON schemas of any draft. Output is nil if the server does not say what the tool gives.
	Input, Output json.RawMessage
}

// Limits of the text.
const (
	maxWidth = 100 // columns; longer types are written on several lines
	maxDoc   = 120 // characters of a description
	maxNote  = 80  // characters of the description of a parameter
	maxOne   = 20  // lines of [One]
)

// Declarations returns a declaration of the constant tools, with a member for each server and in it a method for each
// tool, both in the order of their names. docs adds the descriptions of parameters.
func Declarations(tools []Tool, docs bool) string {
	tools = slices.Clone(tools)
	slices.SortStableFunc(tools, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Name, b.Name))
	})
	var b strings.Builder
	b.WriteString("declare const tools: {\n")
	for i, t := range tools {
		if i == 0 || tools[i-1].Server != t.Server {
			fmt.Fprintf(&b, "  %s: {\n", name(t.Server))
		}
		if doc := line(t.Description, maxDoc); doc != "" {
			fmt.Fprintf(&b, "    /** %s */\n", doc)
		}
		w := writer{b: &b, docs: docs}
		w.method(t, 4)
		if i == len(tools)-1 || tools[i+1].Server != t.Server {
			b.WriteString("  };\n")
		}
	}
	b.WriteString("};\n")
	return b.String()
}

// One returns the declaration of a tool as a function named call, each parameter on a line with the start of its
// description. If that is more than 20 lines, it counts the last parameters instead.
func One(t Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// call is tools%s%s\n", access(t.Server), access(t.Name))
	if doc := line(t.Description, 2*maxDoc); doc != "" {
		fmt.Fprintf(&b, "/** %s */\n", doc)
	}
	const rest = 6 // lines that are not parameters
	w := writer{b: &b, docs: true, most: maxOne - rest}
	w.function(t)
	return b.String()
}

// isPlain reports whether a name needs no quotes.
func isPlain(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// name returns a name as a member of a type, where new would declare a constructor.
func name(s string) string {
	if isPlain(s) && s != "new" {
		return s
	}
	return string(tool.Quote(s))
}

// access returns a name as it follows the object that it is a member of.
func access(s string) string {
	if isPlain(s) {
		return "." + s
	}
	return "[" + string(tool.Quote(s)) + "]"
}

// line returns the first sentence of a text on one line, fit for a comment, cut to a number of characters.
func line(s string, most int) string {
	const bytesPerRune = utf8.UTFMax
	if room := (most + 1) * 2 * bytesPerRune; len(s) > room { // more is never read
		s = strings.ToValidUTF8(s[:room], "")
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "*/", "* /")
	if end := strings.Index(s, ". "); end > 0 {
		s = s[:end+1]
	}
	if runes := []rune(s); len(runes) > most {
		s = strings.TrimSpace(string(runes[:most-1])) + "…"
	}
	return s
}
