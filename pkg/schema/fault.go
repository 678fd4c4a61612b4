package schema

import (
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Limits of the arguments in a suggested command, in bytes.
const (
	maxExample = 1500 // all of them
	maxString  = 200  // one string
)

// Fault makes of the faults that [Validate] found in args the one fault a user sees: the
// faults, the tool's signature, and a command to type that keeps the good arguments, mends
// those that can be mended, and completes the rest.
func Fault(ref tool.Ref, inputSchema, args []byte, faults []fault.Argument) *fault.Fault {
	what := count(len(faults), "argument") + " do not fit "
	if len(faults) == 1 {
		what = "1 argument does not fit "
		if faults[0].Pointer == "" {
			what = "The arguments do not fit "
		}
	}
	var help strings.Builder
	if signature := Signature(inputSchema); signature != "" {
		help.WriteString("Parameters: " + signature + "\n")
	} else {
		fmt.Fprintf(&help, "The %s takes no parameters.\n", ref.Kind)
	}
	help.WriteString("Try: " + Command(ref, corrected(inputSchema, args)))
	if unknownOnly(faults) && ref.Kind == tool.Tool {
		help.WriteString("\nTo send unknown keys all the same, add --no-validate.")
	}
	f := fault.New(fault.InvalidArguments, what+ref.String(), help.String())
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

// Command returns the command line that calls a tool or gets a prompt with args, quoted for sh.
func Command(ref tool.Ref, args []byte) string {
	verb := "call"
	if ref.Kind == tool.Prompt {
		verb = "prompt"
	}
	return "mcpl " + verb + " " + fault.Quote(ref.Server) + " " + fault.Quote(ref.Name) + " " + fault.Quote(string(args))
}
