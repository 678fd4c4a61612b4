package schema

import (
	"encoding/json"
	"math"
	"slices"

	js "github.com/google/jsonschema-go/jsonschema"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// keywords reads the keywords of one schema object into s. Each method takes one member and reports whether it knows
// the keyword. A value that means nothing sets lax and is dropped.
type keywords struct {
	*parser
	s       *js.Schema
	foreign bool
	// minOpen and maxOpen are draft-04's boolean exclusiveMinimum and exclusiveMaximum.
	minOpen, maxOpen bool
	// additional is additionalItems, which counts only beside an array of items.
	additional *js.Schema
	// nullable is OpenAPI's: beside a type, null is allowed too.
	nullable bool
	// unknownPatterns says that a pattern of patternProperties cannot be checked.
	unknownPatterns bool
}

// describing reads the keywords that constrain nothing.
func (k *keywords) describing(f tool.Field) bool {
	switch f.Key {
	case "title":
		k.s.Title = text(f.Value)
	case "description":
		k.s.Description = text(f.Value)
	case "default":
		k.s.Default = f.Value
	case "format":
		k.s.Format = text(f.Value)
	case "examples":
		k.s.Examples, _ = decode(f.Value).([]any)
	case "$ref":
		ref := text(f.Value)
		if k.s.Ref = k.reference(ref, k.foreign); k.s.Ref == "" {
			k.lax = true
		}
	case "$schema", "$id", "id", "$comment", "$defs", "definitions", "$anchor":
	default:
		return false
	}
	return true
}

// plain reads the keywords without subschemas, except those that bound numbers.
func (k *keywords) plain(f tool.Field) bool {
	s := k.s
	switch f.Key {
	case "type":
		k.types(f.Value)
	case "enum":
		values, _ := decode(f.Value).([]any)
		s.Enum = values
		if len(values) == 0 { // allows nothing: a list that was never filled
			s.Enum, k.lax = nil, true
		}
	case "const":
		value := decode(f.Value)
		s.Const = &value
	case "required":
		s.Required = k.names(f.Value)
	case "pattern":
		if s.Pattern = text(f.Value); !compiles(s.Pattern) {
			s.Pattern, k.lax = "", true
		}
	case "uniqueItems":
		s.UniqueItems = string(f.Value) == "true"
	default:
		place := counted(s, f.Key)
		if place == nil {
			return false
		}
		*place = k.count(f.Value)
	}
	return true
}

// counted returns the place for the value of a keyword that counts characters, elements or members. It is nil for
// other keywords.
func counted(s *js.Schema, key string) **int {
	switch key {
	case "minLength":
		return &s.MinLength
	case "maxLength":
		return &s.MaxLength
	case "minItems":
		return &s.MinItems
	case "maxItems":
		return &s.MaxItems
	case "minProperties":
		return &s.MinProperties
	case "maxProperties":
		return &s.MaxProperties
	case "minContains":
		return &s.MinContains
	case "maxContains":
		return &s.MaxContains
	}
	return nil
}

// bounding reads the keywords that bound numbers.
func (k *keywords) bounding(f tool.Field) bool {
	s := k.s
	switch f.Key {
	case "minimum":
		s.Minimum = k.number(f.Value)
	case "maximum":
		s.Maximum = k.number(f.Value)
	case "exclusiveMinimum":
		s.ExclusiveMinimum, k.minOpen = k.bound(f.Value)
	case "exclusiveMaximum":
		s.ExclusiveMaximum, k.maxOpen = k.bound(f.Value)
	case "multipleOf":
		// The library divides floats, by which .07 is not a multiple of .01: only whole numbers are left to it.
		if n := k.number(f.Value); n != nil && *n >= 1 && *n == math.Trunc(*n) {
			s.MultipleOf = n
		} else {
			k.lax = true
		}
	default:
		return false
	}
	return true
}

// nested reads the keywords whose subschemas apply to members, elements or keys.
func (k *keywords) nested(f tool.Field) bool {
	s := k.s
	switch f.Key {
	case "properties":
		s.Properties, s.PropertyOrder = k.schemas(f.Value)
	case "patternProperties":
		s.PatternProperties, _ = k.schemas(f.Value)
		for pattern := range s.PatternProperties {
			k.unknownPatterns = k.unknownPatterns || !compiles(pattern)
		}
	case "additionalProperties":
		s.AdditionalProperties = k.schema(f.Value)
	case "propertyNames":
		s.PropertyNames = k.schema(f.Value)
	case "unevaluatedProperties":
		s.UnevaluatedProperties = k.schema(f.Value)
	case "items":
		if f.Value[0] == '[' { // before 2020-12
			s.PrefixItems = k.list(f.Value)
		} else {
			s.Items = k.schema(f.Value)
		}
	case "prefixItems":
		s.PrefixItems = k.list(f.Value)
	case "additionalItems":
		k.additional = k.schema(f.Value)
	case "contains":
		s.Contains = k.schema(f.Value)
	case "unevaluatedItems":
		s.UnevaluatedItems = k.schema(f.Value)
	default:
		return false
	}
	return true
}

// logic reads the keywords whose subschemas apply to the value itself.
func (k *keywords) logic(f tool.Field) bool {
	s := k.s
	switch f.Key {
	case "allOf":
		s.AllOf = k.list(f.Value)
	case "anyOf":
		s.AnyOf = k.list(f.Value)
	case "oneOf":
		s.OneOf = k.list(f.Value)
	case "not":
		s.Not = k.schema(f.Value)
	case "if":
		s.If = k.schema(f.Value)
	case "then":
		s.Then = k.schema(f.Value)
	case "else":
		s.Else = k.schema(f.Value)
	case "dependentSchemas":
		s.DependentSchemas, _ = k.schemas(f.Value)
	case "dependentRequired":
		k.dependencies(f.Value)
	default:
		return false
	}
	return true
}

// oldSpelling reads the keywords of other drafts, and records those that must be dropped.
func (k *keywords) oldSpelling(f tool.Field) {
	switch f.Key {
	case "dependencies":
		k.dependencies(f.Value)
	case "example": // of OpenAPI
		k.s.Examples = append(k.s.Examples, decode(f.Value))
	case "nullable": // of OpenAPI
		k.nullable = string(f.Value) == "true"
	case "$dynamicRef", "$recursiveRef", "extends", "disallow":
		k.lax = true
	}
}

// finish settles what depends on several keywords.
func (k *keywords) finish() {
	s := k.s
	if k.minOpen && s.Minimum != nil {
		s.ExclusiveMinimum, s.Minimum = s.Minimum, nil
	}
	if k.maxOpen && s.Maximum != nil {
		s.ExclusiveMaximum, s.Maximum = s.Maximum, nil
	}
	if k.additional != nil && s.PrefixItems != nil && s.Items == nil {
		s.Items = k.additional
	}
	if types := typesOf(s); k.nullable && len(types) > 0 && !slices.Contains(types, "null") {
		s.Type, s.Types = "", append(slices.Clone(types), "null")
	}
	if k.unknownPatterns {
		// Without the patterns mcpl cannot tell which keys are additional.
		s.PatternProperties, s.AdditionalProperties, k.lax = nil, nil, true
	}
	if k.old && s.Ref != "" {
		*s = js.Schema{Ref: s.Ref, Title: s.Title, Description: s.Description, Default: s.Default, Examples: s.Examples}
	}
}

func (k *keywords) schema(raw []byte) *js.Schema { return k.parser.schema(raw, false, k.foreign) }

// schemas reads an object of schemas, and its keys in order.
func (k *keywords) schemas(raw []byte) (map[string]*js.Schema, []string) {
	fields, err := tool.SplitObject(raw)
	if err != nil {
		k.lax = true
		return nil, nil
	}
	m := make(map[string]*js.Schema, len(fields))
	order := make([]string, 0, len(fields))
	for _, f := range fields {
		if _, twice := m[f.Key]; !twice {
			order = append(order, f.Key)
		}
		m[f.Key] = k.schema(f.Value)
	}
	return m, order
}

// list reads an array of schemas. An empty one has no meaning.
func (k *keywords) list(raw []byte) []*js.Schema {
	elems, err := tool.SplitArray(raw)
	if err != nil || len(elems) == 0 {
		k.lax = true
		return nil
	}
	list := make([]*js.Schema, len(elems))
	for i, elem := range elems {
		list[i] = k.schema(elem)
	}
	return list
}

// types reads the keyword type. An invented type ("any", "file") leaves the type open.
func (k *keywords) types(raw []byte) {
	types := []string{text(raw)}
	if raw[0] == '[' {
		types = k.names(raw)
	}
	for _, typ := range types {
		switch typ {
		case "string", "integer", "number", "boolean", "array", "object", "null":
		default:
			k.lax = true
			return
		}
	}
	if len(types) == 1 {
		k.s.Type = types[0]
	} else if len(types) > 1 {
		k.s.Types = types
	}
}

// dependencies reads dependentRequired, and the older dependencies.
func (k *keywords) dependencies(raw []byte) {
	fields, err := tool.SplitObject(raw)
	if err != nil {
		k.lax = true
		return
	}
	for _, f := range fields {
		if f.Value[0] == '[' {
			if k.s.DependentRequired == nil {
				k.s.DependentRequired = map[string][]string{}
			}
			k.s.DependentRequired[f.Key] = k.names(f.Value)
			continue
		}
		if k.s.DependentSchemas == nil {
			k.s.DependentSchemas = map[string]*js.Schema{}
		}
		k.s.DependentSchemas[f.Key] = k.schema(f.Value)
	}
}

func (k *keywords) names(raw []byte) []string {
	var names []string
	if json.Unmarshal(raw, &names) != nil || names == nil {
		k.lax = true
		return nil
	}
	return names
}

func (k *keywords) count(raw []byte) *int {
	n := k.number(raw)
	if n == nil || *n < 0 || *n > math.MaxInt32 || *n != math.Trunc(*n) {
		k.lax = true
		return nil
	}
	return js.Ptr(int(*n))
}

func (k *keywords) number(raw []byte) *float64 {
	var n float64
	if raw[0] == 'n' || json.Unmarshal(raw, &n) != nil {
		k.lax = true
		return nil
	}
	return &n
}

// bound reads exclusiveMinimum or exclusiveMaximum: a number, or draft-04's boolean.
func (k *keywords) bound(raw []byte) (*float64, bool) {
	switch string(raw) {
	case "true":
		return nil, true
	case "false":
		return nil, false
	}
	return k.number(raw), false
}
