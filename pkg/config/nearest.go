package config

import (
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// nearest returns the names that an unknown one may have meant, best first: those within a third of its length in
// edits, and those that are a part of it or that it is a part of.
func nearest(name string, names []string) []string {
	low := strings.ToLower(name)
	limit := max(2, len(name)/3)
	return fault.Nearest(names, func(n string) int {
		other := strings.ToLower(n)
		distance := fault.Edits(low, other)
		if len(low) >= 2 && strings.Contains(other, low) || len(other) >= 2 && strings.Contains(low, other) {
			distance = min(distance, limit)
		}
		if distance > limit || distance >= max(len(low), len(other)) {
			return -1
		}
		return distance
	})
}
