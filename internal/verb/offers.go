package verb

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// refreshFlag defines --refresh.
func refreshFlag(fs *pflag.FlagSet, refresh *bool) {
	fs.BoolVar(refresh, "refresh", false, "ask the servers again, all at once")
}

// listOffers lists what servers, or all of them if none is named, offer of some kinds. The answer speaks
// of the first kind.
func (s *Session) listOffers(ctx context.Context, servers []string, refresh bool, kinds ...tool.Kind) error {
	if len(servers) == 0 {
		servers = nil
	}
	offers, err := s.Engine.Offers(ctx, servers, refresh, kinds...)
	if err != nil {
		return err
	}
	what := kinds[0]
	a := &offersAnswer{kind: what, recs: offers.Records}
	if len(offers.Records) == 0 {
		a.help = fmt.Sprintf("There are no %ss", what)
		if len(servers) > 0 {
			a.help = fmt.Sprintf("%s has no %ss", servers[0], what)
		}
		a.help += ". See what the servers have with: mcpl list"
		if len(servers) == 0 && len(offers.Failed) > 0 {
			a.help += ". Not known, because they could not be asked: " + strings.Join(offers.Failed, ", ")
		}
	}
	return s.Printer.Answer(a)
}

// offersAnswer is the answer of resources and of prompts.
type offersAnswer struct {
	kind tool.Kind
	recs []index.Record
	help string
}

// RawJSON implements [output.RawDocument].
func (a *offersAnswer) RawJSON() []byte {
	var o output.Object
	if a.kind == tool.Resource {
		o.Add("resources", a.list(tool.Resource))
		o.Add("templates", a.list(tool.Template))
	} else {
		o.Add("prompts", a.list(tool.Prompt))
	}
	if a.help != "" {
		o.Add("help", a.help)
	}
	return o.Bytes()
}

// list returns the records of a kind as a JSON array.
func (a *offersAnswer) list(kind tool.Kind) json.RawMessage {
	list := []byte{'['}
	for _, rec := range a.recs {
		if rec.Kind != kind {
			continue
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		var o output.Object
		o.Add("server", rec.Server)
		o.Add(nameKey(kind), rec.Name)
		if rec.Title != "" {
			o.Add("title", rec.Title)
		}
		o.Add("description", rec.Description)
		switch {
		case kind == tool.Prompt:
			o.Add("signature", rec.Signature)
			o.Add("required", rec.Required)
		case rec.MediaType != "":
			o.Add("mimeType", rec.MediaType)
		}
		list = append(list, o.Bytes()...)
	}
	return append(list, ']')
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

// WriteText implements [output.Document].
func (a *offersAnswer) WriteText(t *output.Text) {
	for i, rec := range a.recs {
		if i > 0 {
			t.Line()
		}
		more := ""
		if rec.Title != rec.Name {
			more = render.Prefixed("  ", rec.Title)
		}
		t.Line(output.Bold(rec.Server), " ", output.Cyan(rec.Name), output.Dim(more+render.Prefixed("  ", rec.MediaType)))
		if rec.Description != "" {
			t.Wrap("  ", rec.Description)
		}
		if rec.Signature != "" {
			t.Wrap("  ", "("+rec.Signature+")")
		}
	}
	if a.help != "" {
		t.Line(a.help)
		return
	}
	writeUses(t, a.recs)
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
		use := render.Use(tool.Ref{Server: rec.Server, Name: rec.Name, Kind: rec.Kind})
		t.Line(output.Dim(render.HowTo(rec.Kind)), output.Cyan(use))
	}
}
