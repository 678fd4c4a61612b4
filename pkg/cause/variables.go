package cause

import (
	"slices"
	"strings"
)

// missingVariables returns the variables without a value that lines complain about. What follows a usage text, which
// names them all, does not count.
func missingVariables(lines []line, hasValue func(string) bool) (c Cause, found bool) {
	if i := slices.IndexFunc(lines, func(l line) bool { return isUsage(l.low) }); i > 0 {
		lines = lines[:i]
	}
	for i, l := range lines {
		l, names := listed(l, lines[i+1:])
		if names == nil {
			if !complains(l.low) && !aboutVariables(l.low) {
				continue
			}
			names = variables(l.text)
		}
		if len(names) == 0 && strings.Contains(l.low, "provided") && i+1 < len(lines) {
			names = variables(lines[i+1].text) // "No access token was provided." "... pass X"
		}
		for _, name := range names {
			if slices.Contains(c.Names, name) || hasValue != nil && hasValue(name) {
				continue
			}
			if c.Names = append(c.Names, name); c.Line == "" {
				c.Line = cut(l.text)
			}
		}
	}
	c.Kind = Variable
	return c, len(c.Names) > 0
}

// listed returns the line of a variable that stands alone together with the next one, if that says what is wrong with
// it, as validators of settings (Zod, pydantic) write over several lines, and the variable.
func listed(l line, next []line) (whole line, names []string) {
	if len(next) == 0 {
		return l, nil
	}
	name := strings.Trim(l.text, `"',:[]`)
	switch {
	case slices.Equal(variables(name), []string{name}) &&
		containsAny(next[0].low, "required", "undefined", "missing", "invalid"):
		names = []string{name}
		l.text = name + ": " + next[0].text
	case isField(name) && strings.HasPrefix(next[0].low, "field required"):
		names = []string{strings.ToUpper(name)}
		l.text = name + " (as a variable mostly " + names[0] + "): " + next[0].text
	default:
		return l, nil
	}
	return line{text: l.text, low: strings.ToLower(l.text)}, names
}

// isField reports whether a word is the name of a field of pydantic's settings. They are read from variables of that
// name in any case, with a prefix that the message does not name.
func isField(word string) bool {
	return word != "" && !loadsCode(strings.ToUpper(word)) && word[0] >= 'a' && word[0] <= 'z' &&
		strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// aboutVariables reports whether a line, in small letters, is about the environment.
func aboutVariables(low string) bool {
	return containsAny(low, "environment variable", "env variable", "env var", "in environment", "in the environment",
		"not set", "must be set", "must set", "please set", "keyerror", "zoderror")
}

// variables returns the words of a text that look like environment variables: in capitals, with an underscore.
func variables(text string) (names []string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	}) {
		if isVariable(word) {
			names = append(names, word)
		}
	}
	return names
}

func isVariable(word string) bool {
	return len(word) >= 4 && strings.Contains(strings.Trim(word, "_"), "_") && word == strings.ToUpper(word) &&
		(word[0] >= 'A' && word[0] <= 'Z') && !strings.HasPrefix(word, "ERR_") && !loadsCode(word)
}

// loadsCode reports whether a variable makes a process load or run code, or trust others. mcpl does not tell people to
// set it because a server says so.
func loadsCode(name string) bool {
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") ||
		slices.Contains([]string{"PATH", "NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS",
			"NODE_TLS_REJECT_UNAUTHORIZED", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "BASH_ENV", "PROMPT_COMMAND",
			"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "GIT_SSH_COMMAND", "GIT_EXEC_PATH"}, name)
}

// complains reports whether a line, in small letters, says that something is missing.
func complains(low string) bool {
	return containsAny(low, "is required", "are required", "required:", "required.", "please provide", "missing",
		"undefined", "not defined", "not provided", "no value", "must provide", "must be provided") ||
		strings.Contains(low, "no ") && strings.Contains(low, "provided")
}

func containsAny(s string, subs ...string) bool {
	return slices.ContainsFunc(subs, func(sub string) bool { return strings.Contains(s, sub) })
}
