package schema

import (
	"iter"
	"maps"

	js "github.com/google/jsonschema-go/jsonschema"
)

// cost returns the steps that it takes to check v against the keywords of s, without those that hold schemas. It counts
// what can be long: lists in s, and v itself if a keyword reads all of it.
func cost(s *js.Schema, v any) int {
	steps := 1 + len(s.Enum) + len(s.Properties) + len(s.Required)
	if types := typesOf(s); s.Const != nil || s.Enum != nil || len(types) > 0 && !hasType(types, v) {
		steps += size(v) // a complaint holds the value
	}
	switch v := v.(type) {
	case string:
		if s.MinLength != nil || s.MaxLength != nil || s.Pattern != "" {
			steps += size(v)
		}
	case []any:
		if s.UniqueItems || s.Contains != nil {
			steps += size(v)
		}
	case map[string]any:
		if concernsAll(s) {
			steps += len(v) * (1 + len(s.PatternProperties))
		}
	}
	return steps
}

// concernsAll reports whether s has keywords for members of an object that it does not name.
func concernsAll(s *js.Schema) bool {
	return s.PatternProperties != nil || s.AdditionalProperties != nil || s.PropertyNames != nil ||
		s.UnevaluatedProperties != nil
}

// members returns the members of v that s may have something to say about.
func members(s *js.Schema, v map[string]any) iter.Seq2[string, any] {
	if concernsAll(s) {
		return maps.All(v)
	}
	return func(yield func(string, any) bool) {
		for name := range s.Properties {
			if member, given := v[name]; given && !yield(name, member) {
				return
			}
		}
	}
}

// size returns the number of values in v, itself included. Long text counts as several.
func size(v any) int {
	const perText = 16 // bytes
	n := 1
	switch v := v.(type) {
	case string:
		n += len(v) / perText
	case []any:
		for _, elem := range v {
			n += size(elem)
		}
	case map[string]any:
		for _, member := range v {
			n += size(member)
		}
	}
	return n
}
