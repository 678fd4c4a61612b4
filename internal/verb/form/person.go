package form

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/mcp-launchpad/mcpl/internal/verb/render"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// How much of a server's text a person sees, in bytes, and how many of its choices.
const (
	maxQuestionText = 4 << 10
	maxMemberText   = 1 << 10
	maxNameText     = 80
	maxChoices      = 50
)

// theirs is the bar before each line that a server wrote.
const theirs = "  | "

// errDeclined says that the person does not want to answer.
var errDeclined = errors.New("declined")

// ask puts a server's question to the person at the terminal. The end of the input and the word decline decline it.
func ask(ctx context.Context, dialog *output.Dialog, server string, q tool.Question) (tool.Reply, error) {
	d := &form{Dialog: dialog, server: server}
	d.Open()
	defer d.Close()
	content, err := d.answer(ctx, q)
	switch {
	case err == nil:
		return tool.Reply{Action: tool.Accept, Content: content}, nil
	case ctx.Err() != nil:
		return tool.Reply{}, ctx.Err()
	}
	d.Show(func(t *output.Text) { t.Line("Declined.") })
	return tool.Reply{Action: tool.Decline}, nil
}

// form leads a person through one question.
type form struct {
	*output.Dialog
	server string
}

// answer returns what the person agreed to send, nil for a URL. Errors other than that of ctx mean a refusal.
func (d *form) answer(ctx context.Context, q tool.Question) (json.RawMessage, error) {
	if q.URL != "" {
		return nil, d.askURL(ctx, q)
	}
	members, ok := schema.Form(q.Schema)
	d.Show(func(t *output.Text) {
		t.Line()
		t.Line(output.Bold(d.server), " asks you something. Lines behind a bar are its own words:")
		d.quote(t, q.Message, maxQuestionText)
		if !ok || len(members) > 0 {
			t.Wrap("", "Enter takes the value in [brackets], or skips an optional one. Ctrl-D or the word decline declines.")
		}
	})
	if !ok {
		return d.askJSON(ctx, q.Schema)
	}
	for {
		var fields []tool.Field
		for i, m := range members {
			value, err := d.askMember(ctx, m, i+1, len(members))
			if err != nil {
				return nil, err
			}
			if value != nil {
				fields = append(fields, tool.Field{Key: m.Name, Value: value})
				members[i].Default = value // if the answer is to be changed
			}
		}
		content := json.RawMessage(tool.JoinObject(fields))
		again, err := d.agree(ctx, q.Schema, content, len(members) > 0)
		if err != nil || !again {
			return content, err
		}
	}
}

// quote shows a server's text, each line behind the bar.
func (d *form) quote(t *output.Text, text string, most int) {
	if strings.TrimSpace(text) != "" {
		t.Wrap(theirs, fault.Cut(text, most))
	}
}

// line asks for a line. The word decline declines.
func (d *form) line(ctx context.Context, prompt ...any) (string, error) {
	text, err := d.Line(ctx, prompt...)
	if err == nil && strings.EqualFold(strings.TrimSpace(text), string(tool.Decline)) {
		return "", errDeclined
	}
	return text, err
}

// problem shows why an answer is asked for again.
func (d *form) problem(text string) {
	d.Show(func(t *output.Text) { t.Line(output.Yellow("again: "), render.OneLine(text, maxMemberText)) })
}

// askMember asks for one member until the answer fits. It returns nil to leave the member out.
func (d *form) askMember(ctx context.Context, m schema.Member, at, of int) (json.RawMessage, error) {
	d.Show(func(t *output.Text) { d.showMember(t, m, at, of) })
	prompt := "> "
	if m.Default != nil {
		prompt = "[" + render.OneLine(shownDefault(m.Default), maxNameText) + "] > "
	}
	for {
		text, err := d.line(ctx, prompt)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "" {
			switch {
			case m.Default == nil && !m.Required:
				return nil, nil
			case m.Default == nil:
				hint := ""
				if m.Type == "string" && m.Choices == nil {
					hint = `; "" is the empty text`
				}
				d.problem("an answer is needed" + hint)
				continue
			}
			if problem := checked(m, m.Default); problem != "" {
				d.problem("the default does not fit: " + problem)
				continue
			}
			return m.Default, nil
		}
		value, problem := typedValue(m, text)
		if problem == "" {
			return value, nil
		}
		d.problem(problem)
	}
}

// shownDefault returns a default as a person would type it.
func shownDefault(value json.RawMessage) string {
	list, err := tool.SplitArray(value)
	if err != nil {
		return render.Plain(value)
	}
	var words []string
	for _, word := range list {
		words = append(words, render.Plain(word))
	}
	return strings.Join(words, ", ")
}

