package schema

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	js "github.com/google/jsonschema-go/jsonschema"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// unknownKey is the problem of a key that the schema does not know.
const unknownKey = "is not a known key"

// walker explains why a value does not fit. It checks the plain keywords itself and collects every fault; the
// library's verdict catches the rest. It must never complain about a value that the library accepts.
type walker struct {
	*document
	faults []fault.Argument
	seen   map[fault.Argument]bool
	more   int // faults beyond maxFaults
}

// maxFaults is how many faults are named, and maxCandidates how many names are compared with a misspelt one.
const (
	maxFaults     = 100
	maxCandidates = 1000
)

func (w *walker) add(at, problem, expected string) {
	w.addFault(fault.Argument{Pointer: at, Problem: problem, Expected: expected})
}

// addFault adds a fault, unless it is known already: allOf may say a thing twice.
func (w *walker) addFault(f fault.Argument) {
	switch {
	case w.seen[f]:
	case len(w.faults) >= maxFaults:
		w.more++
	default:
		if w.seen == nil {
			w.seen = map[fault.Argument]bool{}
		}
		w.seen[f] = true
		w.faults = append(w.faults, f)
	}
}

// named returns the faults, and how many there are beyond those.
func (w *walker) named() []fault.Argument {
	if w.more == 0 {
		return w.faults
	}
	return append(w.faults, fault.Argument{Problem: fmt.Sprintf("has %d more faults", w.more)})
}

// walk adds the faults of v, which is at the JSON pointer at, under s. It stops at the end of the budget.
func (w *walker) walk(s *js.Schema, v any, at string) {
	if !w.spend(cost(s, v)) {
		return
	}
	if isFalse(s) {
		w.add(at, "is not allowed here", "")
		return
	}
	if !w.typed(s, v, at) {
		return
	}
	before := len(w.faults)
	if target := w.targets[s.Ref]; target != nil {
		w.walk(target, v, at)
	}
	w.values(s, v, at)
	switch v := v.(type) {
	case int64:
		w.number(s, float64(v), at)
	case float64:
		w.number(s, v, at)
	case string:
		w.text(s, v, at)
	case []any:
		w.array(s, v, at)
	case map[string]any:
		w.object(s, v, at)
	}
	for _, sub := range s.AllOf {
		w.walk(sub, v, at)
	}
	if len(w.faults) == before { // else these would only repeat it less clearly
		w.branches(s, v, at)
	}
}

// typed checks the type, and reports whether it makes sense to look further.
func (w *walker) typed(s *js.Schema, v any, at string) bool {
	types := typesOf(s)
	if len(types) == 0 || hasType(types, v) {
		return true
	}
	w.add(at, "is "+describe(v), w.typeOf(s, 0)+hint(types, v))
	return false
}

func hasType(types []string, v any) bool {
	typ := jsonType(v)
	return slices.Contains(types, typ) || typ == "integer" && slices.Contains(types, "number")
}

// hint says how to write a value of the right meaning and the wrong type.
func hint(types []string, v any) string {
	s, ok := v.(string)
	if !ok {
		if slices.Contains(types, "string") && (jsonType(v) == "integer" || jsonType(v) == "number") {
			return fmt.Sprintf(` (write "%s", with quotes)`, encode(v))
		}
		return ""
	}
	if number(s) && hasType(types, plainNumber(s)) || (s == "true" || s == "false") && slices.Contains(types, "boolean") {
		return fmt.Sprintf(" (write %s, without quotes)", cut(s, 40))
	}
	return ""
}

func (w *walker) values(s *js.Schema, v any, at string) {
	equal := func(allowed any) bool { return js.Equal(allowed, v) }
	if s.Const != nil && !equal(*s.Const) {
		w.add(at, "is "+quoted(v), cut(string(encode(*s.Const)), 100))
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, equal) {
		f := fault.Argument{Pointer: at, Problem: "is " + quoted(v), Expected: oneOf(s.Enum)}
		if given, ok := v.(string); ok {
			f.Nearest = nearest(given, stringsOf(s.Enum[:min(len(s.Enum), maxCandidates)]))
		}
		w.addFault(f)
	}
}

func oneOf(values []any) string {
	const most = 300
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		if b.Write(encode(v)); b.Len() > most {
			break
		}
	}
	return "one of " + cut(b.String(), most)
}

func (w *walker) number(s *js.Schema, n float64, at string) {
	is := "is " + formatNumber(n)
	switch {
	case s.Minimum != nil && n < *s.Minimum:
		w.add(at, is, "at least "+formatNumber(*s.Minimum))
	case s.ExclusiveMinimum != nil && n <= *s.ExclusiveMinimum:
		w.add(at, is, "more than "+formatNumber(*s.ExclusiveMinimum))
	}
	switch {
	case s.Maximum != nil && n > *s.Maximum:
		w.add(at, is, "at most "+formatNumber(*s.Maximum))
	case s.ExclusiveMaximum != nil && n >= *s.ExclusiveMaximum:
		w.add(at, is, "less than "+formatNumber(*s.ExclusiveMaximum))
	}
	if s.MultipleOf != nil && math.Mod(n, *s.MultipleOf) != 0 {
		w.add(at, is, "a multiple of "+formatNumber(*s.MultipleOf))
	}
}

func (w *walker) text(s *js.Schema, v, at string) {
	w.bounds(s.MinLength, s.MaxLength, utf8.RuneCountInString(v), "character", at)
	if s.Pattern == "" {
		return
	}
	if re := w.regexps[s.Pattern]; re != nil && !re.MatchString(v) {
		w.add(at, quoted(v)+" does not match the pattern", s.Pattern)
	}
}

