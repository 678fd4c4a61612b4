package verb

import (
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

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

// kindsOf returns the kinds that --kind asks a search for.
func kindsOf(word string) ([]tool.Kind, error) {
	if strings.ToLower(word) == "all" {
		return allKinds(), nil
	}
	kind, err := kindOf(word, "tool, resource, prompt or all")
	return []tool.Kind{kind}, err
}

// allKinds returns the kinds that can be searched. Templates are found with resources.
func allKinds() []tool.Kind { return []tool.Kind{tool.Tool, tool.Resource, tool.Prompt} }

// resolve reads a reference of any kind from the front of args, as engine.Engine.Resolve does for tools.
func (s *Session) resolve(args []string, kind tool.Kind) (tool.Ref, []string, error) {
	ref, rest, err := s.Engine.Resolve(args)
	if err == nil {
		ref.Kind = kind
		return ref, rest, nil
	}
	if kind == tool.Tool || !fault.Is(err, fault.Usage) {
		return ref, rest, err
	}
	what, list := "SERVER NAME", fault.Step{Verb: "prompts"}
	if kind == tool.Resource {
		what, list = "SERVER URI", fault.Step{Verb: "resources"}
	}
	if len(args) == 0 {
		return ref, rest, fault.New(fault.Usage, fmt.Sprintf("which %s?", kind), "Name it as "+what+".").
			Then("See what there is with", list)
	}
	list.Server = args[0]
	return ref, rest, fault.New(fault.Usage, fmt.Sprintf("which %s of %s?", kind, args[0]), "").On(args[0], "").
		Then(fmt.Sprintf("See its %ss with", kind), list)
}
