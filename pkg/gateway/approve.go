package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/approval"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/hidden"
	"github.com/mcp-launchpad/mcpl/pkg/mcp"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// passed makes a call by send, if the gate and the limits of the principal let it pass, and has it recorded. args and
// check are those of [engine.Engine.Plan].
func (r *request) passed(ctx context.Context, ref tool.Ref, args json.RawMessage, check bool,
	send func(*engine.Plan) (json.RawMessage, error)) (json.RawMessage, error) {
	return r.observed(ctx, ref, func() (json.RawMessage, error) {
		plan, err := r.planned(ctx, ref, args, check)
		if r.afterLogin(ctx, err) {
			plan, err = r.planned(ctx, ref, args, check)
		}
		if err != nil {
			return nil, err
		}
		end, err := r.client.gateway.limits.begin(ctx, r.client.who.Principal)
		if err != nil {
			return nil, err
		}
		defer end()
		r.about = ref.Server
		result, err := send(plan)
		if r.loggedIn(ctx, err) {
			result, err = send(plan)
		}
		r.gen.health.used(ref.Server, err)
		return result, err
	})
}

// planned plans a call, unless the client has not sent what its server gets of it. If the policy asks about the call,
// the person in front of the client is asked, if the client can do that. check is that of [engine.Engine.Plan].
func (r *request) planned(ctx context.Context, ref tool.Ref, args json.RawMessage, check bool) (*engine.Plan, error) {
	if _, err := r.allForwarded(ref.Server); err != nil {
		return nil, err
	}
	plan, err := r.view.Plan(ctx, ref, func([]byte) (json.RawMessage, error) { return args, nil }, check)
	if err != nil || !r.canConfirm() {
		return plan, err
	}
	plan.Way = policy.Elicitation
	plan.Approve = func(ctx context.Context, about approval.About) (bool, error) {
		text := fmt.Sprintf("mcpl: may %s be called? It needs an approval: %s.", ref, about.Reason)
		if about.Denied != "" {
			text += " The same call was " + about.Denied + "."
		}
		if about.Shown != nil {
			text += " Arguments: " + cut(string(hidden.Escape(about.Shown)), maxShown)
		}
		return r.confirm(ctx, text, "Make this call")
	}
	return plan, nil
}

// canConfirm reports whether the client can show a form: it says so, or does not say what it can show (MCP 2025-11-25,
// client/elicitation).
func (r *request) canConfirm() bool {
	r.client.mu.Lock()
	said := r.client.can.Elicitation
	r.client.mu.Unlock()
	if said == nil {
		return false
	}
	ways, err := tool.SplitObject(*said)
	isForm := func(f tool.Field) bool { return f.Key == "form" }
	return err == nil && (len(ways) == 0 || slices.ContainsFunc(ways, isForm))
}

// maxShown bounds the arguments that a person is shown, in bytes.
const maxShown = 2000

// confirm asks the person in front of the client a question with the answers yes and no.
func (r *request) confirm(ctx context.Context, text, yes string) (bool, error) {
	params := tool.JoinObject([]tool.Field{
		{Key: "message", Value: tool.Quote(text)},
		{Key: "requestedSchema", Value: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"yes":`+
			`{"type":"boolean","title":%s,"default":false}},"required":["yes"]}`, tool.Quote(yes)))},
	})
	raw, err := r.askClient(ctx, "elicitation/create", params)
	if err != nil {
		return false, err
	}
	var reply struct {
		Action  tool.Action `json:"action"`
		Content struct {
			Yes bool `json:"yes"`
		} `json:"content"`
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return false, &tool.UpstreamError{Code: mcp.InvalidParams, Message: "the answer to the question is not an object: " +
			err.Error()}
	}
	return reply.Action == tool.Accept && reply.Content.Yes, nil
}

// afterLogin is loggedIn for a request that was refused for want of a login. It has the request go on with what is
// known now.
func (r *request) afterLogin(ctx context.Context, refused error) bool {
	if !r.loggedIn(ctx, refused) {
		return false
	}
	_ = r.client.gateway.Renew(ctx) // if it fails, the request fails as before
	now := r.client.gateway.enter()
	v, err := now.viewOf(ctx, r.client)
	if err != nil {
		_ = now.leave() // an engine that was replaced meanwhile has nothing to say
		return false
	}
	_ = r.gen.leave()
	r.gen, r.view = now, v
	return true
}

// loggedIn reports whether a call that failed can be made again, since the person in front of the client says that the
// login that it lacks is there now.
func (r *request) loggedIn(ctx context.Context, failed error) bool {
	if !fault.Is(failed, fault.AuthRequired) || !r.canConfirm() {
		return false
	}
	yes, err := r.confirm(ctx, r.words(fault.From(failed)), "The login is there now")
	return err == nil && yes
}
