package schema

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	js "github.com/google/jsonschema-go/jsonschema"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Limits of an example.
const (
	maxExampleDepth = 8   // levels of objects and arrays
	maxExampleNodes = 400 // values tried
	maxExampleItems = 20  // elements of an array
)

// Example returns arguments that fit the schema: the required parameters, each with its default, an example, an allowed
// value, or a value made from its constraints. A string without any of these is a placeholder to be replaced, such as
// "<owner>". For a schema that cannot be met, or is too odd, the result is the nearest that was found, always a JSON
// object.
func Example(inputSchema []byte) json.RawMessage { return open(inputSchema).objectExample() }

// fits reports whether nothing is known to be wrong with args.
func (d *document) fits(args []byte) bool {
	faults, _ := d.validate(args)
	return len(faults) == 0
}

// objectExample returns the example for the root, which is an object whatever the schema says.
func (d *document) objectExample() json.RawMessage {
	e := exampler{document: d, left: maxExampleNodes}
	candidates := e.objects(d.root, 0)
	if i := slices.IndexFunc(candidates, func(c json.RawMessage) bool { return d.fits(c) }); i >= 0 {
		return candidates[i]
	}
	return candidates[0]
}

// exampler makes values that fit schemas.
type exampler struct {
	*document
	left int // values that may still be tried
}

// example returns a value for s, whose shown name is name: the first candidate that fits, else an example of an
// alternative, which may itself consist of alternatives.
func (e *exampler) example(s *js.Schema, name string, depth int) json.RawMessage {
	candidates := e.candidates(s, name, depth)
	fits := func(candidate json.RawMessage) bool {
		e.left--
		return e.left >= 0 && e.accepts(s, decode(candidate))
	}
	if i := slices.IndexFunc(candidates, fits); i >= 0 {
		return candidates[i]
	}
	for _, part := range e.parts(s) {
		for _, branch := range slices.Concat(part.AnyOf, part.OneOf) {
			if e.left < 0 || depth >= maxExampleDepth {
				break
			}
			if candidate := e.example(branch, name, depth+1); fits(candidate) {
				return candidate
			}
		}
	}
	if len(candidates) == 0 {
		return json.RawMessage("null")
	}
	return candidates[0]
}

// candidates returns values that may fit s, the most telling first.
func (e *exampler) candidates(s *js.Schema, name string, depth int) []json.RawMessage {
	var list []json.RawMessage
	parts := e.parts(s)
	for _, part := range parts {
		if part.Default != nil && string(part.Default) != "null" {
			list = append(list, part.Default)
		}
	}
	for _, part := range parts {
		for _, v := range slices.Concat(part.Examples, valuesOf(part)) {
			if len(list) < maxExampleItems {
				list = append(list, encode(v))
			}
		}
	}
	if len(list) > 0 && e.left <= 0 {
		return list
	}
	for _, typ := range e.exampleTypes(s) {
		list = append(list, e.typed(s, parts, typ, name, depth)...)
	}
	return list
}

// exampleTypes returns the types to try for s, null last.
func (e *exampler) exampleTypes(s *js.Schema) []string {
	types := e.types(s, 0)
	if len(types) == 0 {
		return []string{"string", "object", "array", "integer", "boolean", "null"}
	}
	var sorted []string
	for _, typ := range append(slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" }),
		"null") {
		if slices.Contains(types, typ) && !slices.Contains(sorted, typ) {
			sorted = append(sorted, typ)
		}
	}
	return sorted
}

func (e *exampler) typed(s *js.Schema, parts []*js.Schema, typ, name string, depth int) []json.RawMessage {
	branches := e.branches(parts)
	all := slices.Concat(parts, branches[:min(len(branches), maxBranches)])
	switch typ {
	case "string":
		return e.strings(all, name)
	case "integer", "number":
		return numbers(all)
	case "boolean":
		return []json.RawMessage{json.RawMessage("false"), json.RawMessage("true")}
	case "null":
		return []json.RawMessage{json.RawMessage("null")}
	case "array":
		return e.arrays(all, name, depth)
	}
	return e.objects(s, depth)
}

