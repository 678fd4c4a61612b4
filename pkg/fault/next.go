package fault

import (
	"slices"
	"strings"
)

// Next is one thing that a reader can do now: a step, a variable to set or, if both are nil, what Why says in a whole
// sentence. It holds no words of a face: the command line writes a step as "mcpl enable github", a model gets a tool, a
// page shows a button.
type Next struct {
	// Why leads in, without a colon: "See all servers with", "Add to".
	Why  string `json:"why,omitempty"`
	Step *Step  `json:"step,omitempty"`
	Set  *Set   `json:"set,omitempty"`
}

// Step is a verb of mcpl and its arguments.
type Step struct {
	// Verb is a verb as the command line has it: "list", "auth login".
	Verb string `json:"verb"`
	// Server and Tool may be empty. Tool also holds the name of a prompt or the URI of a resource.
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Args are further arguments and flags, one word each. A word in capitals stands for what the reader fills in.
	Args []string `json:"args,omitempty"`
}

// Set is a variable that needs a value.
type Set struct {
	Variable string `json:"variable"`
	// File is the environment file to put it into. If empty, it belongs into the process environment.
	File string `json:"file,omitempty"`
}

// Then appends a step to what can be done now. It returns f.
func (f *Fault) Then(why string, s Step) *Fault {
	f.Next = append(f.Next, Next{Why: why, Step: &s})
	return f
}

// ThenSet appends a variable that needs a value. It returns f.
func (f *Fault) ThenSet(why string, s Set) *Fault {
	f.Next = append(f.Next, Next{Why: why, Set: &s})
	return f
}

// Words returns the step as words of a command line, not yet quoted for a shell. A name that begins with - stands
// behind --, since it would be a flag otherwise. The step's own flags then stand before that.
func (s Step) Words() []string {
	words, names := strings.Fields(s.Verb), []string{}
	for _, word := range []string{s.Server, s.Tool} {
		if word != "" {
			names = append(names, word)
		}
	}
	if !slices.ContainsFunc(names, isFlag) {
		return slices.Concat(words, names, s.Args)
	}
	if len(s.Args) > 0 && isFlag(s.Args[0]) {
		return slices.Concat(words, s.Args, []string{"--"}, names)
	}
	return slices.Concat(words, []string{"--"}, names, s.Args)
}

// isFlag reports whether a command line takes a word for a flag.
func isFlag(word string) bool { return strings.HasPrefix(word, "-") }
