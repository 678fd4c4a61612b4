package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joho/godotenv"
)

// variables looks up ${NAME}: first in the process environment, then in the environment files, of which the first
// that defines the name wins.
type variables struct {
	lookup func(string) (string, bool)
	files  []envFile
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
		if val, ok := f.values[name]; ok {
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
	data, err := readText(path)
	if err != nil {
		return []Problem{{Severity: Error, File: path, Message: "the environment file cannot be read: " + reason(err),
			Fix: "Make it a readable text file with lines of the form NAME=value."}}
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
	for at := 0; ; {
		at = skipBlank(text, at)
		if at == len(text) {
			break
		}
		line := 1 + strings.Count(text[:at], "\n")
		s := scanStatement(text[at:])
		name, val, ok := s.parse(text[at : at+s.size])
		at += s.size
		if !ok {
			wrong = append(wrong, line)
			continue
		}
		if s.verbatim {
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

// statement is the extent of one statement of an environment file.
type statement struct {
	size     int
	sound    bool // it has a name, and its quotes are closed
	verbatim bool // its value is in single quotes
}

// scanStatement finds the end of the statement that text begins with: the end of its line, or the quote that closes
// its value, by the rules of godotenv. A statement that is not sound ends with its line.
func scanStatement(text string) statement {
	line, _, _ := strings.Cut(text, "\n")
	bad := statement{size: len(line)}
	sep := strings.IndexAny(line, "=:")
	if sep < 1 {
		return bad
	}
	start := sep + 1
	for start < len(line) && strings.IndexByte(" \t\v\f", line[start]) >= 0 {
		start++
	}
	if start == len(line) || line[start] != '"' && line[start] != '\'' {
		return statement{size: len(line), sound: true}
	}
	quote := line[start]
	for i := start + 1; i < len(text); i++ {
		if text[i] == quote && text[i-1] != '\\' {
			return statement{size: i + 1, sound: true, verbatim: quote == '\''}
		}
	}
	return bad
}

// parse returns the name and value of a statement. Unless the value is verbatim, it still holds the placeholders.
func (s statement) parse(text string) (name, val string, ok bool) {
	if !s.sound {
		return "", "", false
	}
	if !s.verbatim {
		text = strings.ReplaceAll(text, `\$`, escapedDollar)
	}
	// The library's errors quote the text, so parse keeps only that there was one.
	values, err := godotenv.Unmarshal(strings.ReplaceAll(text, "$", dollar))
	if err != nil || len(values) != 1 {
		return "", "", false
	}
	for name, val = range values {
		val = strings.ReplaceAll(val, dollar, "$")
	}
	return name, val, name != ""
}

// skipBlank returns where the next statement begins: after white space and comment lines.
func skipBlank(text string, at int) int {
	for at < len(text) {
		switch text[at] {
		case ' ', '\t', '\v', '\f', '\n':
			at++
		case '#':
			end := strings.IndexByte(text[at:], '\n')
			if end < 0 {
				return len(text)
			}
			at += end
		default:
			return at
		}
	}
	return at
}
