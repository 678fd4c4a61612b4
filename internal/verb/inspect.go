package verb

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/hidden"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func inspectSpec() Spec {
	return Spec{
		Name: "inspect", Group: Tools, New: func() Verb { return new(inspectVerb) },
		Early: true, Daemon: UseDaemon,
		Aliases:  []Alias{{Words: "describe info show schema get help-tool man view doc docs explain"}},
		Complete: completeOffer(tool.Tool, true),
		Values:   map[string]Completer{"kind": fixed("tool", "resource", "prompt")},
		Use:      "inspect SERVER TOOL", Short: "Read one tool's definition (starts no server)",
		Long: `Inspect shows a tool's signature, parameters and annotations, and how to call
it. With --json it prints the definition, its schemas byte for byte as the
server sent them.

The tool may also be written SERVER/TOOL or SERVER.TOOL. With --kind prompt or
--kind resource it shows the definition of a prompt or resource.`,
		Example: `  mcpl inspect github create_pull_request
  mcpl --json inspect github/create_pull_request --example
  mcpl inspect everything simple-prompt --kind prompt`,
	}
}

// inspectVerb shows one definition: mcpl inspect SERVER TOOL.
type inspectVerb struct {
	Example bool
	Kind    string

	kind  tool.Kind
	words []string
}

func (v *inspectVerb) Flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.Example, "example", false, "add a call that would validate")
	fs.StringVarP(&v.Kind, "kind", "k", "tool", "show this `KIND`: tool, resource or prompt")
}

func (v *inspectVerb) Parse(words []string) (err error) {
	v.words = words
	v.kind, err = kindOf(v.Kind, "tool, resource or prompt")
	return err
}

func (v *inspectVerb) Run(ctx context.Context, s *Session) error {
	ref, rest, err := s.Engine.Resolve(v.words, v.kind)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fault.New(fault.Usage, fmt.Sprintf("inspect takes one %s, %q is too much", v.kind, rest[0]), "").
			Then("Type", fault.Step{Verb: "inspect", Server: ref.Server, Tool: ref.Name})
	}
	def, change, err := s.Engine.Inspect(ctx, ref)
	if err != nil {
		return err
	}
	ref.Kind = def.Kind
	answer := &inspectAnswer{ref: ref, def: def, change: change, asked: v.Example && def.InputSchema != nil}
	if d := s.Engine.Decide(ref, def.Hints()); d.Action != policy.Allow {
		answer.policy = policyVerdict(engine.Verdict{Decision: d})
	}
	if err := engine.Interruptible(ctx, func() { answer.read(s.Printer.JSON()) }); err != nil {
		return err
	}
	if change != nil && s.App.OutTTY.Is {
		diff, err := s.Engine.Diff(ref.Server)
		if err != nil {
			return err
		}
		answer.diff, _ = diff(*change, false)
	}
	if err := s.Printer.Answer(answer); err != nil {
		return err
	}
	return s.seen(ctx, ref.Server, change)
}

// read reads the schemas, as far as the answer shows what is in them.
func (a *inspectAnswer) read(asJSON bool) {
	a.hidden = hidden.CountJSON(a.def.Raw())
	if a.asked || !asJSON {
		a.example = schema.Example(a.def.InputSchema)
	}
	if !asJSON {
		a.params, a.results = schema.Params(a.def.InputSchema), schema.Signature(schema.Params(a.def.OutputSchema))
	}
}

// inspectAnswer is a definition, its schemas byte for byte.
type inspectAnswer struct {
	ref     tool.Ref
	def     tool.Def
	policy  *verdict    // nil if calls are allowed
	change  *pin.Change // since a person last saw it; nil if there is none
	diff    []string    // of the change, for a person
	asked   bool        // with --example
	hidden  int         // hidden characters of the definition
	example json.RawMessage
	params  []schema.Param // as text only
	results string         // the signature of what the tool gives; as text only
}

func (a *inspectAnswer) RawJSON() []byte {
	var o output.Object
	named := nameKey(a.ref.Kind) // the uri of a resource is among its own members too
	o.Add("server", a.ref.Server)
	if a.ref.Kind != tool.Tool {
		o.Add("kind", string(a.ref.Kind))
	}
	o.Add(named, a.ref.Name)
	if named == "tool" || named == "prompt" {
		named = "name"
	}
	for _, f := range a.def.Shown() {
		if f.Key != named {
			o = append(o, f)
		}
	}
	if a.hidden > 0 {
		o.Add("hidden_characters", a.hidden)
	}
	if a.change != nil {
		o.Add("changed", changedOf(a.change).JSON())
	}
	if a.asked {
		o.Add("example", map[string]any{"arguments": a.example, "command": output.Command(schema.Step(a.ref, a.example))})
	}
	if a.policy != nil {
		o.Add("policy", a.policy)
	}
	return o.Bytes()
}

func (a *inspectAnswer) WriteText(t *output.Text) {
	t.Line(nameSpan(a.ref), output.Dim(output.Prefixed("  ", a.def.DisplayTitle())))
	if a.hidden > 0 {
		t.Line()
		t.Wrap("  ", fmt.Sprintf("Warning: the definition has %s, which a model reads and you do not see. "+
			"Here they are shown as symbols.", humanize.Plural(a.hidden, "hidden character")))
	}
	if a.def.Description != "" {
		t.Line()
		t.Wrap("  ", a.def.Description)
	}
	if a.policy != nil {
		heading(t, "Policy")
		t.Wrap("  ", a.policy.text())
	}
	if a.change != nil {
		t.Line()
		t.Wrap("  ", capital(changedOf(a.change).String())+".")
		t.Diff("  ", a.diff)
	}
	if a.ref.Kind == tool.Resource || a.ref.Kind == tool.Template {
		a.writeResource(t)
		return
	}
	heading(t, "Signature")
	t.Wrap("  ", fmt.Sprintf("%s(%s)", a.ref.Name, schema.Signature(a.params)))
	writeParameters(t, a.params)
	if hints := a.hints(); len(hints) > 0 {
		heading(t, "Hints from the server")
		for _, h := range hints {
			t.Wrap("  ", h)
		}
	}
	if a.results != "" {
		heading(t, "Gives")
		t.Wrap("  ", a.results)
	}
	title := "Call it"
	switch {
	case a.asked:
		title = "Example"
	case a.ref.Kind == tool.Prompt:
		title = "Get it"
	}
	heading(t, title)
	t.Line("  ", output.Cyan(output.Command(schema.Step(a.ref, a.example))))
}

// writeResource writes a resource's members besides title and description, and how to read it.
func (a *inspectAnswer) writeResource(t *output.Text) {
	var rows [][]any
	for _, f := range a.def.Shown() {
		switch f.Key {
		case "uri", "uriTemplate", "title", "description":
			continue
		}
		var text string
		if json.Unmarshal(f.Value, &text) != nil {
			text = string(f.Value)
		}
		rows = append(rows, []any{output.Bold(f.Key), text})
	}
	if len(rows) > 0 {
		t.Line()
		t.Table("  ", rows)
	}
	t.Line()
	lead, command := render.Use(a.ref)
	t.Line(output.Dim(lead), output.Cyan(command))
}

func writeParameters(t *output.Text, params []schema.Param) {
	if len(params) == 0 {
		return
	}
	heading(t, "Parameters")
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

// hints explains the annotations (MCP 2025-11-25, ToolAnnotations). They are the server's claim, not a guarantee.
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
