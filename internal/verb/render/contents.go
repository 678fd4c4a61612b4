package render

import (
	"encoding/json"
	"errors"

	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// contents is one part of a resource (MCP 2025-11-25, server/resources, "Resource Contents").
type contents struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType"`
	Text     *string `json:"text"`
	Blob     string  `json:"blob"`
}

// resourceContents reads the result of resources/read. It is reduced to its text (as JSON, if that is
// an object or an array), or to the list of contents if they are several or binary.
func resourceContents(raw json.RawMessage) (Result, error) {
	var head struct {
		Contents []json.RawMessage `json:"contents"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return Result{}, err
	}
	var r Result
	for _, raw := range head.Contents {
		var c contents
		if err := json.Unmarshal(raw, &c); err != nil {
			return Result{}, err
		}
		r.blocks = append(r.blocks, block{Resource: &c, raw: raw})
	}
	if len(r.blocks) == 1 && r.blocks[0].Resource.Text != nil {
		r.plain = r.blocks[0].Resource.Text // as it is, for people
		r.value = jsonIn(*r.plain)
	}
	return r, nil
}

// promptMessages reads the result of prompts/get (MCP 2025-11-25, server/prompts, "PromptMessage"). The contents of its
// messages become blocks.
func promptMessages(raw json.RawMessage) (Result, error) {
	var head struct {
		Description json.RawMessage `json:"description"`
		Messages    []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return Result{}, err
	}
	r := Result{about: head.Description}
	for _, m := range head.Messages {
		if m.Content == nil {
			return Result{}, errors.New("a message has no content")
		}
		r.blocks = append(r.blocks, blockOf(m.Content, m.Role))
	}
	return r, nil
}

// messages returns the result of a prompt as a JSON value.
func (r Result) messages() json.RawMessage {
	var o output.Object
	if r.about != nil {
		o.Add("description", r.about)
	}
	messages := make([]json.RawMessage, len(r.blocks))
	for i, b := range r.blocks {
		var m output.Object
		m.Add("role", b.role)
		m = append(m, tool.Field{Key: "content", Value: b.raw})
		messages[i] = m.Bytes()
	}
	o.Add("messages", tool.JoinArray(messages))
	return o.Bytes()
}

func writeMessages(t *output.Text, blocks []block) {
	if len(blocks) == 0 {
		t.Line(output.Dim("(the prompt has no messages)"))
	}
	for i, b := range blocks {
		if i > 0 {
			t.Line()
		}
		t.Line(output.Bold(b.role + ":"))
		b.writeText(t)
	}
}
