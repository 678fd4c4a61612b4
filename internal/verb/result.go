package verb

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// result is what a call gave, reduced to what a caller wants: the structured content where there
// is some; else the one text block, as JSON where it holds an object or array; else the list of
// content blocks. What prompts and resources give is in contents.go.
type result struct {
	kind   tool.Kind       // of what gave it
	about  json.RawMessage // the description of a prompt, or nil
	value  json.RawMessage // structured content, parsed text, or nil
	plain  *string         // the text of the one block where that is no JSON, or is to be shown as it is
	blocks []block         // the content, whatever else is set
}

// block is one content block (MCP 2025-11-25, server/tools, Tool Result). raw is as it came, or
// with a file in place of data once that was saved.
type block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text"`
	Data     string    `json:"data"`
	MimeType string    `json:"mimeType"`
	URI      string    `json:"uri"`
	Name     string    `json:"name"`
	Resource *contents `json:"resource"`
	raw      json.RawMessage
	file     string
	role     string // of the message of a prompt, else ""
}

func resultOf(raw json.RawMessage) (result, error) {
	var head struct {
		Content           json.RawMessage `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return result{}, err
	}
	var r result
	if len(head.Content) > 0 && string(head.Content) != "null" {
		list, err := tool.SplitArray(head.Content)
		if err != nil {
			return result{}, errors.New("content is not a list")
		}
		for _, raw := range list {
			b := block{raw: raw}
			// A block of a kind that we do not know is passed on as it is.
			_ = json.Unmarshal(raw, &b)
			r.blocks = append(r.blocks, b)
		}
	}
	switch {
	case len(head.StructuredContent) > 0 && string(head.StructuredContent) != "null":
		r.value = head.StructuredContent
	case len(r.blocks) == 1 && r.blocks[0].Type == "text":
		if r.value = jsonIn(r.blocks[0].Text); r.value == nil {
			r.plain = &r.blocks[0].Text
		}
	}
	return r, nil
}

// jsonIn returns the JSON object or array that a text is, nil where it is none.
func jsonIn(text string) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	if (strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[")) && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	return nil
}

// json returns the result as the JSON value of the contract.
func (r result) json() json.RawMessage {
	switch {
	case r.kind == tool.Prompt:
		return r.messages()
	case r.value != nil:
		return r.value
	case r.plain != nil:
		return tool.Quote(*r.plain)
	}
	list := make([][]byte, len(r.blocks))
	for i, b := range r.blocks {
		list[i] = b.raw
	}
	return append(append([]byte("["), bytes.Join(list, []byte(","))...), ']')
}

// text returns the text of all blocks, or the structured content where there is none.
func (r result) text() string {
	var parts []string
	for _, b := range r.blocks {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	if len(parts) == 0 && r.value != nil {
		return string(r.value)
	}
	return strings.Join(parts, "\n")
}

// files returns the paths of the files that parts of the result went to.
func (r result) files() []string {
	var paths []string
	for _, b := range r.blocks {
		if b.file != "" {
			paths = append(paths, b.file)
		}
	}
	return paths
}

// callAnswer is the answer of a call.
type callAnswer struct {
	ref     tool.Ref
	value   result
	queried bool              // results are those of --jq
	results []json.RawMessage // the one result, or any number of them after --jq
	spilled *spilled          // the result went to a file
}

// joined returns the results as one JSON value: several results of --jq become a list.
func (a *callAnswer) joined() json.RawMessage {
	if len(a.results) == 1 {
		return a.results[0]
	}
	return append(append([]byte("["), bytes.Join(rawBytes(a.results), []byte(","))...), ']')
}

func rawBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, raw := range list {
		out[i] = raw
	}
	return out
}

func (a *callAnswer) size() int { return len(a.joined()) }

// RawJSON implements [output.RawDocument].
func (a *callAnswer) RawJSON() []byte {
	var o output.Object
	o.Add("success", true)
	if a.spilled != nil {
		o.Add("spilled", a.spilled)
	} else {
		o = append(o, tool.Field{Key: "result", Value: a.joined()})
	}
	if files := a.value.files(); len(files) > 0 {
		o.Add("files", files)
	}
	return o.Bytes()
}

// WriteText implements [output.Document].
func (a *callAnswer) WriteText(t *output.Text) {
	switch {
	case a.spilled != nil:
		a.spilled.WriteText(t)
	case a.queried:
		for _, raw := range a.results {
			writeValue(t, raw)
		}
	case a.value.plain != nil && a.value.kind == tool.Resource:
		t.Verbatim(*a.value.plain)
	case a.value.plain != nil:
		writeLines(t, *a.value.plain)
	case a.value.kind == tool.Prompt:
		writeMessages(t, a.value.blocks)
	case a.value.value != nil:
		writeValue(t, a.value.value)
		for _, b := range a.value.blocks {
			if b.Type != "text" {
				b.writeText(t)
			}
		}
	case len(a.value.blocks) == 0:
		t.Line(output.Dim(fmt.Sprintf("(the %s answered without content)", a.value.kind)))
	default:
		for _, b := range a.value.blocks {
			b.writeText(t)
		}
	}
}

// writeValue writes a JSON value for people: strings bare, all else indented.
func writeValue(t *output.Text, raw json.RawMessage) {
	var s string
	if json.Unmarshal(raw, &s) == nil && bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`)) {
		writeLines(t, s)
		return
	}
	t.Print(indented(raw, ""))
}

func writeLines(t *output.Text, s string) {
	t.Print(s)
	if !strings.HasSuffix(s, "\n") {
		t.Line()
	}
}

func (b block) writeText(t *output.Text) {
	switch {
	case b.file != "":
		t.Line(fmt.Sprintf("[%s %s saved as %s]", cmp.Or(b.Type, "resource"), b.mime(), b.file))
	case b.Type == "text":
		writeLines(t, b.Text)
	case b.Type == "image" || b.Type == "audio":
		t.Line(fmt.Sprintf("[%s %s, %s; save it with --output-dir DIR]", b.Type, b.MimeType, size(decodedLen(b.Data))))
	case b.Type == "resource_link":
		t.Line(fmt.Sprintf("[link %s %s]", b.Name, b.URI))
	case b.Resource != nil && b.Resource.Text != nil:
		t.Line(output.Dim(b.Resource.URI))
		writeLines(t, *b.Resource.Text)
	case b.Resource != nil:
		t.Line(fmt.Sprintf("[resource %s %s, %s; save it with --output-dir DIR]", b.Resource.URI, b.Resource.MimeType,
			size(decodedLen(b.Resource.Blob))))
	default:
		t.Print(indented(b.raw, ""))
	}
}

// decodedLen is how many bytes base64 stands for.
func decodedLen(data string) int {
	return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(data, "=")))
}

func (b block) mime() string {
	if b.MimeType == "" && b.Resource != nil {
		return b.Resource.MimeType
	}
	return b.MimeType
}

// size writes a number of bytes for people, in powers of 1000.
func size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	default:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
}
