package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// lines renders faults one a line, as "pointer problem => expected ~nearest".
func lines(faults []fault.Argument) []string {
	var list []string
	for _, f := range faults {
		line := f.Pointer + " " + f.Problem
		if f.Expected != "" {
			line += " => " + f.Expected
		}
		if f.Nearest != "" {
			line += " ~" + f.Nearest
		}
		list = append(list, line)
	}
	return list
}

func prop(schema string) string { return `{"properties":{"a":` + schema + `}}` }

const (
	nodeSchema = `{"properties":{"n":{"$ref":"#/$defs/node"}},"$defs":{"node":{"type":"object",
		"properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/node"}},"required":["v"]}}}`
	parentSchema = `{"properties":{"a":{"oneOf":[
		{"type":"object","properties":{"type":{"const":"page"},"page_id":{"type":"string"}},"required":["type","page_id"]},
		{"type":"object","properties":{"type":{"const":"db"},"db_id":{"type":"string"}},"required":["type","db_id"]}]}}}`
)

func TestValidate(t *testing.T) {
	t.Parallel()
	type list = []string
	tests := []struct {
		name, schema, args string
		want               list
	}{
		{"fits", issueSchema, `{"owner":"o","repo":"r","issue_number":5.0,"labels":["a"],"parent":null,"meta":{"id":"x"}}`, nil},
		{"all at once", issueSchema, `{"repo":5,"issueNumber":"5","issue_number":"5","state":"opened","labels":["a",1,"b","c"],"meta":{"n":1.5,"idd":1},"weight":10}`, list{
			"/owner is missing => string",
			"/repo is an integer => string (write \"5\", with quotes)",
			"/issue_number is a string => integer (write 5, without quotes)",
			`/state is "opened" => one of "open", "closed" ~open`,
			"/labels has 4 items => at most 3 items",
			"/labels/1 is an integer => string (write \"1\", with quotes)",
			"/weight is 10 => less than 10",
			"/meta/id is missing => string",
			"/meta/n is a number => integer",
			"/meta/idd is not a known key ~id",
			"/issueNumber is not a known key => one of body, owner, repo, issue_number, state, labels, draft, weight, meta, parent",
		}},
		{"nearest key", issueSchema, `{"owner":"o","repo":"r","issueNumber":5}`, list{"/issueNumber is not a known key ~issue_number"}},
		{"empty args", `{"required":["a"]}`, "", list{"/a is missing => any"}},
		{"not JSON", issueSchema, `{"a":`, list{" is not valid JSON => a JSON object"}},
		{"no object", issueSchema, `[1]`, list{" is an array => a JSON object"}},
		{"unknown key nowhere", `{"properties":{}}`, `{"a":1}`, list{"/a is not a known key => no keys"}},
		{"no properties", `{"type":"object"}`, `{"a":1}`, nil},
		{"more allowed", `{"properties":{},"additionalProperties":true}`, `{"a":1}`, nil},
		{"more of a kind", `{"properties":{},"additionalProperties":{"type":"string"}}`, `{"a":1}`, list{"/a is an integer => string (write \"1\", with quotes)"}},
		{"pattern properties", `{"properties":{},"patternProperties":{"^x":{"type":"null"}}}`, `{"x1":1}`, list{"/x1 is an integer => null"}},
		{"combinator at the top", `{"properties":{},"anyOf":[{}]}`, `{"a":1}`, nil},
		{"root is a ref", `{"$ref":"#/$defs/r","$defs":{"r":{"properties":{"ab":{}}}}}`, `{"ba":1,"abc":1}`, list{
			"/abc is not a known key ~ab", "/ba is not a known key => one of ab"}},
		{"nested unknown key", prop(`{"properties":{"b":{}}}`), `{"a":{"c":1}}`, nil},
		{"pointer escapes", `{"properties":{"a/b~c":{"type":"null"}}}`, `{"a/b~c":1}`, list{"/a~1b~0c is an integer => null"}},
		{"recursive ref", nodeSchema, `{"n":{"v":1,"next":{"v":"2","next":{}}}}`, list{
			"/n/next/v is a string => integer (write 2, without quotes)", "/n/next/next/v is missing => integer"}},
		{"the branch of its type", prop(`{"anyOf":[{"type":"string","minLength":3},{"type":"null"}]}`), `{"a":"x"}`, list{"/a has 1 character => at least 3 characters"}},
		{"the branch of its tag", parentSchema, `{"a":{"type":"db","page_id":"1"}}`, list{"/a/db_id is missing => string"}},
		{"no branch", parentSchema, `{"a":{"type":"x"}}`, list{`/a is an object => one of object{type: "page", page_id} | object{type: "db", db_id}`}},
		{"no branch of the type", prop(`{"anyOf":[{"type":"string"},{"type":"integer"}]}`), `{"a":true}`, list{"/a is true => one of string | integer"}},
		{"branches alike", prop(`{"anyOf":[{"type":"string","minLength":3},{"type":"string","pattern":"^y"}]}`), `{"a":"x"}`, list{"/a has 1 character => at least 3 characters"}},
		{"two of one", prop(`{"oneOf":[{"minLength":1},{"maxLength":9}]}`), `{"a":"x"}`, list{"/a fits 2 of the alternatives => exactly one of any"}},
		{"allOf", prop(`{"allOf":[{"minLength":2},{"pattern":"^b"}]}`), `{"a":"c"}`, list{
			"/a has 1 character => at least 2 characters", `/a "c" does not match the pattern => ^b`}},
		{"not", prop(`{"not":{"type":"string"}}`), `{"a":"c"}`, list{`/a is "c" => anything but string`}},
		{"if", prop(`{"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":3}}`), `{"a":1}`, list{"/a is 1 => at least 3"}},
		{"const", prop(`{"const":1}`), `{"a":2}`, list{"/a is 2 => 1"}},
		{"false", prop(`false`), `{"a":2}`, list{"/a is not allowed here"}},
		{"draft-04 bounds", prop(`{"minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":false}`), `{"a":1}`, list{"/a is 1 => more than 1"}},
		{"tuple", prop(`{"items":[{"type":"string"}],"additionalItems":false}`), `{"a":[1,2]}`, list{
			"/a/0 is an integer => string (write \"1\", with quotes)", "/a/1 is not allowed here"}},
		{"prefixItems", prop(`{"prefixItems":[{"type":"string"}],"items":{"type":"null"}}`), `{"a":["x",2]}`, list{"/a/1 is an integer => null"}},
		{"unique", prop(`{"uniqueItems":true}`), `{"a":[{"x":1,"y":2},{"y":2,"x":1.0}]}`, list{"/a/1 is the same as item 0 => no item twice"}},
		{"dependencies", `{"properties":{"a":{},"b":{}},"dependencies":{"a":["b"]}}`, `{"a":1}`, list{"/b is missing (needed with a) => any"}},
		{"dependent", prop(`{"properties":{"x":{},"y":{}},"dependentRequired":{"x":["y"]}}`), `{"a":{"x":1}}`, list{"/a/y is missing (needed with x) => any"}},
		{"names", prop(`{"propertyNames":{"pattern":"^x"}}`), `{"a":{"y":1}}`, list{"/a/y has a name that is not allowed => a name that matches ^x"}},
		{"multipleOf", prop(`{"multipleOf":5}`), `{"a":7}`, list{"/a is 7 => a multiple of 5"}},
		{"fractional multipleOf", prop(`{"multipleOf":0.01}`), `{"a":0.07}`, nil},
		{"contains", prop(`{"contains":{"type":"null"}}`), `{"a":[1]}`, list{"/a has 0 items of null => at least 1 item of null"}},
		{"contains too many", prop(`{"contains":{"type":"null"},"maxContains":1}`), `{"a":[null,null]}`, list{"/a has 2 items of null => at most 1 item of null"}},
		{"the library alone", prop(`{"properties":{"x":{}},"unevaluatedProperties":false}`), `{"a":{"y":1}}`,
			list{" does not fit the schema => what the schema says at #/properties/a/unevaluatedProperties (not)"}},
		{"null for a type", prop(`{"type":"string","nullable":true}`), `{"a":null}`, nil},
		{"huge numbers", prop(`{"type":"integer","maximum":5}`), `{"a":1e999999999}`, list{"/a is 1.7976931348623157e+308 => at most 5"}},
		{"exact integers", prop(`{"enum":[9007199254740993]}`), `{"a":9007199254740992}`, list{"/a is 9007199254740992 => one of 9007199254740993"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Validate([]byte(tt.schema), []byte(tt.args))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, lines(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// What cannot be understood must not be asserted, wherever it stands.
func TestOddSchemasAcceptMore(t *testing.T) {
	t.Parallel()
	remote := `{"$ref":"https://example.com/x.json"}`
	for _, schema := range []string{
		prop(remote), prop(`{"not":` + remote + `}`), prop(`{"not":{"not":` + remote + `}}`),
		prop(`{"oneOf":[` + remote + `,{"type":"integer"}]}`),
		prop(`{"if":` + remote + `,"then":false}`),
		prop(`{"allOf":[` + remote + `],"unevaluatedProperties":false}`),
		`{"properties":{"a":{"not":{"$ref":"#/$defs/x"}}},"$defs":{"x":` + remote + `}}`,
		`{"properties":{"a":{"not":{"$ref":"#/$defs/x"}}},"$defs":{"x":{"$ref":"#/$defs/x"}}}`,
		prop(`{"not":{"$ref":"#/$defs/gone"}}`), prop(`{"not":{"$dynamicRef":"#x"}}`),
		`{"properties":{"a":{"$id":"https://e.com/sub","allOf":[{"$ref":"#/$defs/x"}],"$defs":{"x":true}}},"$defs":{"x":false}}`,
		prop(`{"pattern":"(?=x)y"}`), prop(`{"not":{"pattern":"(?=x)y"}}`),
		prop(`{"patternProperties":{"(?=x)":{}},"additionalProperties":false}`),
		prop(`{"type":"file"}`), prop(`{"type":["any"]}`), prop(`{"type":5}`), prop(`{"type":null}`), prop(`{"type":[]}`),
		prop(`{"enum":[]}`), prop(`{"enum":5}`), prop(`{"required":true}`), prop(`{"required":null}`), prop(`{"required":[1]}`),
		prop(`{"minimum":"5"}`), prop(`{"minimum":1e999}`), prop(`{"minLength":-1}`), prop(`{"maxLength":1.5}`),
		prop(`{"multipleOf":0}`), prop(`{"items":5}`), prop(`{"anyOf":[]}`), prop(`{"allOf":{}}`), prop(`{"properties":[]}`),
		prop(`{"anyOf":null}`), prop(`{"dependencies":5}`), prop(`5`), prop(`null`), prop(`"x"`), `{"properties":null}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{}}}`,
		`{"$schema":"http://json-schema.org/draft-03/schema","properties":{"a":{"required":true}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/x","type":"null"}},"definitions":{"x":{}}}`,
		`{"$schema":5,"$id":5,"properties":{"a":{}}}`, `{"$id":"not a uri%%","properties":{"a":{}}}`,
		`{"$defs":{"x":{}},"definitions":{"x":{}},"properties":{"a":{}}}`,
		`{"$vocabulary":{"x":true},"properties":{"a":{}}}`,
	} {
		for _, args := range []string{`{"a":5}`, `{"a":"x"}`, `{"a":{"x":1}}`} {
			if faults, err := Validate([]byte(schema), []byte(args)); err != nil || len(faults) > 0 {
				t.Errorf("%s\n%s: %q, %v", schema, args, lines(faults), err)
			}
		}
	}
}

// Validate still checks the parts beside an odd one.
func TestOddSchemasStillCheck(t *testing.T) {
	t.Parallel()
	schema := `{"properties":{"a":{"$ref":"https://example.com/x.json"},"name":{"type":"string","oneOf":[{"minLength":3},{"const":""}]}},"required":["a"]}`
	got, err := Validate([]byte(schema), []byte(`{"naem":1,"name":"x"}`))
	want := []string{"/a is missing => any", "/name has 1 character => at least 3 characters", "/naem is not a known key => one of a, name"}
	if err != nil || len(got) != 3 || got[0].Pointer != "/a" || got[1].Pointer != "/name" || got[2].Pointer != "/naem" {
		t.Errorf("got %q, %v; want about %q", lines(got), err, want)
	}
}

func TestUnusableSchemas(t *testing.T) {
	t.Parallel()
	deepArgs := `{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + "}"
	for name, tt := range map[string]struct{ schema, args, want string }{
		"none":      {"", "{}", "the tool has no input schema"},
		"not JSON":  {"{", "{}", "the input schema is not JSON"},
		"null":      {"null", "{}", "the input schema is not a JSON object"},
		"array":     {"[]", "{}", "the input schema is not a JSON object"},
		"deep":      {strings.Repeat(`{"not":`, 201) + "{}" + strings.Repeat("}", 201), "{}", "the input schema is nested too deeply"},
		"deep args": {`{"properties":{"a":{}}}`, deepArgs, "the arguments or the schema are too large, or nested too deeply, to check"},
	} {
		faults, err := Validate([]byte(tt.schema), []byte(tt.args))
		if err == nil || err.Error() != tt.want || faults != nil {
			t.Errorf("%s: %v, %v", name, faults, err)
		}
		if got := string(Example([]byte(tt.schema))); name != "deep args" && got != "{}" {
			t.Errorf("%s: example %s", name, got)
		}
	}
}

// Hostile schemas must neither crash nor take long (the test's own time limit is the judge).
func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	nest := func(n int, open, inner, end string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	double := `{"properties":{"a":{"$ref":"#/$defs/s0"}},"$defs":{`
	for i := range 60 {
		double += fmt.Sprintf(`"s%d":{"allOf":[{"$ref":"#/$defs/s%d"},{"$ref":"#/$defs/s%d"}]},`, i, i+1, i+1)
	}
	double += `"s60":{"type":"string"}}}`
	chain := `{"properties":{"a":{"$ref":"#/$defs/s0"}},"$defs":{`
	for i := range 5000 {
		chain += fmt.Sprintf(`"s%d":{"$ref":"#/$defs/s%d"},`, i, i+1)
	}
	chain += `"s5000":{"type":"string"}}}`
	for name, schema := range map[string]string{
		"depth 40":     `{"properties":{"a":` + nest(40, `{"type":"object","properties":{"a":`, `{"type":"string"}`, `}}`) + `}}`,
		"depth 4000":   `{"properties":{"a":` + nest(4000, `{"properties":{"a":`, `{}`, `}}`) + `}}`,
		"depth 10000":  `{"properties":{"a":` + nest(10000, `{"not":`, `{}`, `}`) + `}}`,
		"doubling":     double,
		"chain":        chain,
		"self product": `{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}},"required":["a","b"]}`,
		"wide loop":    `{"$ref":"#","anyOf":[{"$ref":"#"},{"$ref":"#/anyOf/0"}],"properties":{"a":{"$ref":"#"}}}`,
		"repetition":   prop(`{"type":"string","pattern":"^(((a{1000}){1000}){1000})$","minLength":2000000000}`),
		"many items":   prop(`{"type":"array","minItems":2000000000,"items":{"type":"string"}}`),
		"many members": prop(`{"type":"object","minProperties":2000000000}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := []byte(schema)
			args := []byte(`{"a":` + nest(30, `{"a":`, `{"a":[1,"x"]}`, `}`) + `,"x":1}`)
			faults, _ := Validate(raw, args)
			Fault(tool.Ref{Server: "s", Name: "t"}, raw, args, faults)
			Signature(Params(raw))
			Params(raw)
			Example(raw)
			Example([]byte(strings.TrimSuffix(schema, "}") + `,"required":["a"]}`))
		})
	}
	got, err := Validate([]byte(`{"properties":{"a":`+nest(40, `{"properties":{"a":`, `{"type":"string"}`, `}}`)+`}}`),
		[]byte(`{"a":`+nest(40, `{"a":`, `1`, `}`)+`}`))
	if err != nil || len(got) != 1 || got[0].Pointer != strings.Repeat("/a", 41) {
		t.Errorf("depth 40: %v, %v", got, err)
	}
}
