package schema

import (
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Limits of the arguments in a suggested command, in bytes.
const (
	maxExample = 1500 // all of them
	maxString  = 200  // one string
)

// Fault makes of the faults that [Validate] found in args the one fault a user sees: the
// faults, the tool's signature, and a command to type that keeps the good arguments, mends
// those that can be mended, and completes the rest.
func Fault(server, name string, inputSchema, args []byte, faults []fault.Argument) *fault.Fault {
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
		help.WriteString("The tool takes no parameters.\n")
	}
	help.WriteString("Try: " + Command(server, name, corrected(inputSchema, args)))
	if unknownOnly(faults) {
		help.WriteString("\nTo send unknown keys all the same, add --no-validate.")
	}
	f := fault.New(fault.InvalidArguments, what+server+"/"+name, help.String())
	f.Arguments = faults
	return f.On(server, name)
}

func unknownOnly(faults []fault.Argument) bool {
	for _, f := range faults {
		if f.Problem != unknownKey {
			return false
		}
	}
	return len(faults) > 0
}

// Command returns the command line that calls a tool with args, quoted for sh.
func Command(server, name string, args []byte) string {
	return "mcpl call " + fault.Quote(server) + " " + fault.Quote(name) + " " + fault.Quote(string(args))
}
