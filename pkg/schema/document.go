package schema

import (
	"regexp"
	"slices"
	"strconv"

	js "github.com/google/jsonschema-go/jsonschema"
)

// document is a parsed schema, rewritten into plain JSON Schema 2020-12 that the library accepts: see parser. It
// belongs to one call and is not shared.
type document struct {
	root *js.Schema
	// targets holds the root and every schema that a $ref leads to, by the only remaining form of reference: "#/$defs/0"
	// is the root.
	targets map[string]*js.Schema
	// judges holds the library's compiled forms of the schemas asked about so far, and known their properties.
	judges map[*js.Schema]*js.Resolved
	known  map[*js.Schema]*properties
	// regexps holds the patterns that can be checked.
	regexps map[string]*regexp.Regexp
	// steps is the rest of the budget: see spend.
	steps int
	// err says why the schema cannot be used. root then accepts everything.
	err error
}

// open reads a schema. It never fails: for a schema that cannot be used it returns a document that accepts
// everything, with the reason in err.
func open(inputSchema []byte) *document {
	p := &parser{raw: inputSchema}
	d := &document{judges: map[*js.Schema]*js.Resolved{}, known: map[*js.Schema]*properties{},
		steps: baseSteps + stepsPerByte*len(inputSchema)}
	if d.err = p.check(); d.err != nil {
		d.root = &js.Schema{}
		return d
	}
	d.targets, d.regexps = p.parse(), p.regexps
	d.root = d.targets[targetRef(0)]
	if p.refers && d.breakLoops() {
		p.lax = true
	}
	if p.lax {
		for _, s := range d.targets {
			weaken(s)
		}
	}
	return d
}

// The budget of a document, in steps. A step is about the work of looking at one keyword.
const (
	baseSteps    = 1_000_000
	stepsPerByte = 2
)

// spend takes n steps from the budget, and reports whether it had them. Without a budget a hostile schema, whose parts
// refer to each other, takes hours to describe or to check. Who gets false stops, with what is known until then; it
// never takes a value for wrong.
func (d *document) spend(n int) bool {
	d.steps -= n
	return d.steps >= 0
}

func targetRef(i int) string { return "#/$defs/" + strconv.Itoa(i) }

// property is a property of an object schema, with everything said about it.
type property struct {
	name     string
	schema   *js.Schema
	required bool
}

// parts returns the schemas that hold together with s: s itself, the target of its $ref, and the members of its
// allOf, each with theirs. An absurdly long list is cut.
func (d *document) parts(s *js.Schema) []*js.Schema {
	const most = 100
	parts := []*js.Schema{s}
	for i := 0; i < len(parts) && len(parts) < most; i++ {
		if target := d.targets[parts[i].Ref]; target != nil && !slices.Contains(parts, target) {
			parts = append(parts, target)
		}
		for _, sub := range parts[i].AllOf[:min(len(parts[i].AllOf), most-len(parts))] {
			if !slices.Contains(parts, sub) {
				parts = append(parts, sub)
			}
		}
	}
	d.spend(len(parts))
	return parts
}

// branches returns the alternatives of parts, each with its parts.
func (d *document) branches(parts []*js.Schema) (all []*js.Schema) {
	for _, part := range parts {
		for _, branch := range slices.Concat(part.AnyOf, part.OneOf) {
			if !d.spend(1) {
				return all
			}
			all = append(all, d.parts(branch)...)
		}
	}
	return all
}

// properties are the properties that a schema names, in order and by name.
type properties struct {
	list []property
	at   map[string]int // places in list
}

// add returns the place of a property. If it is not known yet, add appends it.
func (p *properties) add(name string, s *js.Schema) int {
	at, ok := p.at[name]
	if !ok {
		at = len(p.list)
		p.at[name] = at
		p.list = append(p.list, property{name: name, schema: s})
	}
	return at
}

// properties returns the properties that s names, its own first, then those of the branches of anyOf and oneOf, which
// are never required by themselves.
func (d *document) properties(s *js.Schema) *properties {
	if known := d.known[s]; known != nil {
		return known
	}
	props := &properties{at: map[string]int{}}
	d.known[s] = props
	parts := d.parts(s)
	for _, part := range slices.Concat(parts, d.branches(parts)) {
		if !d.spend(len(part.PropertyOrder)) {
			break
		}
		for _, name := range part.PropertyOrder {
			props.add(name, part.Properties[name])
		}
	}
	for _, part := range parts {
		if !d.spend(len(part.Required)) {
			break
		}
		for _, name := range part.Required {
			props.list[props.add(name, &js.Schema{})].required = true
		}
	}
	return props
}

