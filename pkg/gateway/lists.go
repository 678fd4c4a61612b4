package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/hidden"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// lists are what all servers offer, as a client sees it. They do not change.
type lists struct {
	tools, resources, templates, prompts []offer              // that are on
	every                                []offer              // tools, on or off
	off                                  map[tool.Ref]string  // the names of tools that are off
	denied                               map[tool.Ref]bool    // what the policy allows no call of
	byName                               map[exposed]tool.Ref // of tools and prompts, on or off
	// shadowed are resources and templates that cannot be read, since an earlier server lists the same URI.
	shadowed map[tool.Ref]bool
	// about says what servers are for whose entries say so.
	about map[string]string
	// catalogue is what the exposure Activate shows of the same, and under which names.
	catalogue func() *catalogue
}

// offer is one entry of a list.
type offer struct {
	name string // that a client sees; of a resource its URI, of a template its pattern
	ref  tool.Ref
	raw  json.RawMessage // the definition under that name
	// description is that of a tool. denied says that the policy allows no call of it.
	description string
	denied      bool
}

// exposed is a name that a client sees, of a kind.
type exposed struct {
	kind tool.Kind
	name string
}

// readLists reads the lists from the index. It says what is wrong with the configuration to notice.
func readLists(ctx context.Context, e *engine.Engine, notice func(string)) (*lists, error) {
	cfg, err := e.Catalog().Config()
	if err != nil {
		return nil, err
	}
	namespaces := make(map[string]string)
	for _, s := range cfg.Servers {
		namespaces[s.Name] = prefix(s.Name, s.Namespace)
	}
	all, err := e.Definitions(ctx, tool.Tool, tool.Resource, tool.Template, tool.Prompt)
	if err != nil {
		return nil, err
	}
	l := newLists(all, namespaces)
	l.about = make(map[string]string)
	for _, s := range cfg.Servers {
		l.about[s.Name] = cut(hidden.Show(strings.Join(strings.Fields(s.Description), " ")), maxAboutServer)
	}
	var waiting []string
	for _, s := range cfg.Servers {
		if !e.Shows(s.Name) || s.Disabled {
			continue
		}
		if refused := fault.From(e.Refused(s.Name)); refused != nil {
			waiting = append(waiting, refused.Message+"; a person types: "+typed(*refused.Next[0].Step))
		}
		if fault.Is(s.Unapproved, fault.ApprovalRequired) {
			waiting = append(waiting, fmt.Sprintf("%s: no one has approved it; a person types in %s: mcpl trust %s", s.Name,
				fault.Quote(s.Project), fault.Quote(s.Name)))
		}
	}
	for _, p := range cfg.Problems {
		notice(fmt.Sprintf("%s, line %d: %s. %s", p.File, max(1, p.Line), p.Message, p.Fix))
	}
	l.catalogue = sync.OnceValue(func() *catalogue {
		name, patterns := plainActivate, []string(nil)
		if cfg.Toolsets != nil {
			name, patterns = toolmanActivate, cfg.Toolsets.Active
		}
		c := newCatalogue(name, all, namespaces, patterns)
		c.waiting = waiting
		if cfg.Toolsets != nil {
			c.place = string(cfg.Toolsets.Catalog)
		}
		for _, text := range c.equal {
			notice(text)
		}
		return c
	})
	return l, nil
}

// maxAboutServer bounds what an entry says of its server to a model, in bytes.
const maxAboutServer = 80

// prefix returns what stands before the names of a server's tools.
func prefix(server string, namespace *string) string {
	if namespace != nil {
		server = *namespace
	}
	if server == "" {
		return ""
	}
	return server + "_"
}

// newLists returns the lists of what servers offer, in their order.
func newLists(all []engine.Offered, namespaces map[string]string) *lists {
	l := &lists{byName: make(map[exposed]tool.Ref), off: make(map[tool.Ref]string),
		denied: make(map[tool.Ref]bool), shadowed: make(map[tool.Ref]bool)}
	uris := make(map[exposed]bool)
	for _, o := range all {
		if o.Denied {
			l.denied[o.Ref] = true
		}
		switch uri := (exposed{o.Kind, o.Name}); {
		case o.Kind != tool.Resource && o.Kind != tool.Template:
			l.addNamed(o, l.name(namespaces[o.Server], o.Ref))
		case !o.Off && !uris[uri]: // a URI is read from the first server that lists it
			uris[uri] = true
			l.add(offer{name: o.Name, ref: o.Ref, raw: o.Definition.Whole(), denied: o.Denied})
		case !o.Off:
			l.shadowed[o.Ref] = true
		}
	}
	return l
}

// addNamed adds a tool or prompt under a name. Those that are off have one too: a name must not come to mean the tool
// of another server when one is switched off.
func (l *lists) addNamed(from engine.Offered, name string) {
	o := offer{name: name, ref: from.Ref, raw: renamed(from.Definition.Fields, "name", name), denied: from.Denied}
	l.byName[exposed{from.Kind, name}] = from.Ref
	if from.Kind == tool.Tool {
		o.description = tool.Text(from.Definition.Field("description"))
		l.every = append(l.every, o)
	}
	switch {
	case !from.Off:
		l.add(o)
	case from.Kind == tool.Tool:
		l.off[from.Ref] = name
	}
}

func (l *lists) add(o offer) {
	list := l.of(o.ref.Kind)
	*list = append(*list, o)
}

// of returns the list of a kind.
func (l *lists) of(kind tool.Kind) *[]offer {
	switch kind {
	case tool.Resource:
		return &l.resources
	case tool.Template:
		return &l.templates
	case tool.Prompt:
		return &l.prompts
	}
	return &l.tools
}

// renamed returns a definition with another value of the member that names it.
func renamed(fields []tool.Field, key, name string) json.RawMessage {
	fields = slices.Clone(fields)
	rename(fields, key, name)
	return tool.JoinObject(fields)
}

// rename replaces the member that names something.
func rename(fields []tool.Field, key, name string) {
	for i := range fields {
		if fields[i].Key == key {
			fields[i].Value = tool.Quote(name)
		}
	}
}
