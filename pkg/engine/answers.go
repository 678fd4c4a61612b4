package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/index"
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

// Search ranks what the servers named (nil: all) that are on offer of these kinds; none: tools.
// Templates are found with resources. Each kind is ranked for itself and the hits are merged by score.
func (e *Engine) Search(ctx context.Context, q search.Query, servers []string, refresh bool, kinds ...tool.Kind) ([]Found, error) {
	if len(kinds) == 0 {
		kinds = []tool.Kind{tool.Tool}
	}
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
		var list []Found
		for _, kind := range kinds {
			q.Keep = e.keep(sn, servers, kind)
			some, err := found(sn, q, kind)
			if err != nil {
				return nil, err
			}
			list = append(list, some...)
		}
		if len(kinds) > 1 {
			list = merged(list, q)
		}
		return list, nil
	})
}

// merged orders the hits of several rankings by score, and cuts them as a single one is cut: at the
// limit, and where they are far behind the first.
func merged(list []Found, q search.Query) []Found {
	slices.SortStableFunc(list, func(a, b Found) int { return cmp.Compare(b.Score, a.Score) })
	if q.Limit > 0 && len(list) > q.Limit {
		list = list[:q.Limit]
	}
	if q.Method == search.Regex || q.Method == search.Exact {
		return list
	}
	return slices.DeleteFunc(list, func(f Found) bool { return f.Score < search.DefaultModel().Tail*list[0].Score })
}

func found(sn *index.Snapshot, q search.Query, kind tool.Kind) ([]Found, error) {
	hits, err := sn.Search(q, kind)
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

// keep returns the filter for documents of a kind of these servers that are on. It looks at a
// document's name only where single tools are switched.
func (e *Engine) keep(sn *index.Snapshot, servers []string, kind tool.Kind) func(int) bool {
	on, whole := make(map[string]bool), make(map[string]bool)
	all := true
	for _, s := range sn.Servers() {
		on[s.Name] = !s.Off && e.opt.Switches.AllowsServer(s.Name) && (len(servers) == 0 || slices.Contains(servers, s.Name))
		whole[s.Name] = on[s.Name] && (kind != tool.Tool || e.opt.Switches.Whole(s.Name))
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

// Inspect returns the definition that ref names. Where ref is a resource it may be a template.
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
	recs, err := sn.Records(l.Name, tool.Tool)
	n := 0
	for _, rec := range recs {
		if e.opt.Switches.Allows(rec.Server, rec.Name) {
			n++
		}
	}
	return n, err
}

// ListServer returns one server and its tools that are on. A server that failed and of which
// nothing is known gives its fault.
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
		if unknown(info) {
			return ServerTools{}, info.Error
		}
		recs, err := sn.Records(server, tool.Tool)
		recs = slices.DeleteFunc(recs, func(r index.Record) bool { return !e.opt.Switches.Allows(server, r.Name) })
		return ServerTools{info, recs}, err
	})
}

// unknown reports whether a server failed and nothing is known of what it offers.
func unknown(s index.ServerInfo) bool { return s.State == index.Failed && s.Offers() == 0 }

// Offers returns what the servers named (nil: all) that are on offer of these kinds, in the order
// of the configuration. A server that was named, failed, and of which nothing is known gives its fault.
func (e *Engine) Offers(ctx context.Context, servers []string, refresh bool, kinds ...tool.Kind) ([]index.Record, error) {
	for _, name := range servers {
		if err := e.CheckServer(name); err != nil {
			return nil, err
		}
	}
	return healing(e, func() ([]index.Record, error) {
		sn, err := e.Snapshot(ctx, Need{Servers: servers, Refresh: refresh})
		if err != nil {
			return nil, err
		}
		var list []index.Record
		for _, info := range sn.Servers() {
			if info.Off || !e.opt.Switches.AllowsServer(info.Name) || servers != nil && !slices.Contains(servers, info.Name) {
				continue
			}
			if servers != nil && unknown(info) {
				return nil, info.Error
			}
			for _, kind := range kinds {
				recs, err := sn.Records(info.Name, kind)
				if err != nil {
					return nil, err
				}
				list = append(list, recs...)
			}
		}
		return list, nil
	})
}

// ServerTools is a server with its tools that are on.
type ServerTools struct {
	Server index.ServerInfo
	Tools  []index.Record
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

// Definition reads the definition of what was found.
func (e *Engine) Definition(rec index.Record) (tool.Def, error) { return e.sn.Definition(rec) }

// FailedServers returns the servers that are on but of which nothing is known, because they could
// not be asked.
func (e *Engine) FailedServers() []string {
	var names []string
	if e.sn == nil {
		return nil
	}
	for _, s := range e.sn.Servers() {
		if unknown(s) && !s.Off && e.opt.Switches.AllowsServer(s.Name) {
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
