package schema

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func TestExample(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ schema, want string }{
		"issue": {issueSchema, `{"owner":"<owner>","repo":"<repo>"}`},
		"all of issue": {strings.Replace(issueSchema, `"required": ["owner", "repo"]`, `"required": ["body", "owner", "repo",
			"issue_number", "state", "labels", "draft", "weight", "meta", "parent"]`, 1),
			`{"body":"<body>","owner":"<owner>","repo":"<repo>","issue_number":1,"state":"open","labels":["<label>"],"draft":false,"weight":1,"meta":{"id":"<id>"},"parent":"<parent>"}`},
		"none":                {`{}`, `{}`},
		"default":             {`{"properties":{"a":{"type":"integer","default":7}},"required":["a"]}`, `{"a":7}`},
		"bad default":         {`{"properties":{"a":{"type":"integer","default":"7","examples":["x",9]}},"required":["a"]}`, `{"a":9}`},
		"null default":        {`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}},"required":["a"]}`, `{"a":"<a>"}`},
		"bounds":              {`{"properties":{"a":{"type":"integer","minimum":5,"maximum":9}},"required":["a"]}`, `{"a":5}`},
		"open bounds":         {`{"properties":{"a":{"type":"number","exclusiveMinimum":1,"exclusiveMaximum":2}},"required":["a"]}`, `{"a":1.5}`},
		"negative":            {`{"properties":{"a":{"type":"integer","maximum":-3,"multipleOf":5}},"required":["a"]}`, `{"a":-5}`},
		"pattern":             {`{"properties":{"a":{"type":"string","pattern":"^[0-9a-f]+$","minLength":6}},"required":["a"]}`, `{"a":"aaaaaa"}`},
		"pattern of the name": {`{"properties":{"key":{"type":"string","pattern":"^[a-z]+$"}},"required":["key"]}`, `{"key":"key"}`},
		"look-ahead":          {`{"properties":{"a":{"type":"string","pattern":"^(?!x)"}},"required":["a"]}`, `{"a":"<a>"}`},
		"lengths":             {`{"properties":{"ab":{"type":"string","minLength":6},"c":{"type":"string","maxLength":1}},"required":["ab","c"]}`, `{"ab":"<ab><a","c":"c"}`},
		"format":              {`{"properties":{"a":{"type":"string","format":"date"}},"required":["a"]}`, `{"a":"2026-01-31"}`},
		"items":               {`{"properties":{"entries":{"type":"array","minItems":2,"items":{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}}},"required":["entries"]}`, `{"entries":[{"n":"<n>"},{"n":"<n>"}]}`},
		"unique":              {`{"properties":{"a":{"minItems":3,"uniqueItems":true,"items":{"type":"integer"}}},"required":["a"]}`, `{"a":[1,2,3]}`},
		"tuple":               {`{"properties":{"a":{"prefixItems":[{"type":"integer"},{"type":"boolean"}],"items":false}},"required":["a"]}`, `{"a":[1,false]}`},
		"no items":            {`{"properties":{"a":{"type":"array","maxItems":0,"items":{"type":"string"}}},"required":["a"]}`, `{"a":[]}`},
		"oneOf":               {`{"properties":{"a":{"oneOf":[{"type":"object","properties":{"k":{"const":"x"},"v":{"type":"integer"}},"required":["k","v"]},{"type":"null"}]}},"required":["a"]}`, `{"a":{"k":"x","v":1}}`},
		"one at the top":      {`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":"<a>"}`},
		"allOf":               {`{"properties":{"a":{"allOf":[{"$ref":"#/$defs/s"},{"maxLength":2}]}},"required":["a"],"$defs":{"s":{"type":"string"}}}`, `{"a":"a"}`},
		"recursive":           {`{"properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"],"$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/n"}},"required":["v"]}}}`, `{"a":{"v":1}}`},
		"members":             {`{"properties":{"a":{"type":"object","minProperties":2,"additionalProperties":{"type":"integer"}}},"required":["a"]}`, `{"a":{"key1":1,"key2":1}}`},
		"then":                {`{"properties":{"a":{"const":1},"b":{"type":"null"}},"required":["a"],"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]}}`, `{"a":1,"b":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Example([]byte(tt.schema))
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if faults, err := Validate([]byte(tt.schema), got); err != nil || len(faults) > 0 {
				t.Errorf("%s: %q, %v", got, lines(faults), err)
			}
		})
	}
}

// Every format has a sample, and nothing else has one.
func TestFormatSamples(t *testing.T) {
	t.Parallel()
	for _, format := range strings.Fields("date-time date time duration email idn-email hostname idn-hostname ipv4 ipv6 cidrv4 cidrv6 " +
		"uri url iri uri-reference iri-reference uuid json-pointer regex json") {
		if formatSample(format) == "" {
			t.Errorf("%s has no sample", format)
		}
	}
	if got := formatSample("int32"); got != "" {
		t.Errorf("int32: %q", got)
	}
}

func TestMatching(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern     string
		least, most int
		found       bool
	}{
		{`^\d{3}-\d{4}$`, 0, 100, true}, {`^[a-z]+(-[a-z]+)*$`, 12, 12, true}, {`foo|bar`, 0, 3, true}, {`^.{0,5}x?$`, 6, 6, true},
		{`^a*$`, 400, 500, false}, {`^ab$`, 0, 1, false}, {`(?=x)`, 0, 1, false}, {`[^\x00-\x{10FFFF}]`, 0, 9, false}, {`(((a{1000})))`, 0, 2000, true},
	} {
		got := matching(tt.pattern, tt.least, tt.most)
		if (len(got) > 0) != tt.found {
			t.Errorf("%s: %q", tt.pattern, got)
		}
		for _, text := range got {
			if n := utf8.RuneCountInString(text); n < tt.least || n > tt.most {
				t.Errorf("%s: %d characters", tt.pattern, n)
			}
		}
	}
}

func TestCorrected(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ args, want string }{
		"complete":       {`{"repo":"r"}`, `{"repo":"r","owner":"<owner>"}`},
		"convert":        {`{"owner":5,"repo":"r","issue_number":"5","draft":"true","labels":"x","weight":"1.5"}`, `{"owner":"5","repo":"r","issue_number":5,"draft":true,"labels":["x"],"weight":1.5}`},
		"rename":         {`{"Owner":"o","repoName":"r","state":"CLOSED","bogus":1}`, `{"owner":"o","repo":"r","state":"closed"}`},
		"no second name": {`{"owner":"o","Owner":"p","repo":"r"}`, `{"owner":"o","repo":"r"}`},
		"nested":         {`{"owner":"o","repo":"r","meta":{"ID":"x","n":"2","y":1}}`, `{"owner":"o","repo":"r","meta":{"id":"x","n":2}}`},
		"elements":       {`{"owner":"o","repo":"r","labels":[1,"a",null]}`, `{"owner":"o","repo":"r","labels":["1","a","<value>"]}`},
		"out of bounds":  {`{"owner":"o","repo":"r","issue_number":0,"weight":99}`, `{"owner":"o","repo":"r","issue_number":1,"weight":1}`},
		"text of JSON":   {`{"owner":"o","repo":"r","labels":"[\"a\"]","meta":"{\"id\":\"x\"}"}`, `{"owner":"o","repo":"r","labels":["a"],"meta":{"id":"x"}}`},
		"one of one":     {`{"owner":["o"],"repo":null}`, `{"owner":"o","repo":"<repo>"}`},
		"exact numbers":  {`{"repo":"r","owner":"o","issue_number":12345678901234567890,"x":1}`, `{"repo":"r","owner":"o","issue_number":12345678901234567890}`},
		"long text":      {`{"repo":"r","body":"` + strings.Repeat("x", 300) + `"}`, `{"repo":"r","body":"<body>","owner":"<owner>"}`},
		"no object":      {`[1]`, `{"owner":"<owner>","repo":"<repo>"}`},
		"not JSON":       {`{`, `{"owner":"<owner>","repo":"<repo>"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Corrected([]byte(issueSchema), []byte(tt.args))
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if faults, err := Validate([]byte(issueSchema), got); err != nil || len(faults) > 0 {
				t.Errorf("%s: %q, %v", got, lines(faults), err)
			}
		})
	}
}

