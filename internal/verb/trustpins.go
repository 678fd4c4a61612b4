package verb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-launchpad/mcpl/pkg/catalog"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/humanize"
	"github.com/mcp-launchpad/mcpl/pkg/output"
	"github.com/mcp-launchpad/mcpl/pkg/pin"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
	"github.com/mcp-launchpad/mcpl/pkg/trust"
)

// definition is a definition that has changed since a person last saw it, in an answer.
type definition struct {
	Server string `json:"server"`
	// Of is "prompt" or "instructions", empty for a tool. Instructions have no name.
	Of   string `json:"of,omitempty"`
	Name string `json:"name,omitempty"`
	changed
	Hash string   `json:"hash"`
	Diff []string `json:"diff"`

	full, whole bool // Diff is not shortened; it shows all that has changed
}

// ref names the definition as a person types it.
func (d *definition) ref() string {
	if d.Name == "" {
		return d.Server
	}
	return tool.Ref{Server: d.Server, Name: d.Name}.String()
}

// title names the definition with its kind, unless it is a tool.
func (d *definition) title() string {
	if d.Of == "" {
		return d.ref()
	}
	return d.ref() + " (" + d.Of + ")"
}

// splitNames tells the names of servers from those of tools, "server/tool". They may be of a tools.toml.
func (s *Session) splitNames(words []string) (servers []string, tools []tool.Ref, err error) {
	if err := s.chooseTools(words); err != nil {
		return nil, nil, err
	}
	cfg, err := s.catalog().Config()
	if err != nil {
		return nil, nil, err
	}
	for _, word := range words {
		ref, _, unresolved := s.Engine.Resolve([]string{word}, tool.Tool)
		if slices.Contains(cfg.Names(), word) || unresolved != nil {
			servers = append(servers, word)
			continue
		}
		tools = append(tools, ref)
	}
	return servers, tools, nil
}

// definitions returns what has changed of servers and tools. Without either, of all servers. Diffs are in full for a
// person at the terminal, and for tools that are named.
func (s *Session) definitions(ctx context.Context, servers []string, tools []tool.Ref) ([]*definition, error) {
	asked := slices.Clone(servers)
	for _, ref := range tools {
		asked = append(asked, ref.Server)
	}
	unseen, err := s.Engine.Unseen(ctx, asked)
	if err != nil {
		return nil, err
	}
	list := []*definition{}
	atTerminal := !s.Globals.JSON && (s.App.OutTTY.Is || s.App.ErrTTY.Is)
	for _, of := range unseen {
		diff, err := s.Engine.Diff(of.Server)
		if err != nil {
			return nil, err
		}
		for _, c := range of.Changes {
			named := slices.Contains(tools, tool.Ref{Server: of.Server, Name: c.Name})
			if !named && len(asked) > 0 && !slices.Contains(servers, of.Server) {
				continue
			}
			d := &definition{Server: of.Server, Of: string(c.Of), Name: c.Name, changed: *changedOf(&c), Hash: c.Hash,
				full: named || atTerminal}
			d.Diff, d.whole = diff(c, d.full)
			list = append(list, d)
		}
	}
	return list, s.areThere(ctx, tools, list)
}

// areThere fails if something that was named has neither changed nor is it there.
func (s *Session) areThere(ctx context.Context, tools []tool.Ref, changed []*definition) error {
	for _, ref := range tools {
		is := func(d *definition) bool { return d.Server == ref.Server && d.Name == ref.Name }
		if slices.ContainsFunc(changed, is) {
			continue
		}
		if err := s.offers(ctx, ref); err != nil {
			return err
		}
	}
	return nil
}

// offers fails if a server is known to have no tool and no prompt of that name, or waits for an approval itself.
func (s *Session) offers(ctx context.Context, ref tool.Ref) error {
	server, err := s.server(ref.Server)
	if err != nil {
		return err
	}
	if err := server.Usable(); err != nil {
		return err
	}
	prompt := tool.Ref{Server: ref.Server, Name: ref.Name, Kind: tool.Prompt}
	if _, _, err := s.Engine.Known(ctx, prompt); err == nil {
		return nil
	}
	_, _, err = s.Engine.Known(ctx, ref)
	return err
}

// trustShow answers with how servers stand, or with what has changed of them since they were approved; and with what
// has changed of what they offer since a person last saw it. Changes that are not held have been seen once a person at
// the terminal was shown the whole difference.
func (s *Session) trustShow(ctx context.Context, v *trustVerb, list []*trustStatus, servers []string,
	tools []tool.Ref) error {
	defs, err := s.definitions(ctx, servers, tools)
	if err != nil {
		return err
	}
	if list == nil {
		list = []*trustStatus{}
	}
	a := &trustAnswer{Servers: list, Definitions: defs, list: v.List, diff: v.Diff}
	if err := s.Printer.Answer(a); err != nil || v.List || !s.personReads() {
		return err
	}
	return s.seeDefinitions(ctx, slices.DeleteFunc(defs, func(d *definition) bool { return d.Held || !d.whole }))
}

