package pin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/canonical"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Grade says how much a change of a definition matters. A change of several grades has the greatest.
type Grade int

// The grades of changes, in their order.
const (
	// Notation changes no word and no rule: order of keys, white space, numbers written otherwise, and the members that
	// mcpl shows to no one (icons, _meta).
	Notation Grade = iota
	// Narrower changes rules without asking for more: parameters that come, go or accept something else, and new tools.
	Narrower
	// Words changes what a person or a model reads.
	Words
	// Looser makes a tool less safe: annotations that promise less, or a free text that is now required.
	Looser
)

// gradeNames are the grades in files and answers.
func gradeNames() []string { return []string{"notation", "narrower", "words", "looser"} }

// String returns the word for a grade.
func (g Grade) String() string { return gradeNames()[g] }

// MarshalText writes the grade as its word.
func (g Grade) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads a grade from its word.
func (g *Grade) UnmarshalText(text []byte) error {
	i := slices.Index(gradeNames(), string(text))
	if i < 0 {
		return fmt.Errorf("there is no grade %q", text)
	}
	*g = Grade(i)
	return nil
}

// Difference is what differs between two definitions.
type Difference struct {
	Grade Grade `json:"grade"`
	// Kinds name the changes, the weightiest first: "words", "required:+note", "annotations", "type:amount",
	// "enum:mode", "property:-x", "new", "renamed:pay". At most maxKinds, and then how many more there are.
	Kinds []string `json:"kind"`
	// Hidden reports hidden characters that the old definition did not have.
	Hidden bool `json:"hidden,omitempty"`
}

const maxKinds = 8

// instructions is the kind of a server's instructions, which are pinned beside its definitions.
const instructions tool.Kind = "instructions"

// Compare grades the change from one definition to another. Both are raw objects of that kind. Instructions are JSON
// strings. If before is nil, the definition is new.
func Compare(kind tool.Kind, before, after json.RawMessage) (Difference, error) {
	c := make(changes)
	d := Difference{Hidden: hiddenAnew(before, after)}
	switch {
	case before == nil:
		c.add(Narrower, "new")
	case kind == instructions:
		var a, b string
		if err := json.Unmarshal(before, &a); err != nil {
			return d, err
		}
		if err := json.Unmarshal(after, &b); err != nil {
			return d, err
		}
		c.addIf(!sameWords(a, b), Words, "words")
	default:
		if err := c.definitions(kind, before, after); err != nil {
			return d, err
		}
	}
	c.addIf(d.Hidden, Words, "hidden")
	d.Grade, d.Kinds = c.result()
	return d, nil
}

// changes are kinds of changes, each with its grade.
type changes map[string]Grade

func (c changes) add(g Grade, kind string) { c[kind] = max(c[kind], g) }

func (c changes) addIf(changed bool, g Grade, kind string) {
	if changed {
		c.add(g, kind)
	}
}

// result returns the greatest grade, and the kinds without those of mere notation.
func (c changes) result() (Grade, []string) {
	top := Notation
	var kinds []string
	for kind, grade := range c {
		if top = max(top, grade); grade > Notation {
			kinds = append(kinds, kind)
		}
	}
	slices.SortFunc(kinds, func(a, b string) int { return cmp.Or(cmp.Compare(c[b], c[a]), cmp.Compare(a, b)) })
	if more := len(kinds) - maxKinds; more > 0 {
		kinds = append(kinds[:maxKinds], fmt.Sprintf("%d more", more))
	}
	return top, kinds
}

// definitions compares two definitions member by member.
func (c changes) definitions(kind tool.Kind, before, after json.RawMessage) error {
	a, err := tool.Parse(kind, before)
	if err != nil {
		return err
	}
	b, err := tool.Parse(kind, after)
	if err != nil {
		return err
	}
	c.addIf(a.Name != b.Name, Narrower, "renamed:"+label(a.Name))
	c.addIf(!sameWords(a.Title, b.Title) || !sameWords(a.Description, b.Description), Words, "words")
	c.annotations(a, b)
	c.schemas(a.InputSchema, b.InputSchema)
	if !sameValue(a.OutputSchema, b.OutputSchema) {
		x, y := factsOf(a.OutputSchema), factsOf(b.OutputSchema)
		c.addIf(!maps.Equal(x.texts, y.texts), Words, "words")
		c.addIf(!maps.Equal(x.rules, y.rules) || !maps.Equal(x.required, y.required) || x.cut || y.cut, Narrower, "output")
	}
	c.others(a, b)
	return nil
}

// others compares the members that the protocol does not know, or that say nothing of how a tool is used.
func (c changes) others(a, b tool.Def) {
	known := []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations", "arguments"}
	if a.Kind != tool.Prompt { // whose arguments are its input schema
		known = known[:len(known)-1]
	}
	for _, f := range slices.Concat(a.Shown(), b.Shown()) {
		if !slices.Contains(known, f.Key) {
			c.addIf(!sameValue(a.Field(f.Key), b.Field(f.Key)), Words, label(f.Key))
		}
	}
}

