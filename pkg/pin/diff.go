package pin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

const (
	// diffLines bounds a diff, diffWidth a line of it (in characters). A full diff has bounds of its own.
	diffLines = 20
	diffWidth = 300
	fullLines = 1000
	fullWidth = 10_000
	// beside is how much of the common text stands around a change within a line.
	beside = 40
)

// Diff returns what differs between two definitions, in at most 20 lines that begin with "- " or "+ ", then the place
// and the value. Demands and promises of a tool stand first. A last line says how much was left out. before may be nil.
// The lines are safe to show.
func Diff(before, after json.RawMessage) []string {
	lines, _ := diff(before, after, diffLines, diffWidth)
	return lines
}

// FullDiff returns what [Diff] shortens: at most 1,000 lines of 10,000 characters. whole is false if that was not
// enough, or if the definitions differ in an order only, which no line shows: then a reader has not seen what changed.
func FullDiff(before, after json.RawMessage) (lines []string, whole bool) {
	lines, whole = diff(before, after, fullLines, fullWidth)
	return lines, whole && len(lines) > 0
}

func diff(before, after json.RawMessage, most, width int) (lines []string, whole bool) {
	old, now := flatten(before), flatten(after)
	gone, come := only(old, now), only(now, old)
	type change struct {
		place       string
		minus, plus []string
	}
	var list []*change
	places := make(map[string]*change)
	at := func(place string) *change {
		c := places[place]
		if c == nil {
			c = &change{place: place}
			places[place] = c
			list = append(list, c)
		}
		return c
	}
	for _, l := range gone {
		c := at(l.place)
		c.minus = append(c.minus, l.text)
	}
	for _, l := range come {
		c := at(l.place)
		c.plus = append(c.plus, l.text)
	}
	slices.SortStableFunc(list, func(a, b *change) int { return cmp.Compare(weight(a.place), weight(b.place)) })
	whole = true
	add := func(sign, place, text string) {
		text, fits := line(place, text, width)
		lines, whole = append(lines, sign+text), whole && fits
	}
	for _, c := range list {
		if len(c.minus) == 1 && len(c.plus) == 1 {
			c.minus[0], c.plus[0] = around(c.minus[0], c.plus[0])
		}
		for _, text := range c.minus {
			add("- ", c.place, text)
		}
		for _, text := range c.plus {
			add("+ ", c.place, text)
		}
	}
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most-1], fmt.Sprintf("  … %d more lines", more+1))
		whole = false
	}
	return lines, whole
}

// flat is one value of a definition, or one line of a text.
type flat struct{ place, text string }

// flatten returns the values of a definition with their places, in the order of the definition.
func flatten(raw json.RawMessage) []flat {
	if raw == nil {
		return nil
	}
	var list []flat
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	flattenValue(decoder, "", &list)
	return list
}

// flattenValue reads one value from the decoder.
func flattenValue(d *json.Decoder, place string, list *[]flat) {
	token, err := d.Token()
	if err != nil {
		return
	}
	switch t := token.(type) {
	case json.Delim:
		before := len(*list)
		for n := 0; d.More(); n++ {
			child := place
			if t == '{' {
				key, err := d.Token()
				if err != nil {
					return
				}
				if name, ok := key.(string); ok {
					child = under(place, name)
				}
			}
			flattenValue(d, child, list)
		}
		if _, err := d.Token(); err == nil && len(*list) == before {
			*list = append(*list, flat{place, map[json.Delim]string{'{': "{}", '[': "[]"}[t]})
		}
	case string:
		for _, text := range strings.Split(t, "\n") {
			*list = append(*list, flat{place, string(tool.Quote(text))})
		}
	case nil:
		*list = append(*list, flat{place, "null"})
	default:
		*list = append(*list, flat{place, fmt.Sprint(t)})
	}
}

// under returns the place of a member. A place that becomes too long keeps its end.
func under(place, name string) string {
	if place != "" {
		name = place + "." + name
	}
	if len(name) > maxPlace {
		name = "…" + strings.ToValidUTF8(name[len(name)-maxPlace/2:], "")
	}
	return name
}

// only returns the values of list that other does not have, counted as often as they occur.
func only(list, other []flat) []flat {
	count := make(map[flat]int)
	for _, l := range other {
		count[l]++
	}
	var rest []flat
	for _, l := range list {
		if count[l]--; count[l] < 0 {
			rest = append(rest, l)
		}
	}
	return rest
}

// weight orders places: first what a tool demands and promises, then its own words, then the rest, and last what mcpl
// shows to no one.
func weight(place string) int {
	switch first, _, _ := strings.Cut(place, "."); {
	case strings.HasSuffix(place, "required"):
		return 0
	case first == "annotations":
		return 1
	case first == "name" || first == "title" || first == "description" || first == "":
		return 2
	case first == "_meta" || first == "icons":
		return 4
	}
	return 3
}

// around shortens two texts to the part that differs, and a little beside it.
func around(a, b string) (string, string) {
	begin, end := 0, 0
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	for end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	begin, end = max(0, begin-beside), max(0, end-beside)
	cut := func(s string) string {
		from, to := begin, len(s)-end
		for from > 0 && !utf8.RuneStart(s[from]) {
			from--
		}
		for to < len(s) && !utf8.RuneStart(s[to]) {
			to++
		}
		text := s[from:to]
		if from > 0 {
			text = "…" + text
		}
		if to < len(s) {
			text += "…"
		}
		return text
	}
	return cut(a), cut(b)
}

// line returns a line of a diff, cleaned, and cut to the width. fits is false if it was cut.
func line(place, text string, width int) (cut string, fits bool) {
	if place != "" {
		text = place + ": " + text
	}
	runes := []rune(Clean(text))
	if len(runes) <= width {
		return string(runes), true
	}
	return string(runes[:width-1]) + "…", false
}
