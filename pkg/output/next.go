package output

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// InWords returns f as the command line shows it: its help says what can be done next, as commands to type. Every
// answer that holds a fault passes it through here. nil stays nil.
func InWords(f *fault.Fault) *fault.Fault {
	if f == nil {
		return nil
	}
	return f.InWords(nextInWords)
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

// variablesOfOneFile counts the variables that next begins with and that belong into the same file.
func variablesOfOneFile(next []fault.Next) int {
	for i, n := range next {
		if n.Set == nil || n.Set.File != next[0].Set.File {
			return i
		}
	}
	return len(next)
}

// variablesInWords writes the variables of one file as lines of it. The first of them says why.
func variablesInWords(sets []fault.Next) string {
	var b strings.Builder
	b.WriteString(cmp.Or(sets[0].Why, "Set"))
	if file := sets[0].Set.File; file != "" {
		b.WriteString(" in " + file)
	}
	b.WriteByte(':')
	for _, n := range sets {
		b.WriteString("\n  " + n.Set.Variable + "=...")
	}
	return b.String()
}

// Command returns a step as a command to type, quoted for a POSIX shell.
func Command(s fault.Step) string {
	words := append([]string{"mcpl"}, s.Words()...)
	for i, word := range words {
		words[i] = fault.Quote(word)
	}
	return strings.Join(words, " ")
}
