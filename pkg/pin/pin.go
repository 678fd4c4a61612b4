// Package pin remembers what each server has offered, and says what has changed since a person last saw it: tools that
// are described in other words, ask for more, promise less or come under another name.
//
// Open a server's pins with [Store.Update], and give each listing to [Pins.Enter] there. It pins what is new at first
// sight, grades what differs, and returns the listing as it may be used under a [Mode]. [Store.Changes] is the quick
// look at what has not been seen yet, [Pins.See] marks it as seen. A [Lock] holds the hashes of definitions for a team.
//
// The package does not know where listings come from, nor who is asked about a change.
package pin

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/canonical"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Mode says what becomes of a definition that has changed.
type Mode string

// The modes.
const (
	// Warn uses it and says so, but holds what is looser or hides characters.
	Warn Mode = "warn"
	// Hold uses the old one until a person has approved the new one.
	Hold Mode = "hold"
	// Off uses it and remembers nothing.
	Off Mode = "off"
)

// Pin is one definition as it was pinned.
type Pin struct {
	Kind tool.Kind
	Name string
	// Since is when it was pinned. Gone is when the server listed it no more; zero means that it still does.
	Since, Gone time.Time
	// Seen is the raw definition that counts: the first one, or the last that a person has seen. It is nil if the
	// definition is new on a server that was known.
	Seen json.RawMessage
	// New is the raw definition that the server has now, if it differs from Seen in more than notation. Else it is nil.
	New json.RawMessage
}

// current is the definition that the server had last.
func (p *Pin) current() json.RawMessage {
	if p.New != nil {
		return p.New
	}
	return p.Seen
}

// Change is what has changed of a definition since a person last saw it.
type Change struct {
	// Of is the kind of the definition: a tool, a prompt, or "instructions", which have no name.
	Of   tool.Kind `json:"of,omitempty"`
	Name string    `json:"name,omitempty"`
	// Since is when the change was first met.
	Since time.Time `json:"since"`
	Difference
	// Hash is that of the new definition. It names what a person approves.
	Hash string `json:"hash"`
	// Held says that the old definition is used until a person has approved the new one.
	Held bool `json:"held,omitempty"`
}

// HeldUnder reports whether the mode holds the change.
func (c Change) HeldUnder(m Mode) bool {
	switch m {
	case Off:
		return false
	case Hold:
		return true
	}
	return c.Grade == Looser || c.Hidden
}

// IsInstructions reports whether the change is one of the server's instructions.
func (c Change) IsInstructions() bool { return c.Of == instructions }

// Pins are the pins of one server.
type Pins struct {
	// Server is the server's name, for people.
	Server string

	pins    []*Pin
	changes []Change
}

// Empty reports whether no listing has been pinned yet.
func (p *Pins) Empty() bool { return len(p.pins) == 0 }

// Changes returns what has not been seen yet.
func (p *Pins) Changes() []Change { return slices.Clone(p.changes) }

// Find returns the pin of a definition. It is nil if there is none.
func (p *Pins) Find(kind tool.Kind, name string) *Pin {
	for _, pin := range p.pins {
		if pin.Kind == kind && pin.Name == name {
			return pin
		}
	}
	return nil
}

// Of returns the pin that a change is about. It is nil if there is none.
func (p *Pins) Of(c Change) *Pin { return p.Find(c.Of, c.Name) }

// HasSeen reports whether a definition that has not changed since a person saw it has a hash that begins so. An empty
// name stands for any.
func (p *Pins) HasSeen(name, hash string) (bool, error) {
	for _, pin := range p.pins {
		if pin.Seen == nil || pin.New != nil || name != "" && pin.Name != name {
			continue
		}
		now, err := canonical.Hash(pin.Seen)
		if err != nil || strings.HasPrefix(now, hash) {
			return err == nil, err
		}
	}
	return false, nil
}

// ByChange returns a function like [Pins.Of] for many changes.
func (p *Pins) ByChange() func(Change) *Pin {
	known := make(map[tool.Ref]*Pin, len(p.pins))
	for _, pin := range p.pins {
		known[key(pin.Kind, pin.Name)] = pin
	}
	return func(c Change) *Pin { return known[key(c.Of, c.Name)] }
}

