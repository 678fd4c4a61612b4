package output

import (
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// InWords returns f as the command line shows it: what can be done next stands in its help, as commands to type. Every
// answer that holds a fault passes it through here. nil stays nil.
func InWords(f *fault.Fault) *fault.Fault {
	if f == nil {
		return nil
	}
	return f.InWords(nextInWords)
}

func nextInWords(n fault.Next) string {
	why := ""
	if n.Why != "" {
		why = n.Why + ": "
	}
	switch {
	case n.Step != nil:
		return why + Command(*n.Step)
	case n.Set != nil && n.Set.File != "":
		return fmt.Sprintf("%s%s=... in %s", why, n.Set.Variable, n.Set.File)
	case n.Set != nil:
		return why + n.Set.Variable + "=..."
	}
	return n.Why
}

// Command returns a step as a command to type, quoted for a POSIX shell.
func Command(s fault.Step) string {
	words := append([]string{"mcpl"}, s.Words()...)
	for i, word := range words {
		words[i] = fault.Quote(word)
	}
	return strings.Join(words, " ")
}
