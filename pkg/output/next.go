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

// nextInWords writes steps one after the other. Variables are lines to copy into their file.
func nextInWords(next []fault.Next) string {
	text := ""
	for len(next) > 0 {
		said, end, n := next[0].Why, ". ", 1
		switch {
		case next[0].Set != nil:
			n = variablesOfOneFile(next)
			said, end = variablesInWords(next[:n]), "\n"
		case next[0].Step != nil && said != "":
			said += ": " + Command(*next[0].Step)
		case next[0].Step != nil:
			said = Command(*next[0].Step)
		}
		text += said
		if next = next[n:]; len(next) > 0 {
			text += end
		}
	}
	return text
}

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
	text := cmp.Or(sets[0].Why, "Set") + Prefixed(" ", sets[0].Set.File) + ":"
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
