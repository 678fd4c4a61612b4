package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// activating shows what is active, and a tool that activates other things.
type activating struct {
	gateway *Gateway
	active  *activeSet
}

// activeSet returns what is active for the client: for a session its own set. Clients without sessions share one for
// each principal and profile, since what they are shown may not depend on a connection (MCP 2026-07-28).
func (c *Client) activeSet() *activeSet {
	if c.out == nil || c.modern() {
		return c.gateway.active.of(c.who)
	}
	return c.active
}

func (activating) instructions() string {
	return "Only active tools and resources are listed. The tool whose name ends in \"activate\" shows the catalogue of " +
		"all of them, and activates what you need."
}

func (activating) lists(l *lists) *lists { return &l.catalogue().lists }

func (x activating) definitions(_ context.Context, v *view, l *lists, kind tool.Kind) (
	list []json.RawMessage, err error) {
	c := l.catalogue()
	if kind == tool.Prompt {
		return v.visible(c.prompts), nil
	}
	if kind == tool.Tool {
		list = append(list, x.definition(c))
	}
	var active []offer
	for i, on := range x.active.of(c) {
		if e := c.entries[i]; on && e.ref.Kind == kind {
			active = append(active, e.offer)
		}
	}
	return append(list, v.visible(active)...), nil
}

// inAnswer reports whether the catalogue stands in answers, and not in a description.
func (x activating) inAnswer(c *catalogue) bool {
	return cmp.Or(c.place, x.gateway.opt.Catalog) == "answer"
}

// activateTool is the definition of the tool that activates, with places for its name and its description.
const activateTool = `{"name":%s,"description":%s,"inputSchema":{"type":"object","properties":{` +
	`"activate":{"type":"array","items":{"type":"string"},"description":"Names, globs such as \"git_*\", or servers"},` +
	`"deactivate":{"type":"array","items":{"type":"string"},"description":"The same, to be turned off before"}}},` +
	`"annotations":{"readOnlyHint":true}}`

// definition returns the definition of the tool that activates.
func (x activating) definition(c *catalogue) json.RawMessage {
	about := "Activate tools and resources, or deactivate them. Only active ones can be used."
	if x.inAnswer(c) {
		about += " Without arguments it answers with the catalogue of all."
	} else {
		about += " This is the catalogue of all; a star marks what is active.\n\n" + c.text(x.active, x.gateway.health)
	}
	return json.RawMessage(fmt.Sprintf(activateTool, tool.Quote(c.tool), tool.Quote(about)))
}

func (x activating) call(ctx context.Context, r *request, name string) (json.RawMessage, error) {
	l, err := r.view.current(ctx)
	if err != nil {
		return nil, err
	}
	c := l.catalogue()
	if name == c.tool {
		return x.activate(ctx, r, c)
	}
	e, known := c.called(name)
	switch {
	case !known:
		return x.refusal(c, x.unknown(c, []string{name})), nil
	case !x.active.has(e):
		r.refused(ctx, e.ref)
		return x.refusal(c, fmt.Sprintf(`%s is not active. Call %s with {"activate": [%s]}, then call it again.`, e.name,
			c.tool, tool.Quote(e.name))), nil
	}
	return r.relayTool(ctx, e.ref)
}

const (
	// maxWords bounds the names of one request. No name has more than [fault.MaxName] bytes.
	maxWords = 1000
	// maxUnknown bounds the unknown names that an answer tells.
	maxUnknown = 5
)

// activate turns off, and then on, what the request names.
func (x activating) activate(ctx context.Context, r *request, c *catalogue) (json.RawMessage, error) {
	var p struct {
		Arguments struct {
			On  wordList `json:"activate"`
			Off wordList `json:"deactivate"`
		} `json:"arguments"`
	}
	if err := r.params(&p); err != nil {
		return nil, err
	}
	a := p.Arguments
	if len(a.On)+len(a.Off) == 0 {
		if x.inAnswer(c) {
			return textResult(string(x.answer(c, true, nil, "")), false), nil
		}
		return x.refusal(c, fmt.Sprintf(`Nothing to activate was named. Call %s with {"activate": [names]} or `+
			`{"deactivate": [names]}; its description lists the names.`, c.tool)), nil
	}
	if len(a.On)+len(a.Off) > maxWords {
		return x.refusal(c, fmt.Sprintf("More than %d names were given. Use globs, or name servers.", maxWords)), nil
	}
	on, unknown := c.allNamed(a.On)
	off, alsoUnknown := c.allNamed(a.Off)
	x.active.turn(off, on)
	r.client.share(ctx, activeFields(off, on), nil)
	for _, other := range x.gateway.listeners() {
		if other.who.Expose == Activate && other.activeSet() == x.active {
			other.tellChanged(ctx, r.gen, nil)
		}
	}
	wrong := ""
	if unknown = append(unknown, alsoUnknown...); len(unknown) > 0 {
		wrong = x.unknown(c, unknown)
	}
	return textResult(string(x.answer(c, wrong == "", x.outcome(c, off, on), wrong)), wrong != ""), nil
}

