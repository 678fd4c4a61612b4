package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/schema"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Found is one hit of a search.
type Found struct {
	search.Hit
	index.Record
	// Stale says that the server failed when it was last asked.
	Stale bool
}

// Search ranks the tools of the servers named (nil: all) that are on.
func (e *Engine) Search(ctx context.Context, q search.Query, servers []string, refresh bool) ([]Found, error) {
	for _, name := range servers {
		if err := e.CheckServer(name); err != nil {
			return nil, err
		}
	}
	return healing(e, func() ([]Found, error) {
		sn, err := e.Snapshot(ctx, Need{Servers: servers, Refresh: refresh})
		if err != nil {
			return nil, err
		}
		q.Keep = e.keep(sn, servers)
		return found(sn, q)
	})
}

func found(sn *index.Snapshot, q search.Query) ([]Found, error) {
	hits, err := sn.Search(q)
	if err != nil {
		return nil, err
	}
	list := make([]Found, 0, len(hits))
	for _, h := range hits {
		rec, err := sn.Record(h.Doc)
		if err != nil {
			return nil, err
		}
		info, _ := sn.Server(rec.Server)
		list = append(list, Found{Hit: h, Record: rec, Stale: info.State == index.Failed})
	}
	return list, nil
}

// keep returns the filter for documents of these servers that are on. It looks at a document's
// name only where single tools are switched.
func (e *Engine) keep(sn *index.Snapshot, servers []string) func(int) bool {
	on, whole := make(map[string]bool), make(map[string]bool)
	all := true
	for _, s := range sn.Servers() {
		on[s.Name] = !s.Off && e.opt.Switches.AllowsServer(s.Name) && (len(servers) == 0 || slices.Contains(servers, s.Name))
		whole[s.Name] = on[s.Name] && e.opt.Switches.Whole(s.Name)
		all = all && whole[s.Name]
	}
	if all {
		return nil
	}
	return func(doc int) bool {
		server := sn.ServerOf(doc)
		if whole[server] || !on[server] {
			return on[server]
		}
		name, err := sn.NameOf(doc)
		return err == nil && e.opt.Switches.Allows(server, name)
	}
}

// Inspect returns the definition of a tool.
func (e *Engine) Inspect(ctx context.Context, ref tool.Ref) (tool.Def, error) {
	return healing(e, func() (tool.Def, error) {
		sn, rec, err := e.find(ctx, ref)
		if err != nil {
			return tool.Def{}, err
		}
		return sn.Definition(rec)
	})
}

// Known returns the definition of a tool as the index has it, however old, and starts nothing.
// known is false where the tools of its server have not been listed yet.
func (e *Engine) Known(ctx context.Context, ref tool.Ref) (def tool.Def, known bool, err error) {
	def, err = healing(e, func() (tool.Def, error) {
		sn, err := e.Snapshot(ctx, Need{Servers: []string{}})
		if err != nil {
			return tool.Def{}, err
		}
		rec, found, err := sn.Find(ref)
		if err != nil {
			return tool.Def{}, err
		}
		info, _ := sn.Server(ref.Server)
		if known = found || info.State == index.Listed; !known && e.opt.Switches.Allows(ref.Server, ref.Name) {
			return tool.Def{}, nil
		}
		if err := e.allowed(sn, ref, found); err != nil {
			return tool.Def{}, err
		}
		return sn.Definition(rec)
	})
	return def, known, err
}

// Listed is a server as a list shows it.
type Listed struct {
	index.ServerInfo
	// Disabled says that it is off, by its entry or by choice.
	Disabled bool
	// On is how many of its tools are on.
	On int
}

// List returns all servers in configuration order.
func (e *Engine) List(ctx context.Context, refresh bool) ([]Listed, error) {
	return healing(e, func() ([]Listed, error) {
		sn, err := e.Snapshot(ctx, Need{Refresh: refresh})
		if err != nil {
			return nil, err
		}
		var list []Listed
		for _, s := range sn.Servers() {
			l := Listed{ServerInfo: s, Disabled: s.Off || !e.opt.Switches.AllowsServer(s.Name)}
			if l.On, err = e.on(sn, l); err != nil {
				return nil, err
			}
			list = append(list, l)
		}
		return list, nil
	})
}

