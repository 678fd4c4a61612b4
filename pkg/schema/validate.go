package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	js "github.com/google/jsonschema-go/jsonschema"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// maxArgsNesting bounds how deep arguments may be nested to be checked.
const maxArgsNesting = 500

// Validate returns every fault of args at once, in the order of the schema. No faults and no error mean that the
// arguments fit. Empty args count as {}.
//
// Validate is stricter than the schema in one point: it refuses unknown top-level keys if the schema names its
// properties and does not say that there may be others (by additionalProperties, patternProperties or a combinator),
// since servers ignore a misspelt key without a word. It does not assert formats, nor what mcpl cannot check:
// references to other documents, patterns with look-ahead, fractional multipleOf.
//
// An error means that the schema itself cannot be used. The arguments may well be right.
func Validate(inputSchema, args []byte) ([]fault.Argument, error) {
	return open(inputSchema).validate(args)
}

func (d *document) validate(args []byte) ([]fault.Argument, error) {
	if len(strings.TrimSpace(string(args))) == 0 {
		args = []byte("{}")
	}
	if !json.Valid(args) {
		return []fault.Argument{{Problem: "is not valid JSON", Expected: "a JSON object"}}, nil
	}
	value := decode(args)
	object, ok := value.(map[string]any)
	if !ok {
		return []fault.Argument{{Problem: "is " + describe(value), Expected: "a JSON object"}}, nil
	}
	if d.err != nil {
		return nil, d.err
	}
	if nesting(args) > maxArgsNesting || !d.affordable(d.root, value) {
		return nil, errTooCostly
	}
	verdict, err := d.judge(d.root, value)
	if err != nil {
		return nil, err
	}
	w := walker{document: d}
	if verdict != nil {
		w.walk(d.root, value, "")
		if len(w.faults) == 0 {
			w.faults = []fault.Argument{rephrase(verdict)}
		}
	}
	w.strict(object)
	return w.named(), nil
}

// errTooCostly says that arguments are not checked, since that would take too long.
var errTooCostly = errors.New("the arguments or the schema are too large, or nested too deeply, to check")

// judge returns the library's verdict on value under s: nil, or what is wrong first. err says that the library cannot
// use the schema.
func (d *document) judge(s *js.Schema, value any) (verdict, err error) {
	resolved := d.judges[s]
	if resolved == nil {
		defs, ok := d.needed(s)
		if !ok {
			return nil, errTooCostly
		}
		// A copy, since the library wants a tree, and s is a part of one of the targets.
		root := &js.Schema{AllOf: []*js.Schema{s.CloneSchemas()}, Defs: defs}
		if resolved, err = root.Resolve(nil); err != nil {
			return nil, fmt.Errorf("the input schema cannot be used: %w", err)
		}
		d.judges[s] = resolved
	}
	return resolved.Validate(value), nil
}

// needed returns the targets that s refers to, directly or not, by the names that the library knows them by. ok is
// false if compiling s with them exceeds the budget. The library writes the path of each schema and compiles each
// pattern.
func (d *document) needed(s *js.Schema) (defs map[string]*js.Schema, ok bool) {
	const (
		perPattern = 20 // steps for a byte
		perStep    = 16 // bytes of a path
	)
	defs, ok = map[string]*js.Schema{}, true
	var visit func(s *js.Schema, path int)
	visit = func(s *js.Schema, path int) {
		if ok = ok && d.spend(1+path/perStep+len(s.Required)+perPattern*len(s.Pattern)); !ok {
			return
		}
		name := strings.TrimPrefix(s.Ref, "#/$defs/")
		if target := d.targets[s.Ref]; target != nil && defs[name] == nil {
			defs[name] = target
			visit(target, 0)
		}
		for key := range s.PatternProperties {
			d.spend(perPattern * len(key))
		}
		path += 20 + max(longest(s.Properties), longest(s.PatternProperties), longest(s.DependentSchemas))
		for _, sub := range slices.Concat(inPlace(s), below(s)) {
			visit(sub, path)
		}
	}
	visit(s, 0)
	return defs, ok
}