// See marks those changes as seen for which which is true: the new definitions count from now on. It returns how many
// there were.
func (p *Pins) See(which func(Change) bool) int {
	seen := make(map[tool.Ref]bool)
	p.changes = slices.DeleteFunc(p.changes, func(c Change) bool {
		if which(c) {
			seen[key(c.Of, c.Name)] = true
			return true
		}
		return false
	})
	for _, pin := range p.pins {
		if pin.New != nil && seen[key(pin.Kind, pin.Name)] {
			pin.Seen, pin.New = pin.New, nil
		}
	}
	return len(seen)
}

// Entry says how a listing is entered.
type Entry struct {
	Mode Mode
	// Off reports whether a person has switched a tool off. If nil, all are on.
	Off func(name string) bool
	Now time.Time
}

// Rename is a tool that came under another name.
type Rename struct{ Before, After string }

// Enter compares a listing with the pins, and pins what is new. The first listing is pinned as it is. Enter returns the
// listing as it may be used: definitions that are held are replaced by those that count, or left out if there are none.
// The mode is not Off.
func (p *Pins) Enter(l tool.Listing, e Entry) (tool.Listing, []Rename, error) {
	m := p.meeting(e)
	defer m.end()
	m.gone(l)
	var err error
	if l.Tools, err = m.list(tool.Tool, l.Tools); err != nil {
		return l, nil, err
	}
	if l.Prompts, err = m.list(tool.Prompt, l.Prompts); err != nil {
		return l, nil, err
	}
	text, _, err := m.meet(instructions, "", tool.Quote(l.Instructions))
	if err != nil {
		return l, nil, err
	}
	l.Instructions = ""
	if text != nil {
		if err := json.Unmarshal(text, &l.Instructions); err != nil {
			return l, nil, err
		}
	}
	p.forget()
	return l, m.renames, nil
}

// Meet compares one definition that the server has now with its pin, as [Pins.Enter] does. It returns the change that
// has not been seen, or nil.
func (p *Pins) Meet(def tool.Def, e Entry) (*Change, []Rename, error) {
	m := p.meeting(e)
	defer m.end()
	_, change, err := m.meet(def.Kind, def.Name, def.Whole())
	return change, m.renames, err
}

// meeting is one listing that meets the pins.
type meeting struct {
	pins    *Pins
	entry   Entry
	first   bool
	byName  map[tool.Ref]*Pin
	changes map[tool.Ref]Change
	names   *names // nil before it is needed
	renames []Rename
}

func (p *Pins) meeting(e Entry) *meeting {
	e.Now = e.Now.UTC().Truncate(time.Second)
	m := &meeting{pins: p, entry: e, first: p.Empty(), byName: make(map[tool.Ref]*Pin), changes: make(map[tool.Ref]Change)}
	for _, pin := range p.pins {
		m.byName[key(pin.Kind, pin.Name)] = pin
	}
	for _, c := range p.changes {
		m.changes[key(c.Of, c.Name)] = c
	}
	return m
}

func key(kind tool.Kind, name string) tool.Ref { return tool.Ref{Kind: kind, Name: name} }

// gone notes which definitions the listing lacks. Their changes need no one's attention.
func (m *meeting) gone(l tool.Listing) {
	listed := map[tool.Ref]bool{key(instructions, ""): true}
	for _, def := range slices.Concat(l.Tools, l.Prompts) {
		listed[key(def.Kind, def.Name)] = true
	}
	for k, pin := range m.byName {
		if listed[k] {
			pin.Gone = time.Time{}
			continue
		}
		if pin.Gone.IsZero() {
			pin.Gone = m.entry.Now
		}
		delete(m.changes, k)
	}
}

