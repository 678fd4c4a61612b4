package tool

import "strings"

// maxPrefixed bounds a client's name for a tool, in bytes.
const maxPrefixed = 256

// Unprefixed returns the names that a client's name for a tool may stand for: clients show a tool of a server as
// mcp__SERVER__NAME, and other gateways keep such names. It returns NAME for each place where SERVER may end, the
// longest first; nothing for any other text, nor for one of more than 256 bytes, which no client shows: what is done
// with each NAME would cost the length of each.
func Unprefixed(text string) []string {
	rest, ok := strings.CutPrefix(text, "mcp__")
	if !ok || len(text) > maxPrefixed {
		return nil
	}
	var names []string
	for i := 1; i+len("__") < len(rest); i++ {
		if rest[i:i+len("__")] == "__" {
			names = append(names, rest[i+len("__"):])
		}
	}
	return names
}

// Means reports whether text is a name of r: SERVER/TOOL or, as Syntropy has it, mcp__NAME__SERVER_TOOL with any NAME.
func (r Ref) Means(text string) bool {
	if text == r.String() {
		return true
	}
	for _, name := range Unprefixed(text) {
		if tool, ok := strings.CutPrefix(name, r.Server+"_"); ok && tool == r.Name {
			return true
		}
	}
	return false
}
