package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/search"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Resolve reads a reference to a tool from the front of args: SERVER TOOL, SERVER/TOOL or
// SERVER.TOOL. It returns what follows. The server is known to exist and to be on; the tool
// need not be.
func (e *Engine) Resolve(args []string) (tool.Ref, []string, error) {
	names, err := e.ServerNames()
	if err != nil {
		return tool.Ref{}, nil, err
	}
	if len(args) == 0 {
		return tool.Ref{}, nil, fault.New(fault.Usage, "which tool?", "Name it as SERVER TOOL. Find one with: mcpl search WORDS")
	}
	if slices.Contains(names, args[0]) {
		if len(args) == 1 {
			return tool.Ref{}, nil, fault.New(fault.Usage, fmt.Sprintf("which tool of %s?", args[0]),
				"See its tools with: mcpl list "+fault.Quote(args[0])).On(args[0], "")
		}
		return tool.Ref{Server: args[0], Name: args[1]}, args[2:], e.checkServer(args[0])
	}
	if ref, ok := splitRef(args[0], names); ok {
		return ref, args[1:], e.checkServer(ref.Server)
	}
	return tool.Ref{}, nil, e.noServer(args[0], names)
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

// CheckServer fails for a server that is not configured or switched off.
func (e *Engine) CheckServer(name string) error {
	names, err := e.ServerNames()
	if err != nil {
		return err
	}
	if !slices.Contains(names, name) {
		return e.noServer(name, names)
	}
	return e.checkServer(name)
}

func (e *Engine) checkServer(name string) error {
	if !e.opt.Switches.AllowsServer(name) {
		return fault.New(fault.ServerNotFound, name+" is disabled", "Switch it on with: mcpl enable "+fault.Quote(name)).On(name, "")
	}
	if e.sn != nil {
		if info, _ := e.sn.Server(name); info.Off {
			return offByEntry(name)
		}
		return nil
	}
	if cfg, err := e.Config(); err == nil {
		if s, err := cfg.Server(name); err == nil && s.Disabled {
			return offByEntry(name)
		}
	}
	return nil
}

func offByEntry(name string) error {
	return fault.New(fault.ServerNotFound, name+" is disabled in its configuration entry",
		"Remove \"disabled\": true from its entry (mcpl config says in which file).").On(name, "")
}

// noServer is the fault of a name that is no server, with what may have been meant: a server,
// or a tool given without its server.
func (e *Engine) noServer(text string, names []string) error {
	word, rest, _ := strings.Cut(text, "/")
	if err := e.unusable(text); err != nil {
		return err
	}
	f := fault.New(fault.ServerNotFound, fmt.Sprintf("there is no server %q", text), "").On(word, rest)
	if near := nearest(word, names); len(near) > 0 {
		f.Suggestions = near
		f.Help = fmt.Sprintf("Did you mean %s? ", strings.Join(near, " or "))
	} else if refs := e.toolsNamed(text); len(refs) > 0 {
		f.Message = fmt.Sprintf("%q is a tool, its server has to be named first", text)
		for _, ref := range refs {
			f.Suggestions = append(f.Suggestions, ref.String())
		}
		f.Help = fmt.Sprintf("Write it as: %s %s. ", fault.Quote(refs[0].Server), fault.Quote(refs[0].Name))
	}
	f.Help += "See all servers with: mcpl list"
	return f
}

// unusable returns the fault of an entry that is configured but wrong, which is why its server is
// unknown. text is the server's name, or that and a tool's.
func (e *Engine) unusable(text string) error {
	if e.sn != nil && len(e.sn.Warnings()) == 0 {
		return nil
	}
	if e.opt.NewCaller == nil {
		return ErrNotFresh
	}
	cfg, err := e.Config()
	if err != nil {
		return err
	}
	for _, p := range cfg.Problems {
		if p.Severity != config.Error || p.Server == "" {
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
func (e *Engine) toolsNamed(name string) []tool.Ref {
	if e.sn == nil {
		return nil
	}
	var refs []tool.Ref
	for _, s := range e.sn.Servers() {
		ref := tool.Ref{Server: s.Name, Name: name}
		if _, ok, err := e.sn.Find(ref); err == nil && ok && e.opt.Switches.Allows(s.Name, name) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// find returns the record of what may be used. What a failed server may have is asked for again.
// For what is switched off nothing is started.
func (e *Engine) find(ctx context.Context, ref tool.Ref) (*index.Snapshot, index.Record, error) {
	need := Need{Servers: []string{ref.Server}}
	if !e.allows(ref) {
		need.Servers = []string{}
	}
	sn, err := e.Snapshot(ctx, need)
	if err != nil {
		return nil, index.Record{}, err
	}
	rec, ok, err := lookup(sn, ref)
	info, _ := sn.Server(ref.Server)
	if err == nil && !ok && info.State == index.Failed && !slices.Contains(e.asked, ref.Server) {
		need.RetryFailed = true
		if sn, err = e.Snapshot(ctx, need); err != nil {
			return nil, index.Record{}, err
		}
		rec, ok, err = lookup(sn, ref)
		info, _ = sn.Server(ref.Server)
	}
	if err == nil && !ok && unknown(info) && e.allows(ref) {
		return nil, index.Record{}, info.Error
	}
	if err == nil {
		err = e.allowed(sn, ref, ok)
	}
	return sn, rec, err
}

// lookup finds what ref names. A resource may also be a template, which people do not tell apart.
func lookup(sn *index.Snapshot, ref tool.Ref) (index.Record, bool, error) {
	rec, ok, err := sn.Find(ref)
	if ref.Kind == tool.Resource && !ok && err == nil {
		ref.Kind = tool.Template
		return sn.Find(ref)
	}
	return rec, ok, err
}

// allows reports whether what ref names is on. Only tools are switched one by one.
func (e *Engine) allows(ref tool.Ref) bool {
	if ref.Kind != tool.Tool {
		return e.opt.Switches.AllowsServer(ref.Server)
	}
	return e.opt.Switches.Allows(ref.Server, ref.Name)
}

// allowed fails for a tool that is switched off, or was not found though its server is known.
func (e *Engine) allowed(sn *index.Snapshot, ref tool.Ref, found bool) error {
	info, _ := sn.Server(ref.Server)
	switch {
	case ref.Kind != tool.Tool && !e.allows(ref):
		return e.checkServer(ref.Server)
	case !e.allows(ref) && (found || info.State != index.Listed):
		return fault.New(fault.ToolNotFound, ref.String()+" is disabled",
			"Switch it on with: mcpl enable "+fault.Quote(ref.String())).On(ref.Server, ref.Name)
	case !found:
		return e.noTool(sn, ref)
	}
	return nil
}

// Name returns the name by which a server or tool is switched, "server" or "server/tool", for
// any of its spellings. ok is false where no server has it; the tools of a server that could not
// be asked are taken on trust. No server is asked.
func (e *Engine) Name(text string) (name string, ok bool, err error) {
	servers, err := e.ServerNames()
	if err != nil || slices.Contains(servers, text) {
		return text, err == nil, err
	}
	ref, ok := splitRef(text, servers)
	if !ok || e.sn == nil {
		return ref.String(), ok, nil
	}
	_, found, err := e.sn.Find(ref)
	info, _ := e.sn.Server(ref.Server)
	return ref.String(), found || info.State != index.Listed, err
}

// noTool is the fault of a name that is no tool of its server, or none of what the kind of ref
// says.
func (e *Engine) noTool(sn *index.Snapshot, ref tool.Ref) error {
	f := fault.New(fault.ToolNotFound, fmt.Sprintf("%s has no %s %q", ref.Server, ref.Kind, ref.Name), "").On(ref.Server, ref.Tool())
	list := ref.Kind.String() + "s"
	if ref.Kind == tool.Tool {
		list = "list"
	}
	names, err := e.namesLike(sn, ref)
	if err != nil {
		return err
	}
	if f.Help, err = e.otherKind(sn, ref); err != nil {
		return err
	}
	if f.Help != "" {
		return f
	}
	f.Suggestions = nearest(ref.Name, names)
	if len(f.Suggestions) == 0 {
		hits, err := sn.Search(search.Query{Text: ref.Name, Limit: 3, Keep: func(doc int) bool { return sn.ServerOf(doc) == ref.Server }}, ref.Kind)
		if err != nil {
			return err
		}
		for _, h := range hits {
			if rec, err := sn.Record(h.Doc); err == nil && slices.Contains(names, rec.Name) {
				f.Suggestions = append(f.Suggestions, rec.Name)
			}
		}
	}
	if len(f.Suggestions) > 0 {
		f.Help = fmt.Sprintf("Did you mean %s? ", strings.Join(f.Suggestions, " or "))
	}
	f.Help += fmt.Sprintf("See its %ss with: mcpl %s %s. Ask it again, if the %[1]s is new, with: mcpl %[2]s %[3]s --refresh",
		ref.Kind, list, fault.Quote(ref.Server))
	return f
}

// otherKind says how to use what has exactly the name that ref has, but is of another kind; "" where
// there is no such thing.
func (e *Engine) otherKind(sn *index.Snapshot, ref tool.Ref) (string, error) {
	verbs := map[tool.Kind]string{tool.Tool: "call", tool.Resource: "read", tool.Prompt: "prompt"}
	for _, kind := range []tool.Kind{tool.Tool, tool.Prompt, tool.Resource} {
		other := tool.Ref{Server: ref.Server, Name: ref.Name, Kind: kind}
		if _, ok, err := sn.Find(other); err != nil || ok && e.allows(other) {
			return fmt.Sprintf("It is a %s. Use it with: mcpl %s %s %s", kind, verbs[kind], fault.Quote(ref.Server), fault.Quote(ref.Name)), err
		}
	}
	return "", nil
}

// namesLike returns the names of what the server of ref has of its kind, as far as that is on.
func (e *Engine) namesLike(sn *index.Snapshot, ref tool.Ref) ([]string, error) {
	recs, err := sn.Records(ref.Server, ref.Kind)
	if ref.Kind == tool.Resource && err == nil {
		var more []index.Record
		more, err = sn.Records(ref.Server, tool.Template)
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

// nearest returns up to three names that differ from text by few letters, best first. Case and
// separators do not count.
func nearest(text string, names []string) []string {
	type near struct {
		name string
		dist int
	}
	want := fold(text)
	var found []near
	for _, name := range names {
		got := fold(name)
		d := fault.Edits(want, got)
		if d <= max(1, len(want)/4) || (len(want) >= 4 && strings.HasPrefix(got, want)) {
			found = append(found, near{name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.dist - b.dist })
	var best []string
	for _, n := range found[:min(3, len(found))] {
		best = append(best, n.name)
	}
	return best
}

func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-./ ", r) {
			return -1
		}
		return r
	}, strings.ToLower(s))
}