// showMember shows a member before it is asked for.
func (d *form) showMember(t *output.Text, m schema.Member, at, of int) {
	kind := m.Type
	switch {
	case m.Type == "array":
		kind = "any of these, with commas between"
	case m.Choices != nil:
		kind = "one of these"
	case m.Type == "":
		kind = "JSON"
	case m.Type == "boolean":
		kind = "yes or no"
	case m.Format != "":
		kind = render.OneLine(m.Format, maxNameText)
	}
	about := []string{kind}
	if m.Limits != "" {
		about = append(about, render.OneLine(m.Limits, maxMemberText))
	}
	if !m.Required {
		about = append(about, "optional")
	}
	t.Line()
	name := render.OneLine(m.Name, maxNameText)
	t.Table("", [][]any{{fmt.Sprintf("%d/%d", at, of), output.Bold(name), "(" + strings.Join(about, ", ") + ")"}})
	d.quote(t, m.Title, maxMemberText)
	d.quote(t, m.Description, maxMemberText)
	for i, c := range m.Choices[:min(len(m.Choices), maxChoices)] {
		text := render.OneLine(c.Text, maxMemberText)
		if c.Title != "" && c.Title != c.Text {
			text += ": " + render.OneLine(c.Title, maxMemberText)
		}
		t.Wrap(theirs, fmt.Sprintf("%d. %s", i+1, text))
	}
	if more := len(m.Choices) - maxChoices; more > 0 {
		t.Line(fmt.Sprintf("  and %d more: type the value", more))
	}
	if looksSecret(m) {
		note := "this looks like a secret. MCP forbids servers to ask for one this way: " +
			"what you type is shown here and given to " + d.server + "."
		t.Table("", [][]any{{output.Yellow("note:"), note}})
	}
}

// agree shows what would be sent and asks whether to send it. It returns true if the person wants to change it first.
func (d *form) agree(ctx context.Context, inputSchema, content json.RawMessage, changeable bool) (bool, error) {
	wrong := checkAnswer(inputSchema, content)
	d.Show(func(t *output.Text) {
		t.Line()
		if changeable {
			t.Line(render.Plain(content)) // a default has the server's own line breaks
		}
		for _, f := range wrong {
			text := f.Pointer + " " + f.Problem + output.Prefixed("; expected ", f.Expected)
			t.Line(output.Yellow("note: "), render.OneLine(text, maxMemberText))
		}
	})
	prompt := "Accept? yes, no: "
	if changeable {
		prompt = "Send this to " + d.server + "? yes, no, change: "
	}
	for {
		text, err := d.line(ctx, output.Bold(prompt))
		if err != nil {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes", "accept":
			return false, nil
		case "n", "no":
			return false, errDeclined
		case "c", "change":
			if changeable {
				return true, nil
			}
		}
		d.problem("type one of the words")
	}
}

// askJSON asks for the whole answer at once, for a schema that is not a form.
func (d *form) askJSON(ctx context.Context, inputSchema json.RawMessage) (json.RawMessage, error) {
	d.Show(func(t *output.Text) {
		t.Line()
		t.Line("It wants a JSON object on one line, of this schema:")
		d.quote(t, string(inputSchema), maxQuestionText)
	})
	for {
		text, err := d.line(ctx, "> ")
		if err != nil {
			return nil, err
		}
		content := json.RawMessage(strings.TrimSpace(text))
		if _, err := tool.SplitObject(content); err != nil {
			d.problem(`that is not a JSON object, like {"name": "value"}`)
			continue
		}
		again, err := d.agree(ctx, inputSchema, content, true)
		if err != nil || !again {
			return content, err
		}
	}
}

// askURL asks for consent to a URL. The person opens it; mcpl does not.
func (d *form) askURL(ctx context.Context, q tool.Question) error {
	u, err := url.Parse(q.URL)
	d.Show(func(t *output.Text) {
		t.Line()
		t.Line(output.Bold(d.server), " wants you to open a page in your browser. Lines behind a bar are its own words:")
		d.quote(t, q.Message, maxQuestionText)
		t.Line("  ", q.URL)
		switch {
		case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
			t.Line(output.Yellow("note: "), "that is not the address of a web page.")
		case u.Scheme == "http":
			t.Line("  at ", output.Bold(u.Host), ", unencrypted")
		default:
			t.Line("  at ", output.Bold(u.Host))
		}
		if err == nil && imitable(u.Host) {
			t.Line(output.Yellow("note: "), "the name of the host has letters that look like others.")
		}
	})
	if _, err := d.agree(ctx, nil, nil, false); err != nil {
		return err
	}
	d.Show(func(t *output.Text) { t.Line("Open it yourself; ", d.server, " notices when you are done.") })
	return nil
}

// imitable reports whether a host's name holds letters outside ASCII, as they are or in Punycode.
func imitable(host string) bool {
	return strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) ||
		strings.Contains("."+strings.ToLower(host), ".xn--")
}
