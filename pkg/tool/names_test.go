package tool

import (
	"slices"
	"strings"
	"testing"
)

func TestUnprefixed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"mcp__syntropy__serena_find_symbol":   {"serena_find_symbol"},
		"mcp__my__own__a_b":                   {"own__a_b", "a_b"},
		"mcp__x___b":                          {"_b", "b"},
		"mcp____a":                            nil,
		"mcp__x__":                            nil,
		"mcp__x_a":                            nil,
		"serena_find_symbol":                  nil,
		"":                                    nil,
		"mcp__x__" + strings.Repeat("y", 248): {strings.Repeat("y", 248)},
		"mcp__x__" + strings.Repeat("y", 249): nil,
	} {
		if got := Unprefixed(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestMeans(t *testing.T) {
	t.Parallel()
	r := Ref{Server: "a_b", Name: "c"}
	for text, want := range map[string]bool{"a_b/c": true, "mcp__any__a_b_c": true, "mcp__any__name__a_b_c": true,
		"a_b_c": false, "mcp__a_b_c": false, "mcp__any__a_b": false, "mcp__any__x_a_b_c": false, "a_b": false, "": false} {
		if got := r.Means(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