// bounds checks the count of some things against a minimum and a maximum.
func (w *walker) bounds(least, most *int, n int, thing, at string) {
	has := "has " + count(n, thing)
	if least != nil && n < *least {
		w.add(at, has, "at least "+count(*least, thing))
	}
	if most != nil && n > *most {
		w.add(at, has, "at most "+count(*most, thing))
	}
}

// count writes a number of things: "1 item", "2 properties", "3 items of string".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	noun, kind, _ := strings.Cut(thing, " ")
	if rest, ok := strings.CutSuffix(noun, "y"); ok {
		noun = rest + "ie"
	}
	return strings.TrimSuffix(strconv.Itoa(n)+" "+noun+"s "+kind, " ")
}

func (w *walker) array(s *js.Schema, v []any, at string) {
	w.bounds(s.MinItems, s.MaxItems, len(v), "item", at)
	for i, elem := range v {
		if sub := itemSchema(s, i); sub != nil {
			w.walk(sub, elem, pointer(at, strconv.Itoa(i)))
		}
	}
	if s.Contains != nil {
		w.contains(s, v, at)
	}
	if !s.UniqueItems {
		return
	}
	seen := make(map[string]int, len(v))
	for i, elem := range v {
		key := string(encode(elem)) // objects by sorted keys, so equal ones are the same text
		if first, twice := seen[key]; twice {
			w.add(pointer(at, strconv.Itoa(i)), "is the same as item "+strconv.Itoa(first), "no item twice")
			continue
		}
		seen[key] = i
	}
}

// contains checks how many elements fit the schema in contains. Without bounds that is one or more.
func (w *walker) contains(s *js.Schema, v []any, at string) {
	fitting := 0
	for _, elem := range v {
		if w.accepts(s.Contains, elem) {
			fitting++
		}
	}
	w.bounds(cmp.Or(s.MinContains, js.Ptr(1)), s.MaxContains, fitting, "item of "+w.typeOf(s.Contains, 0), at)
}

func (w *walker) object(s *js.Schema, v map[string]any, at string) {
	w.required(s, s.Required, v, at, "")
	for _, name := range sortedKeys(s.DependentRequired) {
		if _, given := v[name]; given {
			w.required(s, s.DependentRequired[name], v, at, " (needed with "+name+")")
		}
	}
	w.bounds(s.MinProperties, s.MaxProperties, len(v), "property", at)
	names := slices.Clone(s.PropertyOrder)
	if concernsAll(s) {
		for _, name := range sortedKeys(v) {
			if s.Properties[name] == nil {
				names = append(names, name)
			}
		}
	}
	patterns := sortedKeys(s.PatternProperties)
	for _, name := range names {
		if member, given := v[name]; given {
			w.member(s, patterns, v, name, member, at)
		}
	}
	for _, name := range sortedKeys(s.DependentSchemas) {
		if _, given := v[name]; given {
			w.walk(s.DependentSchemas[name], v, at)
		}
	}
}

// member checks one member of the object v under s. patterns are those of s for names of members.
func (w *walker) member(s *js.Schema, patterns []string, v map[string]any, name string, member any, at string) {
	here := pointer(at, name)
	known := false
	if sub := s.Properties[name]; sub != nil {
		known = true
		w.walk(sub, member, here)
	}
	for _, pattern := range patterns {
		if re := w.regexps[pattern]; re != nil && re.MatchString(name) {
			known = true
			w.walk(s.PatternProperties[pattern], member, here)
		}
	}
	switch {
	case known || s.AdditionalProperties == nil:
	case isFalse(s.AdditionalProperties):
		w.unknown(s, v, name, at)
	default:
		w.walk(s.AdditionalProperties, member, here)
	}
	if s.PropertyNames != nil && !w.accepts(s.PropertyNames, name) {
		w.add(here, "has a name that is not allowed", namesExpected(s.PropertyNames))
	}
}

func namesExpected(s *js.Schema) string {
	switch {
	case s.Pattern != "":
		return "a name that matches " + s.Pattern
	case s.Enum != nil:
		return oneOf(s.Enum)
	}
	return ""
}

func (w *walker) required(s *js.Schema, names []string, v map[string]any, at, why string) {
	for _, name := range names {
		if _, given := v[name]; given {
			continue
		}
		expected := ""
		if sub := w.property(s, name); sub != nil {
			expected = w.typeOf(sub, 0)
		}
		w.add(pointer(at, name), "is missing"+why, expected)
	}
}

// unknown adds the fault of a key that s does not know.
func (w *walker) unknown(s *js.Schema, v map[string]any, name, at string) {
	var known, free []string
	for _, p := range w.properties(s).list {
		if len(known) == maxCandidates || !w.spend(1) {
			break
		}
		known = append(known, p.name)
		if _, given := v[p.name]; !given {
			free = append(free, p.name)
		}
	}
	f := fault.Argument{Pointer: pointer(at, name), Problem: unknownKey, Nearest: nearest(name, free)}
	switch {
	case len(known) == 0:
		f.Expected = "no keys"
	case f.Nearest == "":
		f.Expected = "one of " + cut(strings.Join(known, ", "), 200)
	}
	w.addFault(f)
}

// describe names the type of v with its article.
func describe(v any) string {
	switch typ := jsonType(v); typ {
	case "null":
		return typ
	case "integer", "array", "object":
		return "an " + typ
	default:
		return "a " + typ
	}
}

// quoted renders a value inside a sentence, shortened.
func quoted(v any) string { return cut(string(encode(v)), 60) }

func formatNumber(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func stringsOf(values []any) []string {
	var list []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			list = append(list, s)
		}
	}
	return list
}
