// Package approval keeps what is asked and answered about single calls: a call that the policy wants approved becomes a
// [Request] with an id and a token; somebody approves or denies it, maybe days later and in another process; and the
// same call, with exactly the same arguments, then passes once.
//
// The gate of pkg/engine calls [Store.Pass] and [Store.Open], whoever decides calls [Store.List], [Store.Decide] and
// [Store.Revoke]. Which calls need an approval, and who may approve, is pkg/policy's business.
//
// All of it is one file, approvals.json, for its user alone. It holds the key that signs tokens, and arguments with
// secrets masked: exact arguments are in it only as a keyed hash. A file that cannot be read approves nothing.
package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Lifetime is how long a request can be answered, and its approval be used.
const Lifetime = 24 * time.Hour

// Call is one call as it is approved: another scope, principal, name or argument is another call.
type Call struct {
	// Scope tells configurations apart, in which one name may mean different servers.
	Scope     string
	Principal tool.Principal
	Ref       tool.Ref
	// Args are the exact arguments. They are nil for a resource.
	Args json.RawMessage
}

// About is what a request says beside its call.
type About struct {
	// Shown are the arguments as people may see them, secrets masked.
	Shown json.RawMessage
	// Reason says why an approval is needed.
	Reason string
	// By are the ways of approving.
	By []policy.Way
	// Folder is where the call was to be made.
	Folder string
	// Denied is the [Request.Outcome] of an earlier request for the same call that was denied, for the person who is asked
	// again. A request does not keep it.
	Denied string
}

// State is what became of a request.
type State string

// The states of a request. All but Pending and Approved are final.
const (
	Pending  State = "pending"
	Approved State = "approved" // the call passes once
	Used     State = "used"     // it has passed
	Denied   State = "denied"   // the call does not pass before the request expires
	Revoked  State = "revoked"  // the call is asked for anew
)

// Request asks for the approval of one call.
type Request struct {
	ID        string         `json:"id"`
	Server    string         `json:"server"`
	Name      string         `json:"tool"`
	Kind      tool.Kind      `json:"kind,omitempty"`
	Principal tool.Principal `json:"principal,omitempty"`
	// Arguments have their secrets masked.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Reason    string          `json:"reason"`
	By        []policy.Way    `json:"by"`
	Folder    string          `json:"folder,omitempty"`
	Asked     time.Time       `json:"asked"`
	Expires   time.Time       `json:"expires"`
	State     State           `json:"state"`
	// Decided is when the request got its state, Way how it was approved, Note the reason that was given for the decision.
	Decided time.Time  `json:"decided,omitzero"`
	Way     policy.Way `json:"way,omitempty"`
	Note    string     `json:"note,omitempty"`
	// Call is the keyed hash of the exact call; see [key.digest].
	Call string `json:"call"`
	// Token is the request's token. It is empty if no token may approve the request. Tokens are not kept.
	Token string `json:"-"`
}

// Ref returns what the request wants to call.
func (r Request) Ref() tool.Ref { return tool.Ref{Server: r.Server, Name: r.Name, Kind: r.Kind} }

// Outcome says what became of the request and when, as in "denied at 2026-11-22 12:00 UTC: too much".
func (r Request) Outcome() string {
	text := fmt.Sprintf("%s at %s", r.State, clock(r.Decided))
	if r.Note != "" {
		text += ": " + r.Note
	}
	return text
}

// takes reports whether the request may be approved in this way.
func (r Request) takes(way policy.Way) bool { return slices.Contains(r.By, way) }

// Open reports whether the request still has to be approved: it is pending, or was approved in a way that is not taken
// any more.
func (r Request) Open() bool { return r.State == Pending || r.State == Approved && !r.takes(r.Way) }

// approve approves the request. Approving twice is harmless.
func (r *Request) approve(way policy.Way, note string, now time.Time) error {
	switch {
	case !r.Open() && (r.State == Approved || r.State == Used):
		return nil
	case r.State == Revoked:
		return fault.New(fault.ApprovalRequired, fmt.Sprintf("%s was %s", r.ID, r.Outcome()),
			"Make the call again: it gets a new request.").On(r.Server, r.Ref().Tool())
	case !r.Open():
		return fault.New(fault.ApprovalRequired,
			fmt.Sprintf("%s was %s", r.ID, r.Outcome()),
			"A request that is decided cannot be approved.").On(r.Server, r.Ref().Tool()).
			Then("A person has the call asked for anew with",
				fault.Step{Verb: "approvals", Args: []string{"revoke", r.ID}})
	case !r.takes(way):
		f := fault.New(fault.ApprovalRequired,
			fmt.Sprintf("%s cannot be approved by %s, only by %s", r.ID, way, policy.Enumerate(r.By)),
			"The rule that wants the approval says so.").On(r.Server, r.Ref().Tool())
		if r.takes(policy.Terminal) {
			f.Then("A person approves it at a terminal with", fault.Step{Verb: "approvals", Args: []string{"approve", r.ID}})
		}
		return f
	}
	r.State, r.Way, r.Note, r.Decided = Approved, way, note, now
	return nil
}

// deny denies the request, also if it was approved and not used yet. Denying twice is harmless.
func (r *Request) deny(note string, now time.Time) error {
	switch r.State {
	case Denied:
		return nil
	case Pending, Approved:
		r.State, r.Way, r.Note, r.Decided = Denied, "", note, now
		return nil
	}
	return fault.New(fault.Usage, fmt.Sprintf("%s was %s", r.ID, r.Outcome()),
		"There is nothing left to deny.").On(r.Server, r.Ref().Tool())
}

// revoke takes back what was asked or decided: its approval does not count any more, its token neither, and the call is
// asked for anew. It fails after the use. Revoking twice is harmless. A denial is taken back in a way in which the
// request could be approved: else whoever was denied a call could have it asked for anew, as often as it takes.
func (r *Request) revoke(way policy.Way, now time.Time) error {
	switch {
	case r.State == Revoked:
		return nil
	case r.State == Denied && !r.takes(way):
		return fault.New(fault.ApprovalRequired,
			fmt.Sprintf("that %s was denied cannot be revoked by %s, only by %s", r.ID, way, policy.Enumerate(r.By)),
			"It takes what an approval takes.").On(r.Server, r.Ref().Tool())
	case r.State == Used:
		return fault.New(fault.Usage, fmt.Sprintf("%s was used at %s: the call has been made", r.ID, clock(r.Decided)),
			"What has been made cannot be revoked.").On(r.Server, r.Ref().Tool())
	}
	r.State, r.Way, r.Note, r.Decided = Revoked, "", "", now
	return nil
}

// clock writes a time for people.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }
