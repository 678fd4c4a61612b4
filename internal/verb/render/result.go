// Package render writes what servers answer: the result of a tool, the contents of a resource, the
// messages of a prompt.
//
// [Read] reduces an answer to what its caller wants, a [Result]. [Delivery] has the flags that say what becomes of it,
// and [Delivery.Answer] prints it, saves parts of it to files, or saves all of it if it is too large to print. The
// small functions ([Plural], [Size], [OneLine], ...) write values for people, for all verbs alike.
package render

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/results"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Result is an answer reduced to what its caller wants. For a tool that is the structured content if there is some,
// else the only text block (as JSON, if it holds an object or an array), else the list of content blocks.
type Result struct {
	kind   tool.Kind       // of what answered
	about  json.RawMessage // the description of a prompt, or nil
	value  json.RawMessage // structured content or parsed text, or nil
	plain  *string         // the text of the only block if it is not JSON, or if people see it as it is
	blocks []block         // the content, whatever else is set
	files  []string        // that binaries of it were saved in
}

// Read reads the raw answer to a request of something of that kind.
func Read(kind tool.Kind, raw json.RawMessage) (r Result, err error) {
	switch kind {
	case tool.Resource:
		r, err = resourceContents(raw)
	case tool.Prompt:
		r, err = promptMessages(raw)
	default:
		r, err = toolResult(raw)
	}
	r.kind = kind
	return r, err
}

// block is one content block (MCP 2025-11-25, server/tools, Tool Result). raw is the block as it
// came; once its data is saved, it names the file instead.
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

// toolResult reads the result of tools/call.
func toolResult(raw json.RawMessage) (Result, error) {
	var head struct {
		Content           json.RawMessage `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return Result{}, err
	}
	var r Result
	if len(head.Content) > 0 && string(head.Content) != "null" {
		raws, err := tool.SplitArray(head.Content)
		if err != nil {
			return Result{}, errors.New("content is not a list")
		}
		for _, raw := range raws {
			r.blocks = append(r.blocks, blockOf(raw, ""))
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

// blockOf reads a content block. One of an unknown kind is passed on as it is.
func blockOf(raw json.RawMessage, role string) block {
	b := block{raw: raw, role: role}
	_ = json.Unmarshal(raw, &b)
	return b
}

// jsonIn returns the JSON object or array that a text holds, nil if it holds neither.
func jsonIn(text string) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	if (strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[")) && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	return nil
}

// JSON returns the result as the JSON value of the contract.
func (r Result) JSON() json.RawMessage {
	switch {
	case r.kind == tool.Prompt:
		return r.messages()
	case r.value != nil:
		return r.value
	case r.plain != nil:
		return tool.Quote(*r.plain)
	}
	values := make([]json.RawMessage, len(r.blocks))
	for i, b := range r.blocks {
		values[i] = b.raw
	}
	return tool.JoinArray(values)
}

// Text returns the text of all blocks, or the structured content if there is none.
func (r Result) Text() string {
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

type answer struct {
	value   Result
	queried bool              // results are those of --jq
	results []json.RawMessage // the only result, or any number of them after --jq
	spilled *spilled          // not nil if the result went to a file
	hidden  int               // hidden characters of the result
	id      string            // of the result, if it was kept before
	changed json.RawMessage   // what has changed of what was called; may be nil
}

// joined returns the results as one JSON value: several results of --jq become a list.
func (a *answer) joined() json.RawMessage {
	if len(a.results) == 1 {
		return a.results[0]
	}
	return tool.JoinArray(a.results)
}

func (a *answer) RawJSON() []byte {
	var o output.Object
	o.Add("success", true)
	if a.id != "" {
		o.Add("id", a.id)
	}
	if a.spilled != nil {
		o.Add("spilled", a.spilled)
	} else {
		o = append(o, tool.Field{Key: "result", Value: a.joined()})
	}
	if a.hidden > 0 {
		o.Add("hidden_characters", a.hidden)
	}
	if a.value.files != nil {
		o.Add("files", a.value.files)
	}
	if a.changed != nil {
		o.Add("changed", a.changed)
	}
	return o.Bytes()
}

func (a *answer) WriteText(t *output.Text) {
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

// writeValue writes a JSON value for people: a string without its quotes, all else indented.
func writeValue(t *output.Text, raw json.RawMessage) {
	if s, ok := stringIn(raw); ok {
		writeLines(t, s)
		return
	}
	t.Print(results.Indented(raw, ""))
}

// writeLines writes a text and ends its last line.
func writeLines(t *output.Text, s string) {
	t.Print(s)
	if !strings.HasSuffix(s, "\n") {
		t.Line()
	}
}

// writeText writes a block for people.
func (b block) writeText(t *output.Text) {
	switch {
	case b.file != "":
		t.Line(fmt.Sprintf("[%s %s saved as %s]", cmp.Or(b.Type, "resource"), b.mime(), b.file))
	case b.Type == "text":
		writeLines(t, b.Text)
	case b.Type == "image" || b.Type == "audio":
		size := humanize.Size(decodedLen(b.Data))
		t.Line(fmt.Sprintf("[%s %s, %s; save it with --output-dir DIR]", b.Type, b.MimeType, size))
	case b.Type == "resource_link":
		t.Line(fmt.Sprintf("[link %s %s]", b.Name, b.URI))
	case b.Resource != nil && b.Resource.Text != nil:
		t.Line(output.Dim(b.Resource.URI))
		writeLines(t, *b.Resource.Text)
	case b.Resource != nil:
		t.Line(fmt.Sprintf("[resource %s %s, %s; save it with --output-dir DIR]", b.Resource.URI,
			b.Resource.MimeType, humanize.Size(decodedLen(b.Resource.Blob))))
	default:
		t.Print(results.Indented(b.raw, ""))
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
