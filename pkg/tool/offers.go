package tool

import (
	"encoding/json"
	"errors"
)

// ParseResource reads one element of a resources/list or resources/templates/list result. With a uriTemplate it is a
// template. Only a definition without a URI, or one that is not JSON, is an error. The values alias raw.
func ParseResource(raw []byte) (Def, error) {
	d, err := parse(raw)
	if err != nil {
		return Def{}, err
	}
	d.Kind, d.InputSchema, d.OutputSchema = Resource, nil, nil
	uri := d.Field("uri")
	if uri == nil {
		d.Kind, uri = Template, d.Field("uriTemplate")
	}
	if d.Title == "" {
		d.Title = d.Name // a label in revisions without titles; the URI is the name
	}
	if d.Name = Text(uri); d.Name == "" {
		return Def{}, errors.New("the definition has no uri")
	}
	return d, nil
}

// ParsePrompt reads one element of a prompts/list result. Only a definition without a name, or one that is not JSON,
// is an error. The values alias raw, except for the InputSchema.
func ParsePrompt(raw []byte) (Def, error) {
	d, err := ParseDef(raw)
	if err != nil {
		return Def{}, err
	}
	d.Kind, d.InputSchema, d.OutputSchema = Prompt, promptSchema(d.Field("arguments")), nil
	return d, nil
}

// Parse reads a definition of that kind; see [ParseDef], [ParseResource], [ParsePrompt].
func Parse(kind Kind, raw []byte) (Def, error) {
	switch kind {
	case Resource, Template:
		return ParseResource(raw)
	case Prompt:
		return ParsePrompt(raw)
	}
	return ParseDef(raw)
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
	var list []json.RawMessage
	if json.Unmarshal(arguments, &list) != nil {
		list = nil
	}
	var properties []Field
	required := []byte("[")
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
		about := []Field{{"type", json.RawMessage(`"string"`)}}
		if a.Title != "" {
			about = append(about, Field{"title", Quote(a.Title)})
		}
		if a.Description != "" {
			about = append(about, Field{"description", Quote(a.Description)})
		}
		properties = append(properties, Field{a.Name, JoinObject(about)})
		if a.Required {
			if len(required) > 1 {
				required = append(required, ',')
			}
			required = append(required, Quote(a.Name)...)
		}
	}
	return JoinObject([]Field{
		{"type", json.RawMessage(`"object"`)},
		{"properties", JoinObject(properties)},
		{"required", append(required, ']')},
		{"additionalProperties", json.RawMessage("false")},
	})
}
