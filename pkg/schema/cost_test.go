package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// repeated joins n copies of format by commas, with the number of each in place of #.
func repeated(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
	}
	return strings.Join(parts, ",")
}

// choices returns schemas of n alternatives, with arguments of a tenth as many members that each alternative would
// read whole, by what the alternatives say.
func choices() map[string]func(n int) (schema, args string) {
	whole := func(keyword, branch string) func(n int) (string, string) {
		return func(n int) (string, string) {
			return `{"` + keyword + `":[` + repeated(n, branch) + `]}`, `{"k":"no",` + repeated(n/10, `"a#":"text #"`) + `}`
		}
	}
	below := func(branch, value string) func(n int) (string, string) {
		return func(n int) (string, string) {
			return `{"properties":{"x":{"oneOf":[` + repeated(n, branch) + `]}}}`, `{"x":` +
				strings.ReplaceAll(value, "...", repeated(n/10, `"text #"`)) + `}`
		}
	}
	return map[string]func(n int) (schema, args string){
		"tags": whole("oneOf",
			`{"type":"object","properties":{"k":{"const":"v#"}},"required":["k"]}`),
		"required":   whole("oneOf", `{"required":["p#"]}`),
		"closed":     whole("oneOf", `{"properties":{"p#":{}},"additionalProperties":false}`),
		"counts":     whole("anyOf", `{"minProperties":50000}`),
		"values":     whole("oneOf", `{"enum":[#,"a#"]}`),
		"patterns":   whole("oneOf", `{"patternProperties":{"^x":{"type":"number"}}}`),
		"names":      whole("oneOf", `{"propertyNames":{"minLength":9}}`),
		"types":      below(`{"type":"string","title":"#"}`, `[...]`),
		"uniqueness": below(`{"uniqueItems":true,"minItems":99999}`, `[...]`),
		"contents":   below(`{"contains":{"const":#}}`, `[...]`),
		"references": func(n int) (string, string) {
			return `{"$defs":{"d":{"required":["q"]}},"oneOf":[` + repeated(n, `{"$ref":"#/$defs/d"}`) + `]}`,
				`{` + repeated(n/10, `"a#":"text #"`) + `}`
		},
	}
}

// TestChoiceTakesStepsInProportion allows twice the schema and arguments 2.5 times the steps. Alternatives that each
// read the whole arguments are the product of both; those arguments are sent unchecked.
func TestChoiceTakesStepsInProportion(t *testing.T) {
	t.Parallel()
	steps := func(schema, args string, do func(d *document, args []byte)) int {
		if !json.Valid([]byte(schema)) || !json.Valid([]byte(args)) {
			t.Fatalf("not JSON: %s %s", schema, args)
		}
		d := open([]byte(schema))
		before := d.steps
		do(d, []byte(args))
		return before - d.steps
	}
	ops := map[string]func(d *document, args []byte){
		"check":  func(d *document, args []byte) { _, _ = d.validate(args) }, // any outcome will do
		"repair": func(d *document, args []byte) { d.corrected(args) },
	}
	for title, make := range choices() {
		for op, do := range ops {
			t.Run(title+"/"+op, func(t *testing.T) {
				t.Parallel()
				schema, args := make(2000)
				few := steps(schema, args, do)
				schema, args = make(4000)
				if many := steps(schema, args, do); float64(many) > 2.5*float64(few) {
					t.Errorf("twice the schema and arguments take %d steps instead of %d", many, few)
				}
			})
		}
	}
}
