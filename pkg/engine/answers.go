package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// SearchRequest is a query and where to search.
type SearchRequest struct {
	search.Query
	// Servers to search. If nil, all are searched.
	Servers []string
	// Kinds to search. If empty, tools are searched. Templates are found with resources.
	Kinds []tool.Kind
	// Refresh lists the servers anew first.
	Refresh bool
	// Definitions asks for the definition of each hit.
	Definitions bool
}

// SearchResult is the answer to a [SearchRequest].
type SearchResult struct {
	Found []Found
	// Unsearched says why servers were not searched that were to be: they failed to list and nothing of them is known
	// from before, or their entries cannot be used. A fault without a server is about a whole file.
	Unsearched []*fault.Fault
	// Waiting are the servers that are on and that a person has to approve first. Nothing of them is searched.
	Waiting []*fault.Fault
	// Searched counts the servers that were searched.
	Searched int
}

// Found is one hit of a search.
type Found struct {
	search.Hit
	index.Record
	// Definition is nil unless the request asked for it.
	Definition *tool.Def
	// Stale is true if the server failed when it was last listed.
	Stale bool
	// Changed is what has changed since a person last saw it; nil if nothing has.
	Changed *pin.Change
}

// Search ranks tools, resources and prompts. Each kind is ranked for itself and the hits are merged by score.
func (e *Engine) Search(ctx context.Context, r SearchRequest) (*SearchResult, error) {
	if len(r.Kinds) == 0 {
		r.Kinds = []tool.Kind{tool.Tool}
	}
	if err := e.CheckServers(r.Servers); err != nil {
		return nil, err
	}
	var result *SearchResult
	err := e.catalog.Read(ctx, needOf(r.Servers, r.Refresh), func(v *catalog.View) (err error) {
		result = &SearchResult{Waiting: e.waiting(v)}
		for _, info := range e.servers(v) {
			if e.isOn(info) && !unknown(info) && (len(r.Servers) == 0 || slices.Contains(r.Servers, info.Name)) {
				result.Searched++
			}
		}
		if result.Found, err = e.search(v, r); err != nil {
			return err
		}
		result.Unsearched, err = e.unsearched(v, r.Servers)
		return err
	})
	return result, err
}

// unsearched returns why servers that are on were not searched.
func (e *Engine) unsearched(v *catalog.View, servers []string) (list []*fault.Fault, err error) {
	for _, name := range e.failed(v) {
		if info, _ := v.Server(name); len(servers) == 0 || slices.Contains(servers, name) {
			list = append(list, fault.From(failureOf(info)).On(name, ""))
		}
	}
	// Entries that cannot be used are not in the index. The configuration is read for them only if something is wrong
	// with it, and not if others were asked for.
	if len(v.Warnings()) == 0 || len(servers) > 0 {
		return list, nil
	}
	cfg, err := e.catalog.Config()
	if err != nil {
		return list, err
	}
	return append(list, slices.DeleteFunc(cfg.Faults(), func(f *fault.Fault) bool {
		return f.Server != "" && !e.switches.AllowsServer(f.Server)
	})...), nil
}

// needOf returns what most requests need of these servers.
func needOf(servers []string, refresh bool) catalog.Need {
	need := catalog.Need{Servers: servers}
	if refresh {
		need.List = catalog.ListAll
	}
	return need
}

func (e *Engine) search(v *catalog.View, r SearchRequest) ([]Found, error) {
	var list []Found
	for _, kind := range r.Kinds {
		q := r.Query
		q.Keep = e.filter(v, r.Servers, kind)
		hits, err := v.Search(q, kind)
		if err == nil && len(hits) == 0 && kind == tool.Tool && q.Method != search.Regex && q.Method != search.Exact {
			hits, err = e.written(v, q)
		}
		if err != nil {
			return nil, err
		}
		if list, err = appendFound(list, v, hits); err != nil {
			return nil, err
		}
	}
	if len(r.Kinds) > 1 {
		list = merged(list, r.Query)
	}
	e.markChanged(list, v.Server)
	if !r.Definitions {
		return list, nil
	}
	return list, addDefinitions(list, v)
}

// appendFound reads the records of hits. It is a function of its own because its frame is large: with that frame below
// a search, the stack of a short process has to grow once more.
func appendFound(list []Found, v *catalog.View, hits []search.Hit) ([]Found, error) {
	list = slices.Grow(list, len(hits))
	for _, h := range hits {
		rec, err := v.Record(h.Doc)
		if err != nil {
			return nil, err
		}
		info, _ := v.Server(rec.Server)
		list = append(list, Found{Hit: h, Record: rec, Stale: info.State == index.Failed})
	}
	return list, nil
}

func addDefinitions(list []Found, v *catalog.View) error {
	for i := range list {
		def, err := v.Definition(list[i].Record)
		if err != nil {
			return err
		}
		list[i].Definition = &def
	}
	return nil
}

// merged orders the hits of several rankings by score, and cuts them as a single ranking is cut: at the
// limit, and as soon as they are far behind the first.
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

