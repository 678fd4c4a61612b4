package schema

import (
	"fmt"
	"slices"
	"strings"

	js "github.com/google/jsonschema-go/jsonschema"
)

// branches checks anyOf, oneOf, not and if, which the library decides.
func (w *walker) branches(s *js.Schema, v any, at string) {
	w.choice(s.AnyOf, v, at, false)
	w.choice(s.OneOf, v, at, true)
	if s.Not != nil && w.accepts(s.Not, v) && w.spend(1) { // at the end of the budget everything is accepted
		w.add(at, "is "+quoted(v), "anything but "+w.typeOf(s.Not, 0))
	}
	if s.If != nil {
		then := s.Else
		if w.accepts(s.If, v) {
			then = s.Then
		}
		if then != nil {
			w.walk(then, v, at)
		}
	}
}

// choice adds one fault if v fits none of the branches, or more than the one it may. If it is plain which branch v
// was written for, it adds that branch's own faults instead.
func (w *walker) choice(branches []*js.Schema, v any, at string, exclusive bool) {
	var fitting []*js.Schema
	for _, branch := range branches {
		if w.accepts(branch, v) {
			fitting = append(fitting, branch)
		}
	}
	if len(fitting) > 1 && exclusive && w.spend(1) {
		w.add(at, fmt.Sprintf("fits %d of the alternatives", len(fitting)), "exactly one of "+w.alternatives(branches))
	}
	if len(fitting) > 0 || len(branches) == 0 || !w.spend(len(branches)) {
		return
	}
	alternatives := w.alternatives(branches)
	meant := w.meant(branches, v)
	if meant == nil && !strings.Contains(alternatives, " | ") {
		meant = branches[0] // all look the same: any of them tells more
	}
	if meant != nil {
		before := len(w.faults)
		if w.walk(meant, v, at); len(w.faults) > before {
			return
		}
	}
	problem := "is " + describe(v)
	if jsonType(v) != "object" && jsonType(v) != "array" {
		problem = "is " + quoted(v)
	}
	w.add(at, problem, "one of "+alternatives)
}

// meant returns the one branch that v was written for: the only one of its type, and among
// objects the only one whose constant members (such as "type": "page") are those of v.
func (w *walker) meant(branches []*js.Schema, v any) *js.Schema {
	var typed, tagged []*js.Schema
	for _, branch := range branches {
		fits, tags := w.fitsTags(branch, v)
		if fits {
			typed = append(typed, branch)
		}
		if fits && tags > 0 {
			tagged = append(tagged, branch)
		}
	}
	switch {
	case len(typed) == 1:
		return typed[0]
	case len(tagged) == 1:
		return tagged[0]
	}
	return nil
}

// fitsTags reports whether v has the type of s and no constant member that differs, and how
// many constant members it shares.
func (w *walker) fitsTags(s *js.Schema, v any) (bool, int) {
	tags := 0
	object, _ := v.(map[string]any)
	for _, part := range w.parts(s) {
		if types := typesOf(part); len(types) > 0 && !hasType(types, v) || !w.spend(len(part.Properties)) {
			return false, 0
		}
		for name, sub := range part.Properties {
			for _, inner := range w.parts(sub) {
				values := valuesOf(inner)
				given, ok := object[name]
				if len(values) == 0 || !ok {
					continue
				}
				if !slices.ContainsFunc(values, func(allowed any) bool { return js.Equal(allowed, given) }) {
					return false, 0
				}
				tags++
			}
		}
	}
	return true, tags
}

// alternatives renders branches for reading: types, and for objects what tells them apart.
func (w *walker) alternatives(branches []*js.Schema) string {
	const most = 300
	var texts []string
	for _, branch := range branches {
		text := w.typeOf(branch, 0)
		if text == "object" {
			text = "object" + w.shape(branch)
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		if len(texts) > most || !w.spend(1) { // more than can be shown
			break
		}
	}
	return cut(strings.Join(texts, " | "), most)
}

// shape lists the required keys of an object schema. A key with only one allowed value shows it.
func (w *walker) shape(s *js.Schema) string {
	var keys []string
	for _, p := range w.properties(s).list {
		if !p.required || len(keys) == maxCandidates {
			continue
		}
		key := p.name
		for _, part := range w.parts(p.schema) {
			if values := valuesOf(part); len(values) == 1 {
				key += ": " + string(encode(values[0]))
			}
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return ""
	}
	return "{" + strings.Join(keys, ", ") + "}"
}
