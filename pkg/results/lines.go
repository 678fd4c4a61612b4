package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Text returns a JSON value as the text whose lines a reader counts: a string as it is, an object whose only member is
// a string as that string, all else indented.
func Text(value json.RawMessage) string {
	if fields, err := tool.SplitObject(value); err == nil && len(fields) == 1 && isString(fields[0].Value) {
		value = fields[0].Value
	}
	if isString(value) {
		return tool.Text(value)
	}
	return strings.TrimSuffix(Indented(value, ""), "\n")
}

func isString(value json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(value), []byte(`"`))
}

// Lines returns the lines of a text, without their ends.
func Lines(text string) []string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// First returns the first lines of a text, at most so many and of at most so many bytes together. A longer first line
// is cut.
func First(text string, lines, size int) string {
	var b strings.Builder
	for i, line := range Lines(text) {
		if i == lines || i > 0 && b.Len()+1+len(line) > size {
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(fault.Cut(line, size))
	}
	return b.String()
}

// Selection selects lines of a text. Its zero value selects all.
type Selection struct {
	from, to int // counted from 1; zero: the beginning and the end; negative: from the end
	grep     *regexp.Regexp
}

// All reports whether the selection selects all lines.
func (s Selection) All() bool { return s == Selection{} }

// ParseSelection reads what a reader types: a range of lines, such as "10:20", "10:", ":20", "-5:" (the last five) or
// "7", and a pattern (RE2) that each line must match. Either may be empty.
func ParseSelection(lines, pattern string) (sel Selection, err error) {
	if lines != "" {
		if sel.from, sel.to, err = lineRange(lines); err != nil {
			return sel, fmt.Errorf("%q is not a range of lines: %w", lines, err)
		}
	}
	if pattern != "" {
		if sel.grep, err = regexp.Compile(pattern); err != nil {
			return sel, fmt.Errorf("%q is not a pattern: %w", pattern, err)
		}
	}
	return sel, nil
}

func lineRange(text string) (from, to int, err error) {
	first, last, isRange := strings.Cut(text, ":")
	number := func(s string) int {
		if s == "" && isRange {
			return 0
		}
		n, wrong := strconv.Atoi(strings.TrimSpace(s))
		if wrong != nil || n == 0 {
			err = errors.New("a line is a number, but not 0")
		}
		return n
	}
	from = number(first)
	if to = from; isRange {
		to = number(last)
	}
	if from > to && to != 0 && from > 0 == (to > 0) { // of one from the start and one from the end the text decides
		err = errors.New("it ends before it begins")
	}
	return from, to, err
}

// Behind reports whether the selection begins behind the end of a text, and how many lines that has.
func (s Selection) Behind(text string) (lines int, behind bool) {
	lines = len(Lines(text))
	return lines, s.from > max(lines, 1)
}

// Apply returns the lines of a text that are selected. If a pattern selects them, each has its number in front.
func (s Selection) Apply(text string) string {
	lines := Lines(text)
	place := func(n, otherwise int) int {
		switch {
		case n == 0:
			return otherwise
		case n < 0:
			n += len(lines) + 1
		}
		return min(max(n, 1), len(lines)+1)
	}
	from, to := place(s.from, 1), min(place(s.to, len(lines)), len(lines))
	var out []string
	for i := from; i <= to; i++ {
		line := lines[i-1]
		switch {
		case s.grep == nil:
			out = append(out, line)
		case s.grep.MatchString(line):
			out = append(out, fmt.Sprintf("%d:%s", i, line))
		}
	}
	return strings.Join(out, "\n")
}