// filter returns a function that reports whether a document of a kind, of these servers, is on; nil if all are. It
// reads a document's name only if single tools of its server are switched.
func (e *Engine) filter(v *catalog.View, servers []string, kind tool.Kind) func(doc int) bool {
	on, whole := make(map[string]bool), make(map[string]bool)
	all := true
	for _, s := range e.servers(v) {
		on[s.Name] = e.isOn(s) && (len(servers) == 0 || slices.Contains(servers, s.Name))
		whole[s.Name] = on[s.Name] && (kind != tool.Tool || e.switches.Whole(s.Name))
		all = all && whole[s.Name]
	}
	if all {
		return nil
	}
	return func(doc int) bool {
		server := v.ServerOf(doc)
		if whole[server] || !on[server] {
			return on[server]
		}
		name, err := v.NameOf(doc)
		return err == nil && e.switches.Allows(server, name)
	}
}

// isOn reports whether a server is on, by its entry and by choice, and can be used.
func (e *Engine) isOn(s index.ServerInfo) bool {
	return !s.Off && e.switches.AllowsServer(s.Name) && e.refuses(s.Name) == nil
}

// Inspect returns the definition that ref names, and what has changed of it since a person last saw it; nil if nothing
// has. If ref is a resource it may be a template.
func (e *Engine) Inspect(ctx context.Context, ref tool.Ref) (tool.Def, *pin.Change, error) {
	def, server, err := e.definition(ctx, ref, false)
	if err != nil {
		return tool.Def{}, nil, err
	}
	return def.Def, changeOf(e.changesOf(server), ref), nil
}

// definition returns the definition that ref names, and what is known of its server. keep is that of a
// [catalog.Need].
func (e *Engine) definition(ctx context.Context, ref tool.Ref, keep bool) (
	def *definition, server index.Facts, err error) {
	err = e.find(ctx, ref, keep, func(f found) (err error) {
		server = f.server.Facts
		if f.missing != nil {
			return e.heldNew(server, ref, f.missing)
		}
		def, err = e.called.get(f.view.Snapshot, ref, f.record)
		return err
	})
	return def, server, err
}

// Known returns the definition of a tool as the index has it, however old, and lists no server.
// known is false if the server has not been listed yet.
func (e *Engine) Known(ctx context.Context, ref tool.Ref) (def tool.Def, known bool, err error) {
	err = e.catalog.Read(ctx, catalog.Need{Servers: []string{}}, func(v *catalog.View) error {
		rec, found, err := v.Find(ref)
		if err != nil {
			return err
		}
		found = found && e.isShown(ref)
		info, _ := v.Server(ref.Server)
		if known = found || info.State == index.Listed; !known && e.switches.Allows(ref.Server, ref.Name) {
			return nil
		}
		if err := e.allowed(v, ref, found); err != nil {
			return e.heldNew(info.Facts, ref, err)
		}
		def, err = v.Definition(rec)
		return err
	})
	return def, known, err
}

// Listed is a server as a list shows it.
type Listed struct {
	index.ServerInfo
	// Disabled is true if the server is off, by its entry or by choice.
	Disabled bool
	// Refused says why it cannot be used here, though it is on; nil if it can.
	Refused error
	// On is how many of its tools are on.
	On int
	// Changes are what has changed of it since a person last saw it.
	Changes []pin.Change
}

// Servers are all servers in configuration order.
type Servers struct {
	Servers []Listed
	// Waiting is that of a [SearchResult].
	Waiting []*fault.Fault
	// Warnings say what was wrong with the configuration when it was last read.
	Warnings []string
}

// List returns all servers.
func (e *Engine) List(ctx context.Context, refresh bool) (*Servers, error) {
	var list *Servers
	err := e.catalog.Read(ctx, needOf(nil, refresh), func(v *catalog.View) error {
		list = &Servers{Warnings: v.Warnings(), Waiting: e.waiting(v)}
		for _, s := range e.servers(v) {
			on, err := e.countOn(v, s)
			if err != nil {
				return err
			}
			changes := e.changesOf(s.Facts)
			listed := Listed{ServerInfo: s, Disabled: s.Off || !e.switches.AllowsServer(s.Name), On: on, Changes: changes}
			if !listed.Disabled {
				listed.Refused = e.refuses(s.Name)
			}
			list.Servers = append(list.Servers, listed)
		}
		return nil
	})
	return list, err
}

func (e *Engine) countOn(v *catalog.View, s index.ServerInfo) (int, error) {
	switch {
	case !e.isOn(s):
		return 0, nil
	case e.switches.Whole(s.Name):
		return s.Tools, nil
	}
	recs, err := e.toolsOn(v, s.Name)
	return len(recs), err
}

func (e *Engine) toolsOn(v *catalog.View, server string) ([]index.Record, error) {
	recs, err := v.Records(server, tool.Tool)
	return slices.DeleteFunc(recs, func(r index.Record) bool { return !e.switches.Allows(server, r.Name) }), err
}

