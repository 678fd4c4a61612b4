package render

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"unicode/utf8"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/results"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// AnswerKept writes a result that the store has, or the part of it that --jq and then the selection of lines leave. It
// is limited as the answer to a call is.
func (v *Delivery) AnswerKept(ctx context.Context, to Destination, e results.Entry, content []byte,
	lines results.Selection) (err error) {
	a := &answer{id: e.ID, value: Result{kind: tool.Resource}, queried: true}
	value := keptValue(e, content)
	switch {
	case value == nil && (v.JQ != "" || !lines.All()):
		return fault.New(fault.Usage, "the result "+e.ID+" is binary: it has no members and no lines",
			"It is the file "+e.Path)
	case value == nil:
		return to.Printer.Answer(&keptFile{e})
	case v.JQ == "" && lines.All():
		return v.answerWhole(to, a, e, value)
	}
	a.results = []json.RawMessage{value}
	if v.JQ != "" {
		if a.results, err = v.query(ctx, to, value); err != nil {
			f := fault.From(err)
			if f.Type == fault.Result {
				f.Type = fault.Usage // nothing has run that must not run again
			}
			return f
		}
	}
	if !lines.All() {
		whole := a.joined()
		a.results, err = orGiveUp(ctx, "--grep", func() ([]json.RawMessage, error) {
			text := results.Text(whole)
			if n, behind := lines.Behind(text); behind {
				return nil, fault.New(fault.Usage,
					fmt.Sprintf("the result has %s, and --lines begins behind them", humanize.Plural(n, "line")), "").
					Then("See the last ones with", fault.Step{Verb: "result", Args: []string{e.ID, "--lines", "-40:"}})
			}
			return []json.RawMessage{tool.Quote(lines.Apply(text))}, nil
		})
		if err != nil {
			return err
		}
	}
	if a.spilled, err = v.spillOver(to, tool.Ref{Server: "part", Name: e.ID}, a.joined()); err != nil {
		return err
	}
	return to.Printer.Answer(a)
}

// answerWhole writes all of a result.
func (v *Delivery) answerWhole(to Destination, a *answer, e results.Entry, value json.RawMessage) error {
	a.results = []json.RawMessage{value}
	if limit := v.limit(to); limit > 0 && len(value) > limit {
		a.spilled = spill(value, e)
	}
	if text, ok := stringIn(value); ok {
		a.queried, a.value.plain = false, &text // as it is, for people
	}
	return to.Printer.Answer(a)
}

// keptValue returns the content of a file of the store as a JSON value, nil if it is binary.
func keptValue(e results.Entry, content []byte) json.RawMessage {
	switch {
	case filepath.Ext(e.Path) == ".json" && json.Valid(content):
		return content
	case utf8.Valid(content) && !bytes.ContainsRune(content, 0):
		return tool.Quote(string(content))
	}
	return nil
}

// keptFile is the answer for a binary.
type keptFile struct{ results.Entry }

func (a *keptFile) RawJSON() []byte {
	var o, file output.Object
	file.Add("bytes", a.Size)
	file.Add("file", a.Path)
	o.Add("success", true)
	o.Add("id", a.ID)
	o.Add("result", json.RawMessage(file.Bytes()))
	return o.Bytes()
}

func (a *keptFile) WriteText(t *output.Text) {
	t.Line(fmt.Sprintf("[a file of %s]", humanize.Size(a.Size)))
	t.Line(a.Path)
}
