package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// configured knows the configured servers: from the index, or from the configuration if there is no index.
type configured struct {
	view  *catalog.View // nil if no index matches the configuration
	names []string      // in the order of the configuration
	off   []string      // those whose entry switches them off
}

// withServers calls use with the configured servers. No server is listed.
func (e *Engine) withServers(use func(configured) error) error {
	view, err := e.catalog.Current()
	if err != nil {
		return err
	}
	c := configured{view: view}
	add := func(name string, off bool) {
		if c.names = append(c.names, name); off {
			c.off = append(c.off, name)
		}
	}
	if view != nil {
		defer view.Release()
		for _, s := range e.servers(view) {
			add(s.Name, s.Off)
		}
	} else {
		cfg, err := e.catalog.Config()
		if err != nil {
			return err
		}
		for _, s := range cfg.Servers {
			if e.shows(s.Name, "") {
				add(s.Name, s.Disabled)
			}
		}
	}
	return use(c)
}

// Resolve reads a reference of a kind from the front of args: SERVER TOOL, SERVER/TOOL or SERVER.TOOL, or a name as
// clients show it, mcp__NAME__SERVER_TOOL. It returns the rest of args. The server exists and is on; the tool, resource
// or prompt need not exist.
func (e *Engine) Resolve(args []string, kind tool.Kind) (ref tool.Ref, rest []string, err error) {
	err = e.withServers(func(c configured) (err error) {
		ref, rest, err = e.resolve(c, args, kind)
		return err
	})
	ref.Kind = kind
	return ref, rest, err
}

func (e *Engine) resolve(c configured, args []string, kind tool.Kind) (tool.Ref, []string, error) {
	if len(args) == 0 {
		lead, see := "Find one with", fault.Step{Verb: "search", Args: []string{"WORDS"}}
		if kind != tool.Tool {
			lead, see = "See what there is with", fault.Step{Verb: listVerb(kind)}
		}
		name := map[tool.Kind]string{tool.Tool: "TOOL", tool.Resource: "URI", tool.Prompt: "NAME"}[kind]
		return tool.Ref{}, nil, fault.New(fault.Usage, fmt.Sprintf("which %s?", kind), "Name it as SERVER "+name+".").
			Then(lead, see)
	}
	if slices.Contains(c.names, args[0]) {
		if len(args) == 1 {
			return tool.Ref{}, nil, fault.New(fault.Usage, fmt.Sprintf("which %s of %s?", kind, args[0]), "").
				Then(fmt.Sprintf("See its %ss with", kind), fault.Step{Verb: listVerb(kind), Server: args[0]}).On(args[0], "")
		}
		return tool.Ref{Server: args[0], Name: args[1]}, args[2:], e.checkOn(args[0], c.off)
	}
	if ref, ok := splitRef(args[0], c.names); ok {
		return ref, args[1:], e.checkOn(ref.Server, c.off)
	}
	if ref, known, err := c.unprefixed(args[0], kind); known || err != nil {
		return ref, args[1:], cmp.Or(err, e.checkOn(ref.Server, c.off))
	}
	return tool.Ref{}, nil, e.noServer(c, args[0])
}

// listVerb returns the verb that lists what servers offer of a kind.
func listVerb(kind tool.Kind) string {
	if kind == tool.Tool {
		return "list"
	}
	return kind.String() + "s"
}

// splitRef splits "server/tool" or "server.tool" at a configured server's name, the longest one
// that fits: both names may contain the separator.
func splitRef(text string, names []string) (tool.Ref, bool) {
	var best tool.Ref
	for _, name := range names {
		rest, ok := strings.CutPrefix(text, name)
		if ok && len(rest) > 1 && (rest[0] == '/' || rest[0] == '.') && len(name) > len(best.Server) {
			best = tool.Ref{Server: name, Name: rest[1:]}
		}
	}
	return best, best.Server != ""
}

// unprefixed returns what a name as clients show it, mcp__NAME__SERVER_TOOL, refers to: what a server lists, else what
// a server may have that could not be listed. If there are several, the longest name of a server counts: all parts may
// contain underscores. known is false if no server fits.
func (c configured) unprefixed(text string, kind tool.Kind) (ref tool.Ref, known bool, err error) {
	var listed, possible tool.Ref
	for _, name := range tool.Unprefixed(text) {
		for _, server := range c.names {
			rest, fits := strings.CutPrefix(name, server+"_")
			if !fits || rest == "" {
				continue
			}
			ref := tool.Ref{Server: server, Name: rest, Kind: kind}
			has, may, err := c.has(ref)
			switch {
			case err != nil:
				return ref, false, err
			case has && len(server) > len(listed.Server):
				listed = ref
			case may && len(server) > len(possible.Server):
				possible = ref
			}
		}
	}
	ref = cmp.Or(listed, possible)
	return ref, ref.Server != "", nil
}

// has reports whether a server lists ref, or else may have it, since it could not be listed.
func (c configured) has(ref tool.Ref) (has, may bool, err error) {
	if c.view == nil {
		return false, true, nil
	}
	_, has, err = lookup(c.view, ref)
	info, _ := c.view.Server(ref.Server)
	return has, !has && info.State != index.Listed, err
}

