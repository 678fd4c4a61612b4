package render

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// OneLine returns a text on one line, cut to n bytes.
func OneLine(text string, n int) string { return fault.Cut(strings.Join(strings.Fields(text), " "), n) }

// Plain returns the text of a JSON string, and any other value as compact JSON.
func Plain(raw json.RawMessage) string {
	if s, ok := stringIn(raw); ok {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// stringIn returns the text of a JSON string. null, which decodes into a string too, is not one.
func stringIn(raw json.RawMessage) (text string, ok bool) {
	return text, bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`)) && json.Unmarshal(raw, &text) == nil
}

// Use returns the command that uses a resource or prompt, or shows a tool, as far as known without arguments, and the
// words that introduce it.
func Use(ref tool.Ref) (lead, command string) {
	verb := "read"
	switch ref.Kind {
	case tool.Resource:
		lead = "Read it: "
	case tool.Template:
		lead = "Read one, with the braces filled in: "
	case tool.Prompt:
		verb, lead = "prompt", "Get it, with key=value for each argument: "
	default:
		verb, lead = "inspect", "Read one: "
	}
	return lead, output.Command(fault.Step{Verb: verb, Server: ref.Server, Tool: ref.Name})
}
