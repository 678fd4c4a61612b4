package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// noServer returns the fault of a name that no server has. It suggests the servers that may have been meant, or the
// tools that were named without their server.
func (e *Engine) noServer(c configured, text string) error {
	word, rest, _ := strings.Cut(text, "/")
	if err := e.unusable(c, text); err != nil {
		return err
	}
	f := fault.New(fault.ServerNotFound, fmt.Sprintf("there is no server %q", fault.Name(text)), "").On(word, rest)
	if near := nearest(word, c.names); len(near) > 0 {
		f.Suggest(near)
	} else if refs := e.toolsNamed(c, text); len(refs) > 0 {
		f.Message = fmt.Sprintf("%q is a tool, its server has to be named first", text)
		for _, ref := range refs {
			f.Suggestions = append(f.Suggestions, ref.String())
		}
		f.Help = fmt.Sprintf("Write it as: %s %s.", fault.Quote(refs[0].Server), fault.Quote(refs[0].Name))
	}
	return f.Then("See all servers with", fault.Step{Verb: "list"})
}

// unusable returns the fault of an entry whose server is unknown because the entry is wrong; nil if there is no such
// entry. text is the server's name, or that and a tool's.
func (e *Engine) unusable(c configured, text string) error {
	if c.view != nil && len(c.view.Warnings()) == 0 {
		return nil
	}
	cfg, err := e.catalog.Config()
	if err != nil {
		return err
	}
	for _, p := range cfg.Problems {
		if p.Severity != config.Error || p.Server == "" || !e.shows(p.Server, "") {
			continue
		}
		if _, isTool := splitRef(text, []string{p.Server}); isTool || text == p.Server {
			_, err := cfg.Server(p.Server)
			return err
		}
	}
	return nil
}

// toolsNamed returns the tools of exactly that name in the index.
func (e *Engine) toolsNamed(c configured, name string) []tool.Ref {
	if c.view == nil {
		return nil
	}
	var refs []tool.Ref
	for _, s := range e.servers(c.view) {
		ref := tool.Ref{Server: s.Name, Name: name}
		if _, ok, err := c.view.Find(ref); err == nil && ok && e.switches.Allows(s.Name, name) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// noTool returns the fault of a reference that names nothing of its kind.
func (e *Engine) noTool(v *catalog.View, ref tool.Ref) error {
	message := fmt.Sprintf("%s has no %s %q", ref.Server, ref.Kind, fault.Name(ref.Name))
	f := fault.New(fault.ToolNotFound, message, "").On(ref.Server, ref.Tool())
	switch kind, ok, err := e.otherKind(v, ref); {
	case err != nil:
		return err
	case ok:
		f.Help = fmt.Sprintf("It is a %s.", kind)
		return f.Then("Use it with", fault.Step{Verb: kind.Verb(), Server: ref.Server, Tool: ref.Name})
	}
	near, err := e.suggestions(v, ref)
	if err != nil {
		return err
	}
	f.Suggest(near)
	step := fault.Step{Verb: listVerb(ref.Kind), Server: ref.Server}
	f.Then(fmt.Sprintf("See its %ss with", ref.Kind), step)
	step.Args = []string{"--refresh"}
	return f.Then(fmt.Sprintf("Ask it again, if the %s is new, with", ref.Kind), step)
}

// suggestions returns the names that may have been meant: those with a similar spelling, or else those that a search
// finds.
func (e *Engine) suggestions(v *catalog.View, ref tool.Ref) ([]string, error) {
	if len(ref.Name) > fault.MaxName {
		return nil, nil
	}
	names, err := e.namesLike(v, ref)
	if err != nil {
		return nil, err
	}
	if near := nearest(ref.Name, names); len(near) > 0 {
		return near, nil
	}
	ofServer := func(doc int) bool { return v.ServerOf(doc) == ref.Server }
	hits, err := v.Search(search.Query{Text: ref.Name, Limit: 3, Keep: ofServer}, ref.Kind)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, h := range hits {
		if rec, err := v.Record(h.Doc); err == nil && slices.Contains(names, rec.Name) {
			found = append(found, rec.Name)
		}
	}
	return found, nil
}

// otherKind returns the kind of something that has exactly the name of ref, whatever its kind.
func (e *Engine) otherKind(v *catalog.View, ref tool.Ref) (kind tool.Kind, ok bool, err error) {
	for _, kind := range []tool.Kind{tool.Tool, tool.Prompt, tool.Resource} {
		other := tool.Ref{Server: ref.Server, Name: ref.Name, Kind: kind}
		if _, ok, err := v.Find(other); err != nil || ok && e.allows(other) {
			return kind, ok, err
		}
	}
	return "", false, nil
}

// namesLike returns the names that ref could have: of its server and kind, and on.
func (e *Engine) namesLike(v *catalog.View, ref tool.Ref) ([]string, error) {
	recs, err := v.Records(ref.Server, ref.Kind)
	if ref.Kind == tool.Resource && err == nil {
		var more []index.Record
		more, err = v.Records(ref.Server, tool.Template)
		recs = append(recs, more...)
	}
	var names []string
	for _, rec := range recs {
		if e.allows(tool.Ref{Server: rec.Server, Name: rec.Name, Kind: rec.Kind}) {
			names = append(names, rec.Name)
		}
	}
	return names, err
}

// nearest returns up to three names that differ from text by few letters, best first. Case and separators do not
// count.
func nearest(text string, names []string) []string {
	want := fold(text)
	return fault.Nearest(text, names, func(name string) int {
		got := fold(name)
		d := fault.Edits(want, got)
		if d > max(1, len(want)/4) && (len(want) < 4 || !strings.HasPrefix(got, want)) {
			return -1
		}
		return d
	})
}

func fold(s string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "", "/", "", " ", "").Replace(strings.ToLower(s))
}
