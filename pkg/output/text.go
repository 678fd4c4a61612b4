package output

import (
	"bytes"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/mcp-launchpad/mcpl/pkg/hidden"
)

// Text collects the text form of an answer. It makes strings harmless: control characters other than newline and tab,
// and invisible characters, appear as visible symbols (see [hidden.Show]). Colour comes only from the style functions
// of this package.
type Text struct {
	buf bytes.Buffer
	tty Terminal
}

// defaultWidth is the line width without a terminal.
const defaultWidth = 100

func newText(tty Terminal) *Text { return &Text{tty: tty} }

// Span is a piece of text with a style.
type Span struct {
	text, code string
}

// Bold marks what the eye should find first.
func Bold(s string) Span { return Span{s, "1"} }

// Dim marks what the eye may skip.
func Dim(s string) Span { return Span{s, "2"} }

// Red marks what went wrong.
func Red(s string) Span { return Span{s, "31"} }

// Green marks what went well and what to do.
func Green(s string) Span { return Span{s, "32"} }

// Yellow marks what deserves a look.
func Yellow(s string) Span { return Span{s, "33"} }

// Cyan marks commands and names to type.
func Cyan(s string) Span { return Span{s, "36"} }

// Width returns the columns to fill: the terminal's, between 40 and 120, or 100 without one.
func (t *Text) Width() int {
	if !t.tty.Is || t.tty.Width == 0 {
		return defaultWidth
	}
	return min(max(t.tty.Width, 40), 120)
}

// Print writes strings and [Span]s.
func (t *Text) Print(parts ...any) {
	for _, part := range parts {
		s := spanOf(part)
		if text := hidden.Show(s.text); t.tty.Color && text != "" && s.code != "" {
			t.buf.WriteString("\x1b[" + s.code + "m" + text + "\x1b[0m")
		} else {
			t.buf.WriteString(text)
		}
	}
}

// spanOf returns a part of a text, a string or a [Span], as a Span.
func spanOf(part any) Span {
	if s, ok := part.(Span); ok {
		return s
	}
	return Span{text: part.(string)}
}

// Verbatim writes a text as it is. Without a terminal it writes byte for byte, for a file; on a terminal it writes as
// Print does, with a newline at the end.
func (t *Text) Verbatim(s string) {
	if !t.tty.Is {
		t.buf.WriteString(s)
		return
	}
	t.Print(s)
	if !strings.HasSuffix(s, "\n") {
		t.buf.WriteByte('\n')
	}
}

// Line writes its parts and a newline.
func (t *Text) Line(parts ...any) {
	t.Print(parts...)
	t.buf.WriteByte('\n')
}

// Diff writes a line each behind indent: red if it begins with "-", green if it begins with "+", else dim.
func (t *Text) Diff(indent string, lines []string) {
	for _, line := range lines {
		style := Dim
		switch {
		case strings.HasPrefix(line, "-"):
			style = Red
		case strings.HasPrefix(line, "+"):
			style = Green
		}
		t.Line(indent, style(line))
	}
}

// Wrap writes text in lines that fit the width, each behind indent. It keeps line breaks and folds longer white space.
func (t *Text) Wrap(indent, text string) {
	for _, par := range strings.Split(hidden.Show(strings.TrimSpace(text)), "\n") {
		for _, line := range wrap(par, t.Width()-columns(indent)) {
			t.Line(strings.TrimRight(indent+line, " "))
		}
	}
}

// wrap splits a text into lines of at most room columns, at least 20. A longer word gets a line of its own.
func wrap(text string, room int) []string {
	room = max(room, 20)
	var lines []string
	line, used := "", 0
	for _, word := range strings.Fields(text) {
		n := columns(word)
		if used > 0 && used+1+n > room {
			lines = append(lines, line)
			line, used = "", 0
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	return append(lines, line)
}

// Table writes rows of cells in aligned columns behind indent. A cell is a string or a [Span]. The last column takes
// the remaining room and is wrapped within it.
func (t *Text) Table(indent string, rows [][]any) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(hidden.Show(spanOf(cell).text)))
		}
	}
	for _, row := range rows {
		end := len(row) - 1
		at := columns(indent)
		for _, w := range widths[:end] {
			at += w + gap
		}
		t.Print(indent)
		text := line(row[end])
		alone := t.Width()-at < 20 && columns(text) > t.Width()-at // no room beside the others
		if end == 0 || text != "" && !alone {
			t.cells(row[:end], widths)
			t.wrapped(row[end], at)
			continue
		}
		t.cells(row[:end-1], widths)
		t.Line(row[end-1])
		if text != "" {
			t.Print(below)
			t.wrapped(row[end], len(below))
		}
	}
}

// gap is the number of columns between two cells, below the indentation of a cell that has no room beside the others.
const (
	gap   = 2
	below = "      "
)

// cells writes cells, each padded to its column.
func (t *Text) cells(row []any, widths []int) {
	for i, cell := range row {
		t.Print(cell, strings.Repeat(" ", widths[i]-columns(hidden.Show(spanOf(cell).text))+gap))
	}
}

// wrapped writes a cell from column at on, its further lines below the first.
func (t *Text) wrapped(cell any, at int) {
	for i, line := range wrap(line(cell), t.Width()-at) {
		if i > 0 {
			t.Print(strings.Repeat(" ", at))
		}
		t.Line(Span{line, spanOf(cell).code})
	}
}

// line returns a cell's text on one line.
func line(cell any) string { return strings.Join(strings.Fields(hidden.Show(spanOf(cell).text)), " ") }

// columns returns the columns of a terminal that s takes, or a few more: terminals disagree about emoji that are made
// of several.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// clip shortens s to at most limit columns, with an ellipsis.
func clip(s string, limit int) string {
	if columns(s) <= limit {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeColumns(r); n > limit-1 {
			return s[:i] + "…"
		}
	}
	return s
}