// longest returns the length of the longest key.
func longest(m map[string]*js.Schema) (most int) {
	for key := range m {
		most = max(most, len(key))
	}
	return most
}

// accepts reports whether value fits s. It says yes if it cannot tell.
func (d *document) accepts(s *js.Schema, value any) bool {
	if !d.spend(1) {
		return true
	}
	if s.Ref == "" && len(inPlace(s)) == 0 && len(below(s)) == 0 {
		w := walker{document: d} // knows every keyword, and needs no compilation
		w.walk(s, value, "")
		return len(w.faults) == 0
	}
	if d.err != nil || !d.affordable(s, value) {
		return true
	}
	verdict, err := d.judge(s, value)
	return verdict == nil || err != nil
}

// perVerdict is how many steps the library takes to enter a schema: it looks at values by reflection, and writes each
// complaint at once.
const perVerdict = 4

// affordable reports whether the library can judge value under s in reasonable time: it follows every branch, and a
// hostile schema has very many.
func (d *document) affordable(s *js.Schema, value any) bool {
	most := 100_000 + 200*size(value)
	left := most
	var visit func(s *js.Schema, v any)
	visit = func(s *js.Schema, v any) {
		if left < 0 {
			return
		}
		left -= perVerdict + cost(s, v)
		if target := d.targets[s.Ref]; target != nil {
			visit(target, v)
		}
		for _, sub := range inPlace(s) {
			visit(sub, v)
		}
		switch v := v.(type) {
		case []any:
			for i, elem := range v {
				for _, sub := range elementSchemas(s, i) {
					visit(sub, elem)
				}
			}
		case map[string]any:
			for name, member := range members(s, v) {
				for _, sub := range memberSchemas(s, name) {
					visit(sub, member)
				}
			}
		}
	}
	visit(s, value)
	return d.spend(most-left) && left >= 0
}

// itemSchema returns the schema of element i of an array. It is nil if s has none.
func itemSchema(s *js.Schema, i int) *js.Schema {
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i]
	}
	return s.Items
}

// elementSchemas returns the schemas in s that may apply to element i of an array.
func elementSchemas(s *js.Schema, i int) []*js.Schema {
	return present([]*js.Schema{itemSchema(s, i), s.Contains, s.UnevaluatedItems})
}

// memberSchemas returns the schemas in s that may apply to the named member of an object.
func memberSchemas(s *js.Schema, name string) []*js.Schema {
	own := cmp.Or(s.Properties[name], s.AdditionalProperties)
	return present([]*js.Schema{own, s.UnevaluatedProperties}, sortedValues(s.PatternProperties))
}

// strict adds a fault for every unknown top-level key that the schema lets pass in silence.
func (w *walker) strict(args map[string]any) {
	root := w.root
	for root.Ref != "" && root.Properties == nil && len(inPlace(root)) == 0 {
		root = w.targets[root.Ref] // a root that is only a reference; loops are broken
	}
	if root.Properties == nil || root.AdditionalProperties != nil || root.PatternProperties != nil ||
		root.UnevaluatedProperties != nil || root.Ref != "" || len(inPlace(root)) > 0 {
		return
	}
	props := w.properties(root)
	for _, name := range sortedKeys(args) {
		if _, named := props.at[name]; !named && w.spend(1) {
			w.unknown(root, args, name, "")
		}
	}
}

// rephrase makes a fault of the library's first complaint, for a problem that walker does not find. It uses the
// keyword and its place in the schema; the rest of the library's text is for programmers.
func rephrase(verdict error) fault.Argument {
	const prefix = "validating "
	place, rule := "", verdict.Error()
	for {
		next, rest, ok := strings.Cut(strings.TrimPrefix(rule, prefix), ": ")
		if !ok || !strings.HasPrefix(rule, prefix) {
			break
		}
		place, rule = next, rest
	}
	rule, _, _ = strings.Cut(rule, ":")
	for _, wrapped := range []string{"/allOf/0", "/$defs/0"} {
		place = strings.TrimPrefix(place, wrapped)
	}
	return fault.Argument{
		Problem:  "does not fit the schema",
		Expected: "what the schema says at #" + cut(place, 100) + " (" + cut(rule, 60) + ")",
	}
}
