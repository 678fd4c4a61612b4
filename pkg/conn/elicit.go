package conn

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// maxURL bounds the URL of a question, in bytes.
const maxURL = 8 << 10

// elicit asks the user of a call what a server wants to know (MCP 2025-11-25, client/elicitation), and returns the
// result. If the call is nil or has no audience, elicit declines.
func (s *session) elicit(ctx context.Context, c *call, params json.RawMessage) (json.RawMessage, *tool.UpstreamError) {
	q, wrong := questionIn(s.server.Name, params)
	if wrong != "" {
		return nil, &tool.UpstreamError{Code: mcp.INVALID_PARAMS, Message: wrong}
	}
	return outcome(s.ask(ctx, c, q), q), nil
}

// ask puts a question to the audience of a call, which may be nil.
func (s *session) ask(ctx context.Context, c *call, q tool.Question) tool.Reply {
	q.Message = s.server.Mask(q.Message)
	s.log("it asks: %s", q.Message)
	switch {
	case ctx.Err() != nil:
		return tool.Reply{Action: tool.Cancel}
	case c == nil:
		return tool.Reply{Action: tool.Decline}
	}
	var reply tool.Reply
	err := s.during(ctx, c, func(ctx context.Context, a tool.Audience) (err error) {
		reply, err = a.Elicit(ctx, q)
		return err
	})
	switch {
	case errors.Is(err, errNoAudience):
		reply = tool.Reply{Action: tool.Decline}
	case err != nil:
		reply = tool.Reply{Action: tool.Cancel}
	}
	s.log("the answer: %s", reply.Action)
	return reply
}

// during runs question with the audience of a call. Its context ends with ctx, the call and the session.
func (s *session) during(ctx context.Context, c *call, question func(context.Context, tool.Audience) error) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	defer s.goroutines.after(giveUp)()
	return c.ask(ctx, question)
}

// maxQuestion bounds a question, in bytes.
const maxQuestion = 256 << 10

// questionIn reads the params of elicitation/create; the schema keeps its bytes. wrong says why they are invalid.
func questionIn(server string, params json.RawMessage) (q tool.Question, wrong string) {
	var p struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
		URL     string          `json:"url"`
	}
	if len(params) > maxQuestion {
		return q, "the question is too long"
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return q, "the params of elicitation/create cannot be read"
	}
	q = tool.Question{Server: server, Message: p.Message, Raw: params}
	switch p.Mode {
	case "", "form":
		if _, err := tool.SplitObject(p.Schema); err != nil {
			return q, "requestedSchema is not an object"
		}
		q.Schema = p.Schema
	case "url":
		// Only a web page is safe to open (not file: or javascript:), and not one whose host a reader may take for
		// another: https://bank.example@evil.example.
		u, err := url.Parse(p.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil {
			return q, "url is not an http:// or https:// address"
		}
		invalid := func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) } // no other space is printable
		if len(p.URL) > maxURL || strings.ContainsFunc(p.URL, invalid) {
			return q, "url is too long, or has characters that are invalid in a URL"
		}
		if q.URL = p.URL; strings.ContainsFunc(u.Host, func(r rune) bool { return r >= utf8.RuneSelf }) {
			q.URL = asciiURL(u)
		}
	default:
		return q, "mcpl knows only the modes form and url"
	}
	return q, ""
}

// outcome returns a reply as the result of elicitation/create. A reply that is not valid is a cancellation.
func outcome(r tool.Reply, q tool.Question) json.RawMessage {
	content := r.Content
	switch r.Action {
	case tool.Accept:
		if _, err := tool.SplitObject(content); q.Schema != nil && err != nil {
			r.Action = tool.Cancel
		}
	case tool.Decline, tool.Cancel:
	default:
		r.Action = tool.Cancel
	}
	fields := []tool.Field{{Key: "action", Value: tool.Quote(string(r.Action))}}
	if r.Action == tool.Accept && q.Schema != nil {
		fields = append(fields, tool.Field{Key: "content", Value: content})
	}
	return tool.JoinObject(fields)
}
