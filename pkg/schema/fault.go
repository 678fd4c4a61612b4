package schema

import (
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Limits of the arguments in a suggested step, in bytes.
const (
	maxExample = 1500 // all of them
	maxString  = 200  // one string
)

// Fault returns the one fault that a user sees of the faults that [Validate] found in args. It names the faults and
// the tool's signature. Its step is the call with arguments that fit: it keeps the good ones, mends those that can be
// mended, and completes the rest.
func Fault(ref tool.Ref, inputSchema, args []byte, faults []fault.Argument) *fault.Fault {
	what := count(len(faults), "argument") + " do not fit "
	if len(faults) == 1 {
		what = "1 argument does not fit "
		if faults[0].Pointer == "" {
			what = "The arguments do not fit "
		}
	}
	var help strings.Builder
	if signature := Signature(Params(inputSchema)); signature != "" {
		help.WriteString("Parameters: " + signature + "\n")
	} else {
		fmt.Fprintf(&help, "The %s takes no parameters.\n", ref.Kind)
	}
	if unknownOnly(faults) && ref.Kind == tool.Tool {
		help.WriteString("To send unknown keys all the same, add --no-validate.\n")
	}
	f := fault.New(fault.InvalidArguments, what+ref.String(), help.String()).
		Then("Try", Step(ref, Corrected(inputSchema, args)))
	f.Arguments = faults
	return f.On(ref.Server, ref.Tool())
}

func unknownOnly(faults []fault.Argument) bool {
	for _, f := range faults {
		if f.Problem != unknownKey {
			return false
		}
	}
	return len(faults) > 0
}

// Step returns the step that calls a tool or gets a prompt with args.
func Step(ref tool.Ref, args []byte) fault.Step {
	step := fault.Step{Verb: "call", Server: ref.Server, Tool: ref.Name, Args: []string{string(args)}}
	if ref.Kind == tool.Prompt {
		step.Verb = "prompt"
	}
	return step
}