// trustDefinitions approves definitions: those with the hash of --yes, or those that are held and that the person at
// the terminal approves.
func (s *Session) trustDefinitions(ctx context.Context, v *trustVerb, servers []string, tools []tool.Ref) error {
	list, err := s.definitions(ctx, servers, tools)
	if err != nil {
		return err
	}
	held := slices.DeleteFunc(slices.Clone(list), func(d *definition) bool { return !d.Held })
	switch {
	case v.Yes != "":
		if list, err = s.approveHash(list, v.names[0], v.Yes); err == nil {
			err = s.seeDefinitions(ctx, list)
		}
	case len(held) == 0:
		return s.Printer.Answer(&trustAnswer{Servers: []*trustStatus{}, none: true})
	default:
		if list, err = s.askDefinitions(ctx, held, v.All); err == nil {
			s.declined(len(held) - len(list))
		}
	}
	if err != nil {
		return err
	}
	return s.Printer.Answer(&trustAnswer{Servers: []*trustStatus{}, Definitions: list, approved: true})
}

// askDefinitions asks the person at the terminal about definitions, one by one or once for all, and returns those that
// were approved. Without a terminal it fails with a fault.ApprovalRequired.
func (s *Session) askDefinitions(ctx context.Context, list []*definition, once bool) (
	approved []*definition, err error) {
	isPerson, err := askEach(ctx, s, list, once, func(d *definition, yes bool) error {
		if !yes {
			return nil
		}
		approved = append(approved, d)
		return s.mark(ctx, []*definition{d})
	})
	switch {
	case err != nil:
		return nil, err
	case !isPerson:
		return nil, noPersonFor(list)
	}
	return approved, s.listHeld(ctx, approved)
}

// noPersonFor is the fault of a question about definitions that no one at a terminal can answer.
func noPersonFor(list []*definition) *fault.Fault {
	first := list[0]
	f := fault.New(fault.ApprovalRequired, "approving what has changed of "+first.ref()+" takes a person at a terminal",
		"Do not approve it yourself: show the person what has changed.").On(first.Server, first.Name).
		Then("A person types", fault.Step{Verb: "trust", Args: []string{first.ref()}})
	f.Approval = &fault.Approval{Kind: "pin", Why: first.changed.String(), Tool: first.ref()}
	f.Diff = first.Diff
	return f
}

// writeDefinitions writes the definitions of an answer.
func (a *trustAnswer) writeDefinitions(t *output.Text) {
	for i, d := range a.Definitions {
		if a.list && slices.ContainsFunc(a.Servers, func(l *trustStatus) bool { return l.Server == d.Server }) {
			continue // it stands with its server
		}
		if a.approved {
			t.Line("Approved ", output.Cyan(d.ref()), ".")
			continue
		}
		if i+len(a.Servers) > 0 {
			t.Line()
		}
		d.write(t)
	}
}

// writeChanged writes in a line each what has changed of what a server offers.
func (a *trustAnswer) writeChanged(t *output.Text, server string) {
	for _, d := range a.Definitions {
		if d.Server == server {
			t.Line("  ", output.Bold(d.title()), d.span())
		}
	}
}

// seeDefinitions marks changes as seen, since a person has read or approved them.
func (s *Session) seeDefinitions(ctx context.Context, list []*definition) error {
	if err := s.mark(ctx, list); err != nil {
		return err
	}
	return s.listHeld(ctx, list)
}