// on counts the tools of a server that are on.
func (e *Engine) on(sn *index.Snapshot, l Listed) (int, error) {
	switch {
	case l.Disabled:
		return 0, nil
	case e.opt.Switches.Whole(l.Name):
		return l.Tools, nil
	}
	recs, err := sn.Records(l.Name)
	n := 0
	for _, rec := range recs {
		if e.opt.Switches.Allows(rec.Server, rec.Name) {
			n++
		}
	}
	return n, err
}

// ListServer returns one server and its tools that are on. A server that failed and of which no
// tools are known gives its fault.
func (e *Engine) ListServer(ctx context.Context, server string, refresh bool) (ServerTools, error) {
	if err := e.CheckServer(server); err != nil {
		return ServerTools{}, err
	}
	return healing(e, func() (ServerTools, error) {
		sn, err := e.Snapshot(ctx, Need{Servers: []string{server}, Refresh: refresh})
		if err != nil {
			return ServerTools{}, err
		}
		info, _ := sn.Server(server)
		if info.State == index.Failed && info.Tools == 0 {
			return ServerTools{}, info.Error
		}
		recs, err := sn.Records(server)
		recs = slices.DeleteFunc(recs, func(r index.Record) bool { return !e.opt.Switches.Allows(server, r.Name) })
		return ServerTools{info, recs}, err
	})
}

// ServerTools is a server with its tools that are on.
type ServerTools struct {
	Server index.ServerInfo
	Tools  []index.Record
}

// Plan is a call that is ready to be made.
type Plan struct {
	Ref  tool.Ref
	Args json.RawMessage
	// Unchecked is why the arguments could not be checked: the schema itself is at fault.
	Unchecked error
	// Repeatable says that the tool's annotations promise that a second call does no harm.
	Repeatable bool
	// HeaderSchema is that of tool.CallOptions.
	HeaderSchema string
}

// Plan finds the tool's definition, has its arguments built for its schema, and checks them
// where check is set. Arguments that do not fit are one fault that names all that is wrong. No
// server is started, unless the index does not know the tool's server yet.
func (e *Engine) Plan(ctx context.Context, ref tool.Ref, build func(inputSchema []byte) (json.RawMessage, error), check bool) (*Plan, error) {
	def, err := e.Inspect(ctx, ref)
	if err != nil {
		return nil, err
	}
	args, err := build(def.InputSchema)
	if err != nil {
		return nil, fault.From(err).On(ref.Server, ref.Name)
	}
	hints := def.Hints()
	p := &Plan{Ref: ref, Args: args, Repeatable: is(hints.ReadOnly) || is(hints.Idempotent)}
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
		return nil, schema.Fault(ref.Server, ref.Name, def.InputSchema, args, faults)
	}
	return p, nil
}

// Call makes a planned call. A result that reports an error is a result.
func (e *Engine) Call(ctx context.Context, p *Plan, opt tool.CallOptions) (*tool.Result, error) {
	caller, err := e.callable()
	if err != nil {
		return nil, err
	}
	opt.Repeatable, opt.HeaderSchema = p.Repeatable, p.HeaderSchema
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

// healing runs read and, where it met a damaged index, rebuilds that and runs read once more.
// Damage to a part of the packed index shows only when that part is read.
func healing[T any](e *Engine, read func() (T, error)) (T, error) {
	v, err := read()
	if !errors.Is(err, index.ErrDamaged) {
		return v, err
	}
	var none T
	if e.opt.NewCaller == nil {
		return none, ErrNotFresh
	}
	e.opt.Events.Notice("the packed index in %s is damaged and is built anew", e.store.Dir)
	e.distrust = true
	e.reopen()
	return read()
}

// Definition reads the definition of a tool that was found.
func (e *Engine) Definition(rec index.Record) (tool.Def, error) { return e.sn.Definition(rec) }

// FailedServers returns the servers that are on but whose tools are not known, because they
// could not be asked.
func (e *Engine) FailedServers() []string {
	var names []string
	if e.sn == nil {
		return nil
	}
	for _, s := range e.sn.Servers() {
		if s.State == index.Failed && s.Tools == 0 && !s.Off && e.opt.Switches.AllowsServer(s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// Warnings returns what was wrong with the configuration when it was last read.
func (e *Engine) Warnings() []string {
	if e.sn == nil {
		return nil
	}
	return e.sn.Warnings()
}
