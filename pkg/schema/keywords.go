package schema

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"

	js "github.com/google/jsonschema-go/jsonschema"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// keywords reads the keywords of one schema object into s. A value that means nothing sets lax and is dropped.
type keywords struct {
	*parser
	s       *js.Schema
	foreign bool
	// minOpen and maxOpen are draft-04's boolean exclusiveMinimum and exclusiveMaximum.
	minOpen, maxOpen bool
	// nullable is OpenAPI's: beside a type, null is allowed too.
	nullable bool
}

// read reads one keyword. It passes over those that constrain nothing.
func (k *keywords) read(f tool.Field) {
	s := k.s
	switch f.Key {
	case "$ref":
		s.Ref = k.reference(tool.Text(f.Value), k.foreign)
	case "type":
		k.types(f.Value)
	case "enum":
		if s.Enum, _ = decode(f.Value).([]any); len(s.Enum) == 0 { // allows nothing: a list that was never filled
			s.Enum, k.lax = nil, true
		}
	case "exclusiveMinimum":
		s.ExclusiveMinimum, k.minOpen = k.bound(f.Value)
	case "exclusiveMaximum":
		s.ExclusiveMaximum, k.maxOpen = k.bound(f.Value)
	case "properties":
		s.Properties, s.PropertyOrder = k.schemas(f.Value)
	case "dependentRequired", "dependencies": // the older one holds schemas too
		k.dependencies(f.Value)
	case "example": // of OpenAPI
		s.Examples = append(s.Examples, decode(f.Value))
	case "nullable": // of OpenAPI
		k.nullable = string(f.Value) == "true"
	case "$dynamicRef", "$recursiveRef", "extends", "disallow":
		k.lax = true
	case "title", "description", "default", "examples", "format", "const", "required", "pattern", "uniqueItems",
		"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
		"minimum", "maximum", "multipleOf", "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains",
		"patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames", "dependentSchemas",
		"allOf", "anyOf", "oneOf", "not", "if", "then", "else":
		k.copy(f)
	}
}

// copy reads a keyword into the field of the library's schema that has its name. The type of the field says how.
func (k *keywords) copy(f tool.Field) {
	name := strings.ToUpper(f.Key[:1]) + f.Key[1:]
	if name == "Items" && f.Value[0] == '[' { // before 2020-12
		name = "PrefixItems"
	}
	switch field := reflect.ValueOf(k.s).Elem().FieldByName(name).Addr().Interface().(type) {
	case *string:
		*field = tool.Text(f.Value)
	case *bool:
		*field = string(f.Value) == "true"
	case *json.RawMessage:
		*field = f.Value
	case **any:
		*field = js.Ptr(decode(f.Value))
	case *[]any:
		*field, _ = decode(f.Value).([]any)
	case *[]string:
		*field = k.names(f.Value)
	case **int:
		*field = k.count(f.Value)
	case **float64:
		*field = k.number(f.Value)
	case **js.Schema:
		*field = k.schema(f.Value)
	case *[]*js.Schema:
		*field = k.list(f.Value)
	case *map[string]*js.Schema:
		*field, _ = k.schemas(f.Value)
	}
}

// finish settles what depends on several keywords.
func (k *keywords) finish() {
	s := k.s
	if k.minOpen {
		s.ExclusiveMinimum, s.Minimum = s.Minimum, nil
	}
	if k.maxOpen {
		s.ExclusiveMaximum, s.Maximum = s.Maximum, nil
	}
	if s.PrefixItems != nil && s.Items == nil { // only beside an array of items does additionalItems count
		s.Items = s.AdditionalItems
	}
	s.AdditionalItems = nil
	// The library divides floats, by which .07 is not a multiple of .01: only whole numbers are left to it.
	if n := s.MultipleOf; n != nil && (*n < 1 || *n != math.Trunc(*n)) {
		s.MultipleOf, k.lax = nil, true
	}
	if !k.compiles(s.Pattern) {
		s.Pattern, k.lax = "", true
	}
	if types := typesOf(s); k.nullable && len(types) > 0 && !slices.Contains(types, "null") {
		s.Type, s.Types = "", append(slices.Clone(types), "null")
	}
	if slices.ContainsFunc(sortedKeys(s.PatternProperties), func(pattern string) bool { return !k.compiles(pattern) }) {
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
	fields, err := tool.SplitValid(raw)
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
	said := []string{tool.Text(raw)}
	if raw[0] == '[' {
		said = k.names(raw)
	}
	var types []string
	for _, typ := range said {
		switch typ {
		case "string", "integer", "number", "boolean", "array", "object", "null":
		default:
			k.lax = true
			return
		}
		if !slices.Contains(types, typ) {
			types = append(types, typ)
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
	fields, err := tool.SplitValid(raw)
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
	if open := string(raw) == "true"; open || string(raw) == "false" {
		return nil, open
	}
	return k.number(raw), false
}
