package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/approval"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Verdict is what the gate would say of a call.
type Verdict struct {
	policy.Decision
	// Approved is true if the call has been approved, so that it would pass. It is false unless the policy asks.
	Approved bool
	// Change is what has changed of the definition since a person last saw it. If it is held, the call is not made.
	Change *pin.Change
}

// Decide returns what the policy says of calls of a tool with these hints, or of a prompt or resource.
func (e *Engine) Decide(ref tool.Ref, hints tool.Hints) policy.Decision {
	return e.policy.Decide(ref, hints)
}

// Verdict returns what the gate would say of a planned call, and uses no approval up.
func (e *Engine) Verdict(p *Plan, who tool.Principal) (Verdict, error) {
	v := Verdict{Decision: e.policy.Decide(p.Ref, p.Hints)}
	var err error
	if v.Change, err = e.change(p.Ref); err != nil || v.Action != policy.Ask {
		return v, err
	}
	call, err := e.callOf(p, who)
	if err == nil {
		v.Approved, err = e.approvals.Has(call, v.By)
	}
	return v, err
}

// gate fails unless a planned call may be made now: what it calls is on, its definition is not held, and the policy
// allows it, or it was approved. An approval is used up then. All faces make their calls with [Engine.Call], which
// comes through here: a list that a face filters is a courtesy, the gate is the rule.
func (e *Engine) gate(ctx context.Context, p *Plan, who tool.Principal) error {
	if err := e.switchedOff(p.Ref); err != nil {
		return err
	}
	if err := e.pinGate(p); err != nil {
		return err
	}
	d := e.policy.Decide(p.Ref, p.Hints)
	switch d.Action {
	case policy.Allow:
		return nil
	case policy.Deny:
		return Denied(p.Ref, d)
	}
	if e.callers.full == nil {
		return ErrNotFresh // what cannot make the call for sure must not use up its approval
	}
	return e.approved(ctx, p, who, d)
}

// approved fails unless a call has been approved, or the person who makes it approves it now.
func (e *Engine) approved(ctx context.Context, p *Plan, who tool.Principal, d policy.Decision) error {
	call, err := e.callOf(p, who)
	if err != nil {
		return err
	}
	if passed, err := e.approvals.Pass(ctx, call, d.By); passed || err != nil {
		return err
	}
	about := approval.About{Reason: d.Reason(), By: d.By, Folder: e.folder}
	if p.Args != nil {
		cfg, err := e.catalog.Config()
		if err != nil {
			return err
		}
		server, err := cfg.Server(p.Ref.Server)
		if err != nil {
			return err
		}
		about.Shown = server.MaskArguments(p.Args)
	}
	if p.Approve != nil && slices.Contains(d.By, cmp.Or(p.Way, policy.Terminal)) {
		if about.Denied, err = e.approvals.Denied(call); err != nil {
			return err
		}
		switch yes, err := p.Approve(ctx, about); {
		case err != nil:
			return err
		case !yes:
			return refused(p.Ref, about)
		}
		return nil
	}
	r, passed, err := e.approvals.Open(ctx, call, about)
	if passed || err != nil {
		return err
	}
	return required(r)
}

// callOf returns a planned call as it is approved.
func (e *Engine) callOf(p *Plan, who tool.Principal) (approval.Call, error) {
	sources, err := e.catalog.Sources()
	if err != nil {
		return approval.Call{}, err
	}
	return approval.Call{Scope: sources.Key(), Principal: who, Ref: p.Ref, Args: p.Args}, nil
}

// Denied is the fault of a call that a rule denies.
func Denied(ref tool.Ref, d policy.Decision) error {
	f := stopped(ref, "is denied by the policy: "+d.Reason(), "No approval helps. Whoever wrote the rule can change it.")
	f.Approval = &fault.Approval{Kind: policyKind, Why: d.Reason(), Tool: ref.String()}
	return f
}

// refused is the fault of a call that the person at the terminal does not approve.
func refused(ref tool.Ref, about approval.About) error {
	f := stopped(ref, "was not approved", "")
	f.Approval = &fault.Approval{Kind: policyKind, Why: about.Reason, Tool: ref.String(), Arguments: about.Shown}
	return f
}

// policyKind is the kind of approvals that the policy wants.
const policyKind = "policy"

func stopped(ref tool.Ref, how, help string) *fault.Fault {
	return fault.New(fault.ApprovalRequired, "the call of "+ref.String()+" "+how, help).On(ref.Server, ref.Tool())
}

// required is the fault of a call that waits for an approval, or was denied one.
func required(r approval.Request) error {
	ref := r.Ref()
	f := stopped(ref, "needs an approval: "+r.Reason, "")
	f.Approval = &fault.Approval{Kind: policyKind, Why: r.Reason, ID: r.ID, Token: r.Token, Tool: ref.String(),
		Arguments: r.Arguments, Expires: r.Expires}
	for _, way := range r.By {
		f.Approval.By = append(f.Approval.By, string(way))
	}
	if r.State == approval.Denied {
		f.Message = "the call of " + ref.String() + " was " + r.Outcome()
		return f.Then("It is not asked for again before it expires. A person has it asked for anew with",
			fault.Step{Verb: "approvals", Args: []string{"revoke", r.ID}})
	}
	const after = " Once it is approved, make the same call again: it passes once."
	f.Help = "Show your user what would be called, and do not approve it yourself." + after
	approve := fault.Step{Verb: "approvals", Args: []string{"approve", r.ID}}
	switch {
	case slices.Contains(r.By, policy.Model):
		f.Help = "You may approve it yourself." + after
		f.Then("Approve it with", approve)
	case slices.Contains(r.By, policy.Terminal):
		f.Then("A person approves it at a terminal with", approve)
	}
	if r.Token != "" {
		f.Then("Whoever has the token approves it with", fault.Step{Verb: "approvals", Args: []string{"approve", r.Token}})
	}
	if f.Next == nil {
		f.Help += " It cannot be approved from here, only by " + string(r.By[0]) + "."
	}
	return f
}
