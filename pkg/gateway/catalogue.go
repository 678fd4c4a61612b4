package gateway

import (
	"slices"
	"strings"
	"sync"

	"github.com/mcp-launchpad/mcpl/pkg/engine"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// catalogue is what a client of the exposure Activate can activate. It does not change.
type catalogue struct {
	lists // under the names that its clients use: of resources too they begin with the namespace
	// tool is the name of the tool that activates.
	tool string
	// place is where the configuration wants the catalogue: "description", "answer", or "" if it does not say.
	place   string
	entries []entry
	// equal says which definitions are left out, since another has their name.
	equal []string
	// waiting says which servers cannot be used, and why, a line each.
	waiting []string
}

// entry is one tool, resource or template of the catalogue.
type entry struct {
	offer
	full      string // the name before it was made fit for the APIs of models
	namespace string
	about     string // the beginning of the description
	initially bool   // active at first
}

// maxAbout bounds a description in the catalogue, in characters, as in Toolman's.
const maxAbout = 132

// The names of the tool that activates. The first one is Toolman's, for who has its configuration.
const (
	toolmanActivate = "toolman_activate"
	plainActivate   = "activate"
)

// newCatalogue returns the catalogue of what servers offer, in their order. patterns are globs of what is active at
// first.
func newCatalogue(name string, all []engine.Offered, namespaces map[string]string, patterns []string) *catalogue {
	c := &catalogue{tool: name, lists: lists{byName: make(map[exposed]tool.Ref)}}
	own := exposed{tool.Tool, name}
	c.byName[own] = tool.Ref{} // no other gets this name
	first := make(map[exposed]string)
	for _, o := range all {
		prefix := namespaces[o.Server]
		full := exposed{o.Kind, prefix + o.Name}
		if server, taken := first[full]; taken {
			c.equal = append(c.equal, "the "+o.Kind.String()+" "+full.name+" of "+o.Server+" is left out: "+server+
				" has one of that name, and comes first")
			continue
		}
		first[full] = o.Server
		if o.Off { // it keeps its name
			c.byName[exposed{o.Kind, c.name(prefix, o.Ref)}] = o.Ref
			continue
		}
		c.enter(o, prefix, patterns)
	}
	delete(c.byName, own)
	return c
}

// enter enters what a server offers, behind the prefix of its namespace.
func (c *catalogue) enter(o engine.Offered, prefix string, patterns []string) {
	e := entry{full: prefix + o.Name, namespace: strings.TrimSuffix(prefix, "_")}
	key := map[tool.Kind]string{tool.Resource: "uri", tool.Template: "uriTemplate"}[o.Kind]
	name := e.full
	if key == "" {
		key, name = "name", c.name(prefix, o.Ref)
		c.byName[exposed{o.Kind, name}] = o.Ref
	}
	e.offer = offer{name: name, ref: o.Ref, raw: renamed(o.Definition.Fields, key, name), denied: o.Denied}
	c.add(e.offer)
	if o.Kind == tool.Prompt {
		return // always active
	}
	about := o.Definition.Description
	if about == "" {
		about = o.Definition.DisplayTitle()
	}
	if about == o.Name {
		about = ""
	}
	e.about = firstCharacters(strings.Join(strings.Fields(about), " "), maxAbout)
	e.initially = slices.ContainsFunc(patterns, e.matches)
	c.entries = append(c.entries, e)
}

// firstCharacters returns the first n characters of a text.
func firstCharacters(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// matches reports whether a glob matches the name of the entry.
func (e entry) matches(glob string) bool { return matches(glob, e.name) || matches(glob, e.full) }

// matches reports whether a glob matches a text: * stands for any characters, and nothing else is special.
func matches(glob, text string) bool {
	part, rest, more := strings.Cut(glob, "*")
	if !more {
		return glob == text
	}
	text, ok := strings.CutPrefix(text, part)
	for ok && more {
		if part, rest, more = strings.Cut(rest, "*"); !more {
			return strings.HasSuffix(text, part)
		}
		_, text, ok = strings.Cut(text, part)
	}
	return false
}

// named returns the entries that a word of a model means: a name, a glob, or a server with all that it offers.
func (c *catalogue) named(word string) []entry {
	if len(word) > fault.MaxName {
		return nil // a glob costs its length for each entry
	}
	for _, word := range meanings(word) {
		var found []entry
		for _, e := range c.entries {
			if e.matches(word) || word == e.ref.String() || word != "" && (word == e.ref.Server || word == e.namespace) {
				found = append(found, e)
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// called returns the tool that a name means.
func (c *catalogue) called(name string) (entry, bool) {
	for _, name := range meanings(name) {
		for _, e := range c.entries {
			if e.ref.Kind == tool.Tool && (e.name == name || e.full == name || e.ref.String() == name) {
				return e, true
			}
		}
	}
	return entry{}, false
}

// maxMeanings bounds what a name with many "__" may mean.
const maxMeanings = 10

// meanings returns a name, and what it means if a client has put "mcp__" and the name of its own entry before it.
func meanings(name string) []string {
	list := []string{name}
	rest, ok := strings.CutPrefix(name, "mcp__")
	for ok && len(list) <= maxMeanings {
		if _, rest, ok = strings.Cut(rest, "__"); ok {
			list = append(list, rest)
		}
	}
	return list
}

// nearest returns the names that an unknown one may have meant.
func (c *catalogue) nearest(word string) []string {
	names := make([]string, len(c.entries))
	for i, e := range c.entries {
		names[i] = e.name
	}
	limit := max(2, len(word)/3)
	return fault.Nearest(word, names, func(name string) int {
		distance := fault.Edits(strings.ToLower(word), strings.ToLower(name))
		if len(word) > 2 && strings.Contains(strings.ToLower(name), strings.ToLower(word)) {
			distance = min(distance, limit)
		}
		if distance > limit {
			return -1
		}
		return distance
	})
}

// text returns the catalogue in words: a line for each entry, with a star if it is active. What servers offer that are
// down is left out.
func (c *catalogue) text(active *activeSet, down *health) string {
	var tools, resources strings.Builder
	for i, on := range active.of(c) {
		e, b := c.entries[i], &tools
		if e.denied || down.isDown(e.ref.Server) != nil {
			continue
		}
		if e.ref.Kind != tool.Tool {
			b = &resources
		}
		mark, colon := "  ", ": "
		if on {
			mark = "* "
		}
		if e.about == "" {
			colon = ""
		}
		b.WriteString(mark + e.name + colon + e.about + "\n")
	}
	text := "TOOLS:\n" + tools.String()
	if resources.Len() > 0 {
		text += "\nRESOURCES:\n" + resources.String()
	}
	if len(c.waiting) > 0 {
		text += "\nNOT AVAILABLE:\n  " + strings.Join(c.waiting, "\n  ") + "\n"
	}
	return strings.TrimSuffix(text, "\n")
}

// activeSet is what of a catalogue is active, for one client or for several.
type activeSet struct {
	mu     sync.Mutex
	chosen map[exposed]bool // by name; what is not here is as it is at first

	shared record // if it is that of clients without sessions
}

func newActiveSet() *activeSet { return &activeSet{chosen: make(map[exposed]bool)} }

// activeSets are the active sets of clients without sessions.
type activeSets struct {
	mu   sync.Mutex
	sets map[string]*activeSet // by principal and profile
}

// maxActiveSets bounds them. When there are more, all begin anew.
const maxActiveSets = 10_000

func newActiveSets() *activeSets { return &activeSets{sets: make(map[string]*activeSet)} }

// of returns the active set of clients of a principal and a profile.
func (a *activeSets) of(who Identity) *activeSet {
	key := who.Principal.identity() + "\x00" + who.Profile
	a.mu.Lock()
	defer a.mu.Unlock()
	set := a.sets[key]
	if set == nil {
		if len(a.sets) >= maxActiveSets {
			clear(a.sets)
		}
		set = newActiveSet()
		set.shared.name, set.shared.lasts = activeRecord(key), activeLasts
		a.sets[key] = set
	}
	return set
}

// has reports whether an entry is active.
func (a *activeSet) has(e entry) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.isOn(e)
}

// isOn is has for a caller that holds mu.
func (a *activeSet) isOn(e entry) bool {
	if on, chosen := a.chosen[exposed{e.ref.Kind, e.name}]; chosen {
		return on
	}
	return e.initially
}

// of reports of each entry whether it is active, all at one time.
func (a *activeSet) of(c *catalogue) []bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	on := make([]bool, len(c.entries))
	for i, e := range c.entries {
		on[i] = a.isOn(e)
	}
	return on
}

// turn switches entries off and others on, in one step.
func (a *activeSet) turn(off, on []entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range off {
		a.chosen[exposed{e.ref.Kind, e.name}] = false
	}
	for _, e := range on {
		a.chosen[exposed{e.ref.Kind, e.name}] = true
	}
}
