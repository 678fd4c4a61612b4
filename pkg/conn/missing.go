package conn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
)

// missing returns what to do if stderr says that something is missing, such as an environment variable, else "".
func (p *process) missing(stderr string) string {
	names := slices.DeleteFunc(variablesNamed(stderr), func(name string) bool {
		return slices.ContainsFunc(p.environ, func(kv string) bool {
			value, ok := strings.CutPrefix(kv, name+"=")
			return ok && value != ""
		})
	})
	if len(names) == 0 {
		if !asksForArgument(stderr) {
			return ""
		}
		return fmt.Sprintf("%s wants a command-line argument, see stderr above. "+
			"Add it to \"args\" of its entry in %s, line %d.", p.server.Name, p.server.File, p.server.Line)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s not set for %s. ", isOrAre(names), p.server.Name)
	fmt.Fprintf(&b, "Put %s=... into %s and ", strings.Join(names, "=... and "), p.envFile)
	var entries []string
	for _, n := range names {
		entries = append(entries, fmt.Sprintf("%q: \"${%s}\"", n, n))
	}
	fmt.Fprintf(&b, "\"env\": {%s} into the entry of %s in %s.", strings.Join(entries, ", "), p.server.Name, p.server.File)
	for _, n := range names {
		if where := config.WhereToGet(n); where != "" {
			fmt.Fprintf(&b, " Get %s at %s.", n, where)
		}
	}
	return b.String()
}

func isOrAre(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}

// variablesNamed returns the environment variables that a server's stderr complains about: words in capitals with
// an underscore, in a line that says that something is missing.
func variablesNamed(stderr string) []string {
	var names []string
	for line := range strings.Lines(stderr) {
		low := strings.ToLower(line)
		if !complains(low) && !containsAny(low, "environment variable", "env variable", "env var", "in environment",
			"in the environment", "not set", "must be set", "must set", "please set", "keyerror") {
			continue
		}
		for _, word := range strings.FieldsFunc(line, func(r rune) bool {
			return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && (r < 'a' || r > 'z')
		}) {
			if isVariable(word) && !slices.Contains(names, word) {
				names = append(names, word)
			}
		}
	}
	return names
}

// asksForArgument reports whether stderr complains about a missing argument of the command.
func asksForArgument(stderr string) bool {
	for line := range strings.Lines(stderr) {
		if low := strings.ToLower(line); strings.Contains(low, "argument") && complains(low) {
			return true
		}
	}
	return false
}

// complains reports whether a line, in small letters, says that something is missing.
func complains(line string) bool {
	return containsAny(line, "is required", "are required", "required:", "required.", "please provide", "missing",
		"undefined", "not defined", "not provided", "no value", "must provide", "must be provided")
}

func isVariable(word string) bool {
	return len(word) >= 4 && strings.Contains(strings.Trim(word, "_"), "_") && word == strings.ToUpper(word) &&
		(word[0] >= 'A' && word[0] <= 'Z') && !strings.HasPrefix(word, "ERR_")
}

func containsAny(s string, subs ...string) bool {
	return slices.ContainsFunc(subs, func(sub string) bool { return strings.Contains(s, sub) })
}
