package verb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Inspect shows one definition: mcpl inspect SERVER TOOL.
type Inspect struct {
	Example bool
}

// Flags implements [Verb].
func (v *Inspect) Flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.Example, "example", false, "add a call that would validate")
}

// Run implements [Verb].
func (v *Inspect) Run(ctx context.Context, s *Session, args []string) error {
	ref, rest, err := s.Engine.Resolve(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fault.New(fault.Usage, fmt.Sprintf("inspect takes one tool, %q is too much", rest[0]),
			fmt.Sprintf("Type: mcpl inspect %s %s", fault.Quote(ref.Server), fault.Quote(ref.Name)))
	}
	def, err := s.Engine.Inspect(ctx, ref)
	if err != nil {
		return err
	}
	answer := &inspectAnswer{ref: ref, def: def}
	if v.Example {
		answer.example = schema.Example(def.InputSchema, false)
	}
	return s.Printer.Answer(answer)
}

// inspectAnswer is a definition, its schemas byte for byte.
type inspectAnswer struct {
	ref     tool.Ref
	def     tool.Def
	example json.RawMessage // nil: not asked for
}

// RawJSON implements [output.RawDocument].
func (a *inspectAnswer) RawJSON() []byte {
	var o output.Object
	o.Add("server", a.ref.Server)
	o.Add("tool", a.ref.Name)
	for _, f := range a.def.Fields {
		if f.Key != "name" {
			o = append(o, f)
		}
	}
	if a.example != nil {
		o.Add("example", map[string]any{"arguments": a.example, "command": schema.Command(a.ref, a.example)})
	}
	return o.Bytes()
}

// WriteText implements [output.Document].
func (a *inspectAnswer) WriteText(t *output.Text) {
	t.Line(output.Cyan(a.ref.String()), output.Dim(prefixed("  ", a.def.DisplayTitle())))
	if a.def.Description != "" {
		t.Line()
		t.Wrap("  ", a.def.Description)
	}
	t.Line()
	t.Line(output.Bold("Signature"))
	t.Wrap("  ", fmt.Sprintf("%s(%s)", a.ref.Name, schema.Signature(a.def.InputSchema)))
	a.writeParameters(t)
	if hints := a.hints(); len(hints) > 0 {
		t.Line()
		t.Line(output.Bold("What the server says of it"))
		for _, h := range hints {
			t.Wrap("  ", h)
		}
	}
	if results := schema.Signature(a.def.OutputSchema); results != "" {
		t.Line()
		t.Line(output.Bold("Gives"))
		t.Wrap("  ", results)
	}
	example := a.example
	title := "Example"
	if example == nil {
		example, title = schema.Example(a.def.InputSchema, false), "Call it"
	}
	t.Line()
	t.Line(output.Bold(title))
	t.Line("  ", output.Cyan(schema.Command(a.ref, example)))
}

func (a *inspectAnswer) writeParameters(t *output.Text) {
	params := schema.Params(a.def.InputSchema)
	if len(params) == 0 {
		return
	}
	t.Line()
	t.Line(output.Bold("Parameters"))
	var rows [][]any
	for _, p := range params {
		need := output.Dim("optional")
		if p.Required {
			need = output.Bold("required")
		}
		about := strings.TrimSpace(p.Description)
		if len(p.Enum) > 0 && strings.Join(p.Enum, "|") != p.Type { // a long one
			about = strings.TrimSpace(about + " One of: " + strings.Join(p.Enum, ", ") + ".")
		}
		if p.Default != "" {
			about = strings.TrimSpace(about + " Default: " + p.Default + ".")
		}
		rows = append(rows, []any{output.Cyan(p.Name), p.Type, need, about})
	}
	t.Table("  ", rows)
}

// hints says what the annotations mean (MCP 2025-11-25, ToolAnnotations). They are the server's
// claim, not a guarantee.
func (a *inspectAnswer) hints() []string {
	h := a.def.Hints()
	var lines []string
	yes := func(b *bool) bool { return b != nil && *b }
	no := func(b *bool) bool { return b != nil && !*b }
	switch {
	case yes(h.ReadOnly):
		lines = append(lines, "read-only: it changes nothing")
	case no(h.Destructive):
		lines = append(lines, "adds only: it changes things, but destroys nothing")
	case yes(h.Destructive):
		lines = append(lines, "destructive: it may delete or overwrite")
	case no(h.ReadOnly):
		lines = append(lines, "it changes things")
	}
	if yes(h.Idempotent) && !yes(h.ReadOnly) {
		lines = append(lines, "idempotent: calling it twice does no more than calling it once")
	}
	switch {
	case yes(h.OpenWorld):
		lines = append(lines, "open world: it reaches outside systems")
	case no(h.OpenWorld):
		lines = append(lines, "closed world: it stays within its own system")
	}
	return lines
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// indented renders JSON for people, each line behind indent. What is no JSON is left as it is.
func indented(raw json.RawMessage, indent string) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, indent, "  ") != nil {
		return indent + string(raw) + "\n"
	}
	return indent + b.String() + "\n"
}
