package fault

import "github.com/agnivade/levenshtein"

// Edits returns how many slips lie between two names, for suggestions: letters left out, put in
// or mistaken. Two neighbours that have changed places, the commonest of all, are one slip, unless
// they are the whole name.
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
