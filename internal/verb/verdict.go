package verb

import (
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
)

// verdict is what the policy says of a call, in answers that make none.
type verdict struct {
	Action policy.Action `json:"action"`
	Why    string        `json:"why"`
	By     []policy.Way  `json:"by,omitempty"`
	// Approved is true if the call has been approved: then it passes once.
	Approved bool `json:"approved,omitempty"`
}

// policyVerdict returns a verdict for an answer. It is nil if no rule fits: then the call is allowed.
func policyVerdict(v engine.Verdict) *verdict {
	if v.Rule == nil {
		return nil
	}
	return &verdict{v.Action, v.Reason(), v.By, v.Approved}
}

// text says the verdict in a line. It is empty for nil.
func (v *verdict) text() string {
	if v == nil {
		return ""
	}
	text := string(v.Action) + ": " + v.Why
	switch {
	case v.Approved:
		text += "; it has been approved, and passes once"
	case v.Action == policy.Ask:
		text += "; approved by " + strings.Join(wordsOf(v.By), ", ")
	}
	return text
}

// refusal says why a server may not be used yet, in answers that do not use it.
type refusal struct {
	Action policy.Action `json:"action"` // deny
	Why    string        `json:"why"`
	Help   string        `json:"help"`
}

// trustVerdict returns what an answer says of a server that no one has approved. It is nil for one that may be used.
func trustVerdict(server *config.Server) *refusal {
	if server.Unapproved == nil {
		return nil
	}
	f := output.InWords(fault.From(server.Unapproved))
	return &refusal{policy.Deny, f.Message, f.Help}
}

// text says the refusal in a line. It is empty for nil.
func (r *refusal) text() string {
	if r == nil {
		return ""
	}
	return string(r.Action) + ": " + r.Why + ". " + r.Help
}

// wordsOf returns ways as texts.
func wordsOf(ways []policy.Way) (texts []string) {
	for _, way := range ways {
		texts = append(texts, string(way))
	}
	return texts
}
