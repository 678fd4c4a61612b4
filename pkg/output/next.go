package output

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// InWords returns f as the command line shows it: its help says what can be done next, as commands to type, and Next is
// nil. Every answer that holds a fault passes it through here. A fault without Next, or nil, stays as it is.
func InWords(f *fault.Fault) *fault.Fault {
	if f == nil || len(f.Next) == 0 {
		return f
	}
	said := *f
	said.Next = nil
	if said.Help != "" && !strings.HasSuffix(said.Help, " ") && !strings.HasSuffix(said.Help, "\n") {
		said.Help += " "
	}
	said.Help += nextInWords(f.Next)
	return &said
}

// nextInWords writes steps one after the other. Several variables of one file are lines to copy into it.
func nextInWords(next []fault.Next) string {
	text := ""
	for len(next) > 0 {
		said, end, n := oneInWords(next[0]), ". ", 1
		if together := variablesOfOneFile(next); together > 1 {
			said, end, n = variablesInWords(next[:together]), "\n", together
		}
		text += said
		if next = next[n:]; len(next) > 0 {
			text += end
		}
	}
	return text
}

func oneInWords(n fault.Next) string {
	why := n.Why
	if why != "" {
		why += ": "
	}
	switch {
	case n.Step != nil:
		return why + Command(*n.Step)
	case n.Set != nil:
		return why + n.Set.Variable + "=..." + inFile(n.Set)
	}
	return n.Why
}

func inFile(s *fault.Set) string { return prefixed(" in ", s.File) }

// variablesOfOneFile counts the variables that next begins with and that belong into the same file.
func variablesOfOneFile(next []fault.Next) int {
	other := func(n fault.Next) bool { return n.Set == nil || n.Set.File != next[0].Set.File }
	if i := slices.IndexFunc(next, other); i >= 0 {
		return i
	}
	return len(next)
}

// variablesInWords writes the variables of one file as lines of it. The first of them says why.
func variablesInWords(sets []fault.Next) string {
	text := cmp.Or(sets[0].Why, "Set") + inFile(sets[0].Set) + ":"
	for _, n := range sets {
		text += "\n  " + n.Set.Variable + "=..."
	}
	return text
}

// Command returns a step as a command to type, quoted for a POSIX shell.
func Command(s fault.Step) string {
	words := append([]string{"mcpl"}, s.Words()...)
	for i, word := range words {
		words[i] = fault.Quote(word)
	}
	return strings.Join(words, " ")
}
