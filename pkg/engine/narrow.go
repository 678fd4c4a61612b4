package engine

import (
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Narrowing takes away from what an engine finds and calls.
type Narrowing struct {
	// Shows reports whether a server, or a tool of it unless name is empty, is there. Whoever asks for another hears that
	// nothing is of that name. If nil, everything is there.
	Shows func(server, name string) bool
	// Refuses returns why a server cannot be used that is there; nil if it can. If Refuses is nil, all can.
	Refuses func(server string) error
	// Switches say what is on, of what is on for the engine. If nil, all of that is. Help says how to switch on what they
	// have off.
	Switches Switches
	Help     string
	// Policy has rules that are tried before those of the engine.
	Policy policy.Rules
}

// Narrowed returns an engine over the same catalog and callers that finds and calls less. It need not be closed, and
// must not be used after e is.
func (e *Engine) Narrowed(n Narrowing) *Engine {
	narrowed := *e
	if narrowed.shows = n.Shows; n.Shows == nil {
		narrowed.shows = showsAll
	}
	if narrowed.refuses = n.Refuses; n.Refuses == nil {
		narrowed.refuses = refusesNone
	}
	narrowed.switches, narrowed.help = both{e.switches, n.Switches, narrowed.shows}, n.Help
	narrowed.policy = slices.Concat(n.Policy, e.policy)
	return &narrowed
}

func showsAll(string, string) bool { return true }

func refusesNone(string) error { return nil }

// Refused returns why a server that is there cannot be used; nil if it can. See [Narrowing].
func (e *Engine) Refused(server string) error { return e.refuses(server) }

// Shows reports whether a server is there. See [Narrowing].
func (e *Engine) Shows(server string) bool { return e.shows(server, "") }

// IsOn reports whether ref is on, and can be used.
func (e *Engine) IsOn(ref tool.Ref) bool { return e.allows(ref) }

// narrowedOff returns the fault of what only the switches of a narrowing have off, nil if others have.
func (e *Engine) narrowedOff(ref tool.Ref) error {
	b, narrowed := e.switches.(both)
	if !narrowed || !b.shows(ref.Server, ref.Name) || ref.Name == "" && !b.wide.AllowsServer(ref.Server) ||
		ref.Name != "" && !b.wide.Allows(ref.Server, ref.Name) {
		return nil
	}
	kind, what := fault.ToolNotFound, ref.String()
	if ref.Name == "" {
		kind, what = fault.ServerNotFound, ref.Server
	}
	return fault.New(kind, what+" is switched off for this client", e.help).On(ref.Server, ref.Name)
}

// isShown reports whether ref is there. Only tools are hidden one by one.
func (e *Engine) isShown(ref tool.Ref) bool {
	if ref.Kind != tool.Tool {
		return e.shows(ref.Server, "")
	}
	return e.shows(ref.Server, ref.Name)
}

// servers returns the servers of the index that are there.
func (e *Engine) servers(v *catalog.View) []index.ServerInfo {
	all := v.Servers()
	hidden := func(s index.ServerInfo) bool { return !e.shows(s.Name, "") }
	if !slices.ContainsFunc(all, hidden) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), hidden)
}

// both are switches that have to agree.
type both struct {
	wide   Switches
	narrow Switches // nil if everything is on
	shows  func(server, name string) bool
}

// Allows implements [Switches].
func (b both) Allows(server, name string) bool {
	return b.wide.Allows(server, name) && b.shows(server, name) && (b.narrow == nil || b.narrow.Allows(server, name))
}

// AllowsServer implements [Switches].
func (b both) AllowsServer(server string) bool {
	return b.wide.AllowsServer(server) && b.shows(server, "") && (b.narrow == nil || b.narrow.AllowsServer(server))
}

// Whole implements [Switches]. Which tools are shown is known only one by one.
func (both) Whole(string) bool { return false }

// InProject implements [Switches].
func (b both) InProject(server, name string) bool { return b.wide.InProject(server, name) }
