package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// benchSchema is an input schema as catalogues have them, with arguments for it.
type benchSchema struct {
	name   string
	schema []byte
	args   []byte
	pairs  []string
}

// benchSchemas are of three sizes: a tool with a few parameters, one with 40 of them and long descriptions, and one
// whose objects nest by references, as those of generated servers do.
func benchSchemas() []benchSchema {
	return []benchSchema{{
		name:   "issue",
		schema: []byte(issueSchema),
		args:   []byte(`{"owner":"o","repo":"r","state":"open","labels":["bug"]}`),
		pairs:  []string{"owner=o", "repo=r", "state=open", "labels=bug"},
	}, wideSchema(), nestedSchema()}
}

// wideSchema has 40 parameters of five types; every fourth is required.
func wideSchema() benchSchema {
	kinds := []struct{ schema, value string }{
		{`"type":"string"`, `"text"`},
		{`"type":"integer"`, "7"},
		{`"type":"boolean"`, "true"},
		{`"type":"array","items":{"type":"string","enum":["one","two"]}`, `["one"]`},
		{`"type":"string","enum":["alpha","beta","gamma"],"default":"alpha"`, `"beta"`},
	}
	var properties, required, args, pairs []string
	for i := range 40 {
		name, kind := fmt.Sprintf("parameter_%d", i), kinds[i%5]
		properties = append(properties, fmt.Sprintf(`%q:{"description":%q,%s}`, name,
			strings.Repeat("Selects the records that the answer is made of. ", 4), kind.schema))
		if i%4 == 0 {
			required = append(required, fmt.Sprintf("%q", name))
			args = append(args, fmt.Sprintf("%q:%s", name, kind.value))
			pairs = append(pairs, name+":="+kind.value)
		}
	}
	return benchSchema{
		name: "wide",
		schema: fmt.Appendf(nil, `{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false}`,
			strings.Join(properties, ","), strings.Join(required, ",")),
		args:  []byte("{" + strings.Join(args, ",") + "}"),
		pairs: pairs,
	}
}

// nestedSchema has a filter tree, which refers to itself, and a choice of three objects.
func nestedSchema() benchSchema {
	return benchSchema{
		name: "nested",
		schema: []byte(`{"type":"object","properties":{
			"filter":{"$ref":"#/$defs/filter"},
			"target":{"oneOf":[{"$ref":"#/$defs/page"},{"$ref":"#/$defs/table"},{"type":"string"}]},
			"sort":{"type":"array","items":{"type":"object","properties":{"field":{"type":"string"},
				"direction":{"type":"string","enum":["ascending","descending"]}},"required":["field"]}}},
			"required":["filter"],"$defs":{
			"filter":{"type":"object","properties":{"field":{"type":"string"},
				"operator":{"type":"string","enum":["equals","contains","before","after"]},
				"value":{"type":["string","number","boolean"]},
				"and":{"type":"array","items":{"$ref":"#/$defs/filter"}},"or":{"type":"array","items":{"$ref":"#/$defs/filter"}}}},
			"page":{"type":"object","properties":{"page":{"type":"string"}},"required":["page"]},
			"table":{"type":"object","properties":{"table":{"type":"string"},"rows":{"type":"integer"}},"required":["table"]}}}`),
		args: []byte(`{"filter":{"and":[{"field":"state","operator":"equals","value":"open"},{"or":[{"field":"age","value":3}]}]},` +
			`"target":{"table":"issues","rows":10},"sort":[{"field":"age","direction":"descending"}]}`),
		pairs: []string{"filter.field=state", "filter.value=open", `target:={"table":"issues"}`, "sort.0.field=age"},
	}
}

func BenchmarkSignature(b *testing.B) {
	for _, s := range benchSchemas() {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if Signature(Params(s.schema)) == "" {
					b.Fatal("no signature")
				}
			}
		})
	}
}

// BenchmarkValidate parses the schema each time, as a process that makes one call does.
func BenchmarkValidate(b *testing.B) {
	for _, s := range benchSchemas() {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if faults, err := Validate(s.schema, s.args); err != nil || len(faults) > 0 {
					b.Fatal(faults, err)
				}
			}
		})
	}
}

// BenchmarkExplain is the same for arguments that do not fit, which are explained one by one.
func BenchmarkExplain(b *testing.B) {
	wrong := json.RawMessage(`{"titel":1,"filter":[],"parameter_1":"seven"}`)
	for _, s := range benchSchemas() {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if faults, err := Validate(s.schema, wrong); err != nil || len(faults) == 0 {
					b.Fatal(faults, err)
				}
			}
		})
	}
}

func BenchmarkArguments(b *testing.B) {
	for _, s := range benchSchemas() {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Arguments(s.schema, nil, s.pairs, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