func TestFault(t *testing.T) {
	t.Parallel()
	args := []byte(`{"owner":"it's me","repoo":"r"}`)
	faults, err := Validate([]byte(issueSchema), args)
	if err != nil {
		t.Fatal(err)
	}
	f := Fault(tool.Ref{Server: "git hub", Name: "create_issue"}, []byte(issueSchema), args, faults)
	want := &fault.Fault{
		Type:    fault.InvalidArguments,
		Message: "2 arguments do not fit git hub/create_issue",
		Help:    "Parameters: " + Signature(Params([]byte(issueSchema))) + "\n",
		Next: []fault.Next{{Why: "Try", Step: &fault.Step{Verb: "call", Server: "git hub", Tool: "create_issue",
			Args: []string{`{"owner":"it's me","repo":"r"}`}}}},
		Server: "git hub", Tool: "create_issue",
		Arguments: []fault.Argument{
			{Pointer: "/repo", Problem: "is missing", Expected: "string"},
			{Pointer: "/repoo", Problem: "is not a known key", Nearest: "repo"},
		},
	}
	if diff := cmp.Diff(*want, *f, cmpopts.IgnoreUnexported(fault.Fault{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	one := Fault(tool.Ref{Server: "s", Name: "t"}, []byte(issueSchema), []byte(`{"owner":"o","repo":"r","x":1}`),
		[]fault.Argument{{Pointer: "/x", Problem: unknownKey}})
	if one.Message != "1 argument does not fit s/t" || !strings.HasSuffix(one.Help, "add --no-validate.\n") {
		t.Errorf("%q, %q", one.Message, one.Help)
	}
	whole := Fault(tool.Ref{Server: "s", Name: "t"}, []byte(`{}`), []byte(`[]`), []fault.Argument{{Problem: "is an array"}})
	if whole.Message != "The arguments do not fit s/t" || whole.Help != "The tool takes no parameters.\n" {
		t.Errorf("%q, %q", whole.Message, whole.Help)
	}
	prompt := Fault(tool.Ref{Server: "s", Name: "p", Kind: tool.Prompt}, []byte(`{"additionalProperties":false}`), []byte(`{"x":1}`),
		[]fault.Argument{{Pointer: "/x", Problem: unknownKey}})
	want = &fault.Fault{
		Type: fault.InvalidArguments, Message: "1 argument does not fit s/p", Server: "s",
		Help:      "The prompt takes no parameters.\n",
		Next:      []fault.Next{{Why: "Try", Step: &fault.Step{Verb: "prompt", Server: "s", Tool: "p", Args: []string{"{}"}}}},
		Arguments: []fault.Argument{{Pointer: "/x", Problem: unknownKey}},
	}
	if diff := cmp.Diff(*want, *prompt, cmpopts.IgnoreUnexported(fault.Fault{})); diff != "" {
		t.Errorf("of a prompt: -want +got:\n%s", diff)
	}
}