// annotations compares the hints of two tools (MCP 2025-11-25, ToolAnnotations). A hint that was not given counts as
// the protocol's default, but a tool that calls itself destructive or open for the first time becomes less safe: until
// then it may have been taken for harmless.
func (c changes) annotations(a, b tool.Def) {
	x, y := a.Hints(), b.Hints()
	c.promise(x.ReadOnly, y.ReadOnly)
	c.promise(x.Idempotent, y.Idempotent)
	c.warning(x.Destructive, y.Destructive)
	c.warning(x.OpenWorld, y.OpenWorld)
	c.addIf(!sameWords(x.Title, y.Title), Words, "words")
	c.addIf(!sameValue(unknownHints(a), unknownHints(b)), Words, "annotations")
}

// promise compares a hint that makes a tool safer if it is true. Its default is false.
func (c changes) promise(before, after *bool) {
	a, b := before != nil && *before, after != nil && *after
	c.addIf(a && !b, Looser, "annotations")
	c.addIf(a != b, Narrower, "annotations")
}

// warning compares a hint that makes a tool less safe if it is true. Its default is true.
func (c changes) warning(before, after *bool) {
	a, b := before == nil || *before, after == nil || *after
	c.addIf(!a && b || before == nil && after != nil && b, Looser, "annotations")
	c.addIf(a != b, Narrower, "annotations")
}

// unknownHints returns the annotations that the protocol does not know.
func unknownHints(d tool.Def) json.RawMessage {
	fields, err := tool.SplitObject(d.Annotations)
	if err != nil {
		return d.Annotations // which is not an object, or not there
	}
	known := []string{"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
	fields = slices.DeleteFunc(fields, func(f tool.Field) bool { return slices.Contains(known, f.Key) })
	if len(fields) == 0 {
		return nil
	}
	return tool.JoinObject(fields)
}

// schemas compares two input schemas.
func (c changes) schemas(before, after json.RawMessage) {
	if sameValue(before, after) {
		return
	}
	a, b := factsOf(before), factsOf(after)
	c.addIf(a.cut || b.cut, Looser, "schema") // it cannot be judged
	c.texts(a, b)
	for place := range b.required {
		switch {
		case a.required[place]:
		case b.isFree(place):
			c.add(Looser, "required:+"+shown(place))
		default:
			c.add(Narrower, "required:+"+shown(place))
		}
	}
	for place := range a.required {
		c.addIf(!b.required[place], Narrower, "required:-"+shown(place))
	}
	for place := range b.present {
		c.addIf(!a.present[place], Narrower, "property:+"+shown(place))
	}
	for place := range a.present {
		c.addIf(!b.present[place], Narrower, "property:-"+shown(place))
		c.addIf(b.required[place] && a.required[place] && b.isFree(place) && !a.isFree(place), Looser,
			"type:"+shown(place))
	}
	c.forced(a, b)
	for r := range a.rules {
		c.rule(r, a, b)
	}
	for r := range b.rules {
		c.rule(r, a, b)
	}
}

// forced compares how many properties have to be given: if there are not as many others, free texts are among them.
func (c changes) forced(a, b *facts) {
	for r := range b.rules {
		if r.keyword == "minProperties" && b.forced(r.place) > a.forced(r.place) {
			c.add(Looser, kindAt(r))
		}
	}
}

// texts compares what is read in two schemas. The texts of a parameter that is gone went with it.
func (c changes) texts(a, b *facts) {
	for place, words := range b.texts {
		c.addIf(a.texts[place] != words, Words, "words")
	}
	for place := range a.texts {
		property := propertyOf(place)
		c.addIf(b.texts[place] == "" && a.present[property] == b.present[property], Words, "words")
	}
}

// rule compares a keyword at a place. The rules of a parameter that is new or gone are not named beside it.
func (c changes) rule(r rule, a, b *facts) {
	property := propertyOf(r.place)
	if a.rules[r] == b.rules[r] || a.present[property] != b.present[property] {
		return
	}
	c.add(gradeOf(r.keyword), kindAt(r))
}

// kindAt names the change of a keyword.
func kindAt(r rule) string {
	kind := label(r.keyword)
	if place := shown(r.place); place != "" {
		kind += ":" + place
	}
	return kind
}

// gradeOf grades the change of a keyword. What no validator knows may be read as words.
func gradeOf(keyword string) Grade {
	switch keyword {
	case "type", "enum", "const", "format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"multipleOf", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
		"minContains", "maxContains", "additionalProperties", "additionalItems", "unevaluatedProperties",
		"unevaluatedItems", "$ref", "$dynamicRef", "schema", "allOf", "anyOf", "oneOf", "prefixItems", "items",
		"readOnly", "writeOnly", "deprecated", "nullable", "contentEncoding", "contentMediaType":
		return Narrower
	}
	return Words
}

// sameWords compares texts by their words.
func sameWords(a, b string) bool {
	return a == b || slices.Equal(strings.Fields(a), strings.Fields(b))
}

// sameValue compares two JSON values, either of which may be nil.
func sameValue(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errA := canonical.JSON(a)
	y, errB := canonical.JSON(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}
