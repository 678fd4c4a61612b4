package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestForm(t *testing.T) {
	t.Parallel()
	describe := func(m Member) string {
		text := fmt.Sprintf("%s %q", m.Name, m.Type)
		for _, part := range []string{m.Title, m.Description, m.Format, m.Limits, string(m.Default)} {
			text += " " + part
		}
		for _, c := range m.Choices {
			text += fmt.Sprintf(" %s=%s=%s", c.Value, c.Text, c.Title)
		}
		if m.Required {
			text += " required"
		}
		return strings.Join(strings.Fields(text), " ")
	}
	for _, tc := range []struct{ member, want string }{
		{`{"type":"string","title":"T","description":"D","format":"email","default":"x"}`, `x "string" T D email "x" required`},
		{`{"type":"string","minLength":1,"maxLength":9,"pattern":"^a"}`, `x "string" 1 to 9 characters, matching ^a required`},
		{`{"type":"string","minLength":1,"maxLength":"9","pattern":7}`, `x "string" at least 1 characters required`},
		{`{"type":"integer","maximum":-2,"default":null}`, `x "integer" at most -2 required`},
		{`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1.5,"multipleOf":0.5,"minimum":1000000000000000000000000}`, `x "number" more than 0, less than 1.5, a multiple of 0.5 required`},
		{`{"type":"boolean"}`, `x "boolean" required`},
		{`{"enum":["a","b"]}`, `x "string" "a"=a= "b"=b= required`},
		{`{"type":"string","enum":["a","b"],"enumNames":["A"]}`, `x "string" "a"=a=A "b"=b= required`},
		{`{"type":"string","enum":["a"],"enumNames":{}}`, `x "string" "a"=a= required`},
		{`{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":1}]}`, `x "string" "a"=a=A 1=1= required`},
		{`{"type":"string","oneOf":[{"const":"a"},{"type":"null"}]}`, `x "string" required`},
		{`{"type":"string","oneOf":7,"anyOf":[{"const":"a"}]}`, `x "string" "a"=a= required`},
		{`{"type":"array","items":{"enum":["a"]},"minItems":1,"maxItems":2}`, `x "array" 1 to 2 of them "a"=a= required`},
		{`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}`, `x "array" "a"=a=A required`},
		{`{"type":"array","items":{"type":"string"}}`, `x "" required`},
		{`{"type":"object"}`, `x "" required`},
		{`{"type":["string","null"]}`, `x "" required`},
		{`true`, `x "" required`},
	} {
		members, ok := Form(json.RawMessage(`{"properties":{"x":` + tc.member + `},"required":["x"]}`))
		if !ok || len(members) != 1 || describe(members[0]) != tc.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", tc.member, ok, describe(members[0]), tc.want)
		}
	}
	members, ok := Form(json.RawMessage(`{"properties":{"z":{"type":"string"},"a":{"type":"string"}},"required":["a"]}`))
	if !ok || members[0].Name != "z" || members[0].Required || !members[1].Required {
		t.Errorf("order: %+v", members)
	}
	if members, ok := Form(json.RawMessage(`{"type":"object"}`)); !ok || members != nil {
		t.Errorf("without members: %+v, %v", members, ok)
	}
	for _, raw := range []string{
		``, `{`, `true`, `[]`, `{"properties":7}`, `{"properties":{"a":{},"a":{}}}`, `{"required":["a"]}`, `{"anyOf":[{}]}`, `{"$ref":"#/$defs/a"}`,
		strings.Repeat(`{"properties":`, 300) + `{}` + strings.Repeat(`}`, 300), `{"title":"` + strings.Repeat("x", maxFormBytes) + `"}`,
	} {
		if _, ok := Form(json.RawMessage(raw)); ok {
			t.Errorf("a form: %.60s", raw)
		}
	}
}

func TestCheckMember(t *testing.T) {
	t.Parallel()
	members, ok := Form(json.RawMessage(`{"properties":{"a/b":{"type":"integer","minimum":3},"odd":{"type":"string","pattern":"(?=x)"}},"required":["odd"]}`))
	if !ok {
		t.Fatal("no form")
	}
	if faults := members[0].Check(json.RawMessage("2")); len(faults) != 1 || faults[0].Pointer != "/a~1b" {
		t.Errorf("%+v", faults)
	}
	if faults := append(members[0].Check(json.RawMessage("3")), members[1].Check(json.RawMessage(`"y"`))...); len(faults) > 0 {
		t.Errorf("%+v", faults)
	}
	if got := string(Corrected([]byte(`{"properties":{"n":{"type":"integer"}},"required":["n"]}`), []byte(`{"n":"5"}`))); got != `{"n":5}` {
		t.Error(got)
	}
}
