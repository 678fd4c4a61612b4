package verb

import (
	"slices"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/index"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Completer returns the words that may follow args, those of names that match them. A description may follow a word
// behind a tab. If files is true and there are no words, the shell completes files.
type Completer func(names *Names, args []string) (words []string, files bool)

// maxAbout is how much of a description goes with a word, in bytes.
const maxAbout = 60

// fixed completes every argument from the same words.
func fixed(words ...string) Completer {
	return func(*Names, []string) ([]string, bool) { return words, false }
}

// described returns records as words: their names, behind prefix, with the start of the description.
func described(recs []index.Record, prefix string) []string {
	list := make([]string, len(recs))
	for i, rec := range recs {
		list[i] = prefix + rec.Name + "\t" + index.FirstSentences(rec.Description, maxAbout)
	}
	return list
}

// completeConfigured completes any number of servers, also if there is no index yet: a new project has none before its
// servers are approved.
func completeConfigured(n *Names, _ []string) ([]string, bool) {
	if n.view != nil {
		return n.servers(false), false
	}
	env := n.session.App.Env
	sources, err := env.Locate(n.session.selection())
	if err != nil {
		return nil, false
	}
	cfg, err := env.Load(sources)
	if err != nil {
		return nil, false
	}
	return cfg.Names(), false
}

// completeServer completes one server that is on.
func completeServer(n *Names, args []string) ([]string, bool) {
	if len(args) > 0 {
		return nil, false
	}
	return n.servers(true), false
}

// completeOffer completes a server that is on, a name of a kind that it offers, and arguments, which may be files.
func completeOffer(kind tool.Kind, files bool) Completer {
	return func(n *Names, args []string) ([]string, bool) {
		switch len(args) {
		case 0:
			return n.servers(true), false
		case 1:
			return described(n.records(args[0], kind, true), ""), false
		}
		return nil, files
	}
}

// completeNames completes servers and SERVER/TOOL, on or off.
func completeNames(n *Names, _ []string) ([]string, bool) {
	servers := n.servers(false)
	list := slices.Clone(servers)
	for _, server := range servers {
		list = append(list, described(n.records(server, tool.Tool, false), server+"/")...)
	}
	return list, false
}

// Names are the servers of the index and what they offer, for completion. No server is asked: a shell does not wait.
type Names struct {
	session *Session
	view    *catalog.View // nil if there is no index that matches the configuration
}

// Names opens the index for these flags. The caller closes it.
func (a *App) Names(g Globals) *Names {
	s := &Session{App: a, Globals: g, Printer: a.NewPrinter(g)}
	n := &Names{session: s}
	_, err := s.open()
	if s.Engine = s.newEngine(s.selection()); err == nil && s.unsure == nil {
		n.view, _ = s.catalog().Current()
	}
	return n
}

// Close releases the index.
func (n *Names) Close() {
	if n.view != nil {
		n.view.Release()
	}
	_ = n.session.Engine.Close() // nothing was started
}

// servers returns the servers, all or only those that are on.
func (n *Names) servers(on bool) []string {
	if n.view == nil {
		return nil
	}
	var names []string
	for _, s := range n.view.Servers() {
		if !on || (!s.Off && n.session.Tools.AllowsServer(s.Name)) {
			names = append(names, s.Name)
		}
	}
	return names
}

// records returns what a server offers of a kind, without templates: all or, if the server is on, what is on of it. A
// damaged index has none.
func (n *Names) records(server string, kind tool.Kind, on bool) []index.Record {
	if n.view == nil || on && !slices.Contains(n.servers(true), server) {
		return nil
	}
	recs, _ := n.view.Records(server, kind)
	return slices.DeleteFunc(recs, func(r index.Record) bool {
		return on && kind == tool.Tool && !n.session.Tools.Allows(server, r.Name)
	})
}
