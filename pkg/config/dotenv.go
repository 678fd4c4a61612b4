package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joho/godotenv"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
)

// variables looks up ${NAME}: first in the process environment, then in the environment files, of which the first
// that defines the name wins.
type variables struct {
	lookup func(string) (string, bool)
	files  []envFile
	skips  []string // the paths of files that do not count now
}

// envFile is a parsed environment file.
type envFile struct {
	path   string
	values map[string]value
}

// value is the value of a variable and its origin.
type value struct {
	text   string
	from   string   // as in [Variable.From]
	refers []string // the variables that an environment file's value refers to itself
}

func (v *variables) find(name string) (value, bool) {
	if text, ok := v.lookup(name); ok {
		return value{text: text, from: "process environment"}, true
	}
	for _, f := range v.files {
		if val, ok := f.values[name]; ok && !slices.Contains(v.skips, f.path) {
			return val, true
		}
	}
	return value{}, false
}

func (v *variables) text(name string) (string, bool) {
	val, ok := v.find(name)
	return val.text, ok
}

// read adds an environment file. It returns what is wrong with the file; the sound lines count.
func (v *variables) read(path string) []Problem {
	data, err := readNamed(path)
	if err != nil {
		return []Problem{{Severity: Error, File: path,
			Message: "the environment file cannot be read: " + atomicfile.Reason(err),
			Fix:     orForPipe(err, "Make it a readable text file with lines of the form NAME=value.")}}
	}
	f, problems := v.parse(path, string(data))
	v.files = append(v.files, f)
	return problems
}

// Two noncharacters of Unicode, which no text holds, stand for $ while godotenv parses. The library would take $NAME
// out of every value, which ruins passwords, and knows neither the process environment nor defaults.
const (
	dollar        = "\ufdd0"
	escapedDollar = "\ufdd1" // for a $ behind a backslash, which does not begin a reference
)

// parse reads NAME=value lines as godotenv does: export, comments, 'quotes' (taken as they are) and "quotes" (with \n
// and \"), both over several lines. It fills in ${NAME} and ${NAME:-default} outside of single quotes, and leaves
// $NAME alone. The problems name the first wrong statement by its line and never quote the file.
func (v *variables) parse(path, text string) (envFile, []Problem) {
	f := envFile{path: path, values: map[string]value{}}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var wrong, unset []int // lines
	for at := skipBlank(text, 0); at < len(text); at = skipBlank(text, at) {
		line := 1 + strings.Count(text[:at], "\n")
		size, verbatim, sound := scanStatement(text[at:])
		name, val := "", ""
		if sound {
			name, val = parseStatement(text[at:at+size], verbatim)
		}
		at += size
		if name == "" {
			wrong = append(wrong, line)
			continue
		}
		if verbatim {
			f.values[name] = value{text: val, from: path}
		} else if !f.fill(name, val, v) {
			unset = append(unset, line)
		}
	}
	return f, slices.Concat(
		lineProblem(path, wrong, "is not NAME=value",
			"Write NAME=value, with the value in double quotes if it has spaces or several lines, and close every quote."),
		lineProblem(path, unset, "refers to a variable that has no value and is left out",
			"Define that variable above the line, give it a default as in ${NAME:-default}, or put the value in single "+
				"quotes to keep it as it is."))
}

// fill defines name by a value that may refer to variables of outer, which win, and to those defined above it. It
// reports whether all of them have a value.
func (f envFile) fill(name, val string, outer *variables) bool {
	x := expand(val, func(name string) (string, bool) {
		if text, ok := outer.text(name); ok {
			return text, true
		}
		above, ok := f.values[name]
		return above.text, ok
	})
	if len(x.missing) > 0 {
		return false
	}
	f.values[name] = value{strings.ReplaceAll(x.text, escapedDollar, "$"), f.path, f.refers(x.names)}
	return true
}

// refers returns names, and the names that the file's own values of these names refer to.
func (f envFile) refers(names []string) []string {
	all := slices.Clone(names)
	for _, name := range names {
		all = append(all, f.values[name].refers...)
	}
	return all
}

// lineProblem returns one problem for all lines of a file with the same fault.
func lineProblem(path string, lines []int, message, fix string) []Problem {
	if len(lines) == 0 {
		return nil
	}
	message = fmt.Sprintf("line %d %s", lines[0], message)
	if len(lines) > 1 {
		message += fmt.Sprintf(" (and %d more)", len(lines)-1)
	}
	return []Problem{{Severity: Warning, File: path, Line: lines[0], Message: message, Fix: fix}}
}

// scanStatement finds the end of the statement that text begins with: the end of its line, or the quote that closes
// its value, by the rules of godotenv. verbatim says that the value is in single quotes, sound that there is a name and
// that the quotes are closed. A statement that is not sound ends with its line.
func scanStatement(text string) (size int, verbatim, sound bool) {
	line, _, _ := strings.Cut(text, "\n")
	sep := strings.IndexAny(line, "=:")
	if sep < 1 {
		return len(line), false, false
	}
	value := strings.TrimLeft(line[sep+1:], " \t\v\f")
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return len(line), false, true
	}
	for i := len(line) - len(value) + 1; i < len(text); i++ {
		if text[i] == value[0] && text[i-1] != '\\' {
			return i + 1, value[0] == '\'', true
		}
	}
	return len(line), false, false
}

// parseStatement returns the name and value of a statement. The name is empty if it is not one. Unless the value is
// verbatim, it still holds the placeholders.
func parseStatement(text string, verbatim bool) (name, val string) {
	if !verbatim {
		text = strings.ReplaceAll(text, `\$`, escapedDollar)
	}
	// The library's errors quote the text, so parseStatement keeps only that there was one.
	values, err := godotenv.Unmarshal(strings.ReplaceAll(text, "$", dollar))
	if err != nil || len(values) != 1 {
		return "", ""
	}
	for name, val = range values {
		val = strings.ReplaceAll(val, dollar, "$")
	}
	return name, val
}

// skipBlank returns where the next statement begins: after white space and comment lines.
func skipBlank(text string, at int) int {
	for {
		rest := strings.TrimLeft(text[at:], " \t\v\f\n")
		at = len(text) - len(rest)
		if !strings.HasPrefix(rest, "#") {
			return at
		}
		comment, _, _ := strings.Cut(rest, "\n")
		at += len(comment)
	}
}
