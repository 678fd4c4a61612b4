package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// configured knows the configured servers: from the index, or from the configuration if there is no index.
type configured struct {
	view *catalog.View  // nil: no index matches the configuration
	cfg  *config.Config // nil unless view is
}

// withServers calls use with the configured servers. No server is listed.
func (e *Engine) withServers(use func(configured) error) error {
	view, err := e.catalog.Current()
	if err != nil {
		return err
	}
	if view != nil {
		defer view.Release()
		return use(configured{view: view})
	}
	cfg, err := e.catalog.Config()
	if err != nil {
		return err
	}
	return use(configured{cfg: cfg})
}

// names returns the servers in the order of the configuration.
func (c configured) names() (names []string) {
	if c.view == nil {
		for _, s := range c.cfg.Servers {
			names = append(names, s.Name)
		}
		return names
	}
	for _, s := range c.view.Servers() {
		names = append(names, s.Name)
	}
	return names
}

// off reports whether the entry of a server switches it off.
func (c configured) off(name string) bool {
	if c.view == nil {
		s, err := c.cfg.Server(name)
		return err == nil && s.Disabled
	}
	info, _ := c.view.Server(name)
	return info.Off
}

// Resolve reads a reference to a tool from the front of args: SERVER TOOL, SERVER/TOOL or
// SERVER.TOOL. It returns the rest of args. The server exists and is on; the tool need not exist.
func (e *Engine) Resolve(args []string) (ref tool.Ref, rest []string, err error) {
	err = e.withServers(func(c configured) (err error) {
		ref, rest, err = e.resolve(c, args)
		return err
	})
	return ref, rest, err
}

func (e *Engine) resolve(c configured, args []string) (tool.Ref, []string, error) {
	if len(args) == 0 {
		return tool.Ref{}, nil, fault.New(fault.Usage, "which tool?", "Name it as SERVER TOOL.").
			Then("Find one with", fault.Step{Verb: "search", Args: []string{"WORDS"}})
	}
	names := c.names()
	if slices.Contains(names, args[0]) {
		if len(args) == 1 {
			return tool.Ref{}, nil, fault.New(fault.Usage, fmt.Sprintf("which tool of %s?", args[0]), "").
				Then("See its tools with", fault.Step{Verb: "list", Server: args[0]}).On(args[0], "")
		}
		return tool.Ref{Server: args[0], Name: args[1]}, args[2:], e.checkOn(c, args[0])
	}
	if ref, ok := splitRef(args[0], names); ok {
		return ref, args[1:], e.checkOn(c, ref.Server)
	}
	return tool.Ref{}, nil, e.noServer(c, args[0])
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

// CheckServers fails for the first server that is not configured, or is off.
func (e *Engine) CheckServers(servers []string) error {
	if len(servers) == 0 {
		return nil
	}
	return e.withServers(func(c configured) error {
		names := c.names()
		for _, name := range servers {
			if !slices.Contains(names, name) {
				return e.noServer(c, name)
			}
			if err := e.checkOn(c, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkOn fails for a configured server that is off.
func (e *Engine) checkOn(c configured, name string) error {
	switch {
	case !e.switches.AllowsServer(name):
		return fault.New(fault.ServerNotFound, name+" is disabled", "").
			Then("Switch it on with", fault.Step{Verb: "enable", Server: name}).On(name, "")
	case c.off(name):
		return fault.New(fault.ServerNotFound, name+" is disabled in its configuration entry",
			`Remove "disabled": true from its entry.`).On(name, "").
			Then("See which file has it with", fault.Step{Verb: "config"})
	}
	return nil
}

// Name returns the name by which a server or tool is switched, "server" or "server/tool", for any of its spellings. ok
// is false if no server has it. A server that could not be listed may have any tool. No server is listed.
func (e *Engine) Name(text string) (name string, ok bool, err error) {
	err = e.withServers(func(c configured) error {
		names := c.names()
		if name, ok = text, slices.Contains(names, text); ok {
			return nil
		}
		ref, isRef := splitRef(text, names)
		name, ok = ref.String(), isRef
		if !ok || c.view == nil {
			return nil
		}
		_, found, err := c.view.Find(ref)
		info, _ := c.view.Server(ref.Server)
		ok = found || info.State != index.Listed
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
// is started for a tool or server that is off.
func (e *Engine) find(ctx context.Context, ref tool.Ref, use func(found) error) error {
	need := catalog.Need{Servers: []string{ref.Server}}
	if !e.allows(ref) {
		need.Servers = []string{}
	}
	failed := false
	read := func(first bool) error {
		return e.catalog.Read(ctx, need, func(v *catalog.View) error {
			rec, ok, err := lookup(v, ref)
			if err != nil {
				return err
			}
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

// lookup finds the record that ref names. A resource may also be a template: people do not tell them apart.
func lookup(v *catalog.View, ref tool.Ref) (index.Record, bool, error) {
	rec, ok, err := v.Find(ref)
	if ref.Kind == tool.Resource && !ok && err == nil {
		ref.Kind = tool.Template
		return v.Find(ref)
	}
	return rec, ok, err
}

// allows reports whether ref is on. Only tools are switched one by one.
func (e *Engine) allows(ref tool.Ref) bool {
	if ref.Kind != tool.Tool {
		return e.switches.AllowsServer(ref.Server)
	}
	return e.switches.Allows(ref.Server, ref.Name)
}

// allowed fails for a tool that is switched off, or was not found though its server is known.
func (e *Engine) allowed(v *catalog.View, ref tool.Ref, found bool) error {
	info, _ := v.Server(ref.Server)
	switch {
	case ref.Kind != tool.Tool && !e.allows(ref):
		return e.checkOn(configured{view: v}, ref.Server)
	case !e.allows(ref) && (found || info.State != index.Listed):
		return fault.New(fault.ToolNotFound, ref.String()+" is disabled", "").
			Then("Switch it on with", fault.Step{Verb: "enable", Args: []string{ref.String()}}).On(ref.Server, ref.Name)
	case !found:
		return e.noTool(v, ref)
	}
	return nil
}
