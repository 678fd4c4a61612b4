// Package policy decides which calls may be made, by rules that a person wrote: each names calls by a [Glob] over
// "server/tool", by what the tool's annotations say, or by both, and allows them, denies them, or has them approved.
//
// Make rules with [New] and ask [Rules.Decide]. The first rule that fits decides; without one the call is allowed. The
// package does no I/O: pkg/config reads rules from the settings, pkg/approval keeps approvals, and the gate of
// pkg/engine applies both.
package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Action is what a rule does with a call.
type Action string

// The actions of rules.
const (
	Allow Action = "allow"
	Ask   Action = "ask" // somebody has to approve the call
	Deny  Action = "deny"
)

// Way is a way in which a call that is asked for can be approved.
type Way string

// The ways of approving.
const (
	Terminal    Way = "terminal"    // a person says yes at a terminal
	Elicitation Way = "elicitation" // an MCP client asks its user
	Token       Way = "token"       // somebody presents the request's token
	Model       Way = "model"       // the caller approves the call itself
)

// Annotation is what a tool's annotations say of it.
type Annotation string

// The annotations that rules can name. They are a server's claim, so that a rule that allows by them trusts the server.
const (
	// ReadOnly is said by readOnlyHint, unless destructiveHint contradicts. Prompts and resources are read-only.
	ReadOnly Annotation = "read-only"
	// Writes is everything that is not ReadOnly, so also what is not annotated.
	Writes Annotation = "writes"
	// Destructive is said by destructiveHint, or by a readOnlyHint of false without a destructiveHint: that is true by
	// default (MCP 2025-11-25, ToolAnnotations).
	Destructive Annotation = "destructive"
	// OpenWorld is said by openWorldHint.
	OpenWorld Annotation = "open-world"
	// Unannotated is a tool with neither a readOnlyHint nor a destructiveHint.
	Unannotated Annotation = "unannotated"
)

// Rule decides about some calls.
type Rule struct {
	// Match is what the name "server/tool" has to fit. It is empty if the rule has only Annotations.
	Match Glob
	// Annotations are what the tool has to have, one of them at least. If empty, they do not matter.
	Annotations []Annotation
	Action      Action
	// By are the ways of approving, for Ask. If nil, they are those of [DefaultWays].
	By []Way
	// Source is the place of the rule, as in "/home/ada/.config/mcpl/config.toml:12".
	Source string
}

// DefaultWays returns the ways of approving for a rule that names none: all but the caller itself.
func DefaultWays() []Way { return []Way{Terminal, Elicitation, Token} }

// New returns a rule for the words of a settings file. The error says in a sentence what is wrong with them, without
// their place.
func New(match string, annotations []string, action string, by []string) (Rule, error) {
	var r Rule
	var err error
	if match == "" && len(annotations) == 0 {
		return Rule{}, errors.New(`it says neither "match" nor "annotations": to mean every call, write match = "*"`)
	}
	if match != "" {
		if r.Match, err = ParseGlob(match); err != nil {
			return Rule{}, fmt.Errorf("match: %w", err)
		}
	}
	if r.Annotations, err = words(annotations, ReadOnly, Writes, Destructive, OpenWorld, Unannotated); err != nil {
		return Rule{}, fmt.Errorf("annotations: %w", err)
	}
	if action == "" {
		return Rule{}, errors.New(`it has no action: write action = "allow", "ask" or "deny"`)
	}
	actions, err := words([]string{action}, Allow, Ask, Deny)
	if err != nil {
		return Rule{}, fmt.Errorf("action: %w", err)
	}
	r.Action = actions[0]
	if r.By, err = words(by, Terminal, Elicitation, Token, Model); err != nil {
		return Rule{}, fmt.Errorf("by: %w", err)
	}
	switch {
	case by != nil && r.Action != Ask:
		return Rule{}, fmt.Errorf(`by: only action = "ask" has it, not %q`, r.Action)
	case by != nil && len(by) == 0:
		return Rule{}, errors.New(`by: no one could approve: to allow no call, write action = "deny"`)
	}
	return r, nil
}

// words checks that each text is one of the known words. It is nil without texts.
func words[W ~string](texts []string, known ...W) ([]W, error) {
	var list []W
	for _, text := range texts {
		if !slices.Contains(known, W(text)) {
			return nil, fmt.Errorf("%q is not one of %s", text, Enumerate(known))
		}
		list = append(list, W(text))
	}
	return list, nil
}

// Enumerate returns words as in "a, b or c".
func Enumerate[W ~string](list []W) string {
	var b strings.Builder
	for i, word := range list {
		switch {
		case i > 0 && i == len(list)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(word))
	}
	return b.String()
}

// Rules are rules in the order in which they are tried.
type Rules []Rule

// Decision is what rules say about a call.
type Decision struct {
	Action Action
	// By are the ways of approving, for Ask.
	By []Way
	// Rule is the one that decided. It is nil if none fits.
	Rule *Rule
}

// Reason says in a clause which rule decided. It is empty if none fits.
func (d Decision) Reason() string {
	if d.Rule == nil {
		return ""
	}
	var terms []string
	if d.Rule.Match != "" {
		terms = append(terms, fmt.Sprintf("match %q", string(d.Rule.Match)))
	}
	if len(d.Rule.Annotations) > 0 {
		terms = append(terms, "annotations "+Enumerate(d.Rule.Annotations))
	}
	return fmt.Sprintf("the rule with %s in %s says %q", strings.Join(terms, " and "), d.Rule.Source, d.Action)
}

// Decide returns what the first rule that fits says about a call. hints are those of the tool; a prompt or a resource,
// which a rule names by "server/name" or "server/URI", has none.
func (rules Rules) Decide(ref tool.Ref, hints tool.Hints) Decision {
	for i := range rules {
		r := &rules[i]
		if !r.fits(ref, hints) {
			continue
		}
		d := Decision{Action: r.Action, Rule: r}
		if d.Action == Ask {
			if d.By = r.By; d.By == nil {
				d.By = DefaultWays()
			}
		}
		return d
	}
	return Decision{Action: Allow}
}

func (r *Rule) fits(ref tool.Ref, hints tool.Hints) bool {
	if r.Match != "" && !r.Match.Match(ref.String()) {
		return false
	}
	has := func(a Annotation) bool { return a.of(ref, hints) }
	return len(r.Annotations) == 0 || slices.ContainsFunc(r.Annotations, has)
}

// of reports whether what ref names has the annotation.
func (a Annotation) of(ref tool.Ref, hints tool.Hints) bool {
	said := func(hint *bool, value bool) bool { return hint != nil && *hint == value }
	readOnly := ref.Kind != tool.Tool || said(hints.ReadOnly, true) && !said(hints.Destructive, true)
	switch a {
	case ReadOnly:
		return readOnly
	case Writes:
		return !readOnly
	case Destructive:
		return said(hints.Destructive, true) || said(hints.ReadOnly, false) && hints.Destructive == nil
	case OpenWorld:
		return said(hints.OpenWorld, true)
	case Unannotated:
		return ref.Kind == tool.Tool && hints.ReadOnly == nil && hints.Destructive == nil
	}
	return false
}