// strings returns strings that parts may accept: the values that a branch names, a sample of the format, the
// placeholder, and strings made from the pattern and the lengths.
func (e *exampler) strings(parts []*js.Schema, name string) []json.RawMessage {
	placeholder := "<" + name + ">"
	if name == "" {
		placeholder = "<value>"
	}
	var texts []string
	for _, s := range parts {
		named := stringsOf(valuesOf(s))
		texts = append(texts, named[:min(1, len(named))]...)
		if sample := formatSample(s.Format); sample != "" {
			texts = append(texts, sample)
		}
	}
	texts = append(texts, placeholder)
	if name != "" {
		texts = append(texts, name)
	}
	for _, s := range parts {
		least, most := min(valueOr(s.MinLength, 0), 10_000), valueOr(s.MaxLength, math.MaxInt32)
		if s.Pattern != "" {
			texts = append(texts, matching(s.Pattern, least, most)...)
		}
		if n := len([]rune(placeholder)); n > most {
			texts = append(texts, string([]rune(strings.Trim(placeholder, "<>") + placeholder)[:most]))
		} else if n < least {
			texts = append(texts, strings.Repeat(placeholder, least/n+1)[:least])
		}
	}
	list := make([]json.RawMessage, len(texts))
	for i, text := range texts {
		list[i] = tool.Quote(text)
	}
	return list
}

func valueOr(p *int, otherwise int) int { return *cmp.Or(p, &otherwise) }

// formatSample returns a string of the format (JSON Schema validation, section 7.3). It is empty for other formats.
func formatSample(format string) string {
	for _, known := range [...]struct{ format, sample string }{
		{"date-time", "2026-01-31T12:00:00Z"},
		{"date", "2026-01-31"},
		{"time", "12:00:00Z"},
		{"duration", "PT1H"},
		{"email", "name@example.com"},
		{"idn-email", "name@example.com"},
		{"hostname", "example.com"},
		{"idn-hostname", "example.com"},
		{"ipv4", "192.0.2.1"},
		{"ipv6", "2001:db8::1"},
		{"cidrv4", "192.0.2.0/24"},
		{"cidrv6", "2001:db8::/32"},
		{"uri", "https://example.com"},
		{"url", "https://example.com"},
		{"iri", "https://example.com"},
		{"uri-reference", "https://example.com"},
		{"iri-reference", "https://example.com"},
		{"uuid", "123e4567-e89b-42d3-a456-426614174000"},
		{"json-pointer", "/key"},
		{"regex", ".*"},
		{"json", "{}"},
	} {
		if known.format == format {
			return known.sample
		}
	}
	return ""
}

// numbers returns numbers that parts may accept.
func numbers(parts []*js.Schema) []json.RawMessage {
	candidates := []float64{1, 0}
	for _, s := range parts {
		step := 1.0
		if s.MultipleOf != nil {
			step = *s.MultipleOf
			candidates = append(candidates, step)
		}
		for _, low := range []*float64{s.Minimum, s.ExclusiveMinimum} {
			if low != nil {
				up := math.Ceil(*low/step) * step
				candidates = append(candidates, *low, up, up+step)
			}
		}
		for _, high := range []*float64{s.Maximum, s.ExclusiveMaximum} {
			if high != nil {
				down := math.Floor(*high/step) * step
				candidates = append(candidates, *high, down, down-step)
			}
		}
		if s.ExclusiveMinimum != nil && s.ExclusiveMaximum != nil {
			candidates = append(candidates, (*s.ExclusiveMinimum+*s.ExclusiveMaximum)/2)
		}
	}
	list := make([]json.RawMessage, 0, len(candidates))
	for _, n := range candidates {
		if !math.IsInf(n, 0) && !math.IsNaN(n) {
			list = append(list, encode(n))
		}
	}
	return list
}

// arrays returns arrays that parts may accept: with one element, to show the form of an element, or with as many as
// the schema asks for, or empty.
func (e *exampler) arrays(parts []*js.Schema, name string, depth int) []json.RawMessage {
	name = singular(name)
	var list []json.RawMessage
	for _, s := range parts {
		least := max(1, valueOr(s.MinItems, 0), len(s.PrefixItems))
		least = min(least, valueOr(s.MaxItems, maxExampleItems), maxExampleItems)
		if depth >= maxExampleDepth || s.Items == nil && len(s.PrefixItems) == 0 && s.MinItems == nil {
			continue
		}
		var elems []json.RawMessage
		for i := range least {
			item := cmp.Or(itemSchema(s, i), &js.Schema{})
			elems = append(elems, e.element(item, name, i, depth, s.UniqueItems))
		}
		list = append(list, tool.JoinArray(elems))
	}
	return append(list, json.RawMessage("[]"))
}

