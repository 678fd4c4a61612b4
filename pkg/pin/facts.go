package pin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/canonical"
)

// Bounds of what is judged of a schema. Beyond them the change counts as one that cannot be judged.
const (
	maxDepth  = 64
	maxNodes  = 100_000
	maxPlace  = 512 // bytes
	maxLabel  = 64  // bytes
	freeDepth = 32
)

// facts are a schema laid flat, so that two can be compared without caring for order. A place is the path of a
// subschema: "/name" for a property, "|keyword" for the others, "#/$defs/X" for a definition, which stands once however
// often it is referred to.
type facts struct {
	texts    map[string]string // by place: what is read there
	required map[string]bool   // places of required properties
	present  map[string]bool   // places of all properties
	rules    map[rule]string   // every other keyword, its value in canonical form
	either   map[string][]string
	all      map[string][]string // the places that a place must fit too: branches of allOf, targets of $ref
	nodes    int
	cut      bool // the schema is beyond the bounds
	free     map[string]bool
	others   map[string]int // by place: properties that are required, or take no free text; nil before they are needed
}

// rule is a keyword at a place.
type rule struct{ place, keyword string }

// propertyOf returns the property that a place belongs to: "/a" for "/a|items". If it belongs to none, no property has
// the place that propertyOf returns.
func propertyOf(place string) string {
	at := strings.LastIndexByte(place, '/') + 1
	name, _, _ := strings.Cut(place[at:], "|")
	return place[:at] + name
}

// factsOf reads a schema, which may be any JSON or nil.
func factsOf(schema json.RawMessage) *facts {
	f := &facts{texts: make(map[string]string), required: make(map[string]bool), present: make(map[string]bool),
		rules: make(map[rule]string), either: make(map[string][]string), all: make(map[string][]string),
		free: make(map[string]bool)}
	if schema == nil {
		return f
	}
	decoder := json.NewDecoder(bytes.NewReader(schema))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		f.cut = true
		return f
	}
	f.walk("", v, 0)
	return f
}

// walk notes the facts of a subschema.
func (f *facts) walk(place string, schema any, depth int) {
	members, ok := schema.(map[string]any)
	if f.nodes++; f.nodes > maxNodes || depth > maxDepth {
		f.cut = true
		return
	}
	if !ok {
		f.rules[rule{place, "schema"}] = text(schema)
		return
	}
	for _, keyword := range slices.Sorted(maps.Keys(members)) {
		f.keyword(place, keyword, members[keyword], depth+1)
	}
}

func (f *facts) keyword(place, keyword string, value any, depth int) {
	switch keyword {
	case "$schema", "$id", "$anchor":
	case "title", "description", "$comment", "examples":
		f.texts[place] += keyword + ":" + strings.Join(strings.Fields(text(value)), " ") + "\n"
	case "properties", "patternProperties":
		f.named(place, value, depth, true)
	case "$defs", "definitions":
		f.named(join("#", "/", keyword), value, depth, false)
	case "required":
		f.demand(place, value)
	case "dependentRequired", "dependentSchemas", "dependencies":
		f.dependent(place, keyword, value, depth)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		f.branches(place, keyword, value, depth)
	case "not", "if", "then", "else", "items", "contains", "additionalItems", "additionalProperties", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties":
		if _, isSchema := value.(map[string]any); isSchema {
			f.walk(join(place, "|", keyword), value, depth)
			return
		}
		f.rules[rule{place, keyword}] = text(value)
	case "type", "enum":
		f.rules[rule{place, keyword}] = set(value)
	default:
		if target, ok := value.(string); ok && keyword == "$ref" {
			f.all[place] = append(f.all[place], target)
		}
		f.rules[rule{place, keyword}] = text(value)
	}
}

// named notes schemas by their names, which may be those of properties.
func (f *facts) named(place string, value any, depth int, properties bool) {
	for name, schema := range object(value) {
		child := join(place, "/", name)
		if properties {
			f.present[child] = true
		}
		f.walk(child, schema, depth)
	}
}

// dependent notes what is required, and what else applies, if another property is there.
func (f *facts) dependent(place, keyword string, value any, depth int) {
	for name, needed := range object(value) {
		f.demand(place, needed)
		if _, isList := needed.([]any); !isList {
			f.walk(join(place, "|", keyword+name), needed, depth)
		}
	}
}

// demand notes required properties.
func (f *facts) demand(place string, names any) {
	list, _ := names.([]any)
	for _, name := range list {
		if name, ok := name.(string); ok {
			f.required[join(place, "/", name)] = true
		}
	}
}

