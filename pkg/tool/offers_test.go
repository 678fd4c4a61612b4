package tool

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestParseResource(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		raw  string
		want Def
		kept string // "": as raw
	}{
		{`{"uri":"note://a","name":"a", "size":1e2}`, Def{Kind: Resource, Name: "note://a", Title: "a"}, `{"uri":"note://a","name":"a","size":1e2}`},
		{`{"uri":"note://a","name":"a","title":"A","description":"d"}`, Def{Kind: Resource, Name: "note://a", Title: "A", Description: "d"}, ""},
		{`{"uri":"x:y","icons":[{"src":"data:"}],"_meta":{},"annotations":{"priority":1}}`, Def{Kind: Resource, Name: "x:y"},
			`{"uri":"x:y","annotations":{"priority":1}}`},
		{`{"uriTemplate":"note://{id}","name":"n","mimeType":"text/plain"}`, Def{Kind: Template, Name: "note://{id}", Title: "n"}, ""},
		{`{"uri":"a:1","uriTemplate":"a:{n}"}`, Def{Kind: Resource, Name: "a:1"}, ""},
		{`{"uri":"a:1","uri":"a:2"}`, Def{Kind: Resource, Name: "a:2"}, ""},
	} {
		d, err := Parse(Resource, []byte(tt.raw))
		if err != nil || d.Kind != tt.want.Kind || d.Name != tt.want.Name || d.Title != tt.want.Title ||
			d.Description != tt.want.Description {
			t.Errorf("%s: %+v, %v", tt.raw, d, err)
		}
		if tt.kept == "" {
			tt.kept = tt.raw
		}
		if got := string(d.Raw()); got != tt.kept {
			t.Errorf("%s is kept as %s", tt.raw, got)
		}
	}
	for _, raw := range []string{``, `[]`, `{"name":"n"}`, `{"uri":7}`, `{"uri":""}`, `{"uri":"a"`, `{"uriTemplate":null}`} {
		if d, err := Parse(Resource, []byte(raw)); err == nil {
			t.Errorf("%s is a resource: %+v", raw, d)
		}
	}
}

func TestParsePrompt(t *testing.T) {
	t.Parallel()
	const empty = `{"type":"object","properties":{},"required":[],"additionalProperties":false}`
	for raw, schema := range map[string]string{
		`{"name":"p"}`:                                        empty,
		`{"name":"p","arguments":null}`:                       empty,
		`{"name":"p","arguments":7}`:                          empty,
		`{"name":"p","arguments":[7,{"name":""},{"name":7}]}`: empty,
		`{"name":"p","arguments":[{"name":"b","description":"d<>","required":true},{"name":"a","title":"A"},{"name":"c","required":true}]}`: `{"type":"object","properties":` +
			`{"b":{"type":"string","description":"d<>"},"a":{"type":"string","title":"A"},"c":{"type":"string"}},"required":["b","c"],"additionalProperties":false}`,
	} {
		d, err := Parse(Prompt, []byte(raw))
		if err != nil || d.Kind != Prompt || d.Name != "p" || string(d.InputSchema) != schema || string(d.Raw()) != raw {
			t.Errorf("%s: %+v, %v\nschema %s", raw, d, err, d.InputSchema)
		}
	}
	for _, raw := range []string{``, `7`, `{}`, `{"name":7}`, `{"uri":"a"}`} {
		if d, err := Parse(Prompt, []byte(raw)); err == nil {
			t.Errorf("%s is a prompt: %+v", raw, d)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for kind, raw := range map[Kind]string{Tool: `{"name":"x"}`, Prompt: `{"name":"x"}`, Resource: `{"uri":"x"}`, Template: `{"uriTemplate":"x"}`} {
		if d, err := Parse(kind, []byte(raw)); err != nil || d.Kind != kind || d.Name != "x" {
			t.Errorf("%s: %+v, %v", kind, d, err)
		}
	}
	if Tool.String() != "tool" || Template.String() != "template" {
		t.Error("kinds have no names")
	}
}

// FuzzParseOffers: what is taken for a resource or a prompt has a name and keeps its bytes, and what
// it makes of a prompt's arguments is a JSON Schema; other bytes give an error, never a panic.
func FuzzParseOffers(f *testing.F) {
	for _, seed := range []string{`{}`, `{"uri":"a","name":"b"}`, `{"uriTemplate":"a{b}","title":"t","annotations":[]}`,
		`{"name":"p","arguments":[{"name":"a","required":true,"title":"t","description":"\u0000"},{"name":"a"},7]}`, `[`, `{"name":"p","arguments":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, kind := range []Kind{Resource, Template, Prompt} {
			d, err := Parse(kind, raw)
			if err != nil {
				continue
			}
			if d.Name == "" || (kind == Prompt) != (d.Kind == Prompt) {
				t.Fatalf("%s: %+v", kind, d)
			}
			again, err := Parse(kind, d.Raw())
			if err != nil || !bytes.Equal(again.Raw(), d.Raw()) || again.Name != d.Name {
				t.Fatalf("%s became %s (%v)", raw, again.Raw(), err)
			}
			var schema struct {
				Properties map[string]struct{ Type string }
				Required   []string
			}
			if kind != Prompt {
				continue
			}
			if err := json.Unmarshal(d.InputSchema, &schema); err != nil {
				t.Fatalf("schema %s: %v", d.InputSchema, err)
			}
			for _, name := range schema.Required {
				if schema.Properties[name].Type != "string" && !strings.ContainsRune(name, '\uFFFD') {
					t.Fatalf("%q is required and not there: %s", name, d.InputSchema)
				}
			}
		}
	})
}
