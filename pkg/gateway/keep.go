package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/results"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// fitted returns a result of a call that fits into the context of a model: of a larger one its outline. The whole is
// kept, for [request.readOn]. Images and audio stay as they are. What cannot be kept is not cut.
func (r *request) fitted(ref tool.Ref, raw json.RawMessage) json.RawMessage {
	opt := r.client.gateway.opt
	if opt.MaxBytes == 0 || len(raw) <= opt.MaxBytes {
		return raw
	}
	fields, err := tool.SplitObject(raw)
	if err != nil {
		return raw
	}
	value, others, ok := textsOf(fields)
	if !ok || len(value) <= opt.MaxBytes {
		return raw
	}
	content, ext := results.Content(value)
	entry, err := opt.Results(r.client.who.Principal.identity()).Put(ref.Server, ref.Name, content, ext)
	if err != nil {
		opt.Log(ref.Server, "a result could not be kept: "+err.Error())
		return raw
	}
	outline := textBlock(outlineInWords(results.Describe(value, entry)))
	kept := []tool.Field{{Key: "content", Value: tool.JoinArray(append([]json.RawMessage{outline}, others...))}}
	for _, f := range fields {
		if f.Key != "content" && f.Key != "structuredContent" {
			kept = append(kept, f)
		}
	}
	return tool.JoinObject(kept)
}

// textsOf returns what a model would read of a result as text: its structured content, else its texts; and its other
// blocks. ok is false if there is no text.
func textsOf(fields []tool.Field) (value json.RawMessage, others []json.RawMessage, ok bool) {
	var texts []string
	for _, f := range fields {
		switch f.Key {
		case "structuredContent":
			value = f.Value
		case "content":
			blocks, _ := tool.SplitArray(f.Value) // another value has none
			for _, block := range blocks {
				var b struct {
					Type string  `json:"type"`
					Text *string `json:"text"`
				}
				if json.Unmarshal(block, &b) == nil && b.Type == "text" && b.Text != nil {
					texts = append(texts, *b.Text)
				} else {
					others = append(others, block)
				}
			}
		}
	}
	switch text := strings.Join(texts, "\n"); {
	case value != nil || texts == nil:
	case json.Valid([]byte(text)):
		value = json.RawMessage(text)
	default:
		value = tool.Quote(text)
	}
	return value, others, value != nil
}

// outlineInWords tells a model of a result that is kept.
func outlineInWords(o results.Outline) string {
	text := fmt.Sprintf("The result has %s and is kept as %s.\nStructure: %s\nThe first of its %s:\n%s\n",
		humanize.Size(o.Bytes), o.ID, o.Structure, humanize.Plural(o.Lines, "line"), o.First)
	if lines := o.Next(); lines != "" {
		return text + fmt.Sprintf(`Read on with read_tool {"result": %q, "lines": %q}, or with "grep" or "jq".`, o.ID, lines)
	}
	return text + fmt.Sprintf(`Select from it with read_tool {"result": %q, "jq": "."}.`, o.ID)
}

// part is what a model reads of a result that is kept.
type part struct {
	ID    string `json:"result"`
	Lines string `json:"lines"`
	Grep  string `json:"grep"`
	JQ    string `json:"jq"`
}

// queryLimit bounds a query. An expression may run without end.
const queryLimit = 2 * time.Second

// errQuery is the cause of queries that took too long.
var errQuery = fmt.Errorf("the expression took more than %s", queryLimit)

// query runs a query of a client, which counts as a call. There is one at a time, since each may take much memory.
func (r *request) query(ctx context.Context, expr string, value json.RawMessage) ([]json.RawMessage, error) {
	g := r.client.gateway
	end, err := g.limits.begin(ctx, r.client.who.Principal)
	if err != nil {
		return nil, err
	}
	defer end()
	select {
	case g.querying <- struct{}{}:
		defer func() { <-g.querying }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, queryLimit, errQuery)
	defer cancel()
	values, err := g.opt.Query(ctx, expr, value)
	if err != nil {
		return nil, fault.New(fault.InvalidArguments, "jq: "+err.Error(),
			`Correct the expression; "." shows the whole result.`)
	}
	return values, nil
}

// readOn returns a part of a result that is kept.
func (r *request) readOn(ctx context.Context, p part) (string, error) {
	opt := r.client.gateway.opt
	lines, err := results.ParseSelection(p.Lines, p.Grep)
	if err != nil {
		return "", fault.New(fault.InvalidArguments, err.Error(), `Lines are like "10:50", grep takes an RE2 pattern.`)
	}
	entry, content, err := opt.Results(r.client.who.Principal.identity()).Get(p.ID)
	if err != nil {
		return "", err
	}
	value := json.RawMessage(content)
	if filepath.Ext(entry.Path) != ".json" {
		value = tool.Quote(string(content))
	}
	if p.JQ != "" {
		values, err := r.query(ctx, p.JQ, value)
		if err != nil {
			return "", err
		}
		if value = tool.JoinArray(values); len(values) == 1 {
			value = values[0]
		}
	}
	text := results.Text(value)
	if !lines.All() {
		text = lines.Apply(text)
	}
	if limit := opt.MaxBytes; limit > 0 && len(text) > limit {
		shown := results.First(text, len(text), limit)
		return shown + fmt.Sprintf("\n(%s more are not shown: select fewer lines)", humanize.Size(len(text)-len(shown))), nil
	}
	return text, nil
}
