package policy

import (
	"errors"
	"fmt"
	"strings"
)

// Glob is a pattern over names like "server/tool". A * stands for any text, a / too, and may be empty; every other
// character stands for itself. Capitals and small letters count as equal: of "*delete*" a person expects "bulkDelete"
// too. Make one with [ParseGlob].
type Glob string

// maxGlob is the length of the longest pattern in bytes.
const maxGlob = 1024

// ParseGlob checks a pattern. It refuses what would never fit a name, and the signs of richer patterns: a rule that
// does not do what it looks like protects nothing.
func ParseGlob(text string) (Glob, error) {
	server, name, slash := strings.Cut(text, "/")
	switch i := strings.IndexAny(text, `?[]{}\`); {
	case text == "":
		return "", errors.New("it is empty")
	case len(text) > maxGlob:
		return "", fmt.Errorf("it has %d bytes, more than %d", len(text), maxGlob)
	case i >= 0:
		return "", fmt.Errorf("%q has %q, but the only special character is *, for any text", text, text[i:i+1])
	case server != strings.TrimSpace(server) || name != strings.TrimSpace(name):
		return "", fmt.Errorf("%q has white space at the end of a name, which no call has", text)
	case slash && server == "":
		return "", fmt.Errorf(`%q names no server: write "*%[1]s" for those of all servers`, text)
	case !strings.Contains(text, "*") && name == "":
		return "", fmt.Errorf(`%q is the name of no call: those are "server/tool"; write "%s/*" for a whole server`,
			text, server)
	}
	return Glob(text), nil
}

// Match reports whether the pattern fits the whole name. It takes the first place of each part between two *, so the
// time grows with the length of the name, not with the number of *.
func (g Glob) Match(name string) bool {
	name = strings.ToLower(name)
	parts := strings.Split(strings.ToLower(string(g)), "*")
	if len(parts) == 1 {
		return name == parts[0]
	}
	last := len(parts) - 1
	name, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	if name, ok = strings.CutSuffix(name, parts[last]); !ok {
		return false
	}
	for _, part := range parts[1:last] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return true
}