// branches notes the schemas of a list.
func (f *facts) branches(place, keyword string, value any, depth int) {
	list, _ := value.([]any)
	f.rules[rule{place, keyword}] = fmt.Sprint(len(list))
	for i, schema := range list {
		child := join(place, "|", fmt.Sprint(keyword, i))
		switch keyword {
		case "allOf":
			f.all[place] = append(f.all[place], child)
		case "anyOf", "oneOf":
			f.either[place] = append(f.either[place], child)
		}
		f.walk(child, schema, depth)
	}
}

// forced returns how many free texts minProperties demands at a place, beside those in "required": as many as there are
// too few others.
func (f *facts) forced(place string) int {
	least, err := strconv.ParseFloat(f.rules[rule{place, "minProperties"}], 64)
	if err != nil {
		return 0
	}
	if f.others == nil {
		f.others = make(map[string]int)
		for child := range f.required {
			f.others[parentOf(child)]++
		}
		for child := range f.present {
			if !f.required[child] && !f.isFree(child) {
				f.others[parentOf(child)]++
			}
		}
	}
	return max(0, int(min(least, maxNodes))-f.others[place])
}

// parentOf returns the place of the object that has a property.
func parentOf(property string) string { return property[:max(0, strings.LastIndexByte(property, '/'))] }

// isFree reports whether a free text fits at a place: nothing there, nor in what it refers to, leaves only a choice, a
// number or a date.
func (f *facts) isFree(place string) bool { return f.freeAt(place, 0) }

func (f *facts) freeAt(place string, depth int) bool {
	if free, known := f.free[place]; known {
		return free
	}
	f.free[place] = true // in a circle
	free := depth > freeDepth || f.judge(place, depth+1)
	f.free[place] = free
	return free
}

func (f *facts) judge(place string, depth int) bool {
	if f.rules[rule{place, "enum"}] != "" || f.rules[rule{place, "const"}] != "" {
		return false
	}
	switch f.rules[rule{place, "format"}] {
	case `"date"`, `"date-time"`, `"time"`, `"duration"`, `"uuid"`, `"ipv4"`, `"ipv6"`:
		return false
	}
	types := f.rules[rule{place, "type"}]
	isList := strings.Contains(types, `"array"`)
	if types != "" && !strings.Contains(types, `"string"`) && !strings.Contains(types, `"object"`) && !isList {
		return false
	}
	if types == `["array"]` || types == `"array"` {
		return f.freeAt(join(place, "|", "items"), depth)
	}
	for _, other := range f.all[place] {
		if !f.freeAt(other, depth) {
			return false
		}
	}
	either := f.either[place]
	return len(either) == 0 || slices.ContainsFunc(either, func(other string) bool { return f.freeAt(other, depth) })
}

// join appends a segment to a place. A name cannot be taken for two segments. A place that becomes too long is
// replaced by a hash.
func join(place, separator, name string) string {
	if strings.ContainsAny(name, "~/|") {
		name = strings.NewReplacer("~", "~0", "/", "~1", "|", "~2").Replace(name)
	}
	place += separator + name
	if len(place) > maxPlace {
		sum := sha256.Sum256([]byte(place))
		place = place[:1] + "…" + hex.EncodeToString(sum[:])
	}
	return place
}

// shown returns a place for people: "a.b" for "/a|items/b".
func shown(place string) string {
	var names []string
	for _, segment := range strings.Split(strings.TrimPrefix(place, "/"), "/") {
		name, _, _ := strings.Cut(segment, "|")
		if strings.Contains(name, "~") {
			name = strings.NewReplacer("~2", "|", "~1", "/", "~0", "~").Replace(name)
		}
		if name != "" && name != "#" && name != "$defs" && name != "definitions" {
			names = append(names, name)
		}
	}
	return label(strings.Join(names, "."))
}

// label makes a server's word fit into a kind of change: short, and without characters that hide.
func label(name string) string {
	name = Clean(name)
	if len(name) > maxLabel {
		name = strings.ToValidUTF8(name[:maxLabel], "") + "…"
	}
	return name
}

func object(value any) map[string]any {
	members, _ := value.(map[string]any)
	return members
}

// set returns the canonical form of a list whose order means nothing.
func set(value any) string {
	list, ok := value.([]any)
	if !ok {
		return text(value)
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = text(v)
	}
	slices.Sort(texts)
	return "[" + strings.Join(slices.Compact(texts), ",") + "]"
}

// text returns the canonical form of a decoded value.
func text(value any) string {
	raw, err := json.Marshal(value)
	if err != nil { // it was decoded from JSON
		return ""
	}
	form, err := canonical.JSON(raw)
	if err != nil {
		return ""
	}
	return string(form)
}
