package tool

import (
	"cmp"
	"encoding/json"
	"errors"
)

// Parse reads one element of a list of what a server offers: of tools/list, resources/list,
// resources/templates/list or prompts/list. A resource with a uriTemplate is a template. Parse accepts any schema;
// only a definition without a name or URI, or one that is not JSON, is an error. The values alias raw, except for the
// InputSchema of a prompt.
func Parse(kind Kind, raw []byte) (Def, error) {
	d, err := parse(raw)
	if err != nil {
		return Def{}, err
	}
	name := "name"
	switch d.Kind = kind; kind {
	case Resource, Template:
		name = "uri"
		uri := d.Field("uri")
		if d.Kind = Resource; uri == nil {
			d.Kind, uri = Template, d.Field("uriTemplate")
		}
		d.Title = cmp.Or(d.Title, d.Name) // a label in revisions without titles; the URI is the name
		d.Name, d.InputSchema, d.OutputSchema = Text(uri), nil, nil
	case Prompt:
		d.InputSchema, d.OutputSchema = promptSchema(d.Field("arguments")), nil
	}
	if d.Name == "" {
		return Def{}, errors.New("the definition has no " + name)
	}
	return d, nil
}

// Field returns the last value of a member of the definition. It is nil if there is none.
func (d Def) Field(key string) json.RawMessage {
	var value json.RawMessage
	for _, f := range d.Fields {
		if f.Key == key {
			value = f.Value
		}
	}
	return value
}

// promptSchema returns the arguments of a prompt as a JSON Schema. It drops arguments that do not follow the protocol
// (MCP 2025-11-25, server/prompts, "PromptArgument").
func promptSchema(arguments json.RawMessage) json.RawMessage {
	list, _ := SplitArray(arguments) // another value is dropped
	var properties []Field
	var required []json.RawMessage
	for _, raw := range list {
		var a struct {
			Name        string `json:"name"`
			Title       string `json:"title"`
			Description string `json:"description"`
			Required    bool   `json:"required"`
		}
		if json.Unmarshal(raw, &a) != nil || a.Name == "" {
			continue
		}
		about := []Field{{Key: "type", Value: json.RawMessage(`"string"`)}}
		if a.Title != "" {
			about = append(about, Field{Key: "title", Value: Quote(a.Title)})
		}
		if a.Description != "" {
			about = append(about, Field{Key: "description", Value: Quote(a.Description)})
		}
		properties = append(properties, Field{Key: a.Name, Value: JoinObject(about)})
		if a.Required {
			required = append(required, Quote(a.Name))
		}
	}
	return JoinObject([]Field{
		{Key: "type", Value: json.RawMessage(`"object"`)},
		{Key: "properties", Value: JoinObject(properties)},
		{Key: "required", Value: JoinArray(required)},
		{Key: "additionalProperties", Value: json.RawMessage("false")},
	})
}