// ServerTools is a server with its tools that are on.
type ServerTools struct {
	Server index.ServerInfo
	Tools  []index.Record
	// Changes are what has changed since a person last saw it. Tools that are new and held are among them only.
	Changes []pin.Change
}

// ListServer returns one server and its tools that are on. If the server failed and nothing is known of what it offers,
// ListServer returns its fault.
func (e *Engine) ListServer(ctx context.Context, server string, refresh bool) (ServerTools, error) {
	if err := e.CheckServers([]string{server}); err != nil {
		return ServerTools{}, err
	}
	var list ServerTools
	err := e.catalog.Read(ctx, needOf([]string{server}, refresh), func(v *catalog.View) (err error) {
		list.Server, _ = v.Server(server)
		if unknown(list.Server) {
			return failureOf(list.Server)
		}
		list.Changes = e.changesOf(list.Server.Facts)
		list.Tools, err = e.toolsOn(v, server)
		return err
	})
	return list, err
}

// unknown reports whether a server failed and nothing is known of what it offers.
func unknown(s index.ServerInfo) bool { return s.State == index.Failed && s.Offers() == 0 }

// failureOf returns why a server failed. It returns a copy: many requests share the index, and may add to their fault.
func failureOf(s index.ServerInfo) error {
	f := *s.Error
	return &f
}

// waiting returns why the servers that are on and not approved are not.
func (e *Engine) waiting(v *catalog.View) []*fault.Fault {
	var list []*fault.Fault
	for _, s := range e.servers(v) {
		if e.isOn(s) && s.Waits() {
			list = append(list, s.Error)
		}
	}
	return list
}

// failed returns the servers that are on and unknown, but for those that wait for an approval.
func (e *Engine) failed(v *catalog.View) []string {
	var names []string
	for _, s := range e.servers(v) {
		if unknown(s) && e.isOn(s) && !s.Waits() {
			names = append(names, s.Name)
		}
	}
	return names
}

// Offers are the records of several servers, in the order of the configuration.
type Offers struct {
	Records []index.Record
	// Unsearched and Waiting are what they are in a [SearchResult]. If servers were named, they are empty.
	Unsearched, Waiting []*fault.Fault
}

// Offers returns what servers offer of these kinds, if they are on. If servers is nil, all are meant. If one of servers
// failed and nothing is known of what it offers, Offers returns its fault.
func (e *Engine) Offers(ctx context.Context, servers []string, refresh bool, kinds ...tool.Kind) (*Offers, error) {
	if err := e.CheckServers(servers); err != nil {
		return nil, err
	}
	var offers *Offers
	err := e.catalog.Read(ctx, needOf(servers, refresh), func(v *catalog.View) (err error) {
		offers = new(Offers)
		if servers == nil {
			offers.Waiting = e.waiting(v)
			if offers.Unsearched, err = e.unsearched(v, nil); err != nil {
				return err
			}
		}
		for _, info := range e.servers(v) {
			if !e.isOn(info) || servers != nil && !slices.Contains(servers, info.Name) {
				continue
			}
			if servers != nil && unknown(info) {
				return failureOf(info)
			}
			for _, kind := range kinds {
				recs, err := v.Records(info.Name, kind)
				if err != nil {
					return err
				}
				offers.Records = append(offers.Records, recs...)
			}
		}
		return nil
	})
	return offers, err
}

// Offered is something that a server offers, with its definition.
type Offered struct {
	tool.Ref
	Definition tool.Def
	// Off is true if it is switched off by choice, and Denied if the policy allows no call of it.
	Off, Denied bool
}

// Definitions returns what servers offer of these kinds, on or off, in the order of the configuration. Servers that
// their entries switch off are left out. No server is listed.
func (e *Engine) Definitions(ctx context.Context, kinds ...tool.Kind) ([]Offered, error) {
	var list []Offered
	err := e.catalog.Read(ctx, catalog.Need{Servers: []string{}}, func(v *catalog.View) error {
		list = nil
		for _, info := range e.servers(v) {
			if info.Off {
				continue
			}
			for _, kind := range kinds {
				recs, err := v.Records(info.Name, kind)
				if err != nil {
					return err
				}
				if list, err = e.appendOffered(list, v, recs); err != nil {
					return err
				}
			}
		}
		return ctx.Err()
	})
	return list, err
}

func (e *Engine) appendOffered(list []Offered, v *catalog.View, recs []index.Record) ([]Offered, error) {
	for _, rec := range recs {
		ref := tool.Ref{Server: rec.Server, Name: rec.Name, Kind: rec.Kind}
		if !e.isShown(ref) {
			continue
		}
		def, err := v.Definition(rec)
		if err != nil {
			return nil, err
		}
		denied := e.policy.Decide(ref, def.Hints()).Action == policy.Deny
		list = append(list, Offered{Ref: ref, Definition: def, Off: !e.allows(ref), Denied: denied})
	}
	return list, nil
}