// property returns the schema of a property that s names. It is nil if s names none.
func (d *document) property(s *js.Schema, name string) *js.Schema {
	props := d.properties(s)
	if at, ok := props.at[name]; ok {
		return props.list[at].schema
	}
	return nil
}

// breakLoops removes every $ref that leads back to its own schema without going down into the value: such a schema
// means nothing, and validating it would never end. It reports whether there was one.
func (d *document) breakLoops() bool {
	const (
		entered = 1
		left    = 2
	)
	state := map[*js.Schema]int{}
	found := false
	var visit, all func(s *js.Schema)
	visit = func(s *js.Schema) {
		if state[s] != 0 {
			return
		}
		state[s] = entered
		target := d.targets[s.Ref]
		if target != nil && state[target] == entered {
			s.Ref, target, found = "", nil, true
		}
		for _, sub := range present([]*js.Schema{target}, inPlace(s)) {
			visit(sub)
		}
		state[s] = left
	}
	all = func(s *js.Schema) {
		visit(s)
		for _, sub := range slices.Concat(inPlace(s), below(s)) {
			all(sub)
		}
	}
	// In order, so that the same schema always loses the same reference.
	for i := range len(d.targets) {
		all(d.targets[targetRef(i)])
	}
	return found
}

// weaken removes from s and everything in it the keywords that turn a dropped part into a false complaint: negations,
// exclusive choices, conditions and counts of matches. A schema that was not fully understood must only ever accept
// more than its author meant.
func weaken(s *js.Schema) {
	if !isFalse(s) {
		s.Not = nil
	}
	if s.OneOf != nil {
		s.AllOf = append(s.AllOf, &js.Schema{AnyOf: s.OneOf})
		s.OneOf = nil
	}
	s.If, s.Then, s.Else = nil, nil, nil
	s.Contains, s.MinContains, s.MaxContains = nil, nil, nil
	s.UnevaluatedItems, s.UnevaluatedProperties = nil, nil
	for _, sub := range slices.Concat(inPlace(s), below(s)) {
		weaken(sub)
	}
}

// inPlace returns the subschemas of s that apply to the same value as s, without its $ref.
func inPlace(s *js.Schema) []*js.Schema {
	return present(s.AllOf, s.AnyOf, s.OneOf, []*js.Schema{s.Not, s.If, s.Then, s.Else}, sortedValues(s.DependentSchemas))
}

// below returns the subschemas of s that apply to members, elements or keys of the value.
func below(s *js.Schema) []*js.Schema {
	single := []*js.Schema{s.Items, s.Contains, s.UnevaluatedItems, s.AdditionalProperties, s.PropertyNames,
		s.UnevaluatedProperties}
	return present(s.PrefixItems, single, sortedValues(s.Properties), sortedValues(s.PatternProperties))
}

// present joins lists, without the nil schemas in them.
func present(lists ...[]*js.Schema) []*js.Schema {
	return slices.DeleteFunc(slices.Concat(lists...), func(s *js.Schema) bool { return s == nil })
}

// types returns every JSON type that s may take, through references and combinators. None means that mcpl knows of
// no restriction.
func (d *document) types(s *js.Schema, depth int) []string {
	if depth > maxTypeDepth || !d.spend(1) {
		return nil
	}
	var types []string
	for _, part := range d.parts(s) {
		if own := d.ownTypes(part, depth); len(own) > 0 {
			if types == nil {
				types = own
			} else {
				types = slices.DeleteFunc(types, func(typ string) bool { return !slices.Contains(own, typ) })
			}
		}
	}
	return types
}

// ownTypes is types for the keywords of s alone.
func (d *document) ownTypes(s *js.Schema, depth int) []string {
	if types := typesOf(s); len(types) > 0 {
		return slices.Clone(types)
	}
	var types []string
	for _, v := range valuesOf(s) {
		types = append(types, jsonType(v))
	}
	if len(types) > 0 {
		return types
	}
	branches := slices.Concat(s.AnyOf, s.OneOf)
	if len(branches) > maxBranches {
		return nil
	}
	for _, branch := range branches {
		own := d.types(branch, depth+1)
		if own == nil {
			return nil
		}
		types = append(types, own...)
	}
	if typ := impliedType(s); len(branches) == 0 && typ != "any" && typ != "never" {
		types = []string{typ}
	}
	return types
}
