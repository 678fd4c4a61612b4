package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/approval"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Plan is a call of a tool, a prompt or a resource that is ready to be made.
type Plan struct {
	Ref  tool.Ref
	Args json.RawMessage // nil for a resource
	// Unchecked is why the arguments could not be checked: the schema itself is faulty.
	Unchecked error
	// Known is how the server was last reached.
	Known tool.Known
	// Hints are the tool's annotations.
	Hints tool.Hints
	// Approve asks the person who makes the call whether to make it, if the policy wants that. If nil, there is no person
	// to ask. An error ends the call.
	Approve func(ctx context.Context, about approval.About) (yes bool, err error)
	// Way is how Approve asks: a rule says which ways it takes. An empty one is [policy.Terminal].
	Way policy.Way
	// Changed is called if what is called has changed since a person last saw it, before the call. If nil, no one hears
	// of it.
	Changed func(pin.Change)

	server     index.Facts
	definition *definition // that the arguments were checked with; nil for a resource
}

// Builder builds the arguments of a call for an input schema.
type Builder func(inputSchema []byte) (json.RawMessage, error)

// Plan finds the definition of a tool or prompt, has its arguments built for its schema, and checks them if check is
// set. Arguments that do not fit give one fault that names everything that is wrong, unless the definition is held. A
// resource has no arguments; its URI need not be listed if its server has resources. No server is started, unless the
// index does not know it yet.
func (e *Engine) Plan(ctx context.Context, ref tool.Ref, build Builder, check bool) (*Plan, error) {
	if ref.Kind == tool.Resource {
		return e.planRead(ctx, ref)
	}
	def, server, err := e.definition(ctx, ref, true)
	if err != nil {
		return nil, err
	}
	var p *Plan
	var failed error
	if err := Interruptible(ctx, func() { p, failed = planOf(ref, def, server, build, check) }); err != nil {
		return nil, fault.From(err).On(ref.Server, ref.Tool())
	}
	if failed != nil {
		// A call of something held does not pass with other arguments either.
		if err := e.heldNow(server, ref); err != nil {
			return nil, err
		}
	}
	return p, failed
}

// planOf returns the plan of a call of the tool or prompt with this definition.
func planOf(ref tool.Ref, def *definition, server index.Facts, build Builder, check bool) (*Plan, error) {
	args, err := build(def.InputSchema)
	if err != nil {
		return nil, fault.From(err).On(ref.Server, ref.Tool())
	}
	p := &Plan{Ref: ref, Args: args, Known: server.Known, Hints: def.hints, server: server, definition: def}
	if !check {
		return p, nil
	}
	faults, err := schema.Validate(def.InputSchema, args)
	if err != nil {
		p.Unchecked = err
		return p, nil
	}
	if len(faults) > 0 {
		return nil, schema.Fault(ref, def.InputSchema, args, faults)
	}
	return p, nil
}

// planRead plans the reading of a resource. A server may have more resources than it lists, made from
// a template or named in the result of a tool (MCP 2025-11-25, server/tools, "Resource Links"). So any
// URI is accepted if the server has resources at all.
func (e *Engine) planRead(ctx context.Context, ref tool.Ref) (*Plan, error) {
	plan := &Plan{Ref: ref}
	err := e.find(ctx, ref, true, func(f found) error {
		plan.Known = f.server.Known
		switch {
		case fault.Is(f.missing, fault.ToolNotFound) && isURI(ref.Name) && f.server.Resources+f.server.Templates > 0:
			return nil
		case f.missing != nil:
			return f.missing
		case f.record.Kind == tool.Template:
			return fault.New(fault.Usage, fmt.Sprintf("%s is a template of URIs, not a resource", ref.Name),
				"Fill in what stands in braces, and read that.").On(ref.Server, "")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return plan, nil
}

// isURI reports whether text begins with a scheme (RFC 3986, section 3.1).
func isURI(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	scheme, _, ok := strings.Cut(text, ":")
	return ok && scheme != "" && strings.Contains(letters, scheme[:1]) &&
		strings.Trim(scheme, letters+"0123456789+-.") == ""
}

// needsTask reports whether a tool can be called only as a task (MCP 2025-11-25,
// basic/utilities/tasks, "Tool-Level Negotiation").
func needsTask(def tool.Def) bool {
	var execution struct {
		TaskSupport string `json:"taskSupport"`
	}
	// Without such an object nothing is required.
	return json.Unmarshal(def.Field("execution"), &execution) == nil && execution.TaskSupport == "required"
}

// Call makes a planned call, if the gate lets it pass. The result may report an error.
func (e *Engine) Call(ctx context.Context, p *Plan, opt tool.CallOptions) (*tool.Result, error) {
	return throughGate(ctx, e, p, opt, func(caller Caller, opt tool.CallOptions) (*tool.Result, error) {
		return caller.Call(ctx, p.Ref, p.Args, opt)
	})
}

// throughGate has a planned call made by send, if the gate lets it pass.
func throughGate[T any](ctx context.Context, e *Engine, p *Plan, opt tool.CallOptions,
	send func(Caller, tool.CallOptions) (T, error)) (res T, err error) {
	if err := e.gate(ctx, p, opt.Principal); err != nil {
		return res, err
	}
	caller, err := e.callable()
	if err != nil {
		return res, err
	}
	opt.Known = p.Known
	return pinned(ctx, e, p, opt, func(opt tool.CallOptions) (T, error) { return send(caller, opt) })
}

// optionsFor returns the options of a call with those that the definition asks for. def is nil for a resource.
func optionsFor(ref tool.Ref, def *definition, opt tool.CallOptions) tool.CallOptions {
	opt.ReadOnly = ref.Kind != tool.Tool // a prompt or resource is only read
	if def != nil {
		opt.ReadOnly = opt.ReadOnly || is(def.hints.ReadOnly)
		opt.Repeatable = is(def.hints.Idempotent)
		opt.Task = def.needsTask
		if bytes.Contains(def.InputSchema, []byte(`"x-mcp-header"`)) {
			opt.HeaderSchema = string(def.InputSchema)
		}
	}
	opt.Repeatable = opt.Repeatable || opt.ReadOnly
	return opt
}

func is(hint *bool) bool { return hint != nil && *hint }