// singular guesses the name of one thing from that of several: "category" from "categories".
func singular(name string) string {
	if stem, ok := strings.CutSuffix(name, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(name, "s")
}

// element returns the i-th element of an example array. If no two may be the same, it returns other allowed values,
// numbers counted up, or numbered placeholders.
func (e *exampler) element(item *js.Schema, name string, i, depth int, unique bool) json.RawMessage {
	if !unique || i == 0 {
		return e.example(item, name, depth+1)
	}
	seen := 0
	for _, part := range e.parts(item) {
		if values := valuesOf(part); i < len(values) {
			return encode(values[i])
		}
	}
	for n := int64(1); n < 2*maxExampleItems; n++ {
		for _, v := range []any{n, "<" + name + string(encode(n)) + ">"} {
			if e.accepts(item, v) {
				if seen++; seen > i {
					return encode(v)
				}
				break
			}
		}
	}
	return e.example(item, name, depth+1)
}

// objects returns objects that s may accept: with the required members, and then with the further members that each
// of its alternatives requires.
func (e *exampler) objects(s *js.Schema, depth int) []json.RawMessage {
	if depth >= maxExampleDepth {
		return []json.RawMessage{json.RawMessage("{}")}
	}
	parts := e.parts(s)
	base := e.members(nil, parts, depth)
	list := []json.RawMessage{tool.JoinObject(base)}
	with := func(more []*js.Schema) {
		list = append(list, tool.JoinObject(e.members(slices.Clone(base), slices.Concat(more, parts), depth)))
	}
	for _, part := range parts {
		for _, branches := range [][]*js.Schema{part.AnyOf, part.OneOf} {
			for _, branch := range branches[:min(len(branches), maxBranches)] {
				with(e.parts(branch))
			}
		}
		if part.Then != nil {
			with(e.parts(part.Then))
		}
		for name, needed := range part.DependentRequired {
			if get(base, name) != nil {
				with([]*js.Schema{{Required: needed}})
			}
		}
	}
	return list
}

// members adds to object the members that parts require.
func (e *exampler) members(object []tool.Field, parts []*js.Schema, depth int) []tool.Field {
	known, needed := map[string]*js.Schema{}, map[string]bool{}
	var order, required []string
	for _, part := range parts {
		if !e.spend(len(part.PropertyOrder) + len(part.Required)) {
			return object
		}
		for _, name := range part.PropertyOrder {
			if known[name] == nil {
				known[name] = part.Properties[name]
				order = append(order, name)
			}
		}
		for _, name := range part.Required {
			if !needed[name] {
				needed[name] = true
				required = append(required, name)
			}
		}
	}
	for _, name := range order {
		if needed[name] && e.left > 0 {
			object = put(object, name, e.example(known[name], name, depth+1))
		}
	}
	for _, name := range required {
		if e.left > 0 && get(object, name) == nil {
			object = put(object, name, e.example(e.additional(parts), name, depth+1))
		}
	}
	return e.fill(object, parts, depth)
}

// additional returns the schema for a required property that parts do not describe.
func (e *exampler) additional(parts []*js.Schema) *js.Schema {
	for _, part := range parts {
		if part.AdditionalProperties != nil {
			return part.AdditionalProperties
		}
	}
	return &js.Schema{}
}

// fill adds members up to the least number that parts ask for.
func (e *exampler) fill(object []tool.Field, parts []*js.Schema, depth int) []tool.Field {
	for _, part := range parts {
		if part.MinProperties == nil {
			continue
		}
		for _, name := range part.PropertyOrder {
			if e.left > 0 && len(object) < *part.MinProperties && get(object, name) == nil {
				object = put(object, name, e.example(part.Properties[name], name, depth+1))
			}
		}
		for i := 1; len(object) < min(*part.MinProperties, maxExampleItems); i++ {
			name := "key" + string(encode(i))
			object = put(object, name, e.example(e.additional(parts), name, depth+1))
		}
	}
	return object
}
