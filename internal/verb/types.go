package verb

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
	"github.com/mcp-launchpad/mcpl/pkg/typegen"
)

func typesSpec() Spec {
	return Spec{
		Name: "types", Group: Tools, New: func() Verb { return new(typesVerb) },
		Early: true, Daemon: UseDaemon,
		Aliases:  []Alias{{Words: "typescript dts d.ts typegen declarations signatures"}},
		Complete: completeNames,
		Use:      "types [SERVER|SERVER/TOOL]...", Short: "Print the tools as TypeScript types (starts no server)",
		Long: `Types prints TypeScript declarations of the tools of all servers, of some, or
of single tools, with a line about each. It answers from the index, as inspect
does. Tools that are switched off, or that no rule allows, are left out.

With --docs the parameters have their descriptions too, which is about three
times as long.`,
		Example: `  mcpl types github
  mcpl types github/create_issue --docs
  mcpl types > tools.d.ts`,
	}
}

// typesVerb prints tools as TypeScript: mcpl types [SERVER|SERVER/TOOL]...
type typesVerb struct {
	Docs bool

	words []string
}

func (v *typesVerb) Flags(fs *pflag.FlagSet) {
	fs.BoolVar(&v.Docs, "docs", false, "add the descriptions of parameters")
}

func (v *typesVerb) Parse(words []string) error {
	v.words = words
	return nil
}

func (v *typesVerb) Run(ctx context.Context, s *Session) error {
	wanted, err := v.wanted(s)
	if err != nil {
		return err
	}
	// The servers that are meant as a whole are listed first if nothing is known of them, as list does it.
	var servers []string
	for _, ref := range wanted {
		if ref.Name == "" {
			servers = append(servers, ref.Server)
		}
	}
	a := new(typesAnswer)
	var tools []typegen.Tool
	if len(servers) > 0 || len(wanted) == 0 {
		offers, err := s.Engine.Offers(ctx, servers, false, tool.Tool)
		if err != nil {
			return err
		}
		a.leftOut = leftOut{unsearched: unsearched(offers.Unsearched), waiting: s.waiting(offers.Waiting)}
		s.noteUnsearched(a.unsearched)
		if tools, err = usable(ctx, s, servers); err != nil {
			return err
		}
	}
	for _, ref := range wanted {
		if ref.Name == "" {
			continue
		}
		def, _, err := s.Engine.Inspect(ctx, ref)
		if err != nil {
			return err
		}
		if !slices.Contains(servers, ref.Server) {
			tools = append(tools, typed(ref, def))
		}
	}
	a.tools = len(tools)
	if err := engine.Interruptible(ctx, func() { a.types = typegen.Declarations(tools, v.Docs) }); err != nil {
		return err
	}
	return s.Printer.Answer(a)
}

// wanted returns the servers and tools that the words name, each once. A server has no name of a tool.
func (v *typesVerb) wanted(s *Session) (refs []tool.Ref, err error) {
	seen := map[tool.Ref]bool{}
	for _, w := range v.words {
		ref := tool.Ref{Server: w, Kind: tool.Tool}
		if err := s.Engine.CheckServers([]string{w}); err != nil {
			if !strings.ContainsAny(w, "/.") {
				return nil, err
			}
			if ref, _, err = s.Engine.Resolve([]string{w}, tool.Tool); err != nil {
				return nil, err
			}
		}
		if !seen[ref] {
			seen[ref], refs = true, append(refs, ref)
		}
	}
	return refs, nil
}

// usable returns the tools of these servers, or of all, that are on and that a rule does not deny.
func usable(ctx context.Context, s *Session, servers []string) (tools []typegen.Tool, err error) {
	defs, err := s.Engine.Definitions(ctx, tool.Tool)
	if err != nil {
		return nil, err
	}
	for _, d := range defs {
		if !d.Off && !d.Denied && (len(servers) == 0 || slices.Contains(servers, d.Server)) {
			tools = append(tools, typed(d.Ref, d.Definition))
		}
	}
	return tools, nil
}

func typed(ref tool.Ref, def tool.Def) typegen.Tool {
	return typegen.Tool{Server: ref.Server, Name: ref.Name, Description: def.Description,
		Input: def.InputSchema, Output: def.OutputSchema}
}

// typesAnswer are declarations.
type typesAnswer struct {
	tools int
	types string
	leftOut
}

func (a *typesAnswer) RawJSON() []byte {
	var o output.Object
	o.Add("tools", a.tools)
	o.Add("types", a.types)
	a.leftOut.add(&o)
	return o.Bytes()
}

func (a *typesAnswer) WriteText(t *output.Text) { t.Verbatim(a.types) }