// outcome returns what was activated and deactivated as members of an answer, and what to do next.
func (x activating) outcome(c *catalogue, off, on []entry) []tool.Field {
	var activated, deactivated []json.RawMessage
	next := ""
	for _, e := range on {
		def, err := tool.Parse(e.ref.Kind, e.raw)
		if err != nil { // it was read once
			continue
		}
		activated = append(activated, def.Raw())
		if next == "" && e.ref.Kind == tool.Tool {
			next = fmt.Sprintf("Call %s, with arguments such as %s. If you are not shown it yet, list the tools again.", e.name,
				schema.Example(def.InputSchema))
		}
	}
	for _, e := range off {
		if !x.active.has(e) {
			deactivated = append(deactivated, tool.Quote(e.name))
		}
	}
	fields := []tool.Field{{Key: "activated", Value: tool.JoinArray(activated)},
		{Key: "deactivated", Value: tool.JoinArray(deactivated)}}
	if next != "" {
		fields = append(fields, tool.Field{Key: "next", Value: tool.Quote(next)})
	}
	return fields
}

// answer returns an answer of the gateway's own, in Toolman's form.
func (x activating) answer(c *catalogue, success bool, result []tool.Field, wrong string) json.RawMessage {
	if x.inAnswer(c) {
		result = append(result, tool.Field{Key: "catalog", Value: tool.Quote(c.text(x.active, x.gateway.health))})
	}
	fields := []tool.Field{{Key: "success", Value: json.RawMessage(fmt.Sprint(success))},
		{Key: "result", Value: json.RawMessage("null")}, {Key: "error", Value: json.RawMessage("null")}}
	if len(result) > 0 {
		fields[1].Value = tool.JoinObject(result)
	}
	if wrong != "" {
		fields[2].Value = tool.Quote(wrong)
	}
	return tool.JoinObject(fields)
}

// refusal returns the result of a call that was not made.
func (x activating) refusal(c *catalogue, why string) json.RawMessage {
	return textResult(string(x.answer(c, false, nil, why)), true)
}

// unknown says that names are not known, and what they may have meant.
func (x activating) unknown(c *catalogue, names []string) string {
	var b strings.Builder
	for _, name := range names[:min(len(names), maxUnknown)] {
		fmt.Fprintf(&b, "There is no %s.", tool.Quote(fault.Name(name)))
		if near := c.nearest(name); len(near) > 0 {
			fmt.Fprintf(&b, " Did you mean %s?", strings.Join(near, ", "))
		}
		b.WriteString(" ")
	}
	where := "The description of " + c.tool + " lists all names."
	if x.inAnswer(c) {
		where = "The catalogue is in this answer."
	}
	return b.String() + where
}

// allNamed returns the entries that any of these words mean, in the order of the catalogue, and the words that mean
// none.
func (c *catalogue) allNamed(words []string) (found []entry, unknown []string) {
	is := make(map[exposed]bool)
	for _, word := range words {
		named := c.named(word)
		if named == nil {
			unknown = append(unknown, word)
		}
		for _, e := range named {
			is[exposed{e.ref.Kind, e.name}] = true
		}
	}
	for _, e := range c.entries {
		if is[exposed{e.ref.Kind, e.name}] {
			found = append(found, e)
		}
	}
	return found, unknown
}

// wordList is a list of words, or a text with words, which models write instead.
type wordList []string

// UnmarshalJSON implements [json.Unmarshaler].
func (w *wordList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*w = strings.Fields(one)
		return nil
	}
	return json.Unmarshal(data, (*[]string)(w))
}
