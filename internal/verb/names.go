package verb

import (
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/state"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Word completes a command line.
type Word struct {
	Text  string
	About string // may be empty
}

// Completer returns the words that may follow args, those of names that match them. If files is true
// and there are no words, the shell completes files.
type Completer func(names *Names, args []string) (list []Word, files bool)

// maxAbout is how much of a description goes with a word, in bytes.
const maxAbout = 60

// fixed completes every argument from the same words.
func fixed(texts ...string) Completer {
	return func(*Names, []string) ([]Word, bool) { return words(texts), false }
}

// words returns texts as words without a description.
func words(texts []string) []Word {
	list := make([]Word, len(texts))
	for i, text := range texts {
		list[i].Text = text
	}
	return list
}

// described returns records as words: their names, behind prefix, with the start of the description.
func described(recs []index.Record, prefix string) []Word {
	list := make([]Word, len(recs))
	for i, rec := range recs {
		list[i] = Word{prefix + rec.Name, index.FirstSentences(rec.Description, maxAbout)}
	}
	return list
}

// completeServer completes one server that is on.
func completeServer(n *Names, args []string) ([]Word, bool) {
	if len(args) > 0 {
		return nil, false
	}
	return words(n.servers(true)), false
}

// completeOffer completes a server that is on, a name of a kind that it offers, and arguments, which may be files.
func completeOffer(kind tool.Kind, files bool) Completer {
	return func(n *Names, args []string) ([]Word, bool) {
		switch len(args) {
		case 0:
			return words(n.servers(true)), false
		case 1:
			return described(n.offers(args[0], kind), ""), false
		}
		return nil, files
	}
}

// completeNames completes servers and SERVER/TOOL, on or off.
func completeNames(n *Names, _ []string) ([]Word, bool) {
	servers := n.servers(false)
	list := words(servers)
	for _, server := range servers {
		list = append(list, described(n.tools(server, false), server+"/")...)
	}
	return list, false
}

// Names are the servers of the index and what they offer, for completion. The index is opened by the
// first method that needs it, and no server is asked: a shell does not wait for one.
type Names struct {
	app     *App
	globals Globals
	opened  bool
	engine  *engine.Engine // nil if there is no index that matches the configuration
	view    *catalog.View  // as engine
	states  state.Tools
}

// Names returns the names for these flags. The caller closes them.
func (a *App) Names(g Globals) *Names { return &Names{app: a, globals: g} }

// open opens the index, and reports whether there is one that matches the configuration.
func (n *Names) open() bool {
	if n.opened {
		return n.view != nil
	}
	n.opened = true
	states, _, err := state.FileIn(n.app.Env.StateDir()).Read()
	if err != nil {
		return false
	}
	e := (&Session{App: n.app, Globals: n.globals, Printer: n.app.NewPrinter(n.globals)}).newEngine()
	view, err := e.Catalog().Current()
	if err != nil || view == nil {
		_ = e.Close() // nothing was started or opened
		return false
	}
	n.engine, n.view, n.states = e, view, states
	return true
}

// Close releases the index.
func (n *Names) Close() {
	if n.engine != nil {
		n.view.Release()
		_ = n.engine.Close() // nothing was started
	}
}

// servers returns the servers, all or only those that are on.
func (n *Names) servers(on bool) []string {
	if !n.open() {
		return nil
	}
	var names []string
	for _, s := range n.view.Servers() {
		if !on || (!s.Off && n.states.AllowsServer(s.Name)) {
			names = append(names, s.Name)
		}
	}
	return names
}

// tools returns a server's tools, all or only those that are on.
func (n *Names) tools(server string, on bool) []index.Record {
	return slices.DeleteFunc(n.records(server, tool.Tool), func(r index.Record) bool {
		return on && !n.states.Allows(server, r.Name)
	})
}

// offers returns the tools that are on, the resources, without templates, or the prompts of a server that is on.
func (n *Names) offers(server string, kind tool.Kind) []index.Record {
	if kind == tool.Tool {
		return n.tools(server, true)
	}
	if !slices.Contains(n.servers(true), server) {
		return nil
	}
	return n.records(server, kind)
}

// records returns the records of a server. A damaged index has none.
func (n *Names) records(server string, kind tool.Kind) []index.Record {
	if !n.open() {
		return nil
	}
	recs, err := n.view.Records(server, kind)
	if err != nil {
		return nil
	}
	return recs
}
