package typegen

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// node is a type. One of text, members and parts is set.
type node struct {
	text    string   // a type in a word, or literals
	members []member // of an object; nil for other types
	parts   []*node  // of a union, an intersection, a tuple or an array
	join    string   // what stands between the parts: " | ", " & " or, in a tuple, ", "
	array   bool     // an array of the only part
	width   int      // of the type on one line
}

// member is a property of an object.
type member struct {
	name     string // as it is written, with a ? if it is optional
	doc      string
	required bool
	typ      *node
}

func leaf(text string) *node { return &node{text: text, width: utf8.RuneCountInString(text)} }

// isAny reports whether a type says nothing.
func (n *node) isAny() bool { return n.text == "any" }

// object returns an object type, its required members first.
func object(members []member) *node {
	if len(members) == 0 {
		return leaf("{}")
	}
	slices.SortStableFunc(members, func(a, b member) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	n := &node{members: members, width: len("{  }")}
	for _, m := range members {
		n.width += utf8.RuneCountInString(m.name) + len(": ; ") + m.typ.width
	}
	return n
}

func arrayOf(elem *node) *node {
	return &node{parts: []*node{elem}, array: true, width: elem.width + len("()[]")}
}

// joined returns a union, an intersection or a tuple.
func joined(join string, parts []*node) *node {
	n := &node{parts: parts, join: join}
	for _, p := range parts {
		n.width += p.width + len(join) + len("()")
	}
	return n
}

// union returns the union of types, each once. A part that says nothing makes it say nothing.
func union(parts []*node) *node {
	var flat []*node
	seen := map[string]bool{}
	for _, p := range parts {
		if p.isAny() {
			return p
		}
		if p.text != "" && seen[p.text] {
			continue
		}
		seen[p.text] = true
		flat = append(flat, p)
	}
	switch len(flat) {
	case 0:
		return leaf("never")
	case 1:
		return flat[0]
	}
	return joined(" | ", flat)
}

// intersection returns the type of what is of all types. Those that say nothing do not count.
func intersection(parts []*node) *node {
	parts = slices.DeleteFunc(parts, (*node).isAny)
	switch len(parts) {
	case 0:
		return leaf("any")
	case 1:
		return parts[0]
	}
	return joined(" & ", parts)
}

// compound reports whether a type needs parentheses within another.
func (n *node) compound() bool {
	return n.join == " | " || n.join == " & " || strings.Contains(n.text, " | ")
}

// writer writes types.
type writer struct {
	b    *strings.Builder
	docs bool
	most int // members of the outermost object; 0 for all. Then inner types stand on one line
}

// typ writes a type at an indentation, on several lines if it does not fit behind the columns that are used up.
func (w *writer) typ(n *node, indent, used int) {
	switch {
	case n.members != nil:
		w.object(n, indent, used)
	case n.array:
		w.part(n.parts[0], indent, used)
		w.b.WriteString("[]")
	case n.join == ", ":
		w.b.WriteByte('[')
		w.list(n, indent, used)
		w.b.WriteByte(']')
	case n.parts != nil:
		w.list(n, indent, used)
	default:
		w.b.WriteString(n.text)
	}
}

func (w *writer) list(n *node, indent, used int) {
	for i, p := range n.parts {
		if i > 0 {
			w.b.WriteString(n.join)
		}
		w.part(p, indent, used)
	}
}

// part writes a type within another.
func (w *writer) part(n *node, indent, used int) {
	if n.compound() {
		w.b.WriteByte('(')
		defer w.b.WriteByte(')')
	}
	w.typ(n, indent, used)
}

func (w *writer) object(n *node, indent, used int) {
	inner := *w
	inner.most = 0
	if !w.breaks(n, used) {
		w.b.WriteString("{ ")
		for i, m := range n.members {
			if i > 0 {
				w.b.WriteString("; ")
			}
			w.b.WriteString(m.name + ": ")
			inner.docs = false
			inner.typ(m.typ, indent, -maxLine)
		}
		w.b.WriteString(" }")
		return
	}
	w.b.WriteString("{\n")
	inside := strings.Repeat(" ", indent+2)
	for i, m := range n.members {
		if w.most > 0 && i == w.most {
			w.b.WriteString(inside + "// … " + plural(len(n.members)-i, "more parameter") + "\n")
			break
		}
		if w.docs && w.most == 0 && m.doc != "" {
			w.b.WriteString(inside + "/** " + m.doc + " */\n")
		}
		w.b.WriteString(inside + m.name + ": ")
		if w.most > 0 {
			inner.docs = false
			inner.typ(m.typ, indent+2, -maxLine)
		} else {
			inner.typ(m.typ, indent+2, indent+4+len(m.name))
		}
		w.b.WriteByte(';')
		if w.docs && w.most > 0 && m.doc != "" {
			w.b.WriteString(" // " + m.doc)
		}
		w.b.WriteByte('\n')
	}
	w.b.WriteString(strings.Repeat(" ", indent) + "}")
}

// maxLine is more than any type is wide: what begins so far to the left stays on its line.
const maxLine = 1 << 30

// breaks reports whether an object is written on several lines.
func (w *writer) breaks(n *node, used int) bool {
	if used < 0 {
		return false
	}
	documented := w.docs && slices.ContainsFunc(n.members, func(m member) bool { return m.doc != "" })
	return w.most > 0 || documented || used+n.width > maxWidth
}
