package schema

import (
	"strings"
	"unicode"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// nearest returns the candidate that name was most likely meant to be. It is empty if there is none. A difference
// only in case and separators wins (issueNumber for issue_number), then the fewest edits, at most a third of the
// name, then a candidate that is a part of the name or the other way round. Ties go to the first candidate.
func nearest(name string, candidates []string) string {
	const longest = 200 // bytes; longer names are not typed by hand
	folded := fold(name)
	if len(name) > longest || folded == "" {
		return ""
	}
	best, bestEdits := "", max(1, len([]rune(folded))/3)+1
	for _, c := range candidates {
		if len(c) > longest {
			continue
		}
		if other := fold(c); other == folded {
			return c
		} else if edits := fault.Edits(folded, other); edits < bestEdits && edits < len([]rune(other)) {
			best, bestEdits = c, edits
		}
	}
	if best != "" {
		return best
	}
	for _, c := range candidates {
		other := fold(c)
		if len(folded) > 2 && len(other) > 2 && (strings.Contains(other, folded) || strings.Contains(folded, other)) {
			return c
		}
	}
	return ""
}

func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}
