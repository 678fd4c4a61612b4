package schema

import (
	"encoding/json"
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// fuzzSeeds are schemas with every keyword that the parser knows, sane and odd.
func fuzzSeeds() []string {
	return []string{
		issueSchema, argsSchema, `true`, `null`, `{"type":"object"}`,
		`{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"]}}}`,
		`{"properties":{"a":{"oneOf":[{"const":1},{"enum":["x",null]}],"not":{"$ref":"#"}}},"additionalProperties":false}`,
		`{"properties":{"a":{"prefixItems":[{"type":"null"}],"items":{"type":["string","array"]},"uniqueItems":true,"contains":{"minLength":2},"minContains":2}}}`,
		`{"if":{"required":["a"]},"then":{"properties":{"b":false}},"else":{"minProperties":1},"patternProperties":{"^x":{"multipleOf":3}}}`,
		`{"dependencies":{"a":["b"],"b":{"required":["c"]}},"propertyNames":{"pattern":"^[a-z]$"},"unevaluatedProperties":false}`,
		`{"$id":"x","$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"minimum":1,"exclusiveMinimum":true,"maxLength":1e2}}}`,
		`{"allOf":[{"$ref":"#/allOf/1"},{"anyOf":[{"$ref":"#"},{"type":"string","nullable":true}]}]}`,
	}
}

func FuzzValidate(f *testing.F) {
	for _, schema := range fuzzSeeds() {
		f.Add([]byte(schema), []byte(`{"a":[1,"x",{"n":null}],"b":1e400,"owner":"o"}`))
		f.Add([]byte(schema), []byte(`{"a":{"n":{"n":5}}}`))
	}
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		faults, err := Validate(schema, args)
		if err != nil && len(faults) > 0 {
			t.Fatalf("both faults and an error: %v, %v", faults, err)
		}
		fault := Fault(tool.Ref{Server: "server", Name: "tool"}, schema, args, faults)
		if len(faults) > 0 && len(fault.Next) == 0 {
			t.Fatal("no step")
		}
		fixed := Corrected(schema, args)
		if _, ok := decode(fixed).(map[string]any); !ok {
			t.Fatalf("corrected to %s", fixed)
		}
	})
}

func FuzzArguments(f *testing.F) {
	for _, schema := range fuzzSeeds() {
		f.Add([]byte(schema), []byte(`{"a":1}`), "a=1", "a.b:=[1]")
		f.Add([]byte(schema), []byte(nil), "labels=x", "labels=@file")
	}
	readFile := func(name string) ([]byte, error) { return []byte(name), nil }
	f.Fuzz(func(t *testing.T, schema, base []byte, first, second string) {
		args, err := Arguments(schema, base, []string{first, second}, readFile)
		if (err == nil) == (args == nil) {
			t.Fatalf("%s, %v", args, err)
		}
		if _, ok := decode(args).(map[string]any); err == nil && !ok {
			t.Fatalf("not an object: %s", args)
		}
	})
}

func FuzzDescribe(f *testing.F) {
	for _, schema := range fuzzSeeds() {
		f.Add([]byte(schema))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		if got := Signature(Params(schema)); len(got) > 2*maxSignature+maxEnumText+maxTypeText+20 {
			t.Errorf("a signature of %d bytes", len(got))
		}
		example := Example(schema)
		if _, ok := decode(example).(map[string]any); !ok || !json.Valid(example) {
			t.Errorf("example %s", example)
		}
	})
}

// FuzzExample builds schemas that can be met, and asks that their examples meet them.
func FuzzExample(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b"))
	f.Add([]byte("abcdefghijklmnopqrstuvwxyz0123456789"))
	f.Fuzz(func(t *testing.T, seed []byte) {
		g := generator{seed: seed}
		schema := g.object(0)
		example := Example([]byte(schema))
		if faults, err := Validate([]byte(schema), example); err != nil || len(faults) > 0 {
			t.Errorf("%s\n%s: %q, %v", schema, example, lines(faults), err)
		}
	})
}

// generator makes a schema out of bytes; with no bytes left, the simplest one.
type generator struct{ seed []byte }

func (g *generator) next(n int) int {
	if len(g.seed) == 0 {
		return 0
	}
	b := g.seed[0]
	g.seed = g.seed[1:]
	return int(b) % n
}

func (g *generator) object(depth int) string {
	props, required := "", ""
	for i := range 1 + g.next(4) {
		name := string(rune('a' + i))
		if i > 0 {
			props += ","
		}
		props += `"` + name + `":` + g.value(depth+1)
		if g.next(2) == 0 {
			if required != "" {
				required += ","
			}
			required += `"` + name + `"`
		}
	}
	return `{"type":"object","properties":{` + props + `},"required":[` + required + `],"additionalProperties":false}`
}

func (g *generator) value(depth int) string {
	simple := []string{
		`{"type":"string"}`, `{"type":"integer","minimum":3,"maximum":7}`, `{"enum":["x",5,null]}`, `{"const":[1]}`, `{}`,
		`{"type":"string","pattern":"^[A-Z]{2,4}-\\d+$"}`, `{"type":["null","boolean"]}`, `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`,
		`{"type":"string","minLength":9,"maxLength":9}`, `{"type":"integer","multipleOf":7,"minimum":1}`, `{"type":"string","format":"uuid"}`,
	}
	n := g.next(len(simple) + 5)
	if n < len(simple) || depth > 4 {
		return simple[n%len(simple)]
	}
	switch n - len(simple) {
	case 0:
		return `{"type":"array","minItems":2,"items":` + g.value(depth+1) + `}`
	case 1:
		return `{"anyOf":[` + g.value(depth+1) + `,` + g.value(depth+1) + `]}`
	case 2:
		return `{"description":"x","allOf":[` + g.value(depth+1) + `]}`
	case 3:
		return `{"oneOf":[{"type":"object","properties":{"k":{"const":"p"},"v":` + g.value(depth+1) + `},"required":["k","v"]},{"type":"string","maxLength":1}]}`
	}
	return g.object(depth + 1)
}
