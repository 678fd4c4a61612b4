package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// issueSchema is the schema of a tool of the usual kind, for every test to use.
const issueSchema = `{
	"$schema": "http://json-schema.org/draft-07/schema#",
	"type": "object",
	"properties": {
		"body":   {"type": "string", "description": "Text in Markdown"},
		"owner":  {"type": "string", "description": "Owner of the repository"},
		"repo":   {"type": "string"},
		"issue_number": {"type": "integer", "minimum": 1},
		"state":  {"type": "string", "enum": ["open", "closed"], "default": "open"},
		"labels": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
		"draft":  {"type": "boolean"},
		"weight": {"type": "number", "exclusiveMaximum": 10},
		"meta":   {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer"}}, "required": ["id"], "additionalProperties": false},
		"parent": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}
	},
	"required": ["owner", "repo"]
}`

func TestSignature(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ schema, want string }{
		"issue": {issueSchema, "owner: string, repo: string, body?: string, issue_number?: integer, state?: open|closed, " +
			"labels?: string[], draft?: boolean, weight?: number, meta?: object, parent?: string|integer"},
		"none":             {`{"type":"object","properties":{}}`, ""},
		"not a schema":     {`[1]`, ""},
		"null":             {`null`, ""},
		"no bytes":         {``, ""},
		"true":             {`true`, ""},
		"no type":          {`{"properties":{"a":{"description":"x"}},"required":["a"]}`, "a: any"},
		"types":            {`{"properties":{"a":{"type":["string","null"]}},"required":["a"]}`, "a: string|null"},
		"optional null":    {`{"properties":{"a":{"type":["string","null"]}}}`, "a?: string"},
		"ref":              {`{"properties":{"a":{"$ref":"#/$defs/p"}},"$defs":{"p":{"type":"array","items":{"$ref":"#/$defs/p"}}}}`, "a?: array[][][][]"},
		"definitions":      {`{"properties":{"a":{"$ref":"#/definitions/a~1b"}},"definitions":{"a/b":{"type":"integer"}}}`, "a?: integer"},
		"loop":             {`{"properties":{"a":{"$ref":"#/$defs/p"}},"$defs":{"p":{"$ref":"#/$defs/p"}}}`, "a?: any"},
		"remote ref":       {`{"properties":{"a":{"$ref":"https://example.com/s.json"}}}`, "a?: any"},
		"own id":           {`{"$id":"https://e.com/s","properties":{"a":{"$ref":"https://e.com/s#/$defs/p"}},"$defs":{"p":{"type":"null"}}}`, "a?: null"},
		"array of enums":   {`{"properties":{"a":{"type":"array","items":{"enum":["x","y"]}}}}`, "a?: (x|y)[]"},
		"titled choice":    {`{"properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X"},{"const":"y","title":"Y"}]}}}`, "a?: x|y"},
		"titled choices":   {`{"properties":{"a":{"type":"array","items":{"anyOf":[{"const":"x"},{"const":1}]}}}}`, "a?: (x|1)[]"},
		"no choice":        {`{"properties":{"a":{"type":"string","oneOf":[{"const":"x"},{"pattern":"y"}]}}}`, "a?: string"},
		"const":            {`{"properties":{"a":{"const":5}}}`, "a?: 5"},
		"many values":      {`{"properties":{"a":{"enum":["a","b","c","d","e","f"]}}}`, "a?: string"},
		"mixed values":     {`{"properties":{"a":{"enum":["a b",1]}}}`, "a?: any"},
		"required unknown": {`{"required":["x"]}`, "x: any"},
		"required null":    {`{"properties":{"a":{"type":"string"}},"required":null}`, "a?: string"},
		"$meta":            {`{"properties":{"$meta":{"type":"object"},"$ref":{"type":"string"}}}`, "$meta?: object, $ref?: string"},
		"odd name":         {`{"properties":{"a b, c":{"type":"string"}}}`, `"a b, c"?: string`},
		"invented type":    {`{"properties":{"a":{"type":"file"}}}`, "a?: any"},
		"top allOf":        {`{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"null"}}}]}`, "a: string, b?: null"},
		"top oneOf":        {`{"oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"boolean"}}}]}`, "a?: string, b?: boolean"},
		"key twice":        {`{"properties":{"a":{"type":"string"},"a":{"type":"integer"}}}`, "a?: integer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Signature(Params([]byte(tt.schema))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestSignatureIsCut(t *testing.T) {
	t.Parallel()
	var props []string
	for i := range 40 {
		props = append(props, `"parameter_`+string(rune('a'+i%26))+string(rune('a'+i/26))+`":{"type":"string"}`)
	}
	got := Signature(Params([]byte(`{"properties":{` + strings.Join(props, ",") + `},"required":["parameter_aa"]}`)))
	if !strings.HasPrefix(got, "parameter_aa: string, ") || !strings.HasSuffix(got, ", … +32") || len(got) > maxSignature+12 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if got := LongSignature(Params([]byte(`{"properties":{` + strings.Join(props, ",") + `}}`))); strings.Count(got, "?: string") != 40 {
		t.Errorf("long: %s", got)
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	got := Params([]byte(`{
		"properties": {
			"z": {"$ref": "#/$defs/level", "description": "How loud"},
			"tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "default": []},
			"n": {"type": "number", "default": 1e400, "title": "Number"},
			"s": {"default": ""}
		},
		"required": ["n"],
		"$defs": {"level": {"enum": ["low", "high", 3, null], "default": "low", "description": "A level"}}
	}`))
	want := []Param{
		{Name: "z", Type: "low|high|3|null", Default: "low", Description: "How loud", Enum: []string{"low", "high", "3", "null"}},
		{Name: "tags", Type: "(a|b)[]", Default: "[]", Enum: []string{"a", "b"}},
		{Name: "n", Type: "number", Required: true, Default: "1e400", Description: "Number"},
		{Name: "s", Type: "any", Default: `""`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, p := range Params([]byte(issueSchema)) {
		if required := p.Name == "owner" || p.Name == "repo"; p.Required != required {
			t.Errorf("%s: Required is %v", p.Name, p.Required)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"owner", "repo", "issue_number", "per_page", "a", "über"}
	for name, want := range map[string]string{
		"issueNumber": "issue_number", "issue-number": "issue_number", "isue_number": "issue_number",
		"PerPage": "per_page", "repository": "repo", "onwer": "owner", "oewnr": "", "ownr": "owner", "b": "", "title": "", "": "", "…": "",
		"issue": "issue_number", "Über": "über", strings.Repeat("owner", 100): "",
	} {
		if got := nearest(name, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
}
