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
	folded := fold(name)
	if folded == "" {
		return ""
	}
	limit := max(1, len([]rune(folded))/3)
	near := fault.Nearest(name, candidates, func(c string) int {
		other := fold(c)
		if edits := fault.Edits(folded, other); edits <= limit && edits < len([]rune(other)) {
			return edits
		}
		if len(folded) > 2 && len(other) > 2 && (strings.Contains(other, folded) || strings.Contains(folded, other)) {
			return limit + 1
		}
		return -1
	})
	return strings.Join(near[:min(1, len(near))], "")
}

func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}