// CheckServers fails for the first server that is not configured, or is off.
func (e *Engine) CheckServers(servers []string) error {
	if len(servers) == 0 {
		return nil
	}
	return e.withServers(func(c configured) error {
		for _, name := range servers {
			if !slices.Contains(c.names, name) {
				return e.noServer(c, name)
			}
			if err := e.checkOn(name, c.off); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkOn fails for a configured server that is off, by choice or by its entry.
func (e *Engine) checkOn(name string, entriesOff []string) error {
	switch {
	case !e.shows(name, ""):
		return fault.New(fault.ServerNotFound, fmt.Sprintf("there is no server %q", name), "").On(name, "").
			Then("See all servers with", fault.Step{Verb: "list"})
	case !e.switches.AllowsServer(name):
		if off := e.narrowedOff(tool.Ref{Server: name}); off != nil {
			return off
		}
		return fault.New(fault.ServerNotFound, name+" is disabled", "").
			Then("Switch it on with", e.enable(tool.Ref{Server: name})).On(name, "")
	case slices.Contains(entriesOff, name):
		return fault.New(fault.ServerNotFound, name+" is disabled in its configuration entry",
			`Remove "disabled": true from its entry.`).On(name, "").
			Then("See which file has it with", fault.Step{Verb: "config"})
	}
	return e.refuses(name)
}

// Name returns the name by which a server or tool is switched, "server" or "server/tool", for any of its spellings. ok
// is false if no server has it. A server that could not be listed may have any tool. No server is listed.
func (e *Engine) Name(text string) (name string, ok bool, err error) {
	err = e.withServers(func(c configured) error {
		if name, ok = text, slices.Contains(c.names, text); ok {
			return nil
		}
		if ref, isRef := splitRef(text, c.names); isRef {
			has, may, err := c.has(ref)
			name, ok = ref.String(), has || may
			return err
		}
		ref, known, err := c.unprefixed(text, tool.Tool)
		name, ok = ref.String(), known
		return err
	})
	return name, ok, err
}

// found is the record that a reference names.
type found struct {
	view   *catalog.View
	server index.ServerInfo
	record index.Record
	// missing is why it cannot be used: there is no such record, or it is switched off. Else it is nil.
	missing error
}

// find calls use with the record that ref names. If there is none, a server that failed is listed again first. Nothing
// is started for a tool or server that is off. keep is that of a [catalog.Need].
func (e *Engine) find(ctx context.Context, ref tool.Ref, keep bool, use func(found) error) error {
	need := catalog.Need{Servers: []string{ref.Server}, Keep: keep}
	if !e.allows(ref) {
		need.Servers = []string{}
	}
	failed := false
	read := func(first bool) error {
		return e.catalog.Read(ctx, need, func(v *catalog.View) error {
			rec, ok, err := e.record(v, ref)
			if err != nil {
				return err
			}
			ok = ok && e.isShown(ref)
			info, _ := v.Server(ref.Server)
			if failed = first && !ok && info.State == index.Failed && !v.Tried(ref.Server); failed {
				return nil
			}
			if !ok && unknown(info) && e.allows(ref) {
				return failureOf(info)
			}
			return use(found{view: v, server: info, record: rec, missing: e.allowed(v, ref, ok)})
		})
	}
	if err := read(true); err != nil || !failed {
		return err
	}
	need.List = catalog.ListFailed
	return read(false)
}

// record finds the record that ref names, among those of calls before first.
func (e *Engine) record(v *catalog.View, ref tool.Ref) (index.Record, bool, error) {
	if rec, ok := e.called.record(v.Snapshot, ref); ok {
		return rec, true, nil
	}
	return lookup(v, ref)
}

// lookup finds the record that ref names in the index. A resource may also be a template: people do not tell them
// apart.
func lookup(v *catalog.View, ref tool.Ref) (index.Record, bool, error) {
	rec, ok, err := v.Find(ref)
	if ref.Kind == tool.Resource && !ok && err == nil {
		ref.Kind = tool.Template
		return v.Find(ref)
	}
	return rec, ok, err
}

// allows reports whether ref is on, and can be used. Only tools are switched one by one.
func (e *Engine) allows(ref tool.Ref) bool {
	if e.refuses(ref.Server) != nil {
		return false
	}
	if ref.Kind != tool.Tool {
		return e.switches.AllowsServer(ref.Server)
	}
	return e.switches.Allows(ref.Server, ref.Name)
}

// allowed fails for a tool that is switched off, or was not found though its server is known.
func (e *Engine) allowed(v *catalog.View, ref tool.Ref, found bool) error {
	info, _ := v.Server(ref.Server)
	if off := e.switchedOff(ref); off != nil && (found || ref.Kind != tool.Tool || info.State != index.Listed) {
		return off
	}
	if !found {
		return e.noTool(v, ref)
	}
	return nil
}

// switchedOff fails for what is switched off by choice, or cannot be used here.
func (e *Engine) switchedOff(ref tool.Ref) error {
	refused := e.refuses(ref.Server)
	switch {
	case refused != nil:
		return refused
	case e.allows(ref):
		return nil
	case ref.Kind != tool.Tool:
		return e.checkOn(ref.Server, nil)
	}
	if off := e.narrowedOff(ref); off != nil {
		return off
	}
	return fault.New(fault.ToolNotFound, ref.String()+" is disabled", "").
		Then("Switch it on with", e.enable(ref)).On(ref.Server, ref.Name)
}

// enable returns the step that switches a tool on where it is off, or a whole server if ref has no name.
func (e *Engine) enable(ref tool.Ref) fault.Step {
	step := fault.Step{Verb: "enable"}
	if e.switches.InProject(ref.Server, ref.Name) {
		step.Args = []string{"--project"}
	}
	if ref.Name == "" {
		step.Server = ref.Server
	} else {
		step.Args = append(step.Args, ref.String())
	}
	return step
}
