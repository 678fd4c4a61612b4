package engine

import (
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// nearest returns up to three names that differ from text by few letters, best first. Case and separators do not count.
func nearest(text string, names []string) []string {
	type near struct {
		name string
		dist int
	}
	want := fold(text)
	var found []near
	for _, name := range names {
		got := fold(name)
		d := fault.Edits(want, got)
		if d <= max(1, len(want)/4) || (len(want) >= 4 && strings.HasPrefix(got, want)) {
			found = append(found, near{name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.dist - b.dist })
	var best []string
	for _, n := range found[:min(3, len(found))] {
		best = append(best, n.name)
	}
	return best
}

func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-./ ", r) {
			return -1
		}
		return r
	}, strings.ToLower(s))
}
