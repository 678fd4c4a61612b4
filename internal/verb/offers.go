package verb

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/hidden"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

func resourcesSpec() Spec {
	return Spec{
		Name: "resources", Group: Offers, Early: true, Daemon: UseDaemon,
		New: func() Verb {
			return &listOffersVerb{listing{verb: "resources"}, []tool.Kind{tool.Resource, tool.Template}}
		},
		Aliases: []Alias{{Words: "list-resources list_resources resources/list templates list-resource-templates " +
			"list_resource_templates resources/templates/list"}},
		Complete: completeServer,
		Use:      "resources [SERVER]", Short: "List the resources of the servers (starts no server)",
		Long: `Resources lists the resources of all servers or of one, by their URIs, and the
templates of such URIs. It answers from the index, as list does. Find one with:
mcpl search --kind resource WORDS`,
		Example: `  mcpl resources
  mcpl --json resources everything`,
	}
}

func promptsSpec() Spec {
	return Spec{
		Name: "prompts", Group: Offers, Early: true, Daemon: UseDaemon,
		New:      func() Verb { return &listOffersVerb{listing{verb: "prompts"}, []tool.Kind{tool.Prompt}} },
		Aliases:  []Alias{{Words: "list-prompts list_prompts prompts/list"}},
		Complete: completeServer,
		Use:      "prompts [SERVER]", Short: "List the prompts of the servers (starts no server)",
		Long: `Prompts lists the prompts of all servers or of one, with their arguments. It
answers from the index, as list does. Find one with: mcpl search --kind prompt
WORDS`,
		Example: `  mcpl prompts
  mcpl --json prompts everything`,
	}
}

// listOffersVerb lists the resources or the prompts of all servers or of one: mcpl resources|prompts [SERVER].
type listOffersVerb struct {
	listing
	kinds []tool.Kind // the answer speaks of the first
}

func (v *listOffersVerb) Run(ctx context.Context, s *Session) error {
	offers, err := s.Engine.Offers(ctx, v.servers, v.Refresh, v.kinds...)
	if err != nil {
		return err
	}
	a := &offersAnswer{kind: v.kinds[0], recs: offers.Records,
		leftOut: leftOut{unsearched: unsearched(offers.Unsearched), waiting: s.waiting(offers.Waiting)}}
	if len(offers.Records) == 0 {
		a.help = fmt.Sprintf("There are no %ss", a.kind)
		if len(v.servers) > 0 {
			a.help = fmt.Sprintf("%s has no %ss", v.servers[0], a.kind)
		}
		a.help += ". See what the servers have with: mcpl list"
	}
	s.noteUnsearched(a.unsearched)
	return s.Printer.Answer(a)
}

type offersAnswer struct {
	kind tool.Kind
	recs []index.Record
	leftOut
}

func (a *offersAnswer) RawJSON() []byte {
	var o output.Object
	if a.kind == tool.Resource {
		o.Add("resources", a.list(tool.Resource))
		o.Add("templates", a.list(tool.Template))
	} else {
		o.Add("prompts", a.list(tool.Prompt))
	}
	a.leftOut.add(&o)
	return o.Bytes()
}

// list returns the records of a kind as a JSON array.
func (a *offersAnswer) list(kind tool.Kind) json.RawMessage {
	var list []json.RawMessage
	for _, rec := range a.recs {
		if rec.Kind != kind {
			continue
		}
		var o output.Object
		o.Add("server", rec.Server)
		o.Add(nameKey(kind), rec.Name)
		addAbout(&o, rec, rec.Description, rec.Signature)
		list = append(list, o.Bytes())
	}
	return tool.JoinArray(list)
}