// mark marks changes as seen.
func (s *Session) mark(ctx context.Context, list []*definition) error {
	type version struct{ of, name, hash string }
	versions := make(map[string]map[version]bool) // by server, whose file is written once
	var servers []string
	for _, d := range list {
		if versions[d.Server] == nil {
			versions[d.Server] = make(map[version]bool)
			servers = append(servers, d.Server)
		}
		versions[d.Server][version{d.Of, d.Name, d.Hash}] = true
	}
	for _, server := range servers {
		_, err := s.Engine.See(ctx, server, func(c pin.Change) bool {
			return versions[server][version{string(c.Of), c.Name, c.Hash}]
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// listHeld lists the servers of definitions that were held once more, so that the new ones count at once.
func (s *Session) listHeld(ctx context.Context, list []*definition) error {
	var again []string
	for _, d := range list {
		if d.Held && !slices.Contains(again, d.Server) {
			again = append(again, d.Server)
		}
	}
	if again == nil {
		return nil
	}
	return s.catalog().Read(ctx, catalog.Need{Servers: again, List: catalog.ListAll}, nil)
}

// write shows a change before it is approved.
func (d *definition) write(t *output.Text) {
	t.Line(output.Bold(d.title()), d.span())
	t.Diff("  ", d.Diff)
	if !d.whole {
		t.Line("  ", output.Yellow("Not all of it is shown"), d.more())
	}
	t.Line("  ", output.Dim("hash: "), d.Hash[:trust.Short])
}

// more says how a person sees what is not shown.
func (d *definition) more() string {
	switch {
	case !d.full:
		return ": " + output.Command(fault.Step{Verb: "trust", Args: []string{"--diff", d.ref()}})
	case d.Of == "":
		return ": " + output.Command(fault.Step{Verb: "inspect", Server: d.Server, Tool: d.Name})
	}
	return ", so it does not count as seen."
}

// approveHash returns those of the definitions whose hash begins with yes. There are none if that was approved already.
func (s *Session) approveHash(list []*definition, word, yes string) ([]*definition, error) {
	approved := slices.DeleteFunc(slices.Clone(list), func(d *definition) bool { return !strings.HasPrefix(d.Hash, yes) })
	if len(approved) > 0 {
		return approved, nil
	}
	ref, _, unresolved := s.Engine.Resolve([]string{word}, tool.Tool)
	if unresolved != nil {
		ref.Server = word
	}
	switch known, err := s.Engine.HasSeen(ref.Server, ref.Name, yes); {
	case err != nil:
		return nil, err
	case known:
		s.Printer.Notice("%s was approved already", word)
		return []*definition{}, nil
	}
	f := fault.New(fault.ApprovalRequired, word+" has no change with that hash", "It may have changed once more.").
		Then("See what has changed with", fault.Step{Verb: "trust", Args: []string{"--diff", word}})
	f.Approval = &fault.Approval{Kind: "pin", Why: "another definition than was shown", Tool: word}
	return nil, f
}

// lock writes what the servers offer now into the lock file of the project, and answers with it. A server that cannot
// be asked, or has a change that is held, leaves the file as it is.
func (s *Session) lock(ctx context.Context, servers []string) error {
	path, err := s.lockPath()
	if err != nil {
		return err
	}
	need := catalog.Need{List: catalog.ListAll} // what the index does not know yet may be a change that is held
	if len(servers) > 0 {
		need.Servers = servers
	}
	if err := s.catalog().Read(ctx, need, nil); err != nil {
		return err
	}
	held, err := s.definitions(ctx, servers, nil)
	if err != nil {
		return err
	}
	probes, err := s.Engine.Probe(ctx, servers)
	if err != nil {
		return err
	}
	l, kept, err := lockToWrite(path, len(servers) > 0, probes)
	if err != nil {
		return err
	}
	if probes, err = lockable(s, probes, len(servers) > 0); err != nil {
		return err
	}
	a := &lockAnswer{File: path, Servers: []string{}, Kept: kept}
	for _, p := range probes {
		name := p.Server.Name
		if p.Failure != nil {
			return p.Failure
		}
		if i := slices.IndexFunc(held, func(d *definition) bool { return d.Server == name && d.Held }); i >= 0 {
			f := fault.New(fault.ApprovalRequired, held[i].ref()+" has "+held[i].changed.String(), "").On(name, held[i].Name).
				Then("A person reads it with", fault.Step{Verb: "trust", Args: []string{"--diff", held[i].ref()}})
			f.Approval = &fault.Approval{Kind: "pin", Why: held[i].changed.String(), Tool: held[i].ref()}
			f.Diff = held[i].Diff
			return f
		}
		if err := l.Add(name, p.Listing); err != nil {
			return err
		}
		a.Servers = append(a.Servers, name)
		a.Definitions += len(p.Listing.Tools) + len(p.Listing.Prompts)
	}
	if err := l.Write(path); err != nil {
		return err
	}
	return s.Printer.Answer(a)
}

// lockAnswer is the answer of trust --lock.
type lockAnswer struct {
	File        string   `json:"lock"`
	Servers     []string `json:"servers"`
	Definitions int      `json:"definitions"`
	// Kept are the disabled servers whose parts of the lock stay as they were.
	Kept []string `json:"kept,omitempty"`
}

func (a *lockAnswer) WriteText(t *output.Text) {
	t.Line(fmt.Sprintf("Locked %s of %s in %s.", humanize.Plural(a.Definitions, "definition"),
		humanize.Plural(len(a.Servers), "server"), a.File))
	if len(a.Kept) > 0 {
		t.Line("Kept as it was: ", strings.Join(a.Kept, ", "), ". Disabled servers are not asked.")
	}
	t.Line("Check it with: ", output.Cyan("mcpl doctor --locked"))
}
