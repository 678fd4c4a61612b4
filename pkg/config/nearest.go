package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// maxNearest bounds how many names are suggested for an unknown one.
const maxNearest = 3

// nearest returns the names that an unknown one may have meant, best first: those within a third of its length in
// edits, and those that are a part of it or that it is a part of.
func nearest(name string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	low := strings.ToLower(name)
	limit := max(2, len(name)/3)
	for _, n := range names {
		other := strings.ToLower(n)
		distance := fault.Edits(low, other)
		part := len(low) >= 2 && strings.Contains(other, low) || len(other) >= 2 && strings.Contains(low, other)
		if part {
			distance = min(distance, limit)
		}
		if distance <= limit && distance < max(len(low), len(other)) {
			found = append(found, candidate{n, distance})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var best []string
	for _, c := range found[:min(len(found), maxNearest)] {
		best = append(best, c.name)
	}
	return best
}
