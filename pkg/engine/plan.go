package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Plan is a call that is ready to be made, of a tool, a prompt or a resource.
type Plan struct {
	Ref  tool.Ref
	Args json.RawMessage // nil for a resource
	// Unchecked is why the arguments could not be checked: the schema itself is at fault.
	Unchecked error
	// Repeatable says that a second call does no harm: the tool's annotations promise it, and what
	// is no tool is only read.
	Repeatable bool
	// Task says that the tool has to be called as a task.
	Task bool
	// Known is how the server was last reached.
	Known tool.Known
	// HeaderSchema is that of tool.CallOptions.
	HeaderSchema string
}

// Plan finds the definition of a tool or prompt, has its arguments built for its schema, and checks
// them where check is set. Arguments that do not fit are one fault that names all that is wrong. A
// resource has none; its URI may be one that is not listed, where its server has resources. No
// server is started, unless the index does not know it yet.
func (e *Engine) Plan(ctx context.Context, ref tool.Ref, build func(inputSchema []byte) (json.RawMessage, error), check bool) (*Plan, error) {
	if ref.Kind == tool.Resource {
		return e.planRead(ctx, ref)
	}
	def, err := e.Inspect(ctx, ref)
	if err != nil {
		return nil, err
	}
	args, err := build(def.InputSchema)
	if err != nil {
		return nil, fault.From(err).On(ref.Server, ref.Tool())
	}
	hints := def.Hints()
	p := &Plan{Ref: ref, Args: args, Known: e.known(ref.Server), Task: needsTask(def),
		Repeatable: ref.Kind == tool.Prompt || is(hints.ReadOnly) || is(hints.Idempotent)}
	if bytes.Contains(def.InputSchema, []byte(`"x-mcp-header"`)) {
		p.HeaderSchema = string(def.InputSchema)
	}
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

// planRead plans the reading of a resource. Servers may have more of them than they list, made from
// a template or named in the result of a tool (MCP 2025-11-25, server/tools, "Resource Links"), so
// that any URI is taken where the server has resources at all.
func (e *Engine) planRead(ctx context.Context, ref tool.Ref) (*Plan, error) {
	rec, err := healing(e, func() (index.Record, error) {
		_, rec, err := e.find(ctx, ref)
		return rec, err
	})
	switch {
	case fault.Is(err, fault.ToolNotFound) && isURI(ref.Name) && e.hasResources(ref.Server):
	case err != nil:
		return nil, err
	case rec.Kind == tool.Template:
		return nil, fault.New(fault.Usage, fmt.Sprintf("%s is a template of URIs, no resource", ref.Name),
			"Fill in what stands in braces, and read that.").On(ref.Server, "")
	}
	return &Plan{Ref: ref, Repeatable: true, Known: e.known(ref.Server)}, nil
}

func (e *Engine) hasResources(server string) bool {
	info, _ := e.sn.Server(server)
	return info.Resources+info.Templates > 0
}

// isURI reports whether text begins with a scheme (RFC 3986, section 3.1).
func isURI(text string) bool {
	scheme, _, ok := strings.Cut(text, ":")
	if !ok || scheme == "" || !isLetter(scheme[0]) {
		return false
	}
	for i := range len(scheme) {
		if c := scheme[i]; !isLetter(c) && (c < '0' || c > '9') && c != '+' && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// known returns how a server was last reached, as the open index has it.
func (e *Engine) known(server string) tool.Known {
	info, _ := e.sn.Server(server)
	return info.Known
}

// needsTask reports whether a tool can be called only as a task (MCP 2025-11-25,
// basic/utilities/tasks, "Tool-Level Negotiation").
func needsTask(def tool.Def) bool {
	var execution struct {
		TaskSupport string `json:"taskSupport"`
	}
	// No such object asks for nothing.
	return json.Unmarshal(def.Field("execution"), &execution) == nil && execution.TaskSupport == "required"
}

// Call makes a planned call. A result that reports an error is a result.
func (e *Engine) Call(ctx context.Context, p *Plan, opt tool.CallOptions) (*tool.Result, error) {
	caller, err := e.callable()
	if err != nil {
		return nil, err
	}
	opt.Repeatable, opt.Task, opt.Known, opt.HeaderSchema = p.Repeatable, p.Task, p.Known, p.HeaderSchema
	return caller.Call(ctx, p.Ref, p.Args, opt)
}

// is reports whether a hint was given, and true.
func is(hint *bool) bool { return hint != nil && *hint }

// callable returns the caller for a call, whose arguments have been planned from a fresh index.
func (e *Engine) callable() (Caller, error) {
	if e.opt.NewCaller != nil || e.opt.Warm == nil {
		return e.live()
	}
	if e.caller == nil {
		e.caller = e.opt.Warm(e.sources)
	}
	return e.caller, nil
}
