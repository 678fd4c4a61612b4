package verb

import (
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// kindOf returns the kind that --kind asks for.
func kindOf(word string) (tool.Kind, error) {
	switch strings.TrimSuffix(strings.ToLower(word), "s") {
	case "tool":
		return tool.Tool, nil
	case "resource", "template":
		return tool.Resource, nil
	case "prompt":
		return tool.Prompt, nil
	}
	return "", fault.New(fault.Usage, fmt.Sprintf("there is no kind %q", word), "Use --kind tool, resource or prompt.")
}

// kindsOf returns the kinds that --kind asks a search for.
func kindsOf(word string) ([]tool.Kind, error) {
	if strings.ToLower(word) == "all" {
		return allKinds(), nil
	}
	kind, err := kindOf(word)
	if err != nil {
		return nil, fault.New(fault.Usage, fmt.Sprintf("there is no kind %q", word), "Use --kind tool, resource, prompt or all.")
	}
	return []tool.Kind{kind}, nil
}

// allKinds are the kinds that can be searched. Templates are found with resources.
func allKinds() []tool.Kind { return []tool.Kind{tool.Tool, tool.Resource, tool.Prompt} }

// resolve reads what a verb is about from the front of its arguments, as [engine.Engine.Resolve]
// does, for any kind.
func (s *Session) resolve(args []string, kind tool.Kind) (tool.Ref, []string, error) {
	ref, rest, err := s.Engine.Resolve(args)
	if err == nil {
		ref.Kind = kind
		return ref, rest, nil
	}
	if kind == tool.Tool || !fault.Is(err, fault.Usage) {
		return ref, rest, err
	}
	what, list := "SERVER NAME", "mcpl prompts"
	if kind == tool.Resource {
		what, list = "SERVER URI", "mcpl resources"
	}
	if len(args) == 0 {
		return ref, rest, fault.New(fault.Usage, fmt.Sprintf("which %s?", kind), fmt.Sprintf("Name it as %s. See what there is with: %s", what, list))
	}
	return ref, rest, fault.New(fault.Usage, fmt.Sprintf("which %s of %s?", kind, args[0]),
		fmt.Sprintf("See its %ss with: %s %s", kind, list, fault.Quote(args[0]))).On(args[0], "")
}
