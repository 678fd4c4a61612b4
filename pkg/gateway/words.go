package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// asResult returns a fault of a call as a result that reports an error, which a model reads: "Any errors that originate
// from the tool SHOULD be reported inside the result object ... so that the LLM can see that an error occurred" (MCP
// 2025-11-25, schema, CallToolResult). Errors of the server and of the protocol stay what they are.
func (r *request) asResult(result json.RawMessage, err error) (json.RawMessage, error) {
	var own *tool.UpstreamError
	if err == nil || errors.As(err, &own) {
		return result, err
	}
	return textResult(r.words(fault.From(err)), true), nil
}

// textResult returns a result of tools/call.
func textResult(text string, isError bool) json.RawMessage {
	fields := []tool.Field{{Key: "content", Value: tool.JoinArray([]json.RawMessage{textBlock(text)})}}
	if isError {
		fields = append(fields, tool.Field{Key: "isError", Value: json.RawMessage("true")})
	}
	return tool.JoinObject(fields)
}

// textBlock returns a block of text.
func textBlock(text string) json.RawMessage {
	return tool.JoinObject([]tool.Field{{Key: "type", Value: json.RawMessage(`"text"`)},
		{Key: "text", Value: tool.Quote(text)}})
}

// words says what a fault is about and what can be done, to a model that has no shell.
func (r *request) words(f *fault.Fault) string {
	text := f.Message + "."
	for _, a := range f.Arguments {
		text += "\n" + strings.TrimSpace(strings.TrimPrefix(a.Pointer+": ", ": ")+a.Problem)
		if a.Expected != "" {
			text += "; expected: " + a.Expected
		}
		if a.Nearest != "" {
			text += "; did you mean " + a.Nearest + "?"
		}
	}
	if help := strings.TrimSpace(f.Help); help != "" && len(f.Arguments) > 0 {
		text += "\n" + help
	} else if help != "" {
		text += " " + help
	}
	for _, n := range f.Next {
		switch {
		case n.Set != nil:
			text += " " + n.Why + " " + n.Set.File + ": " + n.Set.Variable + "=..."
		case n.Step == nil:
			text += " " + n.Why
		case !isOwn(n.Step.Verb) || slices.Contains(n.Step.Args, "--config"): // no tool takes a file
			text = strings.TrimSpace(text+" "+byPerson(n.Why)) + ": " + typed(*n.Step) + "."
		case r.client.who.Expose == Search: // only that has tools for these steps
			text = strings.TrimSpace(text+" "+n.Why) + ": " + called(*n.Step) + "."
		}
	}
	return strings.Join(append([]string{text}, f.Diff...), "\n")
}

// isOwn reports whether a verb is one that the exposure Search has a tool for.
func isOwn(verb string) bool {
	return slices.Contains([]string{"search", "inspect", "list", "call"}, verb)
}

// called names the tool for a step, with its arguments as far as they are known.
func called(s fault.Step) string {
	switch s.Verb {
	case "search":
		return "search_tools"
	case "inspect":
		return "read_tool " + s.Server + "/" + s.Tool
	case "call":
		fields := []tool.Field{{Key: "server", Value: tool.Quote(s.Server)}, {Key: "tool", Value: tool.Quote(s.Tool)}}
		if len(s.Args) == 1 && json.Valid([]byte(s.Args[0])) {
			fields = append(fields, tool.Field{Key: "arguments", Value: json.RawMessage(s.Args[0])})
		}
		return "call_tool " + string(tool.JoinObject(fields))
	}
	return "list_servers"
}

// byPerson says that a person does what a step leads in to.
func byPerson(why string) string {
	if strings.Contains(strings.ToLower(why), "person") || why == "" {
		return cmp.Or(why, "A person types")
	}
	return why + ", as a person types"
}

// typed returns the command for a step.
func typed(s fault.Step) string {
	words := append([]string{"mcpl"}, s.Words()...)
	for i, word := range words {
		words[i] = fault.Quote(word)
	}
	return strings.Join(words, " ")
}
