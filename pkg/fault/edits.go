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

// Nearest returns up to three names, the nearest first. distance is negative for a name that cannot be meant.
func Nearest(names []string, distance func(name string) int) (near []string) {
	far := make(map[string]int)
	for _, name := range names {
		if d := distance(name); d >= 0 {
			far[name], near = d, append(near, name)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return far[a] - far[b] })
	return near[:min(3, len(near))]
}
