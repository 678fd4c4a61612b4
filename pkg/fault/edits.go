package fault

import (
	"slices"

	"github.com/agnivade/levenshtein"
)

// Edits counts the slips between two names, for suggestions: letters omitted, added or changed. Two neighbours that
// have changed places, the commonest slip, count as one unless they are the whole name.
func Edits(a, b string) int {
	if len(a) == len(b) && len(a) > 2 {
		i := 0
		for i < len(a) && a[i] == b[i] {
			i++
		}
		if i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:] {
			return 1
		}
	}
	return levenshtein.ComputeDistance(a, b)
}

// MaxName bounds the names that may have been meant, and how much of one an error quotes, in bytes: what is longer was
// not typed, and counting its slips costs the product of both lengths.
const MaxName = 256

// Name returns a name for the text of an error: a stranger may have sent one of any length.
func Name(name string) string { return Cut(name, MaxName) }

// Nearest returns up to three names that text may have been meant to be, the nearest first. distance is negative for a
// name that cannot be meant. Texts and names of more than [MaxName] bytes are not meant, and not compared.
func Nearest(text string, names []string, distance func(name string) int) (near []string) {
	if len(text) > MaxName {
		return nil
	}
	far := make(map[string]int)
	for _, name := range names {
		if len(name) > MaxName {
			continue
		}
		if d := distance(name); d >= 0 {
			far[name], near = d, append(near, name)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return far[a] - far[b] })
	return near[:min(3, len(near))]
}