// list enters the definitions of a kind, and returns those that may be used.
func (m *meeting) list(kind tool.Kind, defs []tool.Def) ([]tool.Def, error) {
	used := make([]tool.Def, 0, len(defs))
	for _, def := range defs {
		raw, _, err := m.meet(kind, def.Name, def.Whole())
		if err != nil {
			return nil, err
		}
		if raw == nil {
			continue
		}
		if !bytes.Equal(raw, def.Whole()) {
			old, err := tool.Parse(kind, raw)
			if err != nil {
				return nil, err
			}
			if old.Name != def.Name { // held under the new name, and the server does not know the old one
				continue
			}
			def = old
		}
		used = append(used, def)
	}
	if defs == nil {
		return nil, nil
	}
	return used, nil
}

// meet compares a definition with its pin. It returns the raw definition to use, nil if there is none yet, and the
// change that has not been seen, nil if there is none.
func (m *meeting) meet(kind tool.Kind, name string, raw json.RawMessage) (json.RawMessage, *Change, error) {
	k := key(kind, name)
	pin := m.byName[k]
	if pin == nil {
		pin = &Pin{Kind: kind, Name: name, Since: m.entry.Now}
		m.byName[k] = pin
		switch before := m.before(kind, name, raw); {
		case m.first:
			pin.Seen = raw
		case before != nil:
			pin.Seen = before.Seen
		}
		m.pins.pins = append(m.pins.pins, pin)
	}
	if bytes.Equal(pin.Seen, raw) {
		pin.New = nil
		return m.settle(k, raw)
	}
	difference, err := Compare(kind, pin.Seen, raw)
	if err != nil {
		return nil, nil, err
	}
	if difference.Grade == Notation && !difference.Hidden {
		pin.Seen, pin.New = raw, nil
		return m.settle(k, raw)
	}
	hash, err := canonical.Hash(raw)
	if err != nil {
		return nil, nil, err
	}
	change := Change{Of: kind, Name: name, Since: m.entry.Now, Difference: difference, Hash: hash}
	if known, ok := m.changes[k]; ok {
		change.Since = known.Since
	}
	change.Held = change.HeldUnder(m.entry.Mode)
	pin.New = raw
	if change.Held {
		raw = pin.Seen
	}
	m.changes[k] = change
	return raw, &change, nil
}

// before returns the pin of a tool that has another name now: the same definition but the name, or nearly, which the
// server does not list any more or a person has switched off.
func (m *meeting) before(kind tool.Kind, name string, raw json.RawMessage) *Pin {
	if m.first || kind == instructions {
		return nil
	}
	if m.names == nil {
		m.names = newNames(m.pins.pins, m.entry.Off)
	}
	before := m.names.find(kind, raw)
	if before != nil && kind == tool.Tool {
		m.renames = append(m.renames, Rename{Before: before.Name, After: name})
	}
	return before
}

// settle notes that the definition has no change to be seen, and returns it for use.
func (m *meeting) settle(k tool.Ref, raw json.RawMessage) (json.RawMessage, *Change, error) {
	delete(m.changes, k)
	return raw, nil, nil
}

// end hands the changes to the pins, in their order.
func (m *meeting) end() {
	m.pins.changes = nil
	for _, pin := range m.pins.pins {
		if c, ok := m.changes[key(pin.Kind, pin.Name)]; ok {
			m.pins.changes = append(m.pins.changes, c)
		}
	}
}

// maxGone bounds the size of the definitions that are kept although the server does not list them any more.
const maxGone = 16 << 20

// forget drops definitions that went long ago, if too much is kept of them.
func (p *Pins) forget() {
	var gone []*Pin
	size := 0
	for _, pin := range p.pins {
		if !pin.Gone.IsZero() {
			gone = append(gone, pin)
			size += len(pin.Seen) + len(pin.New)
		}
	}
	if size <= maxGone {
		return
	}
	slices.SortStableFunc(gone, func(a, b *Pin) int { return a.Gone.Compare(b.Gone) })
	dropped := make(map[*Pin]bool)
	for _, pin := range gone {
		if size <= maxGone {
			break
		}
		dropped[pin] = true
		size -= len(pin.Seen) + len(pin.New)
	}
	p.pins = slices.DeleteFunc(p.pins, func(pin *Pin) bool { return dropped[pin] })
}
