// Package cause finds out why a server does not work, in what it wrote before it failed.
//
// Call [Find] with all that is known ([Evidence]): its stderr, the lines on stdout that are not messages, and the
// messages that it sent before the handshake. The [Cause] has a kind, the line that tells most, and what a help text
// has to name: variables, a host, a module. Servers say such things in words for people, so that this is guessing by
// the words of many real servers; testdata has what they wrote. The package knows neither processes nor entries: its
// callers say what to do.
package cause

import (
	"slices"
	"strings"
)

// Kind is the kind of a cause. It is part of mcpl's contract: see "reason" in docs/contracts.md.
type Kind string

// The kinds of causes.
const (
	Variable Kind = "variable" // environment variables have no value; Names has them
	Setup    Kind = "setup"    // it has to be run once by hand; Name is the argument or the command for that
	Module   Kind = "module"   // its installation lacks a module, Name, which may be a script or a whole package
	Runtime  Kind = "runtime"  // it needs a newer version of Name
	Addon    Kind = "addon"    // a native addon was not built for this machine
	Refused  Kind = "refused"  // nothing listens at the address Name, which may be empty
	Host     Kind = "host"     // the host Name, which may be empty, has no address
	Network  Kind = "network"  // another failure on the way to a service; Name is its address, or empty
	HTTP     Kind = "http"     // it serves HTTP instead of MCP over stdio; Name is the URL, or "port N"
	Argument Kind = "argument" // it wants other command-line arguments
	Setting  Kind = "setting"  // a setting is missing or wrong
	Unknown  Kind = "error"    // it reports an error
)

// OfNetwork reports whether the cause is on the way to a service that the server needs.
func (k Kind) OfNetwork() bool { return k == Refused || k == Host || k == Network }

// Cause is why a server does not work.
type Cause struct {
	Kind  Kind
	Line  string   // that tells most, at most 300 bytes, without colours and white space around
	Name  string   // see Kind
	Names []string // see Variable
}

// Evidence is what is known of a server that failed.
type Evidence struct {
	Stderr string
	// Stdout has the lines that were not messages.
	Stdout string
	// Messages has the requests and notifications of the server before the handshake, each on a line.
	Messages string
	// Ended says that the process has ended. A process that runs and does not answer waits for something, mostly.
	Ended bool
	// HasValue reports whether the server's environment has a value for a variable. If nil, none has.
	HasValue func(variable string) bool
}

// maxLine bounds Cause.Line, in bytes.
const maxLine = 300

// Find returns why a server does not work. Its second result is false if nothing tells. A line that calls itself a
// warning counts less than others.
func Find(e Evidence) (Cause, bool) {
	strong, weak := e.lines()
	if !e.Ended {
		if c, ok := servesHTTP(slices.Concat(strong, weak)); ok { // mostly said as mere information
			return c, true
		}
	}
	sure, vague := finders(e)
	for _, try := range []struct {
		lines   []line
		finders []finder
	}{{strong, sure}, {weak, sure}, {strong, vague}} {
		for _, find := range try.finders {
			if c, ok := find(try.lines); ok {
				return c, true
			}
		}
	}
	return Cause{}, false
}

// Variables returns the environment variables without a value that a text complains about, be it a warning.
func Variables(text string, hasValue func(variable string) bool) []string {
	strong, weak := Evidence{Stderr: text}.lines()
	c, _ := missingVariables(append(strong, weak...), hasValue)
	return c.Names
}

// finder looks for one kind of cause.
type finder func(lines []line) (Cause, bool)

// finders returns what to look for, the surest first; vague is for what a warning says of things that work. A process
// that runs and does not answer mostly waits for a service, and lines about other things are not why.
func finders(e Evidence) (sure, vague []finder) {
	network := []finder{in(Refused, refused), in(Host, unknownHost), in(Network, otherNetwork)}
	variable := func(lines []line) (Cause, bool) { return missingVariables(lines, e.HasValue) }
	if !e.Ended {
		return network, []finder{variable}
	}
	sure = []finder{in(Module, missingModule), in(Addon, brokenAddon),
		in(Runtime, oldRuntime), variable, in(Setup, wantsSetup),
		in(Argument, wrongArgument)}
	return append(sure, network...), []finder{in(Setting, wrongSetting), in(Argument, usage), in(Unknown, reportsError)}
}

// in returns the finder of a kind that looks at each line by itself. The first line with a name says more than those
// before it.
func in(kind Kind, find func(text, low string) (name string, found bool)) finder {
	return func(lines []line) (c Cause, found bool) {
		for _, l := range lines {
			name, ok := find(l.text, l.low)
			if ok && (!found || name != "") {
				c, found = Cause{Kind: kind, Line: cut(l.text), Name: name}, true
			}
			if c.Name != "" {
				break
			}
		}
		return c, found
	}
}

// cut returns the start of a line.
func cut(text string) string {
	if len(text) <= maxLine {
		return text
	}
	return strings.ToValidUTF8(text[:maxLine-len("…")], "") + "…"
}
