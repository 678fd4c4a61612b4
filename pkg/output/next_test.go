package output

import (
	"testing"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

func TestInWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault *fault.Fault
		want  string
	}{
		"help alone": {fault.New(fault.Config, "m", "Correct it."), "Correct it."},
		"a step alone": {
			fault.New(fault.ServerNotFound, "m", "").Then("Switch it on with", fault.Step{Verb: "enable", Server: "my server"}),
			"Switch it on with: mcpl enable 'my server'",
		},
		"help and steps": {
			fault.New(fault.ToolNotFound, "m", "Did you mean a?").
				Then("See its tools with", fault.Step{Verb: "list", Server: "s"}).
				Then("Ask it again with", fault.Step{Verb: "list", Server: "s", Args: []string{"--refresh"}}),
			"Did you mean a? See its tools with: mcpl list s. Ask it again with: mcpl list s --refresh",
		},
		"a verb of two words, and a tool": {
			fault.New(fault.AuthRequired, "m", "A\n").Then("", fault.Step{Verb: "auth login", Server: "s", Tool: "t"}),
			"A\nmcpl auth login s t",
		},
		"F19: a tool that looks like a flag": {
			fault.New(fault.ToolNotFound, "m", "").Then("Try", fault.Step{Verb: "call", Server: "s", Tool: "-rf", Args: []string{"{}"}}).
				Then("Or", fault.Step{Verb: "call", Server: "s", Tool: "--json", Args: []string{"--no-daemon"}}).
				Then("See", fault.Step{Verb: "list", Server: "-s"}),
			"Try: mcpl call -- s -rf '{}'. Or: mcpl call --no-daemon -- s --json. See: mcpl list -- -s",
		},
		"a variable": {
			fault.New(fault.MissingVariable, "m", "").ThenSet("Add to", fault.Set{Variable: "TOKEN", File: "/x/.env"}),
			"Add to /x/.env:\n  TOKEN=...",
		},
		"a variable of the environment": {
			fault.New(fault.MissingVariable, "m", "").ThenSet("", fault.Set{Variable: "TOKEN"}), "Set:\n  TOKEN=...",
		},
		"variables of one file, and a step": {
			fault.New(fault.MissingVariable, "m", "Get A at https://a.example\n").
				ThenSet("Add to", fault.Set{Variable: "A", File: "/x/.env"}).
				ThenSet("Add to", fault.Set{Variable: "B", File: "/x/.env"}).
				Then("Then see its tools with", fault.Step{Verb: "list", Server: "s"}),
			"Get A at https://a.example\nAdd to /x/.env:\n  A=...\n  B=...\nThen see its tools with: mcpl list s",
		},
		"variables of two files": {
			fault.New(fault.MissingVariable, "m", "").
				ThenSet("Add to", fault.Set{Variable: "A", File: "/x/.env"}).ThenSet("Add to", fault.Set{Variable: "B", File: "/y/.env"}),
			"Add to /x/.env:\n  A=...\nAdd to /y/.env:\n  B=...",
		},
		"variables of the environment": {
			fault.New(fault.MissingVariable, "m", "").
				ThenSet("Set", fault.Set{Variable: "A"}).ThenSet("Set", fault.Set{Variable: "B"}),
			"Set:\n  A=...\n  B=...",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := len(c.fault.Next)
			if got := InWords(c.fault); got.Help != c.want || got.Next != nil {
				t.Errorf("got  %q, %v\nwant %q", got.Help, got.Next, c.want)
			}
			if len(c.fault.Next) != before {
				t.Error("the fault itself was changed")
			}
		})
	}
	if InWords(nil) != nil {
		t.Error("nil became a fault")
	}
}