// addAbout adds what a record is about, with these forms of its texts, and returns the place of the description.
func addAbout(o *output.Object, rec index.Record, description, signature string) int {
	if rec.Kind != tool.Tool && rec.Title != "" {
		o.Add("title", rec.Title)
	}
	at := len(*o)
	o.Add("description", description)
	switch {
	case rec.Kind == tool.Tool || rec.Kind == tool.Prompt:
		o.Add("signature", signature)
		required := shortRequired(rec.Required)
		o.Add("required", required)
		if more := len(rec.Required) - len(required); more > 0 {
			o.Add("more_required", more)
		}
	case rec.MediaType != "":
		o.Add("mimeType", rec.MediaType)
	}
	if n := hiddenIn(rec); n > 0 {
		o.Add("hidden_characters", n)
	}
	return at
}

// shortRequired returns the first of the required names, as many as have room in a hit. A hostile tool has 50,000.
func shortRequired(names []string) []string {
	room := 1000
	for i, name := range names {
		if room -= len(name) + len(`"",`); room < 0 {
			return names[:i]
		}
	}
	return names
}

// hiddenIn counts the hidden characters of what a list shows of a record.
func hiddenIn(rec index.Record) int {
	return hidden.Count(rec.Name) + hidden.Count(rec.Title) + hidden.Count(rec.Description) + hidden.Count(rec.Signature)
}

// hiddenMark says how many characters are hidden, behind two spaces. It is empty if there are none.
func hiddenMark(n int) string {
	if n == 0 {
		return ""
	}
	return "  " + humanize.Plural(n, "hidden character")
}

// refOf returns the reference to a record.
func refOf(rec index.Record) tool.Ref {
	return tool.Ref{Server: rec.Server, Name: rec.Name, Kind: rec.Kind}
}

// nameSpan returns a name as the heading of what it names.
func nameSpan(ref tool.Ref) output.Span {
	if ref.Kind == tool.Tool {
		return output.Cyan(ref.String())
	}
	return output.Cyan(fmt.Sprintf("%s %s  %s", ref.Server, ref.Name, ref.Kind))
}

// nameKey returns the member of a JSON answer that names something of a kind.
func nameKey(kind tool.Kind) string {
	switch kind {
	case tool.Resource:
		return "uri"
	case tool.Template:
		return "uriTemplate"
	}
	return kind.String()
}

func (a *offersAnswer) WriteText(t *output.Text) {
	for i, rec := range a.recs {
		if i > 0 {
			t.Line()
		}
		more := ""
		if rec.Title != rec.Name {
			more = output.Prefixed("  ", rec.Title)
		}
		t.Line(output.Bold(rec.Server), " ", output.Cyan(rec.Name), output.Dim(more+output.Prefixed("  ", rec.MediaType)),
			output.Yellow(hiddenMark(hiddenIn(rec))))
		writeAbout(t, rec)
	}
	if a.help != "" {
		t.Line(a.help)
		return
	}
	writeUses(t, a.recs)
}

// writeAbout writes what a record is for, and its signature if it has one.
func writeAbout(t *output.Text, rec index.Record) {
	if rec.Description != "" {
		t.Wrap("  ", rec.Description)
	}
	if rec.Signature != "" {
		t.Wrap("  ", "("+rec.Signature+")")
	}
}

// writeUses writes how to use the first record of each kind.
func writeUses(t *output.Text, recs []index.Record) {
	said := map[tool.Kind]bool{}
	for _, rec := range recs {
		if said[rec.Kind] {
			continue
		}
		if len(said) == 0 {
			t.Line()
		}
		said[rec.Kind] = true
		lead, command := render.Use(refOf(rec))
		t.Line(output.Dim(lead), output.Cyan(command))
	}
}

// kindOf returns the kind that --kind asks for, one of choices.
func kindOf(word, choices string) (tool.Kind, error) {
	switch strings.TrimSuffix(strings.ToLower(word), "s") {
	case "tool":
		return tool.Tool, nil
	case "resource", "template":
		return tool.Resource, nil
	case "prompt":
		return tool.Prompt, nil
	}
	return "", fault.New(fault.Usage, fmt.Sprintf("unknown kind %q", word), "Use --kind "+choices+".")
}

// allKinds returns the kinds that can be searched. Templates are found with resources.
func allKinds() []tool.Kind { return []tool.Kind{tool.Tool, tool.Resource, tool.Prompt} }
